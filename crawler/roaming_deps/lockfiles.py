"""Lock files: the packages that a project uses, with their versions.

The readers take what the tools write; nothing of the project is executed, and nothing is fetched. Of several versions
of a package, the installed one counts, then the one that the project itself asks for, then the highest.

Parsers are imported when a file is read: all commands look for changes, and seldom find one.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import reduce
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.installed import normalize_name
from roaming_deps.project import LOCK_FILES, Dependency, Project, load_deps_settings, locks_changed, read_file

# Names and versions become arguments of pip and npm, which read some of them as options and paths.
_NAMES = {
    "python": re.compile(r"(?!.{215})[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"),
    "npm": re.compile(r"(?!.{215})(?:@\w[\w.~-]*/)?\w[\w.~-]*", re.ASCII),
}
_VERSION = re.compile(r"(?!.{41})v?\d(?:[\da-f.!_-]*[a-z]{1,8}(?![a-z])){0,3}[\da-f.!_-]*", re.IGNORECASE | re.ASCII)
"""A version with at most three words of at most eight letters: models read it as trusted text. Hashes are no words."""
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][\w.-]*)", re.ASCII)
_INCLUDE = re.compile(r"(?:-r|--requirement)[\s=]*(\S+)")
_BY_PROJECT = re.compile(r"-r\s|\((?:pyproject\.toml|setup\.(?:py|cfg))\)")
_PRERELEASE = re.compile(r"[abc]|dev|-")
_PNPM_KEY = re.compile(r"/?(?:(?!\d+\.\d)((?:@[^/@]+/)?[^/@]+)[@/])?(\d[^(_/]*)")
_MAX_DEPTH = 100  # of YAML
_NPM_KINDS = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
_LISTS = ("project.dependencies", "tool.poetry.dependencies", "tool.poetry.dev-dependencies")
_GROUPS = ("project.optional-dependencies", "dependency-groups", "tool.pdm.dev-dependencies")


class _Files:
    """The files that are read, with their digests."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.digests = dict[Path, str]()

    def text(self, path: Path) -> str:
        """Return the text of a file."""
        data = read_file(path)
        self.digests[path] = sha256(data).hexdigest()
        return data.decode("utf-8-sig")


def read_dependencies(root: Path, *, installed: Mapping[str, str]) -> tuple[list[Dependency], dict[str, str]]:
    """Return the packages of a project, sorted by name, and the digests of the files that were read.

    Args:
        root: Folder of the project.
        installed: Versions of the installed Python distributions, by their normalized names.

    Raises:
        UsageError: There is no lock file, or one cannot be read.
    """
    files = _Files(root)
    found = list[Dependency]()
    for patterns, versions in ((LOCK_FILES[:6], installed), (LOCK_FILES[6:], {})):
        matches = ((one, sorted(filter(Path.is_file, files.root.glob(one)))) for one in patterns)
        pattern, paths = next((match for match in matches if match[1]), ("", []))
        try:
            found += _merge((one for path in paths for one in _READERS[pattern](files, path)), versions)
        except Exception as error:  # of a parser, or because the file has another structure
            reason = f"cannot be read ({error!r:.120}); write it again with its tool, or name another folder"
            raise UsageError(f"{paths[0]}: {reason}") from None
    if not files.digests:
        raise UsageError(f"{root}: no lock file; looked for {', '.join(LOCK_FILES)}")
    return found, {path.relative_to(files.root).as_posix(): digest for path, digest in files.digests.items()}


def count_changes(project: Project) -> int:
    """Return the number of packages that were added, removed or changed since the last sync.

    Raises:
        UsageError: The lock file is gone, or cannot be read.
    """
    root = Path(project.root)
    if not locks_changed(project):
        return 0
    used = {(one.ecosystem, one.info.name): one.info.used for one in project.packages}
    chosen = {name: version for (ecosystem, name), version in used.items() if ecosystem == "python"}  # of several ones
    found = read_dependencies(root, installed=chosen)[0]
    settings = load_deps_settings(root)
    now = {(one.ecosystem, one.name): one for one in found}
    new = [key for key, one in now.items() if key not in used and settings.is_wanted(one)]
    changed = [key for key in used if key not in now or now[key].version not in ("", used[key])]
    return len(new) + len(changed)


def _merge(packages: Iterator[Dependency], installed: Mapping[str, str]) -> list[Dependency]:
    """Return each package once."""
    found: dict[str, list[Dependency]] = {}
    for one in _mark_origins(list(packages)):
        name = normalize_name(one.name) if one.ecosystem == "python" else one.name
        version = (one.version or installed.get(name, "")).partition("+")[0]
        if _NAMES[one.ecosystem].fullmatch(name) and re.fullmatch(r"[\w.!-]*", version):
            version = version if _VERSION.fullmatch(version) else ""
            found.setdefault(name, []).append(replace(one, name=name, version=version))

    def rank(one: Dependency) -> tuple[bool, bool, bool, list[int]]:
        numbers = list(map(int, re.findall(r"\d+", one.version)))
        return one.version == installed.get(one.name), one.direct, not _PRERELEASE.search(one.version), numbers

    return [replace(max(ones, key=rank), direct=any(one.direct for one in ones)) for _, ones in sorted(found.items())]


def _mark_origins(packages: Sequence[Dependency]) -> Iterator[Dependency]:
    """Yield packages with `registry` instead of the URL of their registry, and without that of most packages."""
    usual = Counter(one.spec for one in packages if one.spec not in ("", "git")).most_common(1)
    for one in packages:
        yield one if one.spec in ("", "git") else replace(one, spec="registry" * (one.spec != usual[0][0]))


# Python


def _read_toml(files: _Files, path: Path) -> Iterator[Dependency]:
    """Yield the packages of uv.lock, poetry.lock, pdm.lock or pylock.toml."""
    data = tomllib.loads(files.text(path))
    packages = data.get("package") or data.get("packages") or ()
    asked = set(map(normalize_name, _read_workspace(packages) or _read_project(files)))
    for one in packages:
        source = one.get("source") or {}
        marks = {*one, *source, source.get("type")}
        if not marks & {"directory", "path", "file", "editable", "virtual"}:
            spec = "git" if marks & {"git", "vcs"} else str(source.get("registry") or source.get("url") or "default")
            is_direct = not asked or normalize_name(one["name"]) in asked
            yield Dependency(one["name"], "python", str(one.get("version", "")), is_direct, spec)


def _read_workspace(packages: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the names of the packages that the members of uv's workspace ask for."""
    own = [one for one in packages if (one.get("source") or {}).keys() & {"editable", "virtual"}]
    groups = [one.get(kind) or {} for one in own for kind in ("optional-dependencies", "dev-dependencies")]
    lists = [*(one.get("dependencies") or () for one in own), *(names for group in groups for names in group.values())]
    return {one["name"] for one in chain.from_iterable(lists)}


def _read_project(files: _Files) -> set[str]:
    """Return the names of the packages that pyproject.toml asks for."""
    path = files.root / "pyproject.toml"
    data = tomllib.loads(files.text(path)) if path.is_file() else {}

    def table(keys: str) -> Any:
        return reduce(lambda found, key: found.get(key) or {}, keys.split("."), data)

    lists = [*map(table, _LISTS), *(one for keys in _GROUPS for one in table(keys).values())]
    lists += [group.get("dependencies") or () for group in table("tool.poetry.group").values()]
    found = [_REQUIREMENT.match(line) for line in chain.from_iterable(lists) if isinstance(line, str)]
    return {one[1] for one in found if one}


def _read_requirements(files: _Files, path: Path) -> Iterator[Dependency]:
    """Yield the packages of a requirements file, and of those in the project that it includes."""
    from packaging.requirements import InvalidRequirement, Requirement

    text = re.sub(r"\\\r?\n", " ", files.text(path))
    is_compiled = "# via" in text
    for block in re.split(r"\n(?=[^\s#])", text):
        line, *comment = re.split(r"(?:^|\s)#|\s--", block, maxsplit=1)
        other = (path.parent / include[1]).resolve() if (include := _INCLUDE.match(line)) else None
        if other and other.is_relative_to(files.root) and other.is_file() and other not in files.digests:
            yield from _read_requirements(files, other)
        with suppress(InvalidRequirement):  # an option, a path or a URL
            one = Requirement(line.strip())
            pins = [pin.version for pin in one.specifier if pin.operator in ("==", "===") and "*" not in pin.version]
            is_direct = not is_compiled or _BY_PROJECT.search("".join(comment)) is not None
            spec = "git" if "git+" in (one.url or "") else ""
            yield Dependency(one.name, "python", (pins or [""])[0], is_direct, spec)


# npm


def _read_npm(files: _Files, path: Path) -> Iterator[Dependency]:
    data = json.loads(files.text(path))
    packages = data["packages"]  # version 1, of npm 6, has none
    own = [one for place, one in packages.items() if "node_modules/" not in place]
    asked = {name for one in own for kind in _NPM_KINDS for name in one.get(kind) or ()}
    for place, one in packages.items():
        above, is_installed, name = place.rpartition("node_modules/")
        if is_installed and not one.get("link"):
            is_direct = name in asked and "node_modules/" not in above
            resolved = str(one.get("resolved", ""))
            spec = "git" if "git+" in f"{resolved} {one.get('version')}" else "/".join(resolved.split("/")[:3])
            yield Dependency(
                one.get("name", name), "npm", "" if spec == "git" else str(one["version"]), is_direct, spec
            )


def _parse_yaml(text: str) -> Any:
    """Return the last document that is not empty.

    Raises:
        ValueError: It is nested too deeply: composing is recursive, in C.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml is optional
    depth = 0
    for event in yaml.parse(text, loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            raise ValueError("nested too deeply")
    return [one for one in yaml.load_all(text, loader) if one][-1]


def _read_pnpm(files: _Files, path: Path) -> Iterator[Dependency]:
    data = _parse_yaml(files.text(path))
    own = (data.get("importers") or {".": data}).values()
    asked = [pair for one in own for kind in _NPM_KINDS for pair in (one.get(kind) or {}).items()]
    for name, entry in chain(asked, (("", key) for key in data.get("packages") or ())):
        place = entry["version"] if isinstance(entry, dict) else entry
        if isinstance(place, str) and (found := _PNPM_KEY.match(place)):  # aliases of YAML can nest without end
            yield Dependency(found[1] or name, "npm", found[2], bool(name))


_READERS: dict[str, Callable[[_Files, Path], Iterator[Dependency]]] = dict.fromkeys(LOCK_FILES[:5], _read_toml)
_READERS |= {LOCK_FILES[5]: _read_requirements, LOCK_FILES[6]: _read_npm, LOCK_FILES[7]: _read_pnpm}

"""Lock files: the packages that a project uses, with their versions.

The readers take what the tools write; nothing of the project is executed, and nothing is fetched. Of several versions
of a package, the installed one counts, then the one that the project itself asks for, then the highest.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.installed import normalize_name
from mkdocs_roaming.library.readers import read_file
from roaming_deps.project import LOCK_FILES, MAX_BYTES, Dependency, Ecosystem

# Names and versions become arguments of pip and npm, which read some of them as options and paths.
_NAMES = {
    "python": re.compile(r"(?!.{215})[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"),
    "npm": re.compile(r"(?!.{215})(?:@\w[\w.~-]*/)?\w[\w.~-]*", re.ASCII),
}
"""Names of packages: `typing-extensions`, `@types/node`."""
_VERSION = re.compile(r"(?!.{41})v?\d(?:[\da-f.!_-]*[a-z]{1,8}(?![a-z])){0,3}[\da-f.!_-]*", re.IGNORECASE | re.ASCII)
"""A version with at most three words of at most eight letters: models read it as trusted text. Hashes are no words."""
_VERSION_CHARS = re.compile(r"[\w.!-]*")
_NUMBER = re.compile(r"\d+")
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][\w.-]*)", re.ASCII)
"""The name at the beginning of a requirement: `kite>=1.2; python_version > "3.8"`."""
_BLOCK_END = re.compile(r"\n(?=[^\s#])")
"""The end of a requirement with its comments, which are indented or begin with `#`."""
_COMMENT = re.compile(r"(?:^|\s)#|\s--")
"""The end of a requirement itself: `kite==1.2 --hash=…`, `kite==1.2  # via string`."""
_INCLUDE = re.compile(r"(?:-r|--requirement)[\s=]*(\S+)")
"""A line that includes another file: `-r base.txt`."""
_BY_PROJECT = re.compile(r"-r\s|\((?:pyproject\.toml|setup\.(?:py|cfg))\)")
"""Part of the comment of a package that the project asks for: `via -r requirements.in`, `via app (pyproject.toml)`."""
_PRERELEASE = re.compile(r"[abc]|dev|-")
_PNPM_KEY = re.compile(r"/?(?:(?!\d+\.\d)((?:@[^/@]+/)?[^/@]+)[@/])?(\d[^(_/]*)")
"""A package with its version in pnpm-lock.yaml: `/@types/node@20.1.0(x)`, `kite/1.2.0`, or the version alone."""
_MAX_DEPTH = 100
"""Maximum depth of YAML."""
_NPM_KINDS = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
_LISTS = ("project.dependencies", "tool.poetry.dependencies", "tool.poetry.dev-dependencies")
_GROUPS = ("project.optional-dependencies", "dependency-groups", "tool.pdm.dev-dependencies")
_LOCAL_MARKS = {"directory", "path", "file", "editable", "virtual"}
"""Keys or types of the source of a package that is not from an index."""
_ORIGIN_PARTS = 3
"""Parts of a URL up to its host: `https:`, an empty one and the host."""


class _Files:
    """The files that are read, with their digests."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.digests = dict[Path, str]()

    def text(self, path: Path) -> str:
        """Return the text of a file."""
        data = read_file(path, MAX_BYTES)
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
    dependencies: list[Dependency] = []
    ecosystems: tuple[Ecosystem, ...] = ("python", "npm")
    for ecosystem in ecosystems:
        path = None
        packages: list[Dependency] = []
        try:
            for pattern in LOCK_FILES[ecosystem]:
                for path in sorted(filter(Path.is_file, files.root.glob(pattern))):
                    packages += _READERS[pattern](files, path)
                if path:
                    break
            dependencies += _merge(packages, installed if ecosystem == "python" else {})
        except Exception as error:  # of a parser, or because the file has another structure
            reason = f"cannot be read ({error!r:.120}); write it again with its tool, or name another folder"
            raise UsageError(f"{path}: {reason}") from None
    if not files.digests:
        patterns = [pattern for ecosystem in ecosystems for pattern in LOCK_FILES[ecosystem]]
        raise UsageError(f"{root}: no lock file; looked for {', '.join(patterns)}")
    digests = {path.relative_to(files.root).as_posix(): digest for path, digest in files.digests.items()}
    return dependencies, digests


def _merge(packages: Sequence[Dependency], installed: Mapping[str, str]) -> list[Dependency]:
    """Return each package once."""
    by_name: dict[str, list[Dependency]] = {}
    registries = Counter(package.spec for package in packages if package.spec not in ("", "git"))
    usual = max(registries, key=registries.__getitem__, default="")
    for package in packages:
        spec = package.spec
        if spec in registries:  # the URL of a registry matters only if it is not that of most packages
            spec = "" if spec == usual else "registry"
        name = normalize_name(package.name) if package.ecosystem == "python" else package.name
        version = (package.version or installed.get(name, "")).partition("+")[0]
        if _NAMES[package.ecosystem].fullmatch(name) and _VERSION_CHARS.fullmatch(version):
            version = version if _VERSION.fullmatch(version) else ""
            by_name.setdefault(name, []).append(replace(package, name=name, version=version, spec=spec))

    def rank(package: Dependency) -> tuple[bool, bool, bool, list[int]]:
        version = package.version
        is_installed = version == installed.get(package.name)
        return is_installed, package.direct, not _PRERELEASE.search(version), list(map(int, _NUMBER.findall(version)))

    merged: list[Dependency] = []
    for _, versions in sorted(by_name.items()):
        is_direct = any(package.direct for package in versions)
        merged.append(replace(max(versions, key=rank), direct=is_direct))
    return merged


# Python


def _read_toml(files: _Files, path: Path) -> Iterator[Dependency]:
    """Yield the packages of uv.lock, poetry.lock, pdm.lock or pylock.toml."""
    data = tomllib.loads(files.text(path))
    packages = data.get("package") or data.get("packages") or ()
    asked = set(map(normalize_name, _read_workspace(packages) or _read_project(files)))
    for package in packages:
        name = package["name"]
        source = package.get("source") or {}
        marks = {*package, *source, source.get("type")}
        if marks & _LOCAL_MARKS:
            continue
        spec = str(source.get("registry") or source.get("url") or "default")
        if marks & {"git", "vcs"}:
            spec = "git"
        is_direct = not asked or normalize_name(name) in asked
        yield Dependency(name, "python", str(package.get("version", "")), is_direct, spec)


def _read_workspace(packages: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the names of the packages that the members of uv's workspace ask for."""
    names: set[str] = set()
    for package in packages:
        source = package.get("source") or {}
        if not source.keys() & {"editable", "virtual"}:
            continue
        lists = [package.get("dependencies") or ()]
        for kind in ("optional-dependencies", "dev-dependencies"):
            lists += (package.get(kind) or {}).values()
        names.update(dependency["name"] for dependencies in lists for dependency in dependencies)
    return names


def _read_project(files: _Files) -> set[str]:
    """Return the names of the packages that pyproject.toml asks for."""
    path = files.root / "pyproject.toml"
    data = tomllib.loads(files.text(path)) if path.is_file() else {}

    def find_table(keys: str) -> Any:
        table = data
        for key in keys.split("."):
            table = table.get(key) or {}
        return table

    lists = [find_table(keys) for keys in _LISTS]
    for keys in _GROUPS:
        lists += find_table(keys).values()
    lists += [group.get("dependencies") or () for group in find_table("tool.poetry.group").values()]
    lines = [line for requirements in lists for line in requirements if isinstance(line, str)]
    return {match[1] for match in map(_REQUIREMENT.match, lines) if match}


def _read_requirements(files: _Files, path: Path) -> Iterator[Dependency]:
    """Yield the packages of a requirements file, and of those in the project that it includes."""
    from packaging.requirements import InvalidRequirement, Requirement

    text = files.text(path).replace("\r\n", "\n").replace("\\\n", " ")
    is_compiled = "# via" in text
    for block in _BLOCK_END.split(text):
        line, *comment = _COMMENT.split(block, maxsplit=1)
        include = _INCLUDE.match(line)
        if include:
            included = (path.parent / include[1]).resolve()
            if included.is_relative_to(files.root) and included.is_file() and included not in files.digests:
                yield from _read_requirements(files, included)
        try:
            requirement = Requirement(line.strip())
        except InvalidRequirement:  # an option, a path or a URL
            continue
        pins = [
            pin.version for pin in requirement.specifier if pin.operator in ("==", "===") and "*" not in pin.version
        ]
        version = pins[0] if pins else ""
        is_direct = not is_compiled or _BY_PROJECT.search("".join(comment)) is not None
        spec = "git" if "git+" in (requirement.url or "") else ""
        yield Dependency(requirement.name, "python", version, is_direct, spec)


# npm


def _read_npm(files: _Files, path: Path) -> Iterator[Dependency]:
    data = json.loads(files.text(path))
    packages = data["packages"]  # version 1, of npm 6, has none
    asked: set[str] = set()
    for place, package in packages.items():
        if "node_modules/" not in place:
            asked.update(name for kind in _NPM_KINDS for name in package.get(kind) or ())
    for place, package in packages.items():
        above, is_installed, name = place.rpartition("node_modules/")
        if not is_installed or package.get("link"):
            continue
        is_direct = name in asked and "node_modules/" not in above
        address = str(package.get("resolved", ""))
        version = str(package.get("version"))
        spec = "/".join(address.split("/")[:_ORIGIN_PARTS])
        if "git+" in f"{address} {version}":
            version = ""
            spec = "git"
        yield Dependency(package.get("name", name), "npm", version, is_direct, spec)


def _read_pnpm(files: _Files, path: Path) -> Iterator[Dependency]:
    import yaml

    text = files.text(path)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml is optional
    depth = 0
    for event in yaml.parse(text, loader):  # composing is recursive, in C
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _MAX_DEPTH:
            raise ValueError("nested too deeply")
    data = [document for document in yaml.load_all(text, loader) if document][-1]
    entries: list[tuple[str, Any]] = []
    for importer in (data.get("importers") or {".": data}).values():
        for kind in _NPM_KINDS:
            entries += (importer.get(kind) or {}).items()
    entries += [("", key) for key in data.get("packages") or ()]
    for name, entry in entries:
        place = entry["version"] if isinstance(entry, dict) else entry
        match = _PNPM_KEY.match(place) if isinstance(place, str) else None  # aliases of YAML can nest without end
        if match:
            yield Dependency(match[1] or name, "npm", match[2], bool(name))


_READERS: dict[str, Callable[[_Files, Path], Iterator[Dependency]]] = {
    **dict.fromkeys(LOCK_FILES["python"], _read_toml),
    "requirements*.txt": _read_requirements,
    "package-lock.json": _read_npm,
    "pnpm-lock.yaml": _read_pnpm,
}

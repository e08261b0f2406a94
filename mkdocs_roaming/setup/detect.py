"""What a project builds its documentation with: generator, folders, URL, and other programs with the same task."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import msgspec

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.sources.project import OWN_FILE, Project, read_project


class Generator(msgspec.Struct, frozen=True):
    """A generator of static sites; generators.toml describes the fields."""

    name: str
    title: str
    config: str
    preview: str
    mark: str = ""
    site: str = "site"
    command: str = ""
    program: tuple[str, ...] = ()
    url: str = "(?!)"
    requirements: tuple[str, ...] = ()
    has_plugins: bool = False


MKDOCS_GENERATORS = ("mkdocs", "properdocs", "zensical")
_TABLES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("generators.toml").read_text("utf-8"))
GENERATORS = {one["name"]: msgspec.convert(one, Generator) for one in _TABLES["generator"]}
_NAMES = tuple(GENERATORS)
_SKIPPED = re.compile(r"node_modules|tests?|examples?|templates?|fixtures|site-packages|i18n|\.(?!vitepress).*")
_OUTPUT = r"""\b(?:outDir|build-dir)\s*[:=]\s*["']([^"'\s]+)"""
_MAX_BYTES = 200_000
WORKFLOWS = ".github/workflows/*.y*ml"
_REQUIREMENTS = (
    "*requirements*.in",
    "*requirements*.txt",
    "environment*.y*ml",
    "requirements*/*.in",
    "requirements*/*.txt",
    "pyproject.toml",
    "tox.ini",
    "setup.cfg",
    "Pipfile",
    "doc*/*requirements*.in",
    "doc*/*requirements*.txt",
    "doc*/environment*.y*ml",
)


@dataclass(frozen=True, slots=True)
class Setup:
    """What was found in a project.

    Attributes:
        generator: The generator.
        config: Its configuration.
        docs: The folder of the documentation.
        root: The folder of the repository.
        work: The folder in which the site is built.
        site: The built folder.
        url: The URL of the site; empty if it is unknown.
        has_url: Whether the configuration names it.
        project: The configuration as mkdocs-roaming reads it.
        llms_txt: The llms.txt of an author.
        llms_plugins: Plugins that write an llms.txt.
    """

    generator: Generator
    config: Path
    docs: Path
    root: Path
    work: Path
    site: Path
    url: str
    has_url: bool
    project: Project
    llms_txt: Path | None
    llms_plugins: tuple[str, ...]

    @property
    def command(self) -> str:
        """The build command; empty if the plugin publishes."""
        return self.generator.command.format(docs=relative(self.docs, self.work), site=relative(self.site, self.work))


def find_setup(folder: Path, config: Path | None = None) -> Setup:
    """Find the documentation of a project.

    Args:
        folder: The folder of the project, or of its documentation.
        config: The configuration of the generator, if it has another name.

    Raises:
        UsageError: There is no configuration, or there are several.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; name that of the project or of its documentation")
    root = find_root(folder)
    generator, config = _find_config(folder, config)
    text = read(config)
    docs = next((folder.parent for folder in config.parents if folder.name == ".vitepress"), config.parent)
    is_own = generator.has_plugins or (docs / "package.json").exists()
    work = docs if is_own else root
    project = _read_project(config if generator.has_plugins else work / OWN_FILE)
    site = Path(os.path.normpath(project.site or docs / _find(_OUTPUT, text, generator.site)))
    url = project.url or _find_url(generator, text)
    has_url = bool(url) or re.search(r"(?m)^\s*site_url\s*[:=]", text) is not None
    url = url or _find(r'(?im)^"?doc\w*"?\s*=\s*"(https?://[^"]+)', read(root / "pyproject.toml"))
    settings = f"{text}\n{read(work / 'package.json')}"
    plugins = tuple(name for name, pattern in _TABLES["plugins"].items() if re.search(pattern, settings))
    pages = walk(docs if not generator.has_plugins else project.docs or docs / "docs")
    llms_txt = next((file for file in pages if file.name == "llms.txt"), None)
    values = config, docs, root, work, site, url, has_url, project, llms_txt, plugins
    return Setup(generator, *values)


def find_root(folder: Path) -> Path:
    """Return the folder of the repository that contains a folder; without one, the folder itself."""
    above = (folder / Path(*[".."] * level) for level in range(len(folder.resolve().parts)))
    return next((one for one in above if (one / ".git").exists()), folder)


def relative(path: Path, folder: Path) -> str:
    """Return the path of a file or folder as seen from another folder, with slashes."""
    return Path(os.path.relpath(path, folder)).as_posix()


def read(file: Path) -> str:
    """Return the text of a file; empty if there is none, or a long one."""
    try:
        return file.read_text("utf-8", "replace") if file.stat().st_size <= _MAX_BYTES else ""
    except OSError:
        return ""


def walk(folder: Path, depth: int = 9) -> Iterator[Path]:
    """Yield the files in a folder, those of dependencies and tests excluded."""
    for parent, folders, names in os.walk(folder):
        level = len(Path(parent).parts) - len(folder.parts)
        folders[:] = [name for name in sorted(folders) if level < depth and not _SKIPPED.fullmatch(name)]
        yield from (Path(parent, name) for name in sorted(names))


def find_files(folders: Iterable[Path], patterns: Iterable[str]) -> list[Path]:
    """Return the files in folders that match patterns, each once."""
    pairs = product(dict.fromkeys(folders), patterns)
    return list(dict.fromkeys(file for folder, pattern in pairs for file in sorted(folder.glob(pattern))))


def find_requirements(root: Path, folder: Path) -> list[Path]:
    """Return the files that may list the requirements of the documentation, the likely ones first."""
    files = find_files((folder, root), _REQUIREMENTS)
    return sorted(files, key=lambda file: "doc" not in relative(file, root))


def find_required(folder: Path) -> set[str]:
    """Return which of MkDocs, ProperDocs and Zensical the requirements and workflows of a project name."""
    root = find_root(folder)
    names = "|".join(MKDOCS_GENERATORS)
    pattern = rf"""(?m)(?:^\s*|["'])({names})(?:-material)?(?=["'\[<>=~!;,\s]|$)|\b({names}) (?:build|gh-deploy)\b"""
    texts = map(read, (*find_requirements(root, folder), *find_files((root,), (WORKFLOWS,))))
    return {found[1] or found[2] for text in texts for found in re.finditer(pattern, text)}


def _find_config(folder: Path, config: Path | None) -> tuple[Generator, Path]:
    """Return the generator and its configuration: of those that are nearest to the folder, the best one."""
    ranked = sorted(pair for file in ([config] if config else walk(folder, 2)) for pair in _rank_config(file))
    if not ranked and config is None:
        raise _missing_error(folder)
    if len(same := [file for rank, file in ranked if rank == ranked[0][0]]) > 1:
        names = ", ".join(map(str, same))
        raise UsageError(f"{names}: several configurations; name one: roaming init {same[0].parent}")
    name = _NAMES[ranked[0][0][-1]] if ranked else "mkdocs"
    config = config or ranked[0][1]
    required = find_required(config.parent) if name == "mkdocs" else set()
    is_other = required and name not in required  # Zensical and ProperDocs build a mkdocs.yml, too
    return GENERATORS[min(required) if is_other else name], config


def _missing_error(folder: Path) -> UsageError:
    titles = ", ".join(one.title for one in GENERATORS.values())
    others = ", ".join(str(file) for file in walk(folder, 2) if re.match(r"mkdocs.*\.ya?ml", file.name))
    hint = f"name one with --config-file: {others}" if others else "name the folder of the documentation"
    return UsageError(f"{folder}: no configuration of {titles}; {hint}")


def _rank_config(file: Path) -> Iterator[tuple[tuple[int, bool, bool, int], Path]]:
    """Yield the rank of a configuration, the lowest for the best, which ends with the index of the generator."""
    is_docs = any(part.startswith("doc") for part in file.parts[:-1])
    for index, one in enumerate(GENERATORS.values()):
        if re.search(rf"(?:^|/){one.config}$", file.as_posix()) and re.search(one.mark, text := read(file)):
            yield (len(file.parts), "INHERIT:" in text, not is_docs, index), file


def _read_project(file: Path) -> Project:
    with suppress(UsageError):  # the lines to add are printed
        return read_project(file) if file.is_file() else Project()
    return Project()


def _find_url(generator: Generator, text: str) -> str:
    """Return the URL of the site in the configuration of its generator; empty if it is not there."""
    url = _find(generator.url, text)
    return url and url.rstrip("/") + _find(r"""\bbase(?:Url)?["']?\s*:\s*["'](/[^"'\s]*)""", text, "/")


def _find(pattern: str, text: str, default: str = "") -> str:
    found = re.search(pattern, text)
    return found[1] if found else default

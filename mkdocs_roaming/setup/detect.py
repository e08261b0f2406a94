"""What a project builds its documentation with: generator, folders, URL, and other programs with the same task."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

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
    build: str = ""
    url: str = "(?!)"
    requirements: tuple[str, ...] = ()
    has_plugins: bool = False


class _Table(msgspec.Struct, frozen=True):
    generator: tuple[Generator, ...]


GENERATORS = msgspec.toml.decode(Path(__file__).with_name("generators.toml").read_bytes(), type=_Table).generator
MKDOCS_GENERATORS = ("mkdocs", "properdocs", "zensical")

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
_MAX_BYTES = 200_000
"""Size of the files that are read: a lock file or a bundle is longer."""
_CONFIG_DEPTH = 2
"""Number of folders above a configuration, in `website/docs/conf.py`."""
_PAGE_DEPTH = 9

_SKIPPED = re.compile(r"node_modules|tests?|examples?|templates?|fixtures|site-packages|i18n|\.(?!vitepress).*")
"""Folders that contain no documentation of the project."""
_BASE = re.compile(r"""\bbase(?:Url)?["']?\s*:\s*["'](/[^"'\s]*)""")
"""The path of the site in a configuration that is code: `baseUrl: '/docs/'`."""
_BUILD_FOLDER = re.compile(r"(?m)^BUILDDIR\s*[:?]?=\s*(\S+)")
"""The folder in a Makefile of Sphinx: `BUILDDIR = build`."""
_REQUIRED = re.compile(
    rf"""(?m)(?:^\s*|["'])({"|".join(MKDOCS_GENERATORS)})(?:-material)?(?=["'\[<>=~!;,\s]|$)"""
    rf"|\b({'|'.join(MKDOCS_GENERATORS)}) (?:build|gh-deploy)\b"
)
"""A requirement or a command in any kind of file: `mkdocs-material>=9`, `"zensical",`, `run: mkdocs gh-deploy`."""


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
        url: The URL of the site; empty if the configuration does not name it.
        project: The configuration as mkdocs-roaming reads it.
        llms_txt: The llms.txt of an author.
    """

    generator: Generator
    config: Path
    docs: Path
    root: Path
    work: Path
    site: Path
    url: str
    project: Project
    llms_txt: Path | None

    @property
    def command(self) -> str:
        """The build command; empty if the plugin publishes."""
        docs = relative(self.docs, self.work)
        return self.generator.command.format(docs=docs, site=relative(self.site, self.work))


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
    docs = config.parent
    if generator.name == "vitepress":
        docs = next(parent.parent for parent in config.parents if parent.name == ".vitepress")
    is_own = generator.has_plugins or (docs / "package.json").exists()
    work = docs if is_own else root
    project = _read_project(config if generator.has_plugins else work / OWN_FILE)
    site = project.site or docs / _find_output(generator, docs)
    sources = docs
    if generator.has_plugins:
        sources = project.docs or docs / "docs"
    return Setup(
        generator=generator,
        config=config,
        docs=docs,
        root=root,
        work=work,
        site=Path(os.path.normpath(site)),
        url=project.url or _find_url(generator, text),
        project=project,
        llms_txt=next((file for file in walk(sources) if file.name == "llms.txt"), None),
    )


def find_root(folder: Path) -> Path:
    """Return the folder of the repository that contains a folder; without one, the folder itself."""
    for level in range(len(folder.resolve().parts)):
        above = folder / ("../" * level)
        if (above / ".git").exists():
            return above
    return folder


def find_required(folder: Path) -> set[str]:
    """Return which of MkDocs, ProperDocs and Zensical the requirements and workflows of a project name."""
    root = find_root(folder)
    files = [*find_requirements(root, folder), *find_files((root,), (WORKFLOWS,))]
    return {match[1] or match[2] for file in files for match in _REQUIRED.finditer(read(file))}


def find_requirements(root: Path, folder: Path) -> list[Path]:
    """Return the files that may list the requirements of the documentation, the likely ones first."""
    files = find_files((folder, root), _REQUIREMENTS)
    return sorted(files, key=lambda file: "doc" not in relative(file, root))


# Files


def relative(path: Path, folder: Path) -> str:
    """Return the path of a file or folder as seen from another folder, with slashes."""
    return Path(os.path.relpath(path, folder)).as_posix()


def read(file: Path) -> str:
    """Return the text of a file; empty if there is none, or a long one."""
    try:
        return file.read_text("utf-8", "replace") if file.stat().st_size <= _MAX_BYTES else ""
    except OSError:
        return ""


def walk(folder: Path, depth: int = _PAGE_DEPTH) -> Iterator[Path]:
    """Yield the files in a folder, those of dependencies and tests excluded."""
    for parent, folders, names in os.walk(folder):
        level = len(Path(parent).parts) - len(folder.parts)
        folders[:] = [name for name in sorted(folders) if level < depth and not _SKIPPED.fullmatch(name)]
        yield from (Path(parent, name) for name in sorted(names))


def find_files(folders: Iterable[Path], patterns: Iterable[str]) -> list[Path]:
    """Return the files in folders that match patterns, each once."""
    files: dict[Path, None] = {}
    for folder in folders:
        for pattern in patterns:
            files |= dict.fromkeys(sorted(folder.glob(pattern)))
    return list(files)


# Configurations


def _find_config(folder: Path, config: Path | None) -> tuple[Generator, Path]:
    """Return the generator and its configuration: of those that are nearest to the folder, the best one."""
    ranked: list[tuple[int, bool, bool, int, Path]] = []
    for file in [config] if config else walk(folder, _CONFIG_DEPTH):
        text = read(file)
        is_docs = any(part.startswith("doc") for part in file.parts[:-1])
        for index, generator in enumerate(GENERATORS):
            is_named = re.search(rf"(?:^|/){generator.config}$", file.as_posix())
            if is_named and re.search(generator.mark, text):
                ranked.append((len(file.parts), "INHERIT:" in text, not is_docs, index, file))
    generators = {generator.name: generator for generator in GENERATORS}
    generator = generators["mkdocs"]
    if ranked:
        *best, index, config = min(ranked)
        generator = GENERATORS[index]
        equal = [str(file) for *rank, file in ranked if rank == [*best, index]]
        if len(equal) > 1:
            raise UsageError(f"{', '.join(equal)}: several configurations; name one: roaming init {config.parent}")
    elif config is None:
        titles = ", ".join(generator.title for generator in GENERATORS)
        similar = [str(file) for file in walk(folder, _CONFIG_DEPTH) if file.match("mkdocs*.y*ml")]
        hint = "name the folder of the documentation"
        if similar:
            hint = f"name one with --config-file: {', '.join(similar)}"
        raise UsageError(f"{folder}: no configuration of {titles}; {hint}")
    required = find_required(config.parent) if generator.name == "mkdocs" else set()
    if required and generator.name not in required:  # Zensical and ProperDocs build a mkdocs.yml, too
        generator = generators[min(required)]
    return generator, config


def _read_project(file: Path) -> Project:
    with suppress(UsageError):  # the lines to add are printed
        return read_project(file) if file.is_file() else Project()
    return Project()


def _find_output(generator: Generator, docs: Path) -> str:
    """Return the built folder, relative to that of the documentation."""
    if generator.name == "sphinx":
        for folder in ("", "../"):
            if match := _BUILD_FOLDER.search(read(docs / folder / "Makefile")):
                return f"{folder}{match[1]}/html"
    return generator.site


def _find_url(generator: Generator, text: str) -> str:
    """Return the URL of the site in the configuration of its generator; empty if it is not there."""
    url = re.search(generator.url, text)
    if url is None:
        return ""
    base = _BASE.search(text)
    return url[1].rstrip("/") + (base[1] if base else "/")

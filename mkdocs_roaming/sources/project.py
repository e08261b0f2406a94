"""The project of a built site: the configuration of its generator, and the Markdown sources of its pages.

The `roaming` block is read from `zensical.toml`, `mkdocs.yml` or the table [publish] of `roaming.toml`. Nothing of a
configuration is executed: a value with a tag other than `!ENV` is read as none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from yaml_env_tag import construct_env_tag

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest.models import canonicalize_path
from mkdocs_roaming.publish.options import PublishOptions, parse_options
from mkdocs_roaming.settings import CONFIG_FILE, read_toml
from mkdocs_roaming.text.blocks import FRONT_MATTER
from mkdocs_roaming.text.markdown import to_single_line

if TYPE_CHECKING:
    from mkdocs_roaming.embeddings.config import FindModel

GENERATOR_FILES = ("zensical.toml", "mkdocs.yml", "mkdocs.yaml", "properdocs.yml", "properdocs.yaml")
OWN_FILE = CONFIG_FILE
OWN_TABLE = "publish"
PLUGIN = "roaming"

_SITE_KEYS = ("site_url", "site_name", "site_dir")
"""Keys of the table [publish] that generators have in their own configuration."""
_NAV_PLUGINS = frozenset(("awesome-nav", "awesome-pages", "literate-nav", "api-autonav", "mkdocs-nav-weight"))
"""Plugins that replace the nav of the configuration."""
_MAX_PARENTS = 16
"""Number of configurations that inherit from each other."""
_YAML_ERRORS = (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError, RecursionError)


@dataclass(frozen=True, slots=True)
class Project:
    """What the configuration of a site says about it.

    Attributes:
        file: The file with the `roaming` block, or that of the generator; None if there is neither.
        generator: The configuration file of the generator.
        block: The `roaming` block; None if there is none.
        nav: The nav as the generator reads it; None if it is not in the configuration.
        docs: The folder of the Markdown sources.
        site: The folder of the built site.
        theme: The theme of MkDocs.
        snippets: The folders of pymdownx.snippets.
        directory_urls: Whether pages are folders: `guide/` instead of `guide.html`.
    """

    file: Path | None = None
    generator: Path | None = None
    block: Mapping[str, object] | None = None
    url: str | None = None
    name: str | None = None
    description: str = ""
    nav: list[Any] | None = None
    docs: Path | None = None
    site: Path | None = None
    theme: str = ""
    snippets: tuple[Path, ...] = ()
    directory_urls: bool = True

    @property
    def folder(self) -> Path:
        """The folder of the configuration: relative paths in it are resolved against this folder."""
        return self.file.parent if self.file else Path()

    def parse_options(self, overrides: Mapping[str, object]) -> PublishOptions:
        """Parse the options of the block and those that replace them.

        Raises:
            UsageError: An option is invalid; the message names the file.
        """
        parse_options(self.block or {}, f"{self.file}: {PLUGIN}")
        return parse_options({**(self.block or {}), **overrides})

    def find_sources(self) -> dict[str, str]:
        """Return the Markdown source of each page, relative to the docs folder, by the path of the page."""
        docs = self.docs
        sources = dict[str, str]()
        if docs is None:
            return sources
        for file in sorted(docs.rglob("*.md"), key=lambda file: file.name == "README.md"):
            source = file.relative_to(docs).as_posix()
            sources.setdefault(self.page_path(source), source)
        return sources

    def page_path(self, source: str) -> str:
        """Return the path of the page that a generator writes for a Markdown source."""
        stem = source.removesuffix(".md")
        folder, slash, name = stem.rpartition("/")
        if name in ("index", "README"):
            return canonicalize_path(folder + slash)
        return canonicalize_path(f"{stem}/" if self.directory_urls else f"{stem}.html")


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """What is known about a built site besides its folder. `url` and `name` are detected if they are None."""

    url: str | None = None
    name: str | None = None
    html: bool = True
    """Whether to add links to the Markdown to the pages."""
    cache: Path | None = None
    """The folder of cached conversions."""
    project: Project = field(default_factory=Project)
    publish: PublishOptions = field(default_factory=PublishOptions)
    embeddings: FindModel | None = None
    strict: bool = False
    """Whether nothing is published if there are warnings."""


def find_project(
    site: Path | None = None, config_file: Path | None = None, warn: Callable[[str], None] = lambda message: None
) -> Project:
    """Find and read the configuration of a site.

    It is looked for in the folders above the site up to the working directory and, for a site outside of that, only
    next to the site's folder. Without a site the configuration is that of the working directory.

    Args:
        site: The folder of the built site.
        config_file: The configuration, if the caller knows it.
        warn: Receives a line for each configuration that is ignored.

    Raises:
        UsageError: A configuration cannot be read.
    """
    if config_file is not None:
        return read_project(config_file)
    for folder in _config_folders(site):
        if project := _read_folder(folder, warn):
            return project
    for project in _read_configs(Path()) if site is not None else ():
        if project.block is not None:
            warn(
                f"{project.file}: ignored, because {site} is in another folder; to use it, add --config-file "
                f"{project.file}"
            )
    return Project()


def _read_folder(folder: Path, warn: Callable[[str], None]) -> Project | None:
    """Return the project of a folder: the configuration of its generator, with the `roaming` block of one file."""
    projects = _read_configs(folder)
    generator = next((project for project in projects if project.generator), None)
    owners = [project for project in projects if project.block is not None]
    for project in owners[1:]:
        warn(f"{project.file}: its options are ignored, because {owners[0].file} has some; keep them in one file")
    if not owners:
        return generator
    owner = owners[0]
    if generator is None or owner is generator:
        return owner
    return replace(
        generator,
        file=owner.file,
        block=owner.block,
        url=owner.url or generator.url,
        name=owner.name or generator.name,
    )


def _read_configs(folder: Path) -> list[Project]:
    files = [folder / name for name in (*GENERATOR_FILES, OWN_FILE)]
    return [read_project(file) for file in files if file.is_file()]


def _config_folders(site: Path | None) -> Iterator[Path]:
    """Yield the folders of a site's configuration: those above it up to the working directory, else its parent."""
    if site is None:
        yield Path()
        return
    here = Path.cwd()
    folder = site.resolve()
    if not folder.is_relative_to(here):
        yield folder.parent
        return
    while folder != here:
        folder = folder.parent
        yield folder.relative_to(here)


def read_project(file: Path) -> Project:
    """Read the configuration of MkDocs, ProperDocs or Zensical, or the table [publish] of roaming.toml.

    Raises:
        UsageError: The file cannot be read, or is not of this kind.
    """
    if file.suffix != ".toml":
        return _read_generator(file, read_mkdocs_yaml(file))
    data = read_toml(file)
    is_own = file.name == OWN_FILE or (OWN_TABLE in data and "project" not in data)
    if not is_own:
        return _read_generator(file, data.get("project", data))
    table = data.get(OWN_TABLE)
    if table is None:
        return Project(file)
    if not isinstance(table, dict):
        raise UsageError(f"{file}: expected the table [{OWN_TABLE}], got {table!r}")
    site = _text(file, table, "site_dir")
    return Project(
        file=file,
        block={name: value for name, value in table.items() if name not in _SITE_KEYS},
        url=_text(file, table, "site_url"),
        name=_text(file, table, "site_name"),
        site=file.parent / site if site else None,
    )


def _read_generator(file: Path, data: object) -> Project:
    if not isinstance(data, dict):
        raise UsageError(f"{file}: expected a mapping, such as `site_name: Docs`")
    plugins = _read_entries(data.get("plugins"))
    theme = data.get("theme")
    if isinstance(theme, dict):
        theme = theme.get("name")
    docs = file.parent / (_text(file, data, "docs_dir") or "docs")
    nav = data.get("nav")
    is_nav_complete = isinstance(nav, list) and _NAV_PLUGINS.isdisjoint(plugins)
    block = plugins.get(PLUGIN)
    if not isinstance(block, dict | None):
        raise UsageError(f"{file}: {PLUGIN}: expected a mapping of options, got {block!r}")
    offline = plugins.get("offline")
    is_offline_disabled = isinstance(offline, dict) and offline.get("enabled") is False
    is_offline = "offline" in plugins and not is_offline_disabled
    return Project(
        file=file,
        generator=file,
        block=(block or {}) if PLUGIN in plugins else None,
        url=_text(file, data, "site_url"),
        name=_text(file, data, "site_name"),
        description=_text(file, data, "site_description") or "",
        nav=nav if is_nav_complete else None,
        docs=docs if docs.is_dir() else None,
        site=file.parent / (_text(file, data, "site_dir") or "site"),
        theme=str(theme or "mkdocs"),
        snippets=_read_snippet_folders(file, data.get("markdown_extensions")),
        directory_urls=data.get("use_directory_urls") is not False and not is_offline,
    )


def _read_entries(value: object) -> dict[str, Any]:
    """Return the options of plugins or extensions by name: they are a list of names and mappings, or one mapping."""
    entries: dict[object, Any] = {}
    for entry in value if isinstance(value, list) else []:
        entries |= entry if isinstance(entry, dict) else {str(entry): None}
    if isinstance(value, dict):
        entries = value
    return {str(name).removeprefix("material/"): options for name, options in entries.items()}


def _read_snippet_folders(file: Path, extensions: object) -> tuple[Path, ...]:
    """Return the folders of pymdownx.snippets; in zensical.toml the name is split into two tables."""
    entries = _read_entries(extensions)
    options = entries.get("pymdownx.snippets")
    if not options and isinstance(table := entries.get("pymdownx"), dict):
        options = table.get("snippets")
    paths = options.get("base_path") if isinstance(options, dict) else None
    if isinstance(paths, str):
        paths = [paths]
    if not isinstance(paths, list):
        paths = ["."]
    return tuple(file.parent / path for path in paths if isinstance(path, str))


def _text(file: Path, data: Mapping[str, Any], key: str) -> str | None:
    value = data.get(key)
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{file}: {key}: expected a text, got {value!r}")
    return value or None


# YAML


class _ConfigLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # libyaml is optional
    """Reads `!ENV` as MkDocs does, and values with other tags, such as Python functions, as none."""


_ConfigLoader.add_constructor("!ENV", construct_env_tag)
_ConfigLoader.add_multi_constructor("", lambda loader, suffix, node: None)


def read_mkdocs_yaml(file: Path) -> object:
    """Read a configuration of MkDocs with the files that it inherits; as in MkDocs, lists are replaced.

    Raises:
        UsageError: A file cannot be read, is invalid YAML, or inherits itself.
    """
    merged: dict[str, Any] = {}
    for _ in range(_MAX_PARENTS):
        data = parse_yaml(_read_file(file), str(file))
        if not isinstance(data, dict):
            return merged or data
        parent = data.pop("INHERIT", None)
        merged = _merge(data, merged)
        if not isinstance(parent, str):
            return merged
        file = file.parent / parent
    raise UsageError(f"{file}: INHERIT leads to more than {_MAX_PARENTS} files; does a file inherit itself?")


def parse_yaml(text: str, where: str) -> object:
    """Parse YAML without executing anything.

    Raises:
        UsageError: The text is invalid; the message begins with `where`.
    """
    try:
        return yaml.load(text, Loader=_ConfigLoader)  # derived from the safe loader
    except _YAML_ERRORS as error:
        raise UsageError(f"{where}: invalid YAML ({' '.join(str(error).split())})") from None


def _read_file(file: Path) -> str:
    try:
        return file.read_text("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"{file}: not UTF-8 ({error})") from None


def _merge(parent: dict[str, Any], child: dict[str, Any]) -> dict[str, Any]:
    merged = {**parent, **child}
    for name in parent.keys() & child.keys():
        if isinstance(parent[name], dict) and isinstance(child[name], dict):
            merged[name] = _merge(parent[name], child[name])
    return merged


# Sources of pages

_FENCE = re.compile(r"([ \t>]*)(`{3,}|~{3,})[ \t]*(?:\{[ \t]*)?\.?((?:(?![\w-]+[ \t]*=)[\w#.+-]+)?)(?=[^`]*$)")
"""The beginning of a fence with its language: ```` ```py title="x" ````, ```` ```{ .py title="x" } ````."""
_SNIPPET = re.compile(r"""^[ \t>]*-+8<-+[ \t]+(["'])([^"'\n:]+)\1[ \t]*$""", re.MULTILINE)
"""A line that pymdownx.snippets replaces with a file: `--8<-- "file.md"`."""
_MAX_SNIPPET = 1_000_000
_HEADING = re.compile(r"^# +(.+?)(?:[ \t]*#+)?(?:[ \t]*\{[^}\n]*\})?[ \t]*$", re.MULTILINE)
"""A heading of level 1, with or without attributes: `# Title { #anchor }`."""
_WITHOUT_MARKUP = str.maketrans("", "", "*_`")


def read_source(
    file: Path, name: str, snippets: Sequence[Path], warn: Callable[[str], None]
) -> tuple[Mapping[str, Any], str]:
    """Return the front matter and the text of a Markdown source.

    Args:
        file: The source.
        name: Its name in messages.
        snippets: The folders of pymdownx.snippets, which are included once.
        warn: Receives a line if the front matter is invalid.
    """
    try:
        text = file.read_text("utf-8-sig", "replace")
    except OSError:
        return {}, ""
    meta: object = {}
    if front_matter := FRONT_MATTER.match(text):
        text = text[front_matter.end() :]
        try:
            meta = parse_yaml(front_matter[1], name)
        except UsageError as error:
            warn(f"{error}; its front matter is ignored")
    text = _SNIPPET.sub(lambda line: _read_snippet(line[2], snippets) or line[0], text)
    return meta if isinstance(meta, dict) else {}, text


def _read_snippet(path: str, folders: Sequence[Path]) -> str:
    """Return the text of a file in one of the folders of pymdownx.snippets, `""` if it is in none of them."""
    for folder in folders:
        file = (folder / path).resolve()
        if file.is_relative_to(folder.resolve()) and file.is_file() and file.stat().st_size < _MAX_SNIPPET:
            return file.read_text("utf-8", "replace")
    return ""


def find_heading(text: str) -> str:
    """Return the first heading before any code, without markup; `""` if there is none."""
    heading = _HEADING.search(text.partition("```")[0])
    return to_single_line(heading[1].translate(_WITHOUT_MARKUP)) if heading else ""


def iter_fences(text: str) -> Iterator[tuple[str, str]]:
    """Yield the code of each fence with its language, `""` without one."""
    fence = ""
    language = ""
    quotes = 0
    lines: list[str] = []
    for line in text.splitlines():
        if not fence:
            if opening := _FENCE.match(line):
                fence = opening[2]
                language = opening[3]
                quotes = opening[1].count(">")
                lines = []
            continue
        end = line.strip(" \t>")
        if end.startswith(fence) and not end.strip(fence[0]):
            yield "\n".join(lines), language
            fence = ""
            continue
        for _ in range(quotes):
            marker, sign, rest = line.partition(">")
            if sign and not marker.strip(" \t"):
                line = rest
        lines.append(line)

"""Incremental publication: a site whose inputs have not changed since it was published is not published again.

A record in the cache holds the digests of the inputs: options, configuration, sources and HTML. It is only a shortcut:
with any difference, or without it, the site is published from the beginning.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path

import msgspec

from mkdocs_roaming._version import __version__
from mkdocs_roaming.html.themes import load_themes
from mkdocs_roaming.manifest.models import LLMS_TXT
from mkdocs_roaming.publish.cache import CONVERTER_VERSION
from mkdocs_roaming.publish.ownership import PublishedFiles
from mkdocs_roaming.publish.writer import PublishReport
from mkdocs_roaming.sources import is_ignored
from mkdocs_roaming.sources.project import IndexOptions, expand_snippets

_RECORD = "published.msgpack"
_SECTIONS = "roaming/sections"
_ROOT_FILES = (LLMS_TXT, "sitemap.xml")
"""Files of the site that are inputs: a text of the author, and the address of a site without configuration."""

_Stat = tuple[int, int]


class _Record(msgspec.Struct):
    """A published site.

    Attributes:
        inputs: Digest of options, configuration and sources.
        root: Digest of the files of the site that are inputs, too.
        html: Digest of each HTML file, as published.
        files: Size and modification time of all other files that were written.
        report: The result.
        warnings: The warnings, which are repeated.
    """

    inputs: str
    root: str
    html: dict[str, str]
    files: dict[str, _Stat]
    report: PublishReport
    warnings: list[str]


class IncrementalSite:
    """The folder of a site with the record of its last publication.

    Args:
        folder: The folder of the built site.
        options: What is known about the site; the record is in its cache.
    """

    def __init__(self, folder: Path, options: IndexOptions) -> None:
        # A remote manifest and an embedding model may answer differently each time.
        is_reproducible = not options.publish.previous and options.publish.search == "lexical"
        self._folder, self._cache = folder, options.cache if is_reproducible else None
        self._options = options
        self._inputs = ""

    def find_unchanged(self, warn: Callable[[str], None]) -> PublishReport | None:
        """Return the report of the last publication if publishing again would change nothing."""
        if self._cache is None or not self._folder.is_dir():
            return None
        self._inputs = self._digest_inputs()
        record = _read_record(self._cache / _RECORD)
        if record is None:
            return None
        if (record.inputs, record.root, record.html) != (self._inputs, self._digest_root(), self._digest_html()):
            return None
        sections = dict(self._iter_section_stats())  # nine in ten of all files
        for path, stat in record.files.items():
            if (sections.get(path) or _stat(self._folder / path)) != stat:
                return None
        for message in record.warnings:
            warn(message)
        report = record.report
        unchanged = report.written + report.unchanged
        return replace(report, reused=report.pages, written=0, unchanged=unchanged, removed=0)

    def save(self, report: PublishReport, warnings: list[str]) -> None:
        """Record a publication that followed `find_unchanged`."""
        if self._cache is None:
            return
        paths = {file.relative_to(self._folder).as_posix() for file in self._folder.glob("roaming/*.*")}
        paths.update(PublishedFiles(self._folder).iter_paths())
        files = {path: stat for path in sorted(paths) if (stat := _stat(self._folder / path))}
        record = _Record(self._inputs, self._digest_root(), self._digest_html(), files, report, warnings)
        with suppress(OSError):
            self._cache.mkdir(parents=True, exist_ok=True)
            (self._cache / _RECORD).write_bytes(msgspec.msgpack.encode(record))

    def _digest_html(self) -> dict[str, str]:
        files = ((file, file.relative_to(self._folder)) for file in self._folder.rglob("*.html"))
        return {path.as_posix(): _digest(file.read_bytes()) for file, path in files if not is_ignored(path)}

    def _digest_inputs(self) -> str:
        """Return the digest of everything besides HTML that the published files depend on."""
        project, publish = self._options.project, self._options.publish
        parts = [__version__, CONVERTER_VERSION, repr(self._options)]
        if entry_points(group="roaming.themes"):
            parts.append(load_themes(publish.classes).fingerprint)
        if isinstance(publish.rules, str):
            parts.append(_digest_file(project.folder / publish.rules))
        for source in project.find_sources().values() if project.docs else ():
            assert project.docs is not None
            with suppress(OSError):
                text = (project.docs / source).read_text("utf-8", "replace")
                parts += [source, expand_snippets(text, project.snippets)]
        return _digest("\0".join(parts).encode("utf-8", "surrogatepass"))

    def _iter_section_stats(self) -> Iterator[tuple[str, _Stat]]:
        with suppress(OSError), os.scandir(self._folder / _SECTIONS) as entries:
            for entry in entries:
                found = entry.stat()
                yield f"{_SECTIONS}/{entry.name}", (found.st_size, found.st_mtime_ns)

    def _digest_root(self) -> str:
        names = [name for name in _ROOT_FILES if name != "sitemap.xml" or not self._options.project.url]
        return "-".join(_digest_file(self._folder / name) for name in names)


def _stat(file: Path) -> _Stat | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _digest_file(file: Path) -> str:
    try:
        return _digest(file.read_bytes())
    except OSError:
        return ""


def _read_record(file: Path) -> _Record | None:
    try:
        return msgspec.msgpack.decode(file.read_bytes(), type=_Record)
    except (OSError, ValueError, msgspec.MsgspecError):
        return None

"""Incremental publication: a site whose inputs have not changed since it was published is not published again.

A record in the cache holds the digests of the inputs: options, configuration, sources and HTML. Generators delete what
they did not write, so `roaming build` carries the published files across a build, and keeps them if the new HTML is the
same. The record is only a shortcut: with any difference, or without it, the site is published from the beginning.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path

import msgspec

from mkdocs_roaming._version import __version__
from mkdocs_roaming.manifest.io import MANIFEST_PATH
from mkdocs_roaming.manifest.models import LLMS_TXT
from mkdocs_roaming.publish.cache import CONVERTER_VERSION
from mkdocs_roaming.publish.ownership import PublishedFiles
from mkdocs_roaming.publish.writer import PublishReport
from mkdocs_roaming.sources import is_ignored
from mkdocs_roaming.sources.page_sources import expand_snippets
from mkdocs_roaming.sources.project import IndexOptions

_RECORD = "published.msgpack"
_CARRIED = "carried"
_SECTIONS = "roaming/sections"
_ROOT_FILES = (LLMS_TXT, "sitemap.xml")
"""Files of the site that are inputs: a text of the author, and the address of a site without configuration."""

_Stat = tuple[int, int]


class _Record(msgspec.Struct):
    """A published site.

    Attributes:
        inputs: Digest of options, configuration and sources.
        root: Digest of the files of the site that are inputs, too.
        html: Digests of each HTML file, as built and as published.
        files: Size and modification time of all files that were written.
        report: The result.
        warnings: The warnings, which are repeated.
    """

    inputs: str
    root: str
    html: dict[str, tuple[str, str]]
    files: dict[str, _Stat]
    report: PublishReport
    warnings: list[str]

    def others(self) -> list[str]:
        """Return the files that are not in the folder of sections, the manifest, which describes the others, last."""
        paths = [path for path in self.files if not path.startswith(f"{_SECTIONS}/")]
        return sorted(paths, key=lambda path: path == MANIFEST_PATH)


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
        self._record = _read_record(self._cache / _RECORD) if self._cache else None
        self._html: dict[str, str] = {}
        self._inputs = ""

    def take_out(self) -> None:
        """Move the published files out of the site, before its generator runs. Files that were changed since stay."""
        if self._cache is None or self._record is None:
            return
        files = self._record.files
        carried = self._cache / _CARRIED
        shutil.rmtree(carried, ignore_errors=True)
        with suppress(OSError):
            carried.mkdir(parents=True)
            if all(files.get(path) == stat for path, stat in self._iter_section_stats()):
                (self._folder / _SECTIONS).rename(carried / "sections")
        for number, path in enumerate(self._record.others()):
            if path == LLMS_TXT and self._options.publish.llms_txt is not True:
                continue  # it contains an author's text, which may be gone
            if _stat(self._folder / path) != files[path]:
                continue
            with suppress(OSError):
                if path in self._record.html:  # the generator may compare its sources with its output
                    os.link(self._folder / path, carried / str(number))
                else:
                    (self._folder / path).rename(carried / str(number))

    def put_back(self, *, failed: bool) -> None:
        """Move the published files back if they would be published again, or if the generator has failed."""
        if self._cache is None or self._record is None:
            return
        record, carried = self._record, self._cache / _CARRIED
        self._html, self._inputs = self._digest_html(), self._digest_inputs()
        is_same = record.inputs == self._inputs and record.html.keys() == self._html.keys()
        is_same = is_same and all(digest in record.html[path] for path, digest in self._html.items())
        for number, path in reversed([*enumerate(record.others() if is_same or failed else ())]):
            source, target = carried / str(number), self._folder / path
            with suppress(OSError):
                if path in record.html:
                    built, published = record.html[path]
                    if built != published and self._html.get(path) == built and _stat(source) == record.files[path]:
                        source.replace(target)
                        self._html[path] = published
                elif not os.path.lexists(target):
                    target.parent.mkdir(parents=True, exist_ok=True)
                    source.rename(target)
        if (is_same or failed) and not os.path.lexists(self._folder / _SECTIONS):
            with suppress(OSError):
                (carried / "sections").rename(self._folder / _SECTIONS)
        shutil.rmtree(carried, ignore_errors=True)

    def find_unchanged(self, warn: Callable[[str], None]) -> PublishReport | None:
        """Return the report of the last publication if publishing again would change nothing."""
        if self._cache is None or not self._folder.is_dir():
            return None
        if not self._inputs:
            self._html, self._inputs = self._digest_html(), self._digest_inputs()
        record = self._record
        if record is None or (record.inputs, record.root) != (self._inputs, self._digest_root()):
            return None
        if record.html.keys() != self._html.keys():
            return None
        if any(record.html[path][1] != digest for path, digest in self._html.items()):
            return None
        sections = dict(self._iter_section_stats())  # nine in ten of all files
        for path, stat in record.files.items():
            if path not in record.html and (sections.get(path) or _stat(self._folder / path)) != stat:
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
        known = self._record.html if self._record else {}
        published = self._digest_html()
        html = {
            path: (known[path][0] if path in known and known[path][1] == built else built, published.get(path, ""))
            for path, built in self._html.items()
        }
        paths = {*PublishedFiles(self._folder).iter_paths(), *html}
        paths |= {file.relative_to(self._folder).as_posix() for file in self._folder.glob("roaming/*.*")}
        files = {path: stat for path in sorted(paths) if (stat := _stat(self._folder / path))}
        record = _Record(self._inputs, self._digest_root(), html, files, report, warnings)
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
            from mkdocs_roaming.html.themes import load_themes  # few sites have themes of their own

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

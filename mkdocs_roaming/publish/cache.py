"""Conversions of earlier builds, one JSON file per page, and the files that were made of them; safe to delete.

A cached page is used only if its article, the languages of its code, the themes, the converter's version and the
target of every link are unchanged. So a new page causes a new conversion only of the pages that link to it. Links are
not resolved again if the site has the same pages and redirects.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import msgspec

from mkdocs_roaming._json import decode_json, prepare
from mkdocs_roaming._version import __version__
from mkdocs_roaming.files import overwrite_file, write_atomically
from mkdocs_roaming.manifest.models import LlmsTxtEntry, Page, Section

CONVERTER_VERSION = "21"
"""Increased when the converter's code returns another Markdown or manifest for the same HTML.

Cached pages are converted again then, as they are after a change of a theme (see `digest_themes`).
"""

_FORMAT = "3"
_NAME_CHARS = 20
_SITE_NAME = "site.msgpack"


@dataclass(frozen=True, slots=True)
class ConvertedPage:
    """The Markdown of a page, its sections, and the URL of each of its links and images by their `href` and `src`."""

    markdown: str
    sections: tuple[Section, ...]
    links: dict[str, str]
    images: dict[str, str]


# `SiteFile` and `SiteFiles` are not in `site_files`, which makes them: it imports the skill, which uses them as well.
class SiteFile(msgspec.Struct, array_like=True, frozen=True):
    """A file of a site: text, a slice of the Markdown of the page with an index in nav order, and text."""

    path: str
    head: bytes
    page: int = 0
    start: int = 0
    end: int = 0
    tail: bytes = b""


class SiteFiles(msgspec.Struct, frozen=True):
    """The files of a site, apart from those that are the Markdown of its pages, and what a report says about them."""

    key: str
    """Digest of what they depend on."""
    files: list[SiteFile]
    llms_txt: LlmsTxtEntry
    sections: int
    tokens: int
    outline_tokens: int
    markdown: int
    notes: list[str] = []


class _PageEntry(msgspec.Struct):
    key: str
    addresses: str
    """Digest of what the targets of its links depend on."""
    page: ConvertedPage


@dataclass(slots=True)
class ConversionCache:
    """Conversions of earlier builds in a folder.

    Attributes:
        folder: The folder of the cache; None disables it.
        write_through: Write each conversion at once. By default conversions stay in memory until `commit`, because a
            plugin may still encrypt or hide the page.
        reused: Number of conversions that were in the cache.
    """

    folder: Path | None
    write_through: bool = False
    reused: int = 0
    _new: dict[str, _PageEntry] = field(default_factory=dict)
    _site: SiteFiles | None = None

    def get(
        self, page: Page, pointer: str, addresses: str, link: Callable[[str], str], image: Callable[[str], str]
    ) -> ConvertedPage | None:
        """Return the cached conversion of a page, or None if converting it now would give another result."""
        if self.folder is None:
            return None
        try:
            entry = decode_json((self.folder / _file_name(page.path)).read_bytes(), _PageEntry)
        except (OSError, ValueError):
            return None
        if entry.key != _page_key(page, pointer):
            return None
        cached = entry.page
        self._new.pop(page.path, None)  # an earlier conversion may show what is hidden now
        if entry.addresses != addresses:
            if any(link(href) != url for href, url in cached.links.items()):
                return None
            if any(image(src) != url for src, url in cached.images.items()):
                return None
            self._new[page.path] = _PageEntry(entry.key, addresses, cached)
        self.reused += 1
        return cached

    def put(self, page: Page, pointer: str, addresses: str, converted: ConvertedPage) -> None:
        """Add a conversion, which `commit` writes when it is certain that the page is published."""
        if self.folder is None:
            return
        self._new[page.path] = _PageEntry(_page_key(page, pointer), addresses, converted)
        if self.write_through:
            with suppress(OSError):
                self._write(page.path)

    def read_site(self, key: str) -> SiteFiles | None:
        """Return the files of the last build if they have this key."""
        if self.folder is None:
            return None
        try:
            cached = msgspec.msgpack.decode((self.folder / _SITE_NAME).read_bytes(), type=prepare(SiteFiles))
        except (OSError, ValueError, msgspec.MsgspecError):
            return None
        self._site = cached if cached.key == key else None
        return self._site

    def commit(self, paths: Collection[str], site: SiteFiles | None = None) -> None:
        """Write the conversions of the published pages, given by their paths, and the files of the site; delete others.

        The cleartext of a page that was excluded late, for example because it is encrypted, must not stay in the
        cache. If the folder is not writable, nothing is cached.
        """
        if self.folder is None:
            return
        names = set(map(_file_name, paths))
        try:
            for path in paths:
                if path in self._new:
                    self._write(path)
            for file in self.folder.glob("*.json"):
                if file.name not in names:
                    file.unlink(missing_ok=True)
            if site is None:
                (self.folder / _SITE_NAME).unlink(missing_ok=True)
            elif site is not self._site:
                write_atomically(self.folder / _SITE_NAME, msgspec.msgpack.encode(site))
        except (OSError, UnicodeEncodeError):
            return

    def _write(self, path: str) -> None:
        assert self.folder is not None
        entry = self._new.pop(path)
        with suppress(UnicodeEncodeError):  # text with lone surrogates is not cached
            # A part of it, after an interruption, cannot be decoded.
            overwrite_file(self.folder / _file_name(path), msgspec.json.encode(entry))


def project_cache_folder(project: Path) -> Path:
    """Return the cache folder of a project."""
    return project.absolute() / ".cache" / "roaming"


def _file_name(path: str) -> str:
    digest = hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{digest[:_NAME_CHARS]}.json"


def _page_key(page: Page, pointer: str) -> str:
    parts = [_FORMAT, __version__, CONVERTER_VERSION, pointer, page.title, page.article, *chain(*page.code_languages)]
    if page.markdown is not None:
        parts += [page.markdown, repr(page.headings)]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()

"""A published site, opened: its manifest, and the text of its sections, each checked against its digest."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit, urlunsplit

from mkdocs_roaming.errors import DigestMismatchError, LibraryError, ManifestNotFoundError, RoamingError
from mkdocs_roaming.library.markdown_file import split_markdown_file
from mkdocs_roaming.library.readers import (
    LLMS_FULL,
    MAX_MANIFEST_BYTES,
    MAX_MARKDOWN_BYTES,
    FolderReader,
    MemoryReader,
    MissingFileError,
    Reader,
    WebReader,
    parent_url,
    read_file,
)
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.models import Manifest, PageEntry, SectionEntry
from mkdocs_roaming.manifest.sections import slice_digest
from mkdocs_roaming.plugins import load_entry_points

__all__ = ["PAGE_CACHE_BYTES", "Library", "library_from_markdown", "open_library"]

T = TypeVar("T")

PAGE_CACHE_BYTES = 96 * 2**20
"""The bytes of pages that are kept, the least recently read going first."""


class Library:
    """A manifest and a way to its texts. May be read from several threads."""

    def __init__(
        self,
        manifest: Manifest,
        reader: Reader,
        *,
        keep: int = PAGE_CACHE_BYTES,
        clock: Callable[[], float] = time.monotonic,
        naming: Callable[[Manifest], Manifest] = lambda manifest: manifest,
    ) -> None:
        self.manifest = naming(manifest)
        self.sections = SectionIndex(self.manifest)
        self.trusted = not reader.is_remote and all(page.origin == "html" for page in manifest.pages)
        """Whether its rules are followed: those of a folder's owner are, unless what lies there was fetched."""
        self.is_local = not reader.is_remote
        """Whether reading it waits for nobody; whoever brought all pages nearer may say so of a distant one, too."""
        self._reader = reader
        self._naming = naming
        self._pages = _Kept(keep)
        self._lock = threading.Lock()
        self._looking = threading.Lock()
        self._wrong: dict[str, float] = {}
        self._clock = clock
        self._made: OrderedDict[Hashable, object] = OrderedDict()
        self._newer: tuple[float, SectionIndex | None] = (float("-inf"), None)

    @property
    def where(self) -> str:
        """The folder or address that it was opened from."""
        return self._reader.where

    @property
    def is_published(self) -> bool:
        """Whether it is a published site, and not a Markdown file that is read as one."""
        return not isinstance(self._reader, MemoryReader)

    def rename_ids(self, naming: Callable[[Manifest], Manifest]) -> Library:
        """Give a library of the same texts whose ids are other ones; its pages are read anew."""
        return Library(self.manifest, self._reader, keep=self._pages.limit, clock=self._clock, naming=naming)

    def text(self, place: SectionRef) -> str:
        """Give a section's own text, up to its first subsection.

        Raises LibraryError where the page cannot be read, WrongSlice where it doesn't fit its digest, looked at again.
        """
        data = self._pages.get(place.page.markdown)
        if data is None:
            data = self._reader.file(place.page.markdown)
            self._pages.put(place.page.markdown, data)
        piece = _fitting(data, place.section)
        if piece is None:
            piece = self._second_look(place)
        return piece.decode("utf-8", "replace")

    def file(self, path: str, cache_key: str = "") -> bytes:
        """Give a published file as it is now, its path below the site's root; `again` gets past caches on the way.

        Raises LibraryError where it cannot be read.
        """
        return self._reader.manifest() if path == MANIFEST_PATH else self._reader.file(path, cache_key)

    def version(self) -> str:
        """Return a text that changes when the site publishes another manifest.

        Raises:
            LibraryError: The manifest cannot be read.
        """
        return self._reader.version()

    def prefetch(self, pages: Sequence[PageEntry] | None = None) -> None:
        """Bring pages (all where None) nearer than one by one: llms-full.txt in one request, or several at once.

        What cannot be had is left for `text` to speak of.
        """
        if not self._reader.is_remote:
            return
        wanted = [
            page for page in (self.manifest.pages if pages is None else pages) if page.markdown not in self._pages
        ]
        size = sum(page.bytes for page in self.manifest.pages)
        if len(wanted) > _ONE_BY_ONE and size <= min(self._pages.limit, MAX_MARKDOWN_BYTES):
            wanted = self._take_full(wanted)
        if sum(page.bytes for page in wanted) > self._pages.limit:
            return
        with ThreadPoolExecutor(_AT_ONCE) as several:
            list(several.map(self._take_page, wanted))

    def memoize(self, key: Hashable, make: Callable[[], T]) -> T:
        """Give what depends on the library and a key alone, made once: an outline, the places of a scope."""
        with self._lock:
            if key in self._made:
                self._made.move_to_end(key)
                return cast(T, self._made[key])
        made = make()
        with self._lock:
            self._made[key] = made
            if len(self._made) > _MADE:
                self._made.popitem(last=False)
        return made

    def _take_full(self, wanted: Iterable[PageEntry]) -> list[PageEntry]:
        """Take pages out of llms-full.txt; give those that are not in it as the manifest says."""
        wanted = list(wanted)
        if any(page.full is None for page in wanted):
            return wanted
        try:
            data = memoryview(self._reader.file(LLMS_FULL))
        except LibraryError:
            return wanted
        left: list[PageEntry] = []
        for page in wanted:
            start = page.full or 0
            piece = bytes(data[start : start + page.bytes]) if start >= 0 else b""
            if "sha256:" + hashlib.sha256(piece).hexdigest() == page.digest:
                self._pages.put(page.markdown, piece)
            else:
                left.append(page)
        return left

    def _take_page(self, page: PageEntry) -> None:
        with suppress(LibraryError):
            self._pages.put(page.markdown, self._reader.file(page.markdown))

    def _second_look(self, place: SectionRef) -> bytes:
        """Fetch the page again past caches, then the manifest: either may be of another deployment."""
        section = place.section
        wrong = DigestMismatchError(
            f"{self.where}: section {place.id} of {place.page.markdown} does not fit its digest; "
            "the site was changed after it was published: try again later, or publish it again"
        )
        if self._reader.is_remote and self._clock() - self._wrong.get(place.id, float("-inf")) < _MINUTE:
            raise wrong  # as it was a moment ago: nobody's server is asked again and again
        data = self._reader.file(place.page.markdown, cache_key=section.digest)
        piece = _fitting(data, section)
        if piece is not None:
            self._pages.put(place.page.markdown, data)
            return piece
        newer = self._newer_places(section.digest)
        heir = newer.get(place.id) if newer else None
        if heir is not None:
            if heir.page.markdown != place.page.markdown:
                data = self._reader.file(heir.page.markdown, cache_key=heir.section.digest)
            piece = _fitting(data, heir.section)
            if piece is not None:
                return piece
        self._wrong[place.id] = self._clock()
        raise wrong

    def _newer_places(self, cache_key: str) -> SectionIndex | None:
        """Give the places of the manifest as it is now; asked for once a minute at most."""
        with self._looking:
            at, newer = self._newer
            if self._clock() - at > _MINUTE:
                newer = None
                with suppress(RoamingError):
                    newer = SectionIndex(
                        self._naming(load_manifest(self._reader.manifest(f"?v={cache_key}"), where=self.where))
                    )
                self._newer = (self._clock(), newer)
            return newer


def open_library(where: str | Path) -> Library:
    """Open a published site (its folder or address, or its manifest's), or one Markdown file as if it were a site.

    Raises LibraryError where nothing can be opened, NoManifest where a site publishes none, ManifestError where it
    publishes one that cannot be read.
    """
    if isinstance(where, str) and where.lower().startswith(("http://", "https://")):
        return _open_url(where)
    if isinstance(where, str) and "://" in where:
        return _open_site_with_plugins(where)
    return _open_path(Path(where))


def open_with_plugins(where: str, **options: object) -> Any:
    """Return what the first plugin of the group `roaming.libraries` opens, a `LibraryTarget`.

    Raises:
        LibraryError: No plugin knows the scheme of an address, or a plugin cannot read what it knows.

    Returns:
        The target, or None if `where` is a folder that no plugin knows.
    """
    for open_target in load_entry_points("roaming.libraries").values():
        if (target := open_target(where, **options)) is not None:
            return target
    if "://" in where:
        raise LibraryError(f"{where}: only http:// and https:// addresses, folders and Markdown files can be opened")
    return None


def _open_site_with_plugins(where: str) -> Library:
    return cast(Library, open_with_plugins(where).open_site())


def library_from_markdown(markdown: str, *, name: str = "Markdown", url: str = "") -> Library:
    """Give a library of one Markdown text: a README, somebody's llms-full.txt. Several H1s become several pages."""
    return _library_of(markdown, name, url, where=url or name)


# A folder, a file


def _open_path(path: Path) -> Library:
    try:
        if path.is_dir():
            return _open_folder(path)
        found = path.is_file()
    except (OSError, ValueError):
        found = False
    if not found:
        raise LibraryError(f"{path}: no such folder or file; check the path; an address begins with https://")
    if path.suffix == ".json":
        root = path.resolve().parent
        return _open_folder(root.parent if root.name == "roaming" else root, path)
    if path.suffix in _SETTINGS:
        raise LibraryError(f"{path}: settings, no site; build the site, then name the folder that the build writes")
    text = _markdown(read_file(path, MAX_MARKDOWN_BYTES), str(path))
    return _library_of(text, path.stem, path.resolve().as_uri(), where=str(path))


def _open_folder(path: Path, manifest: Path | None = None) -> Library:
    if manifest is None and path.name == "roaming" and (path / "manifest.json").is_file():
        path = path.parent
    reader = FolderReader(path, where=str(path))
    try:
        data = reader.manifest() if manifest is None else read_file(manifest, MAX_MANIFEST_BYTES)
    except MissingFileError:
        if manifest is None and (target := open_with_plugins(str(path))) is not None:
            return cast(Library, target.open_site())
        raise ManifestNotFoundError(f"{path}: no {MANIFEST_PATH} in this folder; {_folder_cure(path)}") from None
    return Library(load_manifest(data, where=str(manifest or path / MANIFEST_PATH)), reader)


def _folder_cure(path: Path) -> str:
    below = sorted(each.parents[1] for pattern in ("*", "*/*") for each in path.glob(f"{pattern}/{MANIFEST_PATH}"))
    if below:
        return f"name a site in it, such as {below[0]}"
    if any(file for pattern in ("*.html", "*/*.html") for file in path.glob(pattern)):
        return f"make one with `roaming index {path}`"
    return "build the site first, then name the folder that the build writes, such as site/"


# An address


def _open_url(url: str) -> Library:
    try:
        parts = urlsplit(url)
        bare = urlunsplit((parts.scheme.lower(), parts.netloc, parts.path or "/", "", ""))
    except ValueError as error:
        raise LibraryError(f"{url}: no address ({error})") from None
    name = PurePosixPath(parts.path).name.lower()
    if name.endswith(_MARKDOWN) and name != "llms.txt":
        answer = WebReader(bare).get(urlunsplit(parts._replace(fragment="")), MAX_MARKDOWN_BYTES)
        return _library_of(_markdown(answer.body, url), PurePosixPath(parts.path).stem, answer.url, where=url)
    if name.endswith(".json"):
        return _open_site(bare)
    if name == "llms.txt" or name.endswith((".html", ".htm")):
        bare = parent_url(bare)
    root = bare if bare.endswith("/") else bare + "/"
    try:
        return _open_site(root + MANIFEST_PATH)
    except (MissingFileError, _NotJsonError):
        return _open_elsewhere(root, url)


class _NotJsonError(LibraryError):
    """A page answered where the manifest should."""


def _open_site(manifest: str) -> Library:
    """Open a site by its manifest's address; paths are resolved against the one that answered in the end."""
    web = WebReader(parent_url(manifest))
    answer = web.get(manifest, MAX_MANIFEST_BYTES)
    if _is_html(answer.body):
        raise _NotJsonError(f"{manifest}: answered a web page where the manifest should be; check the address")
    site = load_manifest(answer.body, where=manifest)
    final = answer.url.partition("?")[0] if answer.url.partition("?")[0].endswith("/" + MANIFEST_PATH) else manifest
    web.root = web.where = (
        final.removesuffix(MANIFEST_PATH) if final.endswith("/" + MANIFEST_PATH) else parent_url(final)
    )
    return Library(site, web)


def _open_elsewhere(root: str, asked: str) -> Library:
    """Look where the site's own address leads; else say what is there."""
    web = WebReader(root)
    home = web.get(asked, MAX_MARKDOWN_BYTES)
    target = parent_url(home.url.partition("?")[0].partition("#")[0])
    if home.kind.startswith(("text/markdown", "text/plain")) and not asked.endswith("llms.txt"):
        return _library_of(_markdown(home.body, asked), PurePosixPath(urlsplit(asked).path).stem, home.url, where=asked)
    if target != root:
        with suppress(MissingFileError, _NotJsonError):
            return _open_site(target + MANIFEST_PATH)
    cure = f"crawl it with `roaming crawl {root} -o DIR`"
    try:
        has_index = not _is_html(web.get(root + "llms.txt", MAX_MARKDOWN_BYTES).body)
    except LibraryError:
        has_index = False
    if has_index:
        raise ManifestNotFoundError(f"{root}: has an llms.txt but publishes no {MANIFEST_PATH}; {cure}")
    raise ManifestNotFoundError(f"{root}: publishes no {MANIFEST_PATH}; {cure}")


# One Markdown text


def _library_of(markdown: str, name: str, url: str, *, where: str) -> Library:
    manifest, reader = split_markdown_file(markdown, name=name, url=url, where=where)
    return Library(manifest, reader)


def _markdown(data: bytes, where: str) -> str:
    if _is_html(data):
        raise LibraryError(f"{where}: a web page, not Markdown; give a site's address, or a Markdown file's")
    if b"\0" in data[:8192]:
        raise LibraryError(f"{where}: not a text; give a folder, an address, or a Markdown file")
    return data.decode("utf-8", "replace")


def _is_html(data: bytes) -> bool:
    return data[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith((b"<!doctype html", b"<html", b"<head"))


# Pages that were read


class _Kept:
    """Pages by path, the least recently read dropped when they are too many bytes."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._size = 0
        self._pages: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def __contains__(self, path: str) -> bool:
        return path in self._pages

    def get(self, path: str) -> bytes | None:
        with self._lock:
            if path in self._pages:
                self._pages.move_to_end(path)
            return self._pages.get(path)

    def put(self, path: str, data: bytes) -> None:
        with self._lock:
            self._size += len(data) - len(self._pages.pop(path, b""))
            self._pages[path] = data
            while self._size > self.limit and len(self._pages) > 1:
                self._size -= len(self._pages.popitem(last=False)[1])


def _fitting(data: bytes, section: SectionEntry) -> bytes | None:
    piece = data[section.start : section.end]
    return piece if slice_digest(piece) == section.digest else None


_SETTINGS = (".yml", ".yaml", ".toml")
_MARKDOWN = (".md", ".markdown", ".mdx", ".txt")
_MADE = 64
_ONE_BY_ONE = 4
_AT_ONCE = 6
_MINUTE = 60.0

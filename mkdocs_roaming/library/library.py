"""A published site that is open for reading: its manifest and the text of its sections, verified by their digests."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from string import ascii_letters, digits
from typing import TypeVar, cast
from urllib.parse import urlsplit

from msgspec import Struct

from mkdocs_roaming.errors import DigestMismatchError, LibraryError, RoamingError, UsageError
from mkdocs_roaming.library.readers import MAX_MARKDOWN_BYTES, MemoryReader, Reader, is_web_url
from mkdocs_roaming.library.search import Search, SearchResult, says_little, to_search_result
from mkdocs_roaming.manifest.expand import expand_section
from mkdocs_roaming.manifest.io import MANIFEST_PATH, LeftOutPage, load_left_out, load_manifest
from mkdocs_roaming.manifest.lookup import Scope, SectionIndex, SectionRef
from mkdocs_roaming.manifest.models import LLMS_FULL, OUTLINE_BUDGET, Manifest, PageEntry
from mkdocs_roaming.manifest.sections import extract_pages
from mkdocs_roaming.search.ranking import parse_query
from mkdocs_roaming.text.markdown import to_single_line, truncate_at_word
from mkdocs_roaming.text.tokenizer import extract_terms

T = TypeVar("T")

PAGE_CACHE_BYTES = 96 * 2**20
"""Default size of a library's page cache."""

_MAX_SINGLE_REQUESTS = 4
"""Up to this number, pages are fetched one by one instead of as llms-full.txt."""
_PARALLEL_REQUESTS = 6
_RECHECK_SECONDS = 60.0
_MAX_SCOPES = 16
"""Number of restricted libraries that stay in memory with their outlines: clients choose scopes."""

MAX_LABEL_CHARS = 260
"""Maximum length of the label of one site."""

_MAX_HOST_CHARS = 120
_HOST_CHARS = frozenset(ascii_letters + digits + ".:[]-")
_MAX_TITLE_CHARS = 120
_MIN_SHARED_WORDS = 2
"""Minimum number of query words, or all, in the titles of a page outside of a bundle for the page to be named."""


class Origin(Struct, frozen=True):
    """Where a result is from, if that is a third-party site.

    Attributes:
        hosts: The hosts of the sites.
        flags: What a crawl has found in the sections of the result; see `text.injection.Kind`.
    """

    hosts: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    def __or__(self, other: Origin) -> Origin:
        """Return the origin of two results together."""
        hosts = dict.fromkeys(self.hosts + other.hosts)
        flags = dict.fromkeys(self.flags + other.flags)
        return Origin(tuple(hosts), tuple(flags))

    def render(self) -> str:
        """Return the line above a result; empty for an own site."""
        if not self.hosts:
            return ""
        flags = f", flagged by the crawl: {', '.join(self.flags)}" if self.flags else ""
        return f"untrusted content from {', '.join(self.hosts)}{flags}\n"


OWN = Origin()
"""The origin of results from an own site."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section that is opened for reading.

    Example:
        ```python
        section = library.expand("guide/harbour/#drain")
        for part in range(2, section.parts + 1):
            print(library.expand(section.id, part=part).text)
        ```

    Attributes:
        id: The section's id, stable over builds: 8 hexadecimal digits.
        title: Its heading.
        breadcrumb: The titles above it in the navigation and on its page, and its own.
        url: Its address.
        text: Its Markdown, with the subsections that fit.
        part: The number of this part, from 1: a long section has several.
        parts: The number of parts.
        subsections: The ids of subsections that did not fit.
    """

    id: str
    title: str
    breadcrumb: tuple[str, ...]
    url: str
    text: str
    part: int = 1
    parts: int = 1
    subsections: tuple[str, ...] = ()


class Library:
    """A published site that is open for reading; `open_library` returns it. It may be used from several threads.

    Example:
        ```python
        library = mkdocs_roaming.open_library("site")
        for result in library.search("drain window", limit=3):
            print(result.id, result.title, result.url)
            print(library.expand(result.id).text)
        ```

    Args:
        manifest: The site's manifest.
        reader: The source of the site's files.
        cache_bytes: Size of the page cache.
        transform: Applied to every manifest of the site, to change its ids.
    """

    def __init__(
        self,
        manifest: Manifest,
        reader: Reader,
        *,
        cache_bytes: int = PAGE_CACHE_BYTES,
        transform: Callable[[Manifest], Manifest] = lambda manifest: manifest,
    ) -> None:
        self.manifest = transform(manifest)
        self.sections = SectionIndex(self.manifest)
        is_own = not (reader.is_remote or reader.is_crawled or manifest.crawled_from)
        self.trusted = is_own and all(page.origin == "html" for page in manifest.pages)
        """Whether the site's rules are applied: those of a local folder are, unless a crawler wrote it."""
        self.is_local = not reader.is_remote
        """Whether reads wait for no network. It may be set for a remote site whose pages are prefetched."""
        self.note = reader.note
        """What readers should know of the site, as a message."""
        self.is_list = reader.is_list
        """Whether it is a text that only lists pages."""
        self._reader = reader
        self._transform = transform
        self._pages = _PageCache(cache_bytes)
        self._lock = threading.Lock()
        self._update_lock = threading.Lock()
        self._mismatches: dict[str, float] = {}
        self._search: Search | None = None
        self._memoized: dict[Hashable, object] = {}
        self._update: tuple[float, SectionIndex | None] = (float("-inf"), None)
        self._restrict = lru_cache(_MAX_SCOPES)(self._copy)
        self._whole: Library | None = None

    @property
    def where(self) -> str:
        """The folder or address that the library was opened from."""
        return self._reader.where

    def origin(self, ids: Iterable[str] = ()) -> Origin:
        """Return what labels text of a third-party site: its host, and the flags of sections."""
        if self.trusted:
            return OWN
        # The address that was opened, else that of the crawl; what the site says of itself comes last.
        where = self.where if is_web_url(self.where) else ""
        urls = (where, f"//{self.manifest.crawled_from}", self.manifest.site.url)
        host = next(filter(None, map(extract_host, urls)), "")
        if not host:
            return OWN
        flags: set[str] = set()
        for section in map(self.sections.get, ids):
            if section:
                flags.update(section.section.flags)
        return Origin((host,), tuple(kind for kind in _KINDS if kind in flags))

    @property
    def whole(self) -> Library:
        """The library of the whole site, if this one is restricted to a scope."""
        return self._whole or self

    def restrict(self, scope: Scope) -> Library:
        """Return a library of the pages in a scope alone: others are neither listed nor found, opened or cited.

        It shares files, page cache and search index with this library.

        Example:
            ```python
            guide = library.restrict(mkdocs_roaming.Scope(paths=("guide/**",)))
            print(guide.outline())
            ```

        Args:
            scope: The visible part of the site.

        Raises:
            UsageError: No page is in the scope, or the site has another version.
        """
        return self._restrict(scope.normalize()) if scope else self

    def _get_search(self) -> Search:
        if self._whole is not None:
            return self._whole._get_search().restrict(self)
        with self._lock:
            self._search = self._search or Search(self)
            return self._search

    def _copy(self, scope: Scope) -> Library:
        restricted = copy(self)
        restricted.manifest = scope.restrict(self.manifest)
        restricted.sections = SectionIndex(restricted.manifest)
        restricted._whole = self.whole
        restricted._memoized = {}
        restricted._restrict = lru_cache(_MAX_SCOPES)(restricted._copy)
        return restricted

    def search(self, query: str, *, limit: int = 10) -> list[SearchResult]:
        """Return the sections that match a query best, best first.

        Example:
            ```python
            results = library.search("How do I drain the harbour?", limit=3)
            ```

        Args:
            query: A question, words, or the id or address of a section.
            limit: Maximum number of results.
        """
        return [to_search_result(self.sections, hit) for hit in self._get_search().find(query, limit=limit)]

    def find_left_out(self, query: str) -> str:
        """Return the line that names the page of the site which fits a query best and is not in this bundle of it.

        It is empty unless the titles of the page contain two words of the query, or all, and more than those of any
        page in the bundle.
        """
        own, left_out = self.memoize("titles", self._read_titles)
        if not left_out:
            return ""
        words = [word for word in parse_query(query, self.manifest.site.language) if not says_little(word)]

        def count_words(terms: set[str]) -> int:
            return sum(any(map(terms.issuperset, word.runs)) for word in words)

        page, terms = max(left_out, key=lambda entry: count_words(entry[1]))
        count = count_words(terms)
        if count < min(_MIN_SHARED_WORDS, len(words)) or any(count_words(titles) >= count for titles in own):
            return ""
        title = truncate_at_word(to_single_line(page.title), _MAX_TITLE_CHARS)
        return f"Not in this bundle: {title}, {to_single_line(page.url)}"

    def _read_titles(self) -> tuple[list[set[str]], list[tuple[LeftOutPage, set[str]]]]:
        """Return the terms of the titles of each page in a bundle, and the pages that are not, with theirs."""
        language = self.manifest.site.language
        pages = chain.from_iterable(map(load_left_out, self._reader.folders))
        left_out = [(page, set(extract_terms(f"{page.title} {page.titles}", language))) for page in pages]
        own: list[set[str]] = []
        for page in self.manifest.pages if left_out else ():
            titles = " ".join(section.title for section in page.sections)
            own.append(set(extract_terms(titles, language)))
        return own, left_out

    def outline(self, branch: str | None = None, *, tokens: int = OUTLINE_BUDGET) -> str:
        """Return the outline of the site, or of one branch of it, within a token budget.

        A line shows the id, title and opening of a section; `+12 inside` marks a branch that is closed to save tokens.

        Example:
            ```python
            print(library.outline(tokens=2000))
            ```

        Args:
            branch: The id of a navigation group, a page or a section; the whole site by default.
            tokens: Maximum size, in estimated tokens.

        Raises:
            UsageError: There is no such branch.
        """
        from mkdocs_roaming.manifest.outline import render_outline  # searches do not need it

        return render_outline(self.sections, budget=tokens, branch=branch)

    def expand(self, address: str, *, part: int = 1) -> Section:
        """Open a section with its subsections, as far as they fit into one part.

        Example:
            ```python
            section = library.expand("guide/harbour/#drain")
            ```

        Args:
            address: The section's id, its path with an anchor (`guide/harbour/#drain`), or its URL.
            part: The part of a long section.

        Raises:
            UsageError: There is no such section.
            LibraryError: The section cannot be read.
        """
        section = self.sections.find(address)
        if section is None:
            raise UsageError(f"{self.where}: no section {address!r}; outline() and search() return ids")
        opened = expand_section(self.sections, section, self.text, part=part)
        closed = tuple(section.id for section in opened.listed)
        return Section(
            opened.id, opened.title, opened.breadcrumb, opened.url, opened.text, opened.part, opened.parts, closed
        )

    @property
    def is_published(self) -> bool:
        """Whether this is a published site, and not a single Markdown file."""
        return not isinstance(self._reader, MemoryReader)

    def rename_ids(self, transform: Callable[[Manifest], Manifest]) -> Library:
        """Return a library of the same files, with other ids and an empty page cache."""
        return Library(self.manifest, self._reader, cache_bytes=self._pages.max_bytes, transform=transform)

    def text(self, section: SectionRef) -> str:
        """Return a section's own text, up to its first subsection.

        Raises:
            LibraryError: The page cannot be read.
            DigestMismatchError: The section's digest does not match, nor does that of a newer deployment.
        """
        data = self._pages.get(section.page.markdown)
        if data is None:
            data = self._reader.file(section.page.markdown)
            self._pages.put(section.page.markdown, data)
        text = section.section.cut(data)
        return self._read_updated(section) if text is None else text

    def file(self, path: str, cache_key: str = "") -> bytes:
        """Return a published file, uncached, by its path below the site's root.

        Args:
            path: The file's path.
            cache_key: Added to the URL to bypass HTTP caches.

        Raises:
            LibraryError: The file cannot be read.
        """
        return self._reader.manifest() if path == MANIFEST_PATH else self._reader.file(path, cache_key)

    def version(self) -> str:
        """Return a text that changes when the site publishes another manifest.

        Raises:
            LibraryError: The manifest cannot be read.
        """
        return hashlib.sha256(self._reader.manifest()).hexdigest()

    def prefetch(self, pages: Sequence[PageEntry] | None = None) -> None:
        """Load pages of a remote site (default: all) into the cache, with few or parallel requests.

        Errors are not raised here: `text` tries again, and raises them.
        """
        if not self._reader.is_remote:
            return
        wanted = self.manifest.pages if pages is None else pages
        missing = [page for page in wanted if page.markdown not in self._pages]
        size = sum(page.bytes for page in self.manifest.pages)
        if len(missing) > _MAX_SINGLE_REQUESTS and size <= min(self._pages.max_bytes, MAX_MARKDOWN_BYTES):
            missing = self._load_llms_full(missing)
        if sum(page.bytes for page in missing) > self._pages.max_bytes:
            return
        from concurrent.futures import ThreadPoolExecutor  # only readers of web sites pay for the import

        with ThreadPoolExecutor(_PARALLEL_REQUESTS) as executor:
            list(executor.map(self._load_page, missing))

    def memoize(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return a value that depends on the library and `key` only; `make` computes it once."""
        if key not in self._memoized:
            self._memoized[key] = make()
        return cast(T, self._memoized[key])

    def _load_llms_full(self, pages: list[PageEntry]) -> list[PageEntry]:
        """Load pages from llms-full.txt; return those that it does not contain as the manifest says."""
        if any(page.full is None for page in pages):
            return pages
        try:
            texts = extract_pages(pages, self._reader.file(LLMS_FULL))
        except LibraryError:
            return pages
        missing: list[PageEntry] = []
        for page in pages:
            if page.path in texts:
                self._pages.put(page.markdown, texts[page.path])
            else:
                missing.append(page)
        return missing

    def _load_page(self, page: PageEntry) -> None:
        with suppress(LibraryError):
            self._pages.put(page.markdown, self._reader.file(page.markdown))

    def _read_updated(self, section: SectionRef) -> str:
        """Read a section past HTTP caches, then by the current manifest: the page may be of another deployment."""
        entry = section.section
        mismatch = DigestMismatchError(
            f"{self.where}: section {section.id} of {section.page.markdown} does not fit its digest; "
            "the site was changed after it was published: try again later, or publish it again"
        )
        checked_at = self._mismatches.get(section.id, float("-inf"))
        if self._reader.is_remote and time.monotonic() - checked_at < _RECHECK_SECONDS:
            raise mismatch  # requests to somebody's server are limited
        data = self._reader.file(section.page.markdown, cache_key=entry.digest)
        text = entry.cut(data)
        if text is not None:
            self._pages.put(section.page.markdown, data)
            return text
        index = self._updated_index(entry.digest)
        updated = index.get(section.id) if index else None
        if updated is not None:
            if updated.page.markdown != section.page.markdown:
                data = self._reader.file(updated.page.markdown, cache_key=updated.section.digest)
            text = updated.section.cut(data)
            if text is not None:
                return text
        self._mismatches[section.id] = time.monotonic()
        raise mismatch

    def _updated_index(self, cache_key: str) -> SectionIndex | None:
        """Return the sections of the current manifest, read at most once a minute; None if it cannot be read."""
        with self._update_lock:
            read_at, index = self._update
            if time.monotonic() - read_at > _RECHECK_SECONDS:
                index = None
                with suppress(RoamingError):
                    manifest = load_manifest(self._reader.manifest(f"?v={cache_key}"), where=self.where)
                    index = SectionIndex(self._transform(manifest))
                self._update = (time.monotonic(), index)
            return index


class _PageCache:
    """The bytes of pages by path, least recently used first."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
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
            while self._size > self.max_bytes and len(self._pages) > 1:
                self._size -= len(self._pages.popitem(last=False)[1])


def extract_host(url: str) -> str:
    """Return the host and port of a URL, in characters that cannot imitate other text; empty without a host."""
    try:
        host = urlsplit(url).netloc.rpartition("@")[2]
    except ValueError:
        return ""
    shown = [character if character in _HOST_CHARS else "?" for character in host[:_MAX_HOST_CHARS]]
    return "".join(shown)


_KINDS = ("instruction", "hidden", "invisible", "exfiltration")
"""The flags that labels show: a manifest may be third-party data, with any others."""

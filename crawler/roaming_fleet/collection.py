"""The sites of a store as a library of libraries: a question goes to the few sites that it is about."""

from __future__ import annotations

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar
from weakref import WeakValueDictionary

from mkdocs_roaming.errors import LibraryError, ManifestError, RoamingError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Hit, Search
from mkdocs_roaming.library.targets import open_library
from roaming_fleet.buckets import BlobNotFoundError, BucketError, is_bucket_url
from roaming_fleet.objects import open_bucket
from roaming_fleet.ranking import QueryTerm, coverage_factor
from roaming_fleet.reader import SiteRegistry, open_bucket_site
from roaming_fleet.records import (
    HEAD_PATH,
    SITE_KEY,
    CatalogEntry,
    SiteNotCrawledError,
    SiteNotFoundError,
    SiteRecord,
    add_namespace,
)

T = TypeVar("T")
U = TypeVar("U")

MAX_ANSWER_SITES = 3
"""Maximum number of sites that are asked a question."""
MAX_SEARCHED_SITES = 5
"""Maximum number of sites that are searched to select those."""
REFRESH_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class RankedSite:
    """A site that may answer a question.

    Attributes:
        key: Key of the site in the store.
        entry: Its catalog entry.
        score: Score among the sites.
        state: `done`, or `failed` if the last crawl failed and an older copy is used.
    """

    key: str
    entry: CatalogEntry
    score: float
    state: str


@dataclass(frozen=True, slots=True)
class SiteHit:
    """A search hit on one of the sites."""

    site: RankedSite
    library: Library
    hit: Hit
    score: float


@dataclass(frozen=True, slots=True)
class _SearchedSite:
    site: RankedSite
    library: Library
    hits: Sequence[Hit]


@dataclass(frozen=True, slots=True)
class OpenSite:
    """An opened site with namespaced ids, such as `ruff:07f3277d`.

    Attributes:
        key: Key of the site in the store.
        entry: Its catalog entry.
        library: The library of the site.
        search: Search over the library.
        opened_at: Time of the last attempt to open the current copy.
    """

    key: str
    entry: CatalogEntry
    library: Library
    search: Search
    opened_at: float


class Collection:
    """The sites of a store. Recently used libraries stay open. Thread-safe.

    A crawl may run at the same time: the store is checked at intervals, and the last known state is used while it
    cannot be read.

    Attributes:
        where: URL or folder of the store.
        is_remote: Whether access goes over a network.

    Raises:
        LibraryError: The store, or a site of it, cannot be read.
    """

    def __init__(
        self,
        where: str | Path,
        *,
        search: Callable[[Library], Search] = Search,
        open_sites: int = MAX_SEARCHED_SITES,
        refresh_seconds: float = REFRESH_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open a store.

        Args:
            where: URL or folder of the store.
            search: Makes the search of a library.
            open_sites: Number of libraries that stay open.
            refresh_seconds: Interval between checks of the store.
            clock: Monotonic clock.
        """
        self.where = str(where)
        self.refresh_seconds = refresh_seconds
        self._make_search, self._max_open, self._clock = search, max(open_sites, 1), clock
        self._lock = threading.Lock()
        self._open: OrderedDict[str, OpenSite] = OrderedDict()
        self._opening: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
        try:
            bucket = open_bucket(where, is_interactive=True)
        except BucketError as error:
            raise LibraryError(str(error)) from None
        self.is_remote = bucket.is_remote
        self._registry = SiteRegistry(bucket, interval=refresh_seconds, clock=clock)

    def refresh(self) -> None:
        """Check the store now, for example in the background, so that no query waits for it."""
        self._registry.refresh()

    def health(self) -> tuple[int, str, bool]:
        """Return the number of readable sites, the catalog's generation, and whether they may be outdated.

        It does not wait for the store.
        """
        ranking = self._registry.last_ranking
        return ranking.crawled, ranking.generation, self._registry.is_stale

    @property
    def keys(self) -> Sequence[str]:
        """The keys of all sites."""
        return self._registry.ranking().keys

    @property
    def crawled(self) -> int:
        """The number of sites that have been crawled."""
        return self._registry.ranking().crawled

    @property
    def generation(self) -> str:
        """The id of the catalog, which changes with each update."""
        return self._registry.ranking().generation

    def records(self) -> Sequence[SiteRecord]:
        """Return the records of all sites in the order of their keys."""
        return self._registry.records()

    def find_by_url(self, url: str) -> list[tuple[str, str]]:
        """Return the sites that a URL may be on, the deepest first, each with the URL in the site's spelling."""
        return self._registry.find_by_url(url)

    def rank(self, question: str, limit: int = MAX_ANSWER_SITES, *, min_score: float = 0.5) -> list[RankedSite]:
        """Return the best sites for a question by the catalog; a question `key: …` selects one site.

        Args:
            question: The question.
            limit: Maximum number of sites.
            min_score: Minimum score relative to the best site.

        Raises:
            SiteNotFoundError: The named site was removed.
            SiteNotCrawledError: The named site has not been crawled.
        """
        if key := self.named_site(question):
            return [self._get_site(key)]
        try:
            found = self._registry.ranking().best(question, limit)
            found = [pair for pair in found if pair[1] >= min_score * found[0][1]]
        except BucketError as error:
            raise LibraryError(str(error)) from None

        def read(pair: tuple[str, float]) -> RankedSite | None:
            record = self._registry.record(pair[0])
            return RankedSite(pair[0], record.entry, pair[1], record.state) if record and record.entry else None

        return [site for site in self._for_each(read, found) if site]

    def named_site(self, question: str) -> str | None:
        """Return the site that a question names: `ruff: how are rules chosen?`."""
        match = re.match(rf"\s*({SITE_KEY})\s*:(?!//)", question, re.IGNORECASE)
        key = match[1].lower() if match else ""
        return key if key in self.keys else None

    def strip_site(self, question: str) -> str:
        """Return a question without the name of a site."""
        return question.partition(":")[2].strip() if self.named_site(question) else question

    def open(self, key: str) -> OpenSite:
        """Return a site with namespaced ids.

        Raises:
            SiteNotFoundError: There is no site with this key.
            SiteNotCrawledError: The site has not been crawled.
        """
        entry = self._get_site(key).entry
        with self._lock:
            cached = self._cached(key, entry)
            opening = self._opening.setdefault(key, threading.Lock())
        if cached is not None and (self._is_current(cached, entry) or opening.locked()):
            return cached  # while one thread opens a new copy, others use the old one
        with opening:
            with self._lock:
                cached = self._cached(key, entry)
            if cached is not None and self._is_current(cached, entry):
                return cached  # opened by another thread
            site = self._open_site(key, entry, cached)
            with self._lock:
                self._open[key] = site
                while len(self._open) > self._max_open:
                    self._open.popitem(last=False)
        return site

    def open_plain(self, key: str) -> Library:
        """Return a site with its own ids, as it publishes them."""
        where = f"{self.where.rstrip('/')}/{key}"
        return open_bucket_site(where) if is_bucket_url(where) else open_library(where)

    def choose(self, question: str) -> list[RankedSite]:
        """Return the best sites for a question, ranked by the catalog and by their best sections."""
        return [searched.site for searched in self._search_sites(question, _CHECKED_HITS)][:MAX_ANSWER_SITES]

    def find(self, query: str, *, limit: int = 10) -> list[SiteHit]:
        """Return the best sections of the best sites.

        Scores of different sites are not comparable, so the best hit of a site gets the score of the site.
        """
        found: list[SiteHit] = []
        searched_sites = self._search_sites(query, limit)[:MAX_ANSWER_SITES]
        for searched in searched_sites:
            site_score = searched.site.score / (searched_sites[0].site.score or 1.0)
            for hit in searched.hits:
                score = site_score * hit.score / (searched.hits[0].score or 1.0)
                found.append(SiteHit(searched.site, searched.library, hit, score))
        return sorted(found, key=lambda hit: -hit.score)[:limit]

    def _search_sites(self, question: str, limit: int) -> list[_SearchedSite]:
        """Search the candidate sites, and sort them by how well their best sections match."""
        words = self.strip_site(question)
        ranked = self.rank(question, MAX_SEARCHED_SITES)
        terms = self._query_terms(words) if len(ranked) > 1 else []

        def search(site: RankedSite) -> _SearchedSite:
            opened = self.open(site.key)
            hits = opened.search.find(words, limit=limit)
            factor = coverage_factor(opened.library, hits[:_CHECKED_HITS], terms) if len(ranked) > 1 else 1.0
            return _SearchedSite(replace(site, entry=opened.entry, score=site.score * factor), opened.library, hits)

        return sorted(self._for_each(search, ranked), key=lambda searched: -searched.site.score)

    def _query_terms(self, words: str) -> list[QueryTerm]:
        try:
            return self._registry.ranking().query_terms(words)
        except BucketError as error:
            raise LibraryError(str(error)) from None

    def _get_site(self, key: str) -> RankedSite:
        """Return a site by its key.

        Raises:
            SiteNotFoundError: There is no site with this key.
            SiteNotCrawledError: The site has not been crawled.
        """
        record = self._registry.record(key) if key in self._open or key in self.keys else None
        if record is None or record.entry is None:
            with self._lock:
                self._open.pop(key, None)
            raise SiteNotFoundError(self.where, key) if record is None else SiteNotCrawledError(self.where, record)
        return RankedSite(key, record.entry, 1.0, record.state)

    def _cached(self, key: str, entry: CatalogEntry) -> OpenSite | None:
        """Return an open site, with the current catalog entry if the texts are the same."""
        site = self._open.get(key)
        if site is None:
            return None
        if site.entry != entry and site.library.manifest.digest == entry.digest:
            site = self._open[key] = replace(site, entry=entry)
        self._open.move_to_end(key)
        return site

    def _is_current(self, site: OpenSite, entry: CatalogEntry) -> bool:
        """Return whether an open site is the current copy, or an attempt to open that has just failed."""
        return site.library.manifest.digest == entry.digest or self._clock() - site.opened_at < self.refresh_seconds

    def _open_site(self, key: str, entry: CatalogEntry, cached: OpenSite | None) -> OpenSite:
        """Open the current copy of a site; if that fails, for example during an upload, keep the cached one."""
        try:
            library = self.open_plain(key).rename_ids(partial(add_namespace, site=key))
            library.trusted = False  # a crawler wrote it, also where its state is missing
            return OpenSite(key, entry, library, self._make_search(library), self._clock())
        except RoamingError as error:
            if cached is not None:
                return replace(cached, opened_at=self._clock())
            if isinstance(error, ManifestError):  # not an error of the caller
                raise LibraryError(str(error)) from None
            raise

    def _for_each(self, action: Callable[[T], U], items: Iterable[T]) -> list[U]:
        """Call a function for several sites, concurrently if that waits for a network.

        Sites that fail, because they were removed or are being uploaded, are left out.

        Raises:
            LibraryError: All sites failed.
        """
        errors: list[RoamingError] = []

        def attempt(item: T) -> list[U]:
            try:
                return [action(item)]
            except RoamingError as error:
                errors.append(error)
                return []

        items = list(items)
        if self.is_remote and len(items) > 1:
            with ThreadPoolExecutor(min(len(items), _MAX_THREADS)) as threads:
                results = [result for part in threads.map(attempt, items) for result in part]
        else:
            results = [result for item in items for result in attempt(item)]
        if errors and not results:
            raise LibraryError(str(errors[0]))
        return results


def is_store(where: str) -> bool:
    """Return whether a URL or a folder is a store of many sites.

    Raises:
        LibraryError: A bucket cannot be read.
    """
    if where.lower().startswith(("http://", "https://")):
        return False
    try:
        return bool(open_bucket(where, is_interactive=True).get(HEAD_PATH))
    except BlobNotFoundError:
        return False
    except (BucketError, ValueError) as error:
        if is_bucket_url(where):  # else the caller would report that it is no site
            raise LibraryError(str(error)) from None
        return False


_CHECKED_HITS = 3
"""Number of hits per site that are checked to rank the sites."""
_MAX_THREADS = 8

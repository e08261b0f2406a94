"""The sites of a store as a library of libraries: a question goes to the few sites that it is about.

A crawl may run at the same time: the store is checked at intervals, and the last known state is used while it cannot be
read.
"""

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
from mkdocs_roaming.library.search import DEFAULT_HITS, Hit, Search
from mkdocs_roaming.library.targets import REFRESH_SECONDS, TargetHit, open_library
from mkdocs_roaming.text.markdown import pluralize
from roaming_fleet.catalog import read_records
from roaming_fleet.folder import StoreError, StoreFolder
from roaming_fleet.ranking import Ranking, coverage_factor
from roaming_fleet.records import (
    HEAD_PATH,
    CatalogEntry,
    SiteNotCrawledError,
    SiteNotFoundError,
    SiteRecord,
    add_namespace,
    read_record,
    site_info,
    without_terms,
)

T = TypeVar("T")
U = TypeVar("U")

MAX_ANSWER_SITES = 3
"""Maximum number of sites that are asked a question."""
MAX_SEARCHED_SITES = 5
"""Maximum number of sites that are searched to select those."""
_MIN_SCORE = 0.5
"""Minimum score of a site relative to the best one."""
_URL_SCHEME = re.compile(r"^[A-Za-z]+:/+")
"""The beginning of a URL, which may have lost a slash: `https:/docs.example`."""


@dataclass(frozen=True, slots=True)
class RankedSite:
    """A site that may answer a question.

    Attributes:
        key: Key of the site in the store.
        entry: Its catalog entry.
        score: Score among the sites.
    """

    key: str
    entry: CatalogEntry
    score: float


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


class SiteRegistry:
    """The catalog and the records of a store, refreshed at intervals. Thread-safe.

    Attributes:
        where: Folder of the store.
        refresh_seconds: Interval between checks of the store.

    Raises:
        StoreError: The store cannot be read, and never could be.
    """

    def __init__(self, where: str | Path, *, refresh_seconds: float, clock: Callable[[], float]) -> None:
        """Read the catalog."""
        self.where = str(where)
        self.refresh_seconds = refresh_seconds
        self._clock = clock
        self._store = StoreFolder(where)
        self._lock = threading.Lock()
        self._listing_lock = threading.Lock()
        self._records: dict[str, tuple[float, SiteRecord | None]] = {}
        self._listing: tuple[str, Sequence[SiteRecord]] | None = None  # the records, and their generation
        self._last_ranking = Ranking(self._store)
        self._refreshed_at = clock()
        self._is_stale = False

    @property
    def _ranking(self) -> Ranking:
        """The catalog, refreshed if it is due."""
        if self._clock() - self._refreshed_at >= self.refresh_seconds:
            self.refresh()
        return self._last_ranking

    def refresh(self) -> None:
        """Check the store now, for example in the background, so that no query waits for it."""
        self._refreshed_at = self._clock()
        try:
            self._last_ranking.refresh()
            self._is_stale = False
        except StoreError:
            self._is_stale = True  # the next read raises the error

    def health(self) -> tuple[int, str, bool]:
        """Return the number of readable sites, the catalog's generation, and whether they may be outdated.

        It does not wait for the store.
        """
        head = self._last_ranking.head
        return head.crawled, head.generation, self._is_stale

    @property
    def keys(self) -> Sequence[str]:
        """The keys of all sites."""
        return self._ranking.head.keys

    @property
    def crawled(self) -> int:
        """The number of sites that have been crawled."""
        return self._ranking.head.crawled

    @property
    def generation(self) -> str:
        """The id of the catalog, which changes with each update."""
        return self._ranking.head.generation

    def records(self) -> Sequence[SiteRecord]:
        """Return the records in the catalog in the order of their keys; after a failure those of the previous one."""
        generation = self.generation
        with self._listing_lock:
            if self._listing is None or self._listing[0] != generation:
                try:
                    self._listing = (generation, read_records(self._store))
                except StoreError:
                    if self._listing is None:
                        raise
            return self._listing[1]

    def record(self, key: str) -> SiteRecord | None:
        """Return the record of a site without search terms, or None if there is no such site."""
        with self._lock:
            read_at, cached = self._records.get(key, (float("-inf"), None))
        if self._clock() - read_at < self.refresh_seconds:
            return cached
        try:
            record = read_record(self._store, key)
        except StoreError:
            if cached is None:
                raise
            record = cached
        record = record and without_terms(record)
        with self._lock:
            self._records[key] = (self._clock(), record)
        return record

    def find_by_url(self, url: str) -> list[tuple[str, str]]:
        """Return the sites that a URL may be on, the deepest first, each with the URL in the site's spelling."""
        address, sign, anchor = url.strip().partition("#")
        key = _url_key(address.partition("?")[0])
        sites: list[tuple[int, str, str]] = []
        for record in self.records():
            if record.entry and "://" in record.entry.url:
                home = record.entry.url.rstrip("/") + "/"
                home_key = _url_key(home)
                if f"{key}/".startswith(home_key):
                    sites.append((len(home_key), record.key, f"{home}{key[len(home_key) :]}{sign}{anchor}"))
        sites.sort(key=lambda site: -site[0])
        return [(site, own_url) for _, site, own_url in sites]


def _url_key(url: str) -> str:
    """Return a URL without its scheme, its host in lower case."""
    host, slash, path = _URL_SCHEME.sub("/", url).removeprefix("/").partition("/")
    return f"/{host.lower()}{slash}{path}"


class Collection(SiteRegistry):
    """The sites of a store. Recently used libraries stay open. Thread-safe.

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
            where: Folder of the store.
            search: Makes the search of a library.
            open_sites: Number of libraries that stay open.
            refresh_seconds: Interval between checks of the store.
            clock: Monotonic clock.
        """
        super().__init__(where, refresh_seconds=refresh_seconds, clock=clock)
        self._make_search = search
        self._max_open = max(open_sites, 1)
        self._open: OrderedDict[str, OpenSite] = OrderedDict()
        self._opening: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()

    @property
    def notice(self) -> str:
        """A line above results, such as one that says what is outdated."""
        return ""

    @property
    def name(self) -> str:
        """The number of sites, in words."""
        return pluralize(self.crawled, "site")

    def rank(self, question: str, limit: int = MAX_ANSWER_SITES, *, min_score: float = _MIN_SCORE) -> list[RankedSite]:
        """Return the best sites for a question by the catalog; a question `key: …` selects one site.

        Args:
            question: The question.
            limit: Maximum number of sites.
            min_score: Minimum score relative to the best site.

        Raises:
            SiteNotFoundError: The named site was removed.
            SiteNotCrawledError: The named site has not been crawled.
        """
        keys = self.find_mentioned(question)
        if keys:
            return [self._get_site(key) for key in keys[:limit]]
        scores = self._ranking.best(question, limit)
        good = [pair for pair in scores if pair[1] >= min_score * scores[0][1]]

        def read(pair: tuple[str, float]) -> RankedSite | None:
            key, score = pair
            record = self.record(key)
            return RankedSite(key, record.entry, score) if record and record.entry else None

        return list(filter(None, self._for_each(read, good)))

    def named_site(self, question: str) -> str | None:
        """Return the site that a question names: `ruff: how are rules chosen?`."""
        name, colon, rest = question.partition(":")
        words = name.split()
        if not colon or rest.startswith("//") or len(words) != 1:
            return None
        return self.find_key(words[0])

    def find_key(self, name: str) -> str | None:
        """Return the key of the site with a name, in any case."""
        key = name.strip().lower()
        return key if key in self.keys else None

    def find_mentioned(self, question: str) -> list[str]:
        """Return the sites that a question is certainly about, so that no others are searched; else none."""
        named = self.named_site(question)
        return [named] if named else []

    def strip_site(self, question: str) -> str:
        """Return a question without the name of a site."""
        return question.partition(":")[2].strip() if self.named_site(question) else question

    def open(self, key: str) -> OpenSite:
        """Return a site with namespaced ids.

        Raises:
            SiteNotFoundError: There is no site with this key.
            SiteNotCrawledError: The site has not been crawled.
            LibraryError: It cannot be opened, and no earlier copy is open.
        """
        entry = self._get_site(key).entry
        with self._lock:
            opening = self._opening.setdefault(key, threading.Lock())
        cached = self._cached(key, entry)
        if cached is not None and (self._is_current(cached, entry) or opening.locked()):
            return cached  # while one thread opens a new copy, others use the old one
        with opening:
            cached = self._cached(key, entry)
            if cached is not None and self._is_current(cached, entry):
                return cached  # opened by another thread
            try:
                library = self.open_plain(key).rename_ids(partial(add_namespace, site=key))
                library.trusted = False  # a crawler wrote it, also where its state is missing
                site = OpenSite(key, entry, library, self._make_search(library), self._clock())
            except RoamingError as error:  # for example during an upload
                if cached is None and isinstance(error, ManifestError):  # not an error of the caller
                    raise LibraryError(str(error)) from None
                if cached is None:
                    raise
                site = replace(cached, opened_at=self._clock())
            with self._lock:
                self._open[key] = site
                while len(self._open) > self._max_open:
                    self._open.popitem(last=False)
        return site

    def open_plain(self, key: str) -> Library:
        """Return a site with its own ids, as it publishes them."""
        return open_library(f"{self.where.rstrip('/')}/{key}")

    def choose(self, question: str) -> list[RankedSite]:
        """Return the best sites for a question, ranked by the catalog and by their best sections."""
        return [site for site, _, _ in self._search_sites(question, _CHECKED_HITS)]

    def find(self, query: str, *, limit: int = DEFAULT_HITS) -> list[TargetHit]:
        """Return the best sections of the best sites.

        Scores of different sites are not comparable, so the best hit of a site gets the score of the site.
        """
        hits: list[TargetHit] = []
        searched_sites = self._search_sites(query, limit)
        for site, library, site_hits in searched_sites:
            info = site_info(site.key, site.entry)
            note = library.find_left_out(query)
            site_score = site.score / (searched_sites[0][0].score or 1.0)
            for hit in site_hits:
                score = site_score * hit.score / (site_hits[0].score or 1.0)
                hits.append(TargetHit(library, hit, score, info, note))
        return sorted(hits, key=lambda hit: -hit.score)[:limit]

    def _search_sites(self, question: str, limit: int) -> list[tuple[RankedSite, Library, Sequence[Hit]]]:
        """Search the candidate sites, and return those whose best sections match best, each with its hits."""
        words = self.strip_site(question)
        ranked = self.rank(question, MAX_SEARCHED_SITES)
        terms = self._ranking.query_terms(words) if len(ranked) > 1 else []

        def search(site: RankedSite) -> tuple[RankedSite, Library, Sequence[Hit]]:
            opened = self.open(site.key)
            hits = opened.search.find(words, limit=limit)
            score = site.score * coverage_factor(opened.library, hits[:_CHECKED_HITS], terms)
            return RankedSite(site.key, opened.entry, score), opened.library, hits

        searched = sorted(self._for_each(search, ranked), key=lambda result: -result[0].score)
        return searched[:MAX_ANSWER_SITES]

    def _get_site(self, key: str) -> RankedSite:
        """Return a site by its key.

        Raises:
            SiteNotFoundError: There is no site with this key.
            SiteNotCrawledError: The site has not been crawled.
        """
        record = self.record(key) if key in self._open or key in self.keys else None
        if record and record.entry:
            return RankedSite(key, record.entry, 1.0)
        with self._lock:
            self._open.pop(key, None)
        raise SiteNotCrawledError(self.where, record) if record else SiteNotFoundError(self.where, key)

    def _cached(self, key: str, entry: CatalogEntry) -> OpenSite | None:
        """Return an open site, with the current catalog entry if the texts are the same."""
        with self._lock:
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

    def _for_each(self, action: Callable[[T], U], items: Iterable[T]) -> list[U]:
        """Call a function for several sites concurrently.

        Sites that fail, because they were removed or are being uploaded, are left out.

        Raises:
            LibraryError: All sites failed.
        """
        results: list[U] = []
        errors: list[RoamingError] = []
        with ThreadPoolExecutor(_MAX_THREADS) as threads:
            for future in [threads.submit(action, item) for item in items]:
                try:
                    results.append(future.result())
                except RoamingError as error:
                    errors.append(error)
        if errors and not results:
            raise LibraryError(str(errors[0]))
        return results


def is_store(where: str) -> bool:
    """Return whether an address is the folder of a store of many sites."""
    return "://" not in where and Path(where, HEAD_PATH).is_file()


_CHECKED_HITS = 3
"""Number of hits per site that are checked to rank the sites."""
_MAX_THREADS = 8

"""A library of libraries: the sites of a store, of which a question is asked of the few that it is about."""

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
from mkdocs_roaming.library.library import Library, open_library
from mkdocs_roaming.library.search import Finder, Hit, Search
from roaming_fleet.bucket_reader import open_bucket_for_reading, open_bucket_site
from roaming_fleet.buckets.base import BlobNotFoundError, BucketError, is_bucket_url
from roaming_fleet.errors import SiteNotCrawledError, SiteNotFoundError
from roaming_fleet.namespaces import SITE_KEY, add_namespace
from roaming_fleet.ranking import QueryTerm, coverage_factor
from roaming_fleet.records import HEAD_PATH, CatalogEntry, SiteRecord
from roaming_fleet.registry import SiteRegistry

T = TypeVar("T")
U = TypeVar("U")

MAX_ANSWER_SITES = 3
"""How many sites a question is asked of at most."""
MAX_SEARCHED_SITES = 5
"""How many sites are looked into at most to tell which of them a question is about."""
REFRESH_SECONDS = 60.0
"""The seconds after which it is looked whether what is open is still what the store holds."""


@dataclass(frozen=True, slots=True)
class RankedSite:
    """A site that a question is about, by the key that the store keeps it by."""

    key: str
    entry: CatalogEntry
    score: float
    state: str
    """`done`, or `failed` where a later crawl did: as it was before is what there is."""


@dataclass(frozen=True, slots=True)
class SiteHit:
    """A section that was found on one of the sites."""

    site: RankedSite
    library: Library
    hit: Hit
    score: float


@dataclass(frozen=True, slots=True)
class _LookedInto:
    """A site, scored by what its search found, too."""

    site: RankedSite
    library: Library
    hits: Sequence[Hit]


@dataclass(frozen=True, slots=True)
class OpenSite:
    """A site of a store, opened, and what its record said; the ids of its sections name it: `ruff:07f3277d`.

    `looked` is when it was last tried to open it as the store holds it.
    """

    key: str
    entry: CatalogEntry
    library: Library
    search: Finder
    looked: float


class Collection:
    """The sites of a store. May be used from several threads; the libraries opened last are kept.

    Raises LibraryError where the store, or a site of it, cannot be read. A crawl may go on beside it: what is known is
    held against the store once a minute, and goes on where that cannot be reached.
    """

    def __init__(
        self,
        where: str | Path,
        *,
        finding: Callable[[Library], Finder] = Search,
        kept: int = MAX_SEARCHED_SITES,
        every: float = REFRESH_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.where = str(where)
        self._finding, self._most, self._every, self._clock = finding, max(kept, 1), every, clock
        self._lock = threading.Lock()
        self._open: OrderedDict[str, OpenSite] = OrderedDict()
        self._opening: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
        try:
            bucket = open_bucket_for_reading(where)
        except BucketError as error:
            raise LibraryError(str(error)) from None
        self.is_remote = bucket.is_remote
        """Whether reading the store waits for a network."""
        self._roster = SiteRegistry(bucket, every=every, clock=clock)

    @property
    def every(self) -> float:
        """The seconds after which it is looked whether what is known is still what the store holds."""
        return self._every

    def look(self) -> None:
        """Look which sites there are now: who has time for it spares the next one who asks."""
        self._roster.look()

    def standing(self) -> tuple[int, str, bool]:
        """Give how many sites can be read, of which generation, and whether the store holds others maybe; at once."""
        known = self._roster.at_hand
        return known.crawled, known.generation, self._roster.is_stale

    @property
    def keys(self) -> Sequence[str]:
        """The keys of all sites."""
        return self._roster.ranking().keys

    @property
    def crawled(self) -> int:
        """How many of them were crawled, so that there is something to read."""
        return self._roster.ranking().crawled

    @property
    def generation(self) -> str:
        """What tells the catalogue that is used from the one before it."""
        return self._roster.ranking().generation

    def records(self) -> Sequence[SiteRecord]:
        """Give what the catalogue tells of every site, in the order of their keys."""
        return self._roster.records()

    def lying_at(self, address: str) -> list[tuple[str, str]]:
        """Give the sites that an address lies on, the deepest first; with each the address as that site spells it."""
        return self._roster.lying_at(address)

    def rank(self, question: str, limit: int = MAX_ANSWER_SITES, *, worth: float = 0.5) -> list[RankedSite]:
        """Give the sites that a question is about, best first; one that it names by `key: …` is the only one.

        A site's score is `worth` times that of the best, at least. Raises NoSite where the one that it names is gone,
        NotCrawled where there is nothing of it.
        """
        if named := self.named(question):
            return [self._asked(named)]
        try:
            found = self._roster.ranking().best(question, limit)
            found = [pair for pair in found if pair[1] >= worth * found[0][1]]
        except BucketError as error:
            raise LibraryError(str(error)) from None

        def read(pair: tuple[str, float]) -> RankedSite | None:
            record = self._roster.record(pair[0])
            return RankedSite(pair[0], record.entry, pair[1], record.state) if record and record.entry else None

        return [site for site in self._each(read, found) if site]

    def named(self, question: str) -> str | None:
        """Give the site that a question names in front: `ruff: how are rules chosen?`."""
        match = re.match(rf"\s*({SITE_KEY})\s*:(?!//)", question, re.IGNORECASE)
        key = match[1].lower() if match else ""
        return key if key in self.keys else None

    def asks(self, question: str) -> str:
        """Give a question without the name of its site."""
        return question.partition(":")[2].strip() if self.named(question) else question

    def open(self, key: str) -> OpenSite:
        """Give a site, opened. Raises NoSite where there is none of this name, NotCrawled where nothing is of it."""
        entry = self._asked(key).entry
        with self._lock:
            opened = self._kept(key, entry)
            turn = self._opening.setdefault(key, threading.Lock())
        if opened is not None and (self._is_current(opened, entry) or turn.locked()):
            return opened  # while one thread opens what is new, the others go on with what there is
        with turn:
            with self._lock:
                opened = self._kept(key, entry)
            if opened is not None and self._is_current(opened, entry):
                return opened  # another thread has opened it meanwhile
            found = self._taken(key, entry, opened)
            with self._lock:
                self._open[key] = found
                while len(self._open) > self._most:
                    self._open.popitem(last=False)
        return found

    def plain(self, key: str) -> Library:
        """Give a site whose ids are its own, as it publishes them."""
        where = f"{self.where.rstrip('/')}/{key}"
        return open_bucket_site(where) if is_bucket_url(where) else open_library(where)

    def choose(self, question: str, limit: int = MAX_ANSWER_SITES) -> list[RankedSite]:
        """Give the sites that a question is about, best first, held against what their best sections say."""
        return [one.site for one in self._looked_into(question, _LOOKED_AT)][:limit]

    def find(self, query: str, *, limit: int = 10, sites: int = MAX_ANSWER_SITES) -> list[SiteHit]:
        """Give the best sections of the sites that fit best.

        What one site's search scores says nothing beside another's, so the best of each counts as its site does.
        """
        found: list[SiteHit] = []
        looked = self._looked_into(query, limit)[:sites]
        for one in looked:
            for hit in one.hits:
                score = one.site.score / (looked[0].site.score or 1.0) * hit.score / (one.hits[0].score or 1.0)
                found.append(SiteHit(one.site, one.library, hit, score))
        return sorted(found, key=lambda each: -each.score)[:limit]

    def _looked_into(self, question: str, limit: int) -> list[_LookedInto]:
        """Search the sites that come into question, and order them by how well their best sections fit, too."""
        words = self.asks(question)
        ranked = self.rank(question, MAX_SEARCHED_SITES)
        telling = self._telling(words) if len(ranked) > 1 else []

        def look(site: RankedSite) -> _LookedInto:
            opened = self.open(site.key)
            hits = opened.search.find(words, limit=limit)
            score = site.score * (
                coverage_factor(opened.library, hits[:_LOOKED_AT], telling) if len(ranked) > 1 else 1.0
            )
            return _LookedInto(replace(site, entry=opened.entry, score=score), opened.library, hits)

        return sorted(self._each(look, ranked), key=lambda one: -one.site.score)

    def _telling(self, words: str) -> list[QueryTerm]:
        try:
            return [QueryTerm(*pair) for pair in self._roster.ranking().telling(words)]
        except BucketError as error:
            raise LibraryError(str(error)) from None

    def _asked(self, key: str) -> RankedSite:
        """Give a site that is asked for by its name. Raises NoSite or NotCrawled where it cannot be."""
        record = self._roster.record(key) if key in self._open or key in self.keys else None
        if record is None or record.entry is None:
            with self._lock:
                self._open.pop(key, None)
            raise SiteNotFoundError(self.where, key) if record is None else SiteNotCrawledError(self.where, record)
        return RankedSite(key, record.entry, 1.0, record.state)

    # What is open

    def _kept(self, key: str, entry: CatalogEntry) -> OpenSite | None:
        """Give a site that is open, with what its record says now where that is of the same texts."""
        opened = self._open.get(key)
        if opened is None:
            return None
        if opened.entry != entry and opened.library.manifest.digest == entry.digest:
            opened = self._open[key] = replace(opened, entry=entry)
        self._open.move_to_end(key)
        return opened

    def _is_current(self, opened: OpenSite, entry: CatalogEntry) -> bool:
        """Tell whether a site is open as the store holds it, or was tried to be a moment ago."""
        return opened.library.manifest.digest == entry.digest or self._clock() - opened.looked < self._every

    def _taken(self, key: str, entry: CatalogEntry, before: OpenSite | None) -> OpenSite:
        """Open a site as the store holds it. One that is being written stays as it was."""
        try:
            library = self.plain(key).rename_ids(partial(add_namespace, site=key))
            return OpenSite(key, entry, library, self._finding(library), self._clock())
        except RoamingError as error:
            if before is not None:
                return replace(before, looked=self._clock())
            if isinstance(error, ManifestError):  # nothing is wrong with what was asked
                raise LibraryError(str(error)) from None
            raise

    def _each(self, work: Callable[[T], U], sites: Iterable[T]) -> list[U]:
        """Do the same with several sites, at once where each waits for a network.

        One of which that cannot be done, removed meanwhile or half written, is left out: the others may know. Raises
        LibraryError where it can be done with none: that nothing was found would not be true.
        """
        wrong: list[RoamingError] = []

        def tried(site: T) -> list[U]:
            try:
                return [work(site)]
            except RoamingError as error:
                wrong.append(error)
                return []

        wanted = list(sites)
        if self.is_remote and len(wanted) > 1:
            with ThreadPoolExecutor(min(len(wanted), _AT_ONCE)) as several:
                done = [one for some in several.map(tried, wanted) for one in some]
        else:
            done = [one for site in wanted for one in tried(site)]
        if wrong and not done:
            raise LibraryError(str(wrong[0]))
        return done


def is_store(where: str) -> bool:
    """Tell whether an address or a folder is a store of many sites. Raises LibraryError where nobody can tell."""
    if where.lower().startswith(("http://", "https://")):
        return False
    try:
        return bool(open_bucket_for_reading(where).get(HEAD_PATH))
    except BlobNotFoundError:
        return False
    except (BucketError, ValueError) as error:
        if is_bucket_url(where):  # whoever took it for a site would say that it is none
            raise LibraryError(str(error)) from None
        return False


_LOOKED_AT = 3  # of its best sections
_AT_ONCE = 8

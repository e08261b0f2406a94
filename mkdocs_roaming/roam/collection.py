"""A library of libraries: the sites of a store, of which a question is asked of the few that it is about."""

from __future__ import annotations

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from mkdocs_roaming.buckets import Bucket, BucketError, open_bucket
from mkdocs_roaming.catalogue import HEAD, Entry, Ranking, Record, read_record, records_in
from mkdocs_roaming.errors import LibraryError, RoamingError, UsageError
from mkdocs_roaming.roam.choosing import Telling, fit
from mkdocs_roaming.roam.library import Library, open_library
from mkdocs_roaming.roam.meaning import Finder
from mkdocs_roaming.roam.namespaces import namespaced
from mkdocs_roaming.roam.search import Hit, Search

SITES = 3
"""How many sites a question is asked of at most."""
LOOKED_INTO = 5
"""How many sites are looked into at most to tell which of them a question is about."""
EVERY = 60.0
"""The seconds after which it is looked whether what is open is still what the store holds."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A site that a question is about, by the key that the store keeps it by."""

    key: str
    entry: Entry
    score: float


@dataclass(frozen=True, slots=True)
class SiteHit:
    """A section that was found on one of the sites."""

    site: Asked
    library: Library
    hit: Hit
    score: float


@dataclass(frozen=True, slots=True)
class _LookedInto:
    """A site, scored by what its search found, too."""

    site: Asked
    library: Library
    hits: Sequence[Hit]


@dataclass(frozen=True, slots=True)
class Opened:
    """A site of a store, opened, and what its record said then; the ids of its sections name it: `ruff:07f3277d`."""

    key: str
    entry: Entry
    search: Finder
    looked: float

    @property
    def library(self) -> Library:
        """The site."""
        return self.search.library


class Collection:
    """The sites of a store. May be used from several threads; the libraries opened last are kept.

    Raises LibraryError where the store, or a site of it, cannot be read. A crawl may go on beside it: what is open is
    held against the store once a minute.
    """

    def __init__(
        self,
        where: str | Path,
        *,
        finding: Callable[[Library], Finder] = Search,
        kept: int = LOOKED_INTO,
        every: float = EVERY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.where = str(where)
        self._finding, self._most, self._every, self._clock = finding, max(kept, 1), every, clock
        self._lock = threading.Lock()
        self._open: OrderedDict[str, Opened] = OrderedDict()
        self._looked = clock()
        self._records: tuple[str, tuple[Record, ...]] = ("", ())
        try:
            self._bucket: Bucket = open_bucket(where)
            self._ranking = Ranking(self._bucket)
        except BucketError as error:
            raise LibraryError(str(error)) from None

    @property
    def keys(self) -> Sequence[str]:
        """The keys of all sites."""
        return self._current().keys

    @property
    def generation(self) -> str:
        """What tells the catalogue that is used from the one before it."""
        return self._current().generation

    @property
    def distant(self) -> bool:
        """Whether reading the store waits for a network."""
        return self._bucket.distant

    def records(self) -> Sequence[Record]:
        """Give what the catalogue tells of every site, in the order of their keys."""
        generation = self.generation
        if self._records[0] != generation:
            try:
                self._records = (generation, tuple(records_in(self._bucket)))
            except BucketError as error:
                raise LibraryError(str(error)) from None
        return self._records[1]

    def rank(self, question: str, limit: int = SITES, *, worth: float = 0.5) -> list[Asked]:
        """Give the sites that a question is about, best first; one that it names by `key: …` is the only one.

        A site's score is `worth` times that of the best, at least.
        """
        named = self.named(question)
        try:
            found = [(named, 1.0)] if named else self._current().best(question, limit)
            found = [pair for pair in found if pair[1] >= worth * found[0][1]]
            records = [(key, read_record(self._bucket, key), score) for key, score in found]
        except BucketError as error:
            raise LibraryError(str(error)) from None
        return [Asked(key, record.entry, score) for key, record, score in records if record and record.entry]

    def named(self, question: str) -> str | None:
        """Give the site that a question names in front: `ruff: how are rules chosen?`."""
        match = re.match(r"\s*([a-z0-9][a-z0-9._-]{0,99}):(?!//)", question)
        return match[1] if match and match[1] in self.keys else None

    def asks(self, question: str) -> str:
        """Give a question without the name of its site."""
        return question.partition(":")[2].strip() if self.named(question) else question

    def open(self, key: str) -> Opened:
        """Give a site, opened. Raises UsageError where there is none of this name."""
        with self._lock:
            opened = self._open.get(key)
            if opened is not None:
                self._open.move_to_end(key)
        if opened is not None and self._clock() - opened.looked < self._every:
            return opened
        try:
            record = read_record(self._bucket, key) if opened or key in self.keys else None
        except BucketError as error:
            if opened is not None:
                return opened  # as good as it was a minute ago
            raise LibraryError(str(error)) from None
        if record is None or record.entry is None:
            raise UsageError(f"{self.where}: no site {key}; `roaming sites {self.where}` lists them")
        found = self._taken(key, record.entry, opened)
        with self._lock:
            self._open[key] = found
            if len(self._open) > self._most:
                self._open.popitem(last=False)
        return found

    def plain(self, key: str) -> Library:
        """Give a site whose ids are its own, as it publishes them."""
        return open_library(f"{self.where.rstrip('/')}/{key}")

    def choose(self, question: str, limit: int = SITES) -> list[Asked]:
        """Give the sites that a question is about, best first, held against what their best sections say."""
        return [one.site for one in self._looked_into(question, _LOOKED_AT)][:limit]

    def find(self, query: str, *, limit: int = 10, sites: int = SITES) -> list[SiteHit]:
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
        ranked = self.rank(question, LOOKED_INTO)
        telling = [Telling(*pair) for pair in self._ranking.telling(words)] if len(ranked) > 1 else []
        found = []
        for site in ranked:
            try:
                search = self.open(site.key).search
                hits = search.find(words, limit=limit)
            except RoamingError:
                continue  # removed meanwhile, or half written: the others may know
            score = site.score * (fit(search.library, hits[:_LOOKED_AT], telling) if len(ranked) > 1 else 1.0)
            found.append(_LookedInto(replace(site, score=score), search.library, hits))
        return sorted(found, key=lambda one: -one.site.score)

    def _current(self) -> Ranking:
        """Give the catalogue, looked at again where that was long ago."""
        if self._clock() - self._looked >= self._every:
            self._looked = self._clock()
            with suppress(BucketError):  # the one at hand goes on; what is read next says what is wrong
                self._ranking.look()
        return self._ranking

    def _taken(self, key: str, entry: Entry, before: Opened | None) -> Opened:
        """Open a site, unless what is open is what the store holds. One that is being written stays as it was."""
        if before is not None and before.library.manifest.digest == entry.digest:
            return replace(before, entry=entry, looked=self._clock())
        try:
            library = self.plain(key).named(partial(namespaced, site=key))
            return Opened(key, entry, self._finding(library), self._clock())
        except RoamingError:
            if before is None:
                raise
            return replace(before, looked=self._clock())


def is_collection(where: str) -> bool:
    """Tell whether an address or a folder is a store of many sites."""
    if where.lower().startswith(("http://", "https://")):
        return False
    try:
        return bool(open_bucket(where).get(HEAD))
    except (BucketError, ValueError):
        return False


def ago(then: float, now: float | None = None) -> str:
    """Give how long ago a time was, in words."""
    seconds = max(0.0, (time.time() if now is None else now) - then)
    for name, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            count = int(seconds // length)
            return f"{count} {name}{'s' if count > 1 else ''} ago"
    return "just now"


_LOOKED_AT = 3  # of its best sections

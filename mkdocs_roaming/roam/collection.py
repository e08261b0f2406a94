"""A library of libraries: the sites of a store, of which a question is asked of the few that it is about."""

from __future__ import annotations

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mkdocs_roaming.buckets import Bucket, BucketError, open_bucket
from mkdocs_roaming.catalogue import HEAD, Entry, Ranking, read_record
from mkdocs_roaming.errors import LibraryError, RoamingError, UsageError
from mkdocs_roaming.roam.library import Library, open_library
from mkdocs_roaming.roam.meaning import Finder
from mkdocs_roaming.roam.search import Hit, Search

SITES = 3
"""How many sites a question is asked of at most."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A site that a question is about, by the key that the store keeps it by."""

    key: str
    entry: Entry
    score: float


@dataclass(frozen=True, slots=True)
class SiteHit:
    """A section that was found on one of the sites; its `id` is namespaced: `ruff:07f3277d`."""

    id: str
    site: Asked
    library: Library
    hit: Hit
    score: float


class Collection:
    """The sites of a store. May be used from several threads; the libraries opened last are kept."""

    def __init__(self, where: str | Path, *, finding: Callable[[Library], Finder] = Search, kept: int = SITES) -> None:
        self.where = str(where)
        self._finding, self._most = finding, max(kept, 1)
        self._lock = threading.Lock()
        self._open: OrderedDict[str, Finder] = OrderedDict()
        try:
            self._bucket: Bucket = open_bucket(where)
            self._ranking = Ranking(self._bucket)
        except BucketError as error:
            raise LibraryError(str(error)) from None

    @property
    def keys(self) -> Sequence[str]:
        """The keys of all sites."""
        return self._ranking.keys

    def rank(self, question: str, limit: int = SITES) -> list[Asked]:
        """Give the sites that a question is about, best first; one that it names by `key: …` is the only one."""
        named = self.named(question)
        try:
            found = [(named, 1.0)] if named else self._ranking.best(question, limit)
            found = [pair for pair in found if pair[1] >= _WORTH * found[0][1]]
            records = [(key, read_record(self._bucket, key), score) for key, score in found]
        except BucketError as error:
            raise LibraryError(str(error)) from None
        return [Asked(key, record.entry, score) for key, record, score in records if record and record.entry]

    def named(self, question: str) -> str | None:
        """Give the site that a question names in front: `ruff: how are rules chosen?`."""
        match = re.match(r"\s*([a-z0-9][a-z0-9._-]{0,99}):(?!//)", question)
        return match[1] if match and match[1] in self._ranking.keys else None

    def asks(self, question: str) -> str:
        """Give a question without the name of its site."""
        return question.partition(":")[2].strip() if self.named(question) else question

    def search(self, key: str) -> Finder:
        """Give the search of a site. Raises LibraryError where it cannot be opened."""
        with self._lock:
            if key in self._open:
                self._open.move_to_end(key)
                return self._open[key]
        if key not in self._ranking.keys:
            raise UsageError(f"{self.where}: no site {key}; `roaming sites {self.where}` lists them")
        found = self._finding(open_library(f"{self.where.rstrip('/')}/{key}"))
        with self._lock:
            self._open[key] = found
            if len(self._open) > self._most:
                self._open.popitem(last=False)
        return found

    def library(self, key: str) -> Library:
        """Give a site, opened."""
        return self.search(key).library

    def find(self, query: str, *, limit: int = 10, sites: int = SITES) -> list[SiteHit]:
        """Give the best sections of the sites that fit best.

        What one site's search scores says nothing beside another's, so the best of each counts as its site does.
        """
        asked = self.rank(query, sites)
        words = self.asks(query)
        found: list[SiteHit] = []
        for site in asked:
            try:
                search = self.search(site.key)
                hits = search.find(words, limit=limit)
            except RoamingError:
                continue  # removed meanwhile, or half written: the others may know
            for hit in hits:
                score = site.score / asked[0].score * hit.score / (hits[0].score or 1.0)
                found.append(SiteHit(f"{site.key}:{hit.place.id}", site, search.library, hit, score))
        return sorted(found, key=lambda each: -each.score)[:limit]


def split_id(text: str) -> tuple[str, str] | None:
    """Give site and section of a namespaced id, `ruff:07f3277d`; None where it is none."""
    match = re.fullmatch(r"([a-z0-9][a-z0-9._-]{0,99}):([0-9a-f]{8})", text.strip())
    return (match[1], match[2]) if match else None


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


_WORTH = 0.4
"""What a site's score is to that of the best at least, for the question to be asked of it, too."""

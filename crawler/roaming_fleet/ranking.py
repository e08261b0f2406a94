"""Which sites of a store a question is about: BM25 over the words that each is found by, and its name."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from heapq import nlargest
from math import log
from typing import TypeVar

from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Hit
from mkdocs_roaming.text.tokenizer import extract_terms
from mkdocs_roaming.text.tokenizer import parse_query as words_of
from roaming_fleet.buckets.base import BlobNotFoundError, Bucket, BucketError
from roaming_fleet.catalog import NAME_PREFIX, CatalogHead, read_head, read_shard, shard_number

T = TypeVar("T")


class Ranking:
    """A store's catalogue, as it is searched: its head, and those parts that were asked for last.

    May be used from several threads. Raises BucketError where the store has no catalogue.
    """

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self._lock = threading.Lock()
        self._shards: OrderedDict[tuple[str, int], dict[str, list[int]]] = OrderedDict()
        self._head = self._opened()

    @property
    def keys(self) -> list[str]:
        """The keys of all sites, in alphabetical order."""
        return self._head.keys

    @property
    def crawled(self) -> int:
        """How many sites were crawled: the others have no words."""
        return sum(1 for length in self._head.lengths if length)

    @property
    def generation(self) -> str:
        """What tells this catalogue from the one before it."""
        return self._head.generation

    def look(self) -> None:
        """Take the catalogue as it is now. Raises BucketError where it cannot be read."""
        self._head = self._opened()

    def best(self, question: str, limit: int) -> list[tuple[str, float]]:
        """Give the keys of the sites that a question is about, best first, each with its score."""
        head, scores = self._steadily(lambda head: (head, self._scores(head, question)))
        found = nlargest(limit, scores, key=lambda at: (scores[at], -at))
        return [(head.keys[at], scores[at]) for at in found]

    def telling(self, question: str) -> list[tuple[frozenset[str], float]]:
        """Give the telling words of a question: the terms that each may leave, and how rare it is among the sites."""
        return self._steadily(lambda head: self._telling(head, question))

    def _opened(self) -> CatalogHead:
        head = read_head(self._bucket)
        if head is None:
            raise BucketError(f"{self._bucket.where}: no sites in it; crawl some: roaming crawl --many FILE -o …")
        return head

    def _steadily(self, work: Callable[[CatalogHead], T]) -> T:
        """Give what comes of a catalogue whose parts are all there."""
        try:
            return work(self._head)
        except BlobNotFoundError:  # it was made anew, twice since
            self.look()
            return work(self._head)

    def _telling(self, head: CatalogHead, question: str) -> list[tuple[frozenset[str], float]]:
        found = []
        for forms in _forms(question, head.languages):
            held = {at for term in forms for at, _ in self._pairs(head, term)}
            found.append((frozenset(forms), _rarity(len(held), max(1, len(head.keys)))))
        return found

    def _scores(self, head: CatalogHead, question: str) -> dict[int, float]:
        words = _forms(question, head.languages)
        if not words:
            return {}
        average = sum(head.lengths) / max(1, sum(1 for length in head.lengths if length)) or 1.0
        scores: dict[int, float] = {}
        held: dict[int, int] = {}
        named: dict[int, int] = {}
        for forms in words:
            best: dict[int, float] = {}
            name: dict[int, int] = {}
            for term in forms:
                for at, score in self._bm25(head, term, average):
                    if score > best.get(at, 0.0):
                        best[at] = score
                for at, share in self._pairs(head, NAME_PREFIX + term):
                    name[at] = max(share, name.get(at, 0))
            for at, score in best.items():
                scores[at] = scores.get(at, 0.0) + score
                held[at] = held.get(at, 0) + 1
            for at, share in name.items():
                named[at] = named.get(at, 0) + share
        for at in scores:
            scores[at] *= 1 - _COVERED * (len(words) - held[at]) / len(words)
        for at, share in named.items():
            if at in scores:
                scores[at] *= 1 + _NAMED * (min(share, 100) / 100) ** 2
        return scores

    def _bm25(self, head: CatalogHead, term: str, average: float) -> Iterable[tuple[int, float]]:
        pairs = self._pairs(head, term)
        if not pairs:
            return
        rarity = _rarity(len(pairs), max(1, len(head.keys)))
        for at, weight in pairs:
            often = weight / 10
            norm = _SATURATION * (1 - _BY_LENGTH + _BY_LENGTH * head.lengths[at] / average)
            yield at, rarity * (_SATURATION + 1) * often / (often + norm)

    def _pairs(self, head: CatalogHead, term: str) -> list[tuple[int, int]]:
        held = self._shard(head, shard_number(term, head.shards)).get(term, ())
        return list(zip(held[0::2], held[1::2], strict=True))

    def _shard(self, head: CatalogHead, at: int) -> dict[str, list[int]]:
        key = (head.generation, at)
        with self._lock:
            if key in self._shards:
                self._shards.move_to_end(key)
                return self._shards[key]
        try:
            shard = read_shard(self._bucket, head, at)
        except ValueError:
            raise BucketError(f"{self._bucket.where}: its catalogue is broken; crawl its sites again") from None
        with self._lock:
            self._shards[key] = shard
            if len(self._shards) > _KEPT:
                self._shards.popitem(last=False)
        return shard


def _rarity(held: int, sites: int) -> float:
    return log(1 + (sites - held + 0.5) / (held + 0.5))


def _forms(question: str, languages: Iterable[str]) -> list[set[str]]:
    """Give the terms that each telling word of a question may have left, whatever a site's language."""
    forms: dict[str, set[str]] = {}
    weak: set[str] = set()
    for language in [*languages][:_MOST_LANGUAGES] or ["en"]:
        for word in words_of(question[:_LONGEST], language):
            forms.setdefault(word.text.casefold(), set()).update(word.terms)
            if word.stop:
                weak.add(word.text.casefold())
    telling = [found for text, found in forms.items() if text not in weak]
    return (telling or list(forms.values()))[:_MOST_WORDS]


_SATURATION = 1.5


_BY_LENGTH = 0.5


_COVERED = 0.5


_NAMED = 1.5


_KEPT = 256


_LONGEST = 2_000


_MOST_WORDS = 48


_MOST_LANGUAGES = 8


# MERGED mkdocs_roaming.roam.choosing:
# Which of the sites that a question may be about it is about: those that hold its words in one place.
#
# The catalogue knows which words a site holds, not which of them stand together: `mount` and `static` are words
# of many
# sites, a section on mounting static files is not.


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """A word of a question that tells something: the terms it may leave, and how rare it is among the sites."""

    terms: frozenset[str]
    rarity: float


def coverage_factor(library: Library, hits: Iterable[Hit], words: Sequence[QueryTerm]) -> float:
    """Give by how much a site's score counts: what share of a question's words, by rarity, its best hit holds."""
    asked = sum(word.rarity for word in words)
    if not asked:
        return 1.0
    held = titled = 0.0
    language = library.manifest.site.language
    for hit in hits:
        place = hit.place
        above = " / ".join(library.sections.breadcrumb(place))
        try:
            text = library.text(place)
        except LibraryError:
            text = ""
        own, title = (
            set(extract_terms(f"{above} / {text}", language)),
            set(extract_terms(place.section.title, language)),
        )
        held = max(held, sum(word.rarity for word in words if word.terms & own))
        titled = max(titled, sum(word.rarity for word in words if word.terms & title))
    return (held / asked) ** 2 * (1 + _TITLE * titled / asked)


_TITLE = 0.5


"""What a word in the title counts beside one in the text. This and the square: benchmarks/fleet_sites.py."""

"""Ranks the sites of a store for a query: BM25 over the catalog, then a check of the sections found on the best sites.

The catalog knows which terms occur on a site, but not whether they occur together: many sites contain `mount` and
`static`, few have a section on mounting static files.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from heapq import nsmallest
from math import log
from typing import TypeVar

from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Hit
from mkdocs_roaming.text.tokenizer import extract_terms, parse_query
from roaming_fleet.catalog import (
    NAME_PREFIX,
    WEIGHT_SCALE,
    WHOLE_NAME,
    CatalogHead,
    load_head,
    read_shard,
    shard_number,
)
from roaming_fleet.folder import StoreFileNotFoundError, StoreFolder

T = TypeVar("T")
N = TypeVar("N", int, float)


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """A content word of a query: its possible stems, and its inverse document frequency among the sites."""

    terms: frozenset[str]
    rarity: float


class Ranking:
    """The catalog of a store, opened for queries. Recently used shards are cached. Thread-safe.

    Attributes:
        head: The head of the catalog.

    Raises:
        StoreError: The store has no catalog.
    """

    def __init__(self, store: StoreFolder) -> None:
        """Read the head of the catalog."""
        self._store = store
        self._read_shard = lru_cache(_MAX_CACHED_SHARDS)(partial(read_shard, store))
        self.head = load_head(store)

    def refresh(self) -> None:
        """Read the head again.

        Raises:
            StoreError: It cannot be read.
        """
        self.head = load_head(self._store)

    def best(self, question: str, limit: int) -> list[tuple[str, float]]:
        """Return the keys and scores of the best sites for a question, best first."""
        head, scores = self._with_head(lambda head: (head, self._score(head, question)))
        best = nsmallest(limit, ((-score, head.keys[number]) for number, score in scores.items()))
        return [(key, -score) for score, key in best]

    def query_terms(self, question: str) -> list[QueryTerm]:
        """Return the content words of a question."""

        def make_terms(head: CatalogHead) -> list[QueryTerm]:
            terms: list[QueryTerm] = []
            for forms in _parse_words(question, head.languages):
                sites = {number for term in forms for number, _ in self._postings(head, term)}
                terms.append(QueryTerm(frozenset(forms), _rarity(len(sites), max(1, len(head.keys)))))
            return terms

        return self._with_head(make_terms)

    def _with_head(self, action: Callable[[CatalogHead], T]) -> T:
        """Call a function with the head; retry with a new one if the catalog's files were removed."""
        try:
            return action(self.head)
        except StoreFileNotFoundError:  # the catalog was updated twice in the meantime
            self.refresh()
            return action(self.head)

    def _score(self, head: CatalogHead, question: str) -> dict[int, float]:
        """Return the scores of all sites with a word of the question, by number."""
        words = _parse_words(question, head.languages)
        if not words:
            return {}
        average = sum(head.lengths) / max(1, head.crawled) or 1.0
        scores = defaultdict[int, float](float)
        names = Counter[int]()
        matches = Counter[int]()
        for forms in words:
            best = _keep_best(entry for term in forms for entry in self._bm25(head, term, average))
            for number, score in best.items():
                scores[number] += score
            matches.update(best.keys())
            names.update(_keep_best(entry for term in forms for entry in self._postings(head, NAME_PREFIX + term)))
        for number in scores:
            missing = (len(words) - matches[number]) / len(words)
            name_share = min(names[number] / WHOLE_NAME, 1.0)
            scores[number] *= 1 - _COVERAGE_PENALTY * missing
            scores[number] *= 1 + _NAME_BONUS * name_share**2
        return scores

    def _bm25(self, head: CatalogHead, term: str, average: float) -> Iterable[tuple[int, float]]:
        postings = self._postings(head, term)
        if not postings:
            return
        rarity = _rarity(len(postings), max(1, len(head.keys)))
        for number, weight in postings:
            frequency = weight / WEIGHT_SCALE
            norm = _K1 * (1 - _B + _B * head.lengths[number] / average)
            yield number, rarity * (_K1 + 1) * frequency / (frequency + norm)

    def _postings(self, head: CatalogHead, term: str) -> list[tuple[int, int]]:
        """Return the numbers of the sites with a term, and its weights."""
        pairs = self._read_shard(head.generation, shard_number(term, head.shards)).get(term, [])
        return list(zip(pairs[0::2], pairs[1::2], strict=True))


def coverage_factor(library: Library, hits: Iterable[Hit], words: Sequence[QueryTerm]) -> float:
    """Return the factor for a site's score: the share of a query's words, by rarity, in its best section."""
    total = sum(word.rarity for word in words)
    if not total:
        return 1.0
    best_text = best_title = 0.0
    language = library.manifest.site.language
    for hit in hits:
        section = hit.section
        context = " / ".join((*library.sections.breadcrumb(section), section.section.about, *section.section.asks))
        try:
            text = library.text(section)
        except LibraryError:
            text = ""
        text_terms = set(extract_terms(f"{context} / {text}", language))
        title_terms = set(extract_terms(section.section.title, language))
        best_text = max(best_text, sum(word.rarity for word in words if word.terms & text_terms))
        best_title = max(best_title, sum(word.rarity for word in words if word.terms & title_terms))
    return (best_text / total) ** 2 * (1 + _TITLE_BONUS * best_title / total)


def _keep_best(entries: Iterable[tuple[int, N]]) -> dict[int, N]:
    """Return the largest value of each number."""
    best: dict[int, N] = {}
    for number, value in entries:
        best[number] = max(value, best.get(number, value))
    return best


def _rarity(matches: int, sites: int) -> float:
    return log(1 + (sites - matches + _SMOOTHING) / (matches + _SMOOTHING))


def _parse_words(question: str, languages: Iterable[str]) -> list[set[str]]:
    """Return the possible terms of each content word of a question, in all languages of the store."""
    forms: dict[str, set[str]] = {}
    stop_words: set[str] = set()
    for language in [*languages][:_MAX_LANGUAGES] or ["en"]:
        for word in parse_query(question[:_MAX_QUESTION_CHARS], language):
            forms.setdefault(word.text.casefold(), set()).update(word.terms)
            if word.stop:
                stop_words.add(word.text.casefold())
    content = [terms for text, terms in forms.items() if text not in stop_words]
    return (content or list(forms.values()))[:_MAX_WORDS]


_SMOOTHING = 0.5
_K1 = 1.5
_B = 0.5
_COVERAGE_PENALTY = 0.5
_NAME_BONUS = 1.5
_TITLE_BONUS = 0.5
"""Weight of title words in `coverage_factor`."""
_MAX_CACHED_SHARDS = 256
_MAX_QUESTION_CHARS = 2_000
_MAX_WORDS = 48
_MAX_LANGUAGES = 8

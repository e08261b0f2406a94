"""Full-text search over the sections of a library; `search.ranking` ranks them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Self, TypeVar

from msgspec import Struct

from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.library.index_cache import IndexCache, index_key
from mkdocs_roaming.library.snippets import make_snippet
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.numbers import NumberIndex
from mkdocs_roaming.search.index import Index, IndexData
from mkdocs_roaming.search.ranking import MAX_QUERY_CHARS, Ranker, Weights, filler_words, parse_query
from mkdocs_roaming.search.relevance import (
    LOW_CONFIDENCE,
    MIN_CONFIDENCE,
    NO_ANSWER,
    Relevance,
    is_code_name,
    name_language,
)
from mkdocs_roaming.text.languages import base_language
from mkdocs_roaming.text.markdown import truncate_at_word
from mkdocs_roaming.text.tokenizer import Word, is_spaceless

if TYPE_CHECKING:
    from mkdocs_roaming.embeddings.client import QueryEmbedder
    from mkdocs_roaming.library.library import Library
    from mkdocs_roaming.library.meaning import Neighbors, PublishedVectors, TableVectors

T = TypeVar("T")

DEFAULT_HITS = 10

_BATCH_SIZE = 500
"""Number of sections whose pages are loaded together when an index is built."""

_CONFIDENCE_SHARE = 0.15
"""What the confidence by words adds to the cosine of the nearest section when a question is declined."""

_MAX_UNKNOWN = 8
_MAX_UNKNOWN_CHARS = 40
_MAX_TITLES = 6
_MAX_TITLE_CHARS = 120
_MAX_OUTER_TITLE_CHARS = 80
_MIN_NUMBER_DIGITS = 3
"""A shorter number says little."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A section that matches a query.

    Example:
        ```python
        best = library.search("drain window", limit=1)[0]
        print(best.id, " › ".join(best.breadcrumb), best.snippet)
        ```

    Attributes:
        id: The section's id.
        title: Its heading.
        breadcrumb: The titles above it in the navigation and on its page, and its own.
        snippet: The part of its text that matches best.
        score: Higher is better; scores of different queries cannot be compared.
        url: Its address.
    """

    id: str
    title: str
    breadcrumb: tuple[str, ...]
    snippet: str
    score: float
    url: str


class Hit(Struct, frozen=True, dict=True):
    """A matching section and its score: higher is better."""

    section: SectionRef
    score: float
    make_snippet: Callable[[], str]

    @cached_property
    def snippet(self) -> str:
        """The best window of its text; the text is read on first use."""
        return self.make_snippet()


class Search:
    """Search by words, and by meaning where there are vectors.

    The index is built on first use, for the whole site also if the library is restricted to a scope: then the sections
    found are filtered. Several threads may use it.

    Args:
        library: The site, or a part of it.
        weights: The parameters of the ranking.
        cache: Indexes of earlier processes.
        queries: Computes the vectors of queries, for a site that publishes vectors; None to search without them.
        with_table: Whether to search an English site by the table of word pieces where there are no vectors.
    """

    def __init__(
        self,
        library: Library,
        *,
        weights: Weights | None = None,
        cache: IndexCache | None = None,
        queries: QueryEmbedder | None = None,
        with_table: bool = True,
    ) -> None:
        self.library = library
        self.weights = weights or Weights()
        self._cache = cache
        self._language = library.manifest.site.language
        self._lock = threading.Lock()
        self._ranker: Ranker | None = None
        self._indexed: Search | None = None
        self._relevance: Relevance | None = None
        self._key = ""  # of the files in the cache
        self._last_ranking: tuple[object, list[tuple[int, float]]] = (None, [])  # an answer ranks its question twice
        self._has_table = with_table and base_language(self._language) == "en"
        self._table: TableVectors | None = None
        self._last_near: tuple[str, Neighbors | None] = ("", None)
        self.published: PublishedVectors | None = None
        if queries:
            from mkdocs_roaming.library.meaning import PublishedVectors  # few sites publish vectors

            self.published = PublishedVectors(library.whole, queries)

    def restrict(self, library: Library) -> Self:
        """Return a search of a restricted library of the same site, which shares this search's index."""
        restricted = copy(self)
        restricted.library = library
        restricted._indexed = self._indexed or self
        restricted._relevance = None
        restricted._key = ""
        return restricted

    def find(self, query: str, *, limit: int = DEFAULT_HITS) -> list[Hit]:
        """Return the best sections for a query, best first.

        Args:
            query: A question, words, or the id or address of a section, which is then the first hit; so are sections
                that a question cites by their numbers.
            limit: Maximum number of hits.
        """
        words = parse_query(query, self._language)
        candidates = self._find_cited(query)
        near = None if candidates else self._find_near(query, words)  # sections similar to a named one are not wanted
        ranked = self._rank_rows(words, near)
        windows = {row: place.window for row, place in near.rows.items()} if near else {}
        sections = self._get_ranker().index.sections
        cited = self._choose_cited(candidates, [sections[row].id for row, _ in ranked])
        best = ranked[0][1] + 1 if ranked else 1.0
        hits = [Hit(section, best, partial(self._make_snippet, section, words)) for section in cited.values()]
        for row, score in ranked[: max(limit, 0)]:
            section = sections[row]
            if section.id not in cited:
                hits.append(Hit(section, score, partial(self._make_snippet, section, words, windows.get(row, 0))))
        return hits[: max(limit, 0)]

    def score(self, query: str) -> dict[str, float]:
        """Return the score of each section that contains a word of a query, by its id; copies count as the original."""
        ranker = self._get_ranker()
        scores = ranker.score(parse_query(query, self._language))
        return {ranker.index.sections[row].id: score for row, score in scores.items()}

    def confidence(self, query: str) -> float:
        """Return how probably the site answers a query, from 0 to 1; see `relevance.MIN_CONFIDENCE`."""
        return self._get_relevance().confidence(query[:MAX_QUERY_CHARS])

    def judge(self, query: str, *, is_follow_up: bool = False) -> str:
        """Return the line above results that probably do not answer a query; empty for others and for an address.

        It is `NO_ANSWER`, or names the site's language if the query is in another one.
        """
        relevance = self._get_relevance()
        query = query[:MAX_QUERY_CHARS]
        if self._find_cited(query):
            return ""
        language = relevance.find_language(query)
        if language is not None:
            return name_language(self._language, language)
        near = self._find_near(query, parse_query(query, self._language)) if self.published else None
        if near and near.decline is not None:
            best = max((place.cosine for row, place in near.rows.items() if self._is_visible(row)), default=0.0)
            likelihood = best + _CONFIDENCE_SHARE * relevance.confidence(query)
            return NO_ANSWER if likelihood < near.decline and not relevance.contains_name(query) else ""
        finds_other_words = is_follow_up or (self.published is not None and not self.words_only(query))
        least = LOW_CONFIDENCE if finds_other_words else MIN_CONFIDENCE
        return NO_ANSWER if relevance.confidence(query) < least else ""

    def find_names(self, query: str) -> str:
        """Return the words of a query in another language that the site contains, if one is a name in its code."""
        return self._get_relevance().find_names(query[:MAX_QUERY_CHARS])

    def words_only(self, query: str) -> bool:
        """Return whether the query was searched by words because its vector could not be computed."""
        return self.published is not None and not self.published.has_vector(query)

    def find_unknown_words(self, query: str) -> tuple[str, ...]:
        """Return the words of a query that no visible section contains, at most eight, shortened.

        Of a query in another language than the site's, only names from code are considered.
        """
        words = [word for word in parse_query(query, self._language) if not (says_little(word) or self._occurs(word))]
        if self._get_relevance().find_language(query[:MAX_QUERY_CHARS]) is not None:
            words = [word for word in words if is_code_name(word.text)]
        shortened = (truncate_at_word(word.text.removesuffix("'s"), _MAX_UNKNOWN_CHARS) for word in words)
        return tuple(islice(dict.fromkeys(shortened), _MAX_UNKNOWN))

    def _occurs(self, word: Word) -> bool:
        """Return whether a visible section contains a word."""
        index = self._get_ranker().index
        rows = index.postings.find(word.runs, prefix=word.prefix).rows
        if self.library is self.library.whole:
            return bool(rows)
        visible = self.library.sections
        return any(visible.get(index.sections[row].id) for row in rows)

    def load(self) -> None:
        """Read the data that searches need, without computing the vector of a query."""
        self._get_ranker()
        if self.published:
            self.published.load()

    def _find_near(self, query: str, words: Iterable[Word]) -> Neighbors | None:
        """Return the sections that are near to a query in meaning; None if only its words can be compared."""
        last_query, near = self._last_near
        if query == last_query:
            return near
        near = self.published.find_near(query) if self.published else None
        is_final = near is not None or self.published is None  # a failed model may recover
        if near is None and self._has_table:
            near = self._get_table().find_near(query, [word.whole for word in words if not says_little(word)])
        if is_final:
            self._last_near = query, near
        return near

    def _get_table(self) -> TableVectors:
        if self._indexed is not None:
            return self._indexed._get_table()
        self._get_ranker()  # opens the cache
        with self._lock:
            if self._table is None:
                from mkdocs_roaming.embeddings.table import TABLE_MODEL
                from mkdocs_roaming.library.meaning import TableVectors

                library = self.library.whole
                texts = (text or "" for text in _read_texts(library))
                self._table = TableVectors(library.sections, texts, partial(self._recall, TABLE_MODEL, bytes))
            return self._table

    def _make_snippet(self, section: SectionRef, words: Sequence[Word], window: int = 0) -> str:
        """Return the best part of a section, which is in the nearest window if the section has none of the words."""
        text = self._read(section)
        return make_snippet(text, words, self._language, partial(_read_window, text, window) if window else None)

    def _resolve_address(self, query: str) -> SectionRef | None:
        """Return the section that an id, a path or a URL names; a single word is a query, not a path."""
        sections = self.library.sections
        query = query.strip()
        if len(query) > MAX_QUERY_CHARS:
            return None
        section = sections.get(query)
        if section is None and ("/" in query or "#" in query or query.endswith(".md")):
            return sections.find(query)
        return section

    def _find_cited(self, query: str) -> list[list[SectionRef]]:
        """Return the section of an address, or the sections that each citation in a query may mean."""
        target = self._resolve_address(query)
        if target is not None:
            return [[target]]
        library = self.library
        numbers = library.memoize("numbers", lambda: NumberIndex(library.sections))
        return list(numbers.find(query[:MAX_QUERY_CHARS]))

    def _choose_cited(self, candidates: Iterable[Sequence[SectionRef]], ranked: list[str]) -> dict[str, SectionRef]:
        """Return the first of each list of sections in the ranking, by its id; inner sections before outer ones."""
        places = {id_: place for place, id_ in enumerate(ranked)}
        cited = [min(found, key=lambda section: places.get(section.id, len(places))) for found in candidates]
        cited.sort(key=lambda section: section.section.level, reverse=True)
        return {section.id: section for section in cited}

    def _rank_rows(self, words: Sequence[Word], near: Neighbors | None = None) -> list[tuple[int, float]]:
        """Return the visible rows that contain one of the words or are near, with their scores, best first."""
        library = self.library
        key = tuple(words), library, near
        last_key, ranked = self._last_ranking
        if key == last_key:
            return ranked
        ranker = self._get_ranker()
        is_visible = None if library is library.whole else self._is_visible
        cosines = {row: place.cosine for row, place in near.rows.items()} if near else None
        meaning = near.weight if near else 0.0
        ranked = ranker.rank(words, cosines, is_visible, meaning=meaning)
        self._last_ranking = key, ranked
        return ranked

    def _is_visible(self, row: int) -> bool:
        sections = self._get_ranker().index.sections
        return self.library.sections.get(sections[row].id) is not None

    def _get_ranker(self) -> Ranker:
        if self._indexed is not None:
            return self._indexed._get_ranker()
        with self._lock:
            if self._ranker is None:
                self._ranker = Ranker(self._open_index(), self.weights)
            return self._ranker

    def _open_index(self) -> Index:
        """Return the index from the cache, or build and cache it."""
        library = self.library.whole
        sections = library.sections
        fields = self.weights.fields
        cache = self._cache
        if cache is None or len(sections) < cache.min_sections:
            return Index.from_texts(sections, _read_texts(library), fields)
        key = index_key(library.manifest, fields)
        data = cache.load(key, IndexData)
        if data is not None:
            self._key = key
            return Index(sections, data)
        index = Index.from_texts(sections, _read_texts(library), fields)
        self._key = ""
        if index.complete:
            self._key = key
            cache.store(key, index.data)
        return index

    def _get_relevance(self) -> Relevance:
        ranker = self._get_ranker()
        index = ranker.index
        with self._lock:
            if self._relevance is None:
                self._relevance = Relevance(
                    index.postings,
                    self._language,
                    lambda words: [row for row, _ in self._rank_rows(words)],
                    ranker.find_word,
                    lambda row: self._read(index.sections[row]),
                    partial(self._recall, "scores", list[float]),
                )
            return self._relevance

    def _recall(self, name: str, kind: type[T], compute: Callable[[], T]) -> T:
        """Return what was computed of the index, from the cache, or compute and cache it."""
        if self._cache is None or not self._key or self.weights != Weights():
            return compute()
        key = f"{self._key}-{name}"
        known = self._cache.load(key, kind)
        if known is None:
            known = compute()
            self._cache.store(key, known)
        return known

    def _read(self, section: SectionRef) -> str:
        try:
            return self.library.text(section)
        except LibraryError:
            return section.section.opening


def to_search_result(
    sections: SectionIndex, hit: Hit, score: float | None = None, *, has_snippet: bool = True
) -> SearchResult:
    """Return a hit as a tool's result: titles on one line and shortened; `score` replaces the hit's own."""
    section = hit.section
    titles = sections.breadcrumb(section)[-_MAX_TITLES:]
    return SearchResult(
        section.id,
        truncate_at_word(" ".join(section.section.title.split()), _MAX_TITLE_CHARS),
        tuple(truncate_at_word(" ".join(title.split()), _MAX_OUTER_TITLE_CHARS) for title in titles),
        hit.snippet if has_snippet else "",
        round(hit.score if score is None else score, 4),
        sections.url(section),
    )


def _read_texts(library: Library) -> Iterator[str | None]:
    """Yield the text of each section, or None if it cannot be read.

    Pages are prefetched in batches, for a site that is larger than the page cache.
    """
    sections = list(library.sections)
    library.prefetch()
    for start in range(0, len(sections), _BATCH_SIZE):
        batch = sections[start : start + _BATCH_SIZE]
        library.prefetch(list({section.page.path: section.page for section in batch}.values()))
        for section in batch:
            try:
                yield library.text(section)
            except LibraryError:
                yield None


def _read_window(text: str, number: int) -> str:
    from mkdocs_roaming.embeddings.sections import split_windows  # few searches need it

    windows = split_windows((), text)
    return windows[min(number, len(windows) - 1)]


def says_little(word: Word) -> bool:
    """Return whether a word is a stop word, a filler, a short number, or a fragment in a script without spaces."""
    text = word.text.lower()
    if word.stop or text in filler_words() or is_spaceless(text):
        return True
    return text.isdigit() and len(text) < _MIN_NUMBER_DIGITS

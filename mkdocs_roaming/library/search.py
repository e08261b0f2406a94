"""Full-text search over the sections of a library; `search.ranking` ranks them."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, partial
from itertools import islice
from typing import Protocol, Self

from msgspec import Struct

from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.library.index_cache import IndexCache, index_key
from mkdocs_roaming.library.snippets import make_snippet
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.models import Manifest, PageEntry
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
from mkdocs_roaming.text.languages import COMPOUNDING, base_language
from mkdocs_roaming.text.markdown import truncate_at_word
from mkdocs_roaming.text.tokenizer import Word, is_spaceless, is_stop_word, parse_phrase

RankedSection = tuple[SectionRef, float, int | None]
"""A section, its score, and the number of its nearest text window if that was compared with the query."""

_BATCH_SIZE = 500
_RARE_SHARE = 0.02
_MIN_RARE_SECTIONS = 3
_MAX_SPECIFIC = 40
_MAX_UNKNOWN = 8
_MAX_UNKNOWN_CHARS = 40
_MAX_SIMILAR = 5
_MIN_SIMILARITY = 0.75
_VALUE_OR_DOMAIN = re.compile(r"(?<=\w):\w\S*|(?<=\w)\.(?:com|dev|io|net|org)\b\S*")
_NAME = re.compile(r"(?<![\w.`/-])[A-Z][\w+#]{0,30}(?: [A-Z0-9][\w+#]{0,30}){1,3}(?![\w`/-])")
_ADDRESS = r"[/#]|\.md$"


class SiteTexts(Protocol):
    """What search reads of a `Library`."""

    manifest: Manifest
    sections: SectionIndex

    @property
    def whole(self) -> SiteTexts:
        """The whole site, if this is the part of it in a scope."""

    @property
    def where(self) -> str:
        """The folder or address, for messages."""

    def text(self, section: SectionRef) -> str:
        """Return a section's own text, or raise LibraryError."""

    def file(self, path: str, cache_key: str = "") -> bytes:
        """Return a published file, or raise LibraryError."""

    def prefetch(self, pages: Sequence[PageEntry] | None = None) -> None:
        """Load pages ahead of `text`."""


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
    """Search by words; `HybridSearch` adds vectors.

    The index is built on first use, for the whole site also if the library is restricted to a scope: then the sections
    found are filtered. Several threads may use it.

    Args:
        library: The site, or a part of it.
        weights: The parameters of the ranking.
        cache: Indexes of earlier processes.
    """

    def __init__(
        self,
        library: SiteTexts,
        *,
        weights: Weights | None = None,
        cache: IndexCache | None = None,
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

    def restrict(self, library: SiteTexts) -> Self:
        """Return a search of a restricted library of the same site, which shares this search's index."""
        restricted = copy(self)
        restricted.library = library
        restricted._indexed = self._indexed or self
        restricted._relevance = None
        restricted._key = ""
        return restricted

    def by_words(self) -> Search:
        """Return a search by words alone, which shares this search's index."""
        search = Search(self.library, weights=self.weights)
        search._indexed = self._indexed or self
        return search

    def find(self, query: str, *, limit: int = 10) -> list[Hit]:
        """Return the best sections for a query, best first.

        Args:
            query: A question, words, or the id or address of a section, which is then the first hit.
            limit: Maximum number of hits.
        """
        words = parse_query(query, self._language)
        ranked = list(self._rank_query(query, words))
        if (target := self._resolve_address(query)) is not None:
            score = ranked[0][1] + 1 if ranked else 1.0
            ranked = [(target, score, None), *(one for one in ranked if one[0].id != target.id)]
        return [
            Hit(section, score, partial(self._make_snippet, section, window, words))
            for section, score, window in ranked[: max(limit, 0)]
        ]

    def find_specific(self, query: str, *, limit: int = 10) -> list[Hit]:
        """Return the best sections that contain a rare word of the query: one that few sections contain."""
        index = self._get_index()
        most = max(_MIN_RARE_SECTIONS, len(index.sections) * _RARE_SHARE)
        rows: set[int] = set()
        for word in parse_query(query, self._language):
            found = index.postings.find(word.runs, prefix=word.prefix).rows
            is_filler = word.stop or word.text.lower() in filler_words()
            if not is_filler and len(found) <= most:
                rows.update(found)
        ids = {index.sections[row].id for row in rows}
        hits = self.find(query, limit=_MAX_SPECIFIC) if ids else []
        return [hit for hit in hits if hit.section.id in ids][:limit]

    def rank(self, words: Sequence[Word]) -> list[tuple[SectionRef, float]]:
        """Return all sections that contain one of the words, with their scores, best first."""
        sections = self._get_index().sections
        return [(sections[row], score) for row, score in self._rank_rows(words)]

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
        if self._resolve_address(query) is not None:
            return ""
        if (language := relevance.find_language(query)) is not None:
            return name_language(self._language, language)
        least = LOW_CONFIDENCE if is_follow_up else MIN_CONFIDENCE
        return NO_ANSWER if relevance.confidence(query) < least else ""

    def find_names(self, query: str) -> str:
        """Return the words of a query in another language that the site contains, if one is a name in its code."""
        return self._get_relevance().find_names(query[:MAX_QUERY_CHARS])

    def find_foreign(self, query: str, *, limit: int = 10) -> list[Hit]:
        """Return the sections for a query in another language: those in its language, then those with its names."""
        relevance = self._get_relevance()
        names = self.find_names(query)
        hits = self.find(query, limit=limit)
        found = [hit for hit in hits if relevance.is_in_language(query, self._read(hit.section))]
        by_id = {hit.section.id: hit for hit in (*found, *(self.find(names, limit=limit) if names else ()))}
        return list(by_id.values())[:limit]

    def words_only(self, query: str) -> bool:
        """Return whether the query was searched by words although vectors are configured."""
        return False

    def find_unknown_words(self, query: str) -> tuple[str, ...]:
        """Return the words of a query that no visible section contains, at most eight, shortened."""
        words = parse_query(query, self._language)
        return _shorten(word.text for word in words if not (word.stop or self._occurs(word)))

    def find_missing(self, question: str) -> tuple[str, ...]:
        """Return the words and names of a question that no visible section contains, at most eight, shortened.

        Names are capitalized words that follow each other, such as *Power BI*. Of a question in another language than
        the site's, only names from code are considered.
        """
        words = [word for word in parse_query(question, self._language) if not says_little(word)]
        if self._get_relevance().find_language(question[:MAX_QUERY_CHARS]) is not None:
            words = [word for word in words if is_code_name(word.text)]
        names = [parse_phrase(name, self._language) for name in _find_names(question, self._language)]
        missing = [word for word in (*names, *words) if not (self._occurs(word) or self._has_stem(word.text))]
        inside = {part for name in names if name in missing for part in name.text.split()}
        return _shorten(word.text.removesuffix("'s") for word in missing if word.text not in inside)

    def _has_stem(self, name: str) -> bool:
        """Return whether a name is a value or a domain of a word that a section contains, as in `playlist:foo`."""
        stem = _VALUE_OR_DOMAIN.sub("", name)
        return stem != name and all(map(self._occurs, parse_query(stem, self._language)))

    def find_similar_names(self, query: str) -> tuple[str, ...] | None:
        """Return similar names of the site if a query is one name that occurs nowhere; None for other queries."""
        words = parse_query(query, self._language)
        if len(words) != 1 or says_little(words[0]) or self._occurs(words[0]):
            return None
        titles = {one.section.title.casefold(): one.section.title for one in self.library.sections}
        close = get_close_matches(query.strip(" `?").casefold(), titles, _MAX_SIMILAR, _MIN_SIMILARITY)
        terms = self._get_index().similar_terms(words[0].parts[-1]) if len(words[0].parts) == 1 else []
        return tuple(dict.fromkeys([*(titles[title] for title in close), *terms]))[:_MAX_SIMILAR]

    def _occurs(self, word: Word) -> bool:
        """Return whether a visible section contains a word."""
        index = self._get_index()
        visible = self.library.sections
        rows = index.postings.find(word.runs, prefix=word.prefix).rows
        is_whole = self.library is self.library.whole
        return bool(rows) if is_whole else any(visible.get(index.sections[row].id) for row in rows)

    def load(self) -> None:
        """Read the data that searches need."""
        self._get_index()

    def _rank_query(self, query: str, words: Sequence[Word]) -> Iterator[RankedSection]:
        """Yield the sections for a query, best first."""
        return ((section, score, None) for section, score in self.rank(words))

    def _make_snippet(self, section: SectionRef, window: int | None, words: Sequence[Word]) -> str:
        return make_snippet(self._read(section), words, self._language)

    def _resolve_address(self, query: str) -> SectionRef | None:
        """Return the section that an id, a path or a URL names; a single word is a query, not a path."""
        sections = self.library.sections
        query = query.strip()
        if len(query) > MAX_QUERY_CHARS:
            return None
        return sections.get(query) or (sections.find(query) if re.search(_ADDRESS, query) else None)

    def _rank_rows(self, words: Sequence[Word], *, with_pairs: bool = True) -> list[tuple[int, float]]:
        """Return the visible rows that contain one of the words, with their scores, best first."""
        key = tuple(words), with_pairs, self.library
        last, ranked = self._last_ranking
        if key != last:
            ranker = self._get_ranker()
            library = self.library
            sections = ranker.index.sections
            visible = library.sections
            is_visible = None if library is library.whole else lambda row: visible.get(sections[row].id) is not None
            ranked = ranker.rank(words, is_visible, with_pairs=with_pairs)
            if with_pairs:
                self._last_ranking = key, ranked
        return ranked

    def _get_ranker(self) -> Ranker:
        if self._indexed is not None:
            return self._indexed._get_ranker()
        with self._lock:
            if self._ranker is None:
                self._ranker = Ranker(self._open_index(), self.weights)
            return self._ranker

    def _get_index(self) -> Index:
        return self._get_ranker().index

    def _open_index(self) -> Index:
        """Return the index from the cache, or build and cache it."""
        library = self.library.whole
        fields = self.weights.fields
        sections = library.sections
        if self._cache is None or len(sections) < self._cache.min_sections:
            return Index.from_texts(sections, _read_texts(library), fields)
        key = self._key = index_key(library.manifest, fields)
        if (data := self._cache.load(key, IndexData)) is not None:
            with suppress(ValueError):
                return Index(sections, data)
        index = Index.from_texts(sections, _read_texts(library), fields)
        if index.complete:
            self._cache.store(key, index.data)
        else:
            self._key = ""
        return index

    def _get_relevance(self) -> Relevance:
        ranker = self._get_ranker()
        index = ranker.index
        with self._lock:
            if self._relevance is None:
                self._relevance = Relevance(
                    index.postings,
                    self._language,
                    lambda words: [row for row, _ in self._rank_rows(words, with_pairs=False)],  # as it was fitted
                    ranker.find_word,
                    lambda row: self._read(index.sections[row]),
                    self._recall_scores,
                )
            return self._relevance

    def _recall_scores(self, compute: Callable[[], list[float]]) -> list[float]:
        """Return the scores of unrelated questions from the cache, or compute and cache them."""
        if self._cache is None or not self._key or self.weights != Weights():
            return compute()
        key = f"{self._key}-scores"
        scores = self._cache.load(key, list[float])
        if scores is None:
            scores = compute()
            self._cache.store(key, scores)
        return scores

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
    breadcrumb = tuple(truncate_at_word(" ".join(title.split()), 80) for title in sections.breadcrumb(section)[-6:])
    title = truncate_at_word(" ".join(section.section.title.split()), 120)
    return SearchResult(
        section.id,
        title,
        breadcrumb,
        hit.snippet if has_snippet else "",
        round(hit.score if score is None else score, 4),
        sections.url(section),
    )


def _read_texts(library: SiteTexts) -> Iterator[str | None]:
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


def _shorten(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(islice(dict.fromkeys(truncate_at_word(word, _MAX_UNKNOWN_CHARS) for word in words), _MAX_UNKNOWN))


def says_little(word: Word) -> bool:
    """Return whether a word is a stop word, a filler, a short number, or a fragment in a script without spaces."""
    text = word.text.lower()
    return word.stop or text in filler_words() or (text.isdigit() and len(text) < 3) or is_spaceless(text)


def _find_names(query: str, language: str) -> Iterator[str]:
    """Yield capitalized words that follow each other, without stop words and the first word of a sentence."""
    if base_language(language) in COMPOUNDING or not re.search(r"(?<!\S)[^\W\d_A-Z]{3}", query):
        return  # nouns have capital letters, or all words of a title
    for match in _NAME.finditer(query):
        words = match[0].split(" ")
        if not query[: match.start()].rstrip(" \"'`(").endswith(tuple("abcdefghijklmnopqrstuvwxyz,;)")):
            del words[0]
        while words and is_stop_word(words[0], language):
            del words[0]
        while words and words[-1].isdigit():
            del words[-1]
        if len(words) > 1 and not match[0].isupper():  # a list of abbreviations is no name
            yield " ".join(words)

"""Full-text search over sections: BM25 over their fields, plus the score of their page."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from heapq import nlargest
from itertools import chain, islice, pairwise
from math import log1p
from typing import Self

from msgspec import Struct

from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.library.index import Index, IndexCache, IndexData, SiteTexts, asks_about_changes, index_key
from mkdocs_roaming.library.postings import PostingMatches, are_close, merge_matches
from mkdocs_roaming.library.relevance import DOUBTFUL_CONFIDENCE, Relevance
from mkdocs_roaming.library.snippets import make_snippet
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.text import tokenizer
from mkdocs_roaming.text.languages import COMPOUNDING, base_language, load_words
from mkdocs_roaming.text.markdown import truncate_at_word
from mkdocs_roaming.text.tokenizer import Word, find_stem_synonyms

RankedSection = tuple[SectionRef, float, int | None]
"""A section, its score, and the number of its nearest text window if it contains no word of the query."""

MAX_QUERY_CHARS = 2_000
"""A longer query is cut."""

_MAX_QUERY_WORDS = 48
_RARE_SHARE = 0.02
_MIN_RARE_SECTIONS = 3
_MAX_SPECIFIC = 40
_MAX_PAIRED = 30
_MIN_PAIRS = 3  # of a query: the only pair of two words says less; link texts lose without this
_MAX_SYNONYM_SHARE = 2.0  # at 1 one of 51 questions is lost; at 5, which never applies, link texts gain less
_MAX_UNKNOWN = 8
_MAX_UNKNOWN_CHARS = 40
_WORD_CACHE_SIZE = 256
_ADDRESS = r"[/#]|\.md$"


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


class Weights(Struct, frozen=True):
    """The parameters of the ranking, measured by benchmarks/search_quality.py."""

    title: float = 12.0
    above: float = 2.0
    """Titles of the sections above it on its page."""
    nav: float = 1.2
    """The title of its page, and titles above that in the navigation."""
    below: float = 0.9
    """Titles of its subsections."""
    links: float = 4.0
    """Words of the links to it."""
    asks: float = 4.0
    """Questions that it answers, and what it is for, as a model or the author wrote it."""
    body: float = 0.9
    page: float = 0.7
    """Share of the page's score."""
    full_title_bonus: float = 0.6
    """Share that is added for a title all of whose words are in the query, if one of them is its rarest word."""
    pairs: float = 0.7
    """Share that is added for words that are as close to each other as in the query."""
    coverage_penalty: float = 0.5
    """Share that is taken off a section with none of the words, and less for each word that it has."""
    name: int = 4
    """Number of words that a name from code counts for in the coverage."""
    repeated_page: float = 0.9
    """Share of each further section of a page of which two sections are ahead."""
    filler: float = 0.4
    """Share of a filler word, such as *want* and *often*."""
    fuzzy: float = 0.7
    """Share of terms that are similar to a word that the site never uses."""
    compound: float = 0.4
    """Share of words that are composed with a word of the query, in languages that write compounds as one word."""
    synonym: float = 0.2
    """Share of synonyms; see `_synonym_share`."""
    late: float = 0.65
    """Share of sections of change logs, archives and pages for contributors, unless the query is about changes."""


class Search:
    """Search by words; `HybridSearch` adds vectors.

    The index is built on first use, for the whole site also if the library is restricted to a scope: then the sections
    found are filtered. Several threads may use it.

    Args:
        library: The site, or a part of it.
        weights: The parameters of the ranking.
        excluded_links: Links whose words are not indexed, by their lower-case words and the id of the target section:
            those that a benchmark uses as queries. Such an index is not cached.
        cache: Indexes of earlier processes.
    """

    def __init__(
        self,
        library: SiteTexts,
        *,
        weights: Weights | None = None,
        excluded_links: Container[tuple[str, str]] = (),
        cache: IndexCache | None = None,
    ) -> None:
        self.library = library
        self.weights = weights or Weights()
        self._excluded_links = excluded_links
        self._cache = None if excluded_links else cache
        self._language = library.manifest.site.language
        self._lock = threading.Lock()
        self._index: Index | None = None
        self._indexed: Search | None = None
        self._relevance: Relevance | None = None
        self._key = ""  # of the files in the cache
        self._find_word = lru_cache(_WORD_CACHE_SIZE)(self._find_word_uncached)
        self._last_ranking: tuple[object, list[tuple[int, float]]] = (None, [])  # an answer ranks its question twice

    def restrict(self, library: SiteTexts) -> Self:
        """Return a search of a restricted library of the same site, which shares this search's index."""
        restricted = copy(self)
        restricted.library, restricted._indexed, restricted._relevance = library, self._indexed or self, None
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
        ranked = self._rank_query(query, words)
        target = self._resolve_address(query)
        if target is not None:
            ranked = _put_first(target, ranked)
        return [
            Hit(section, score, partial(self._make_snippet, section, window, words))
            for section, score, window in islice(ranked, max(limit, 0))
        ]

    def find_specific(self, query: str, *, limit: int = 10) -> list[Hit]:
        """Return the best sections that contain a rare word of the query: one that few sections contain."""
        index = self._get_index()
        most = max(_MIN_RARE_SECTIONS, len(index.sections) * _RARE_SHARE)
        rows: set[int] = set()
        for word in parse_query(query, self._language):
            found = index.postings.find(word.runs, prefix=word.prefix).rows
            is_filler = word.stop or word.text.lower() in load_words("en", "search.filler_words")
            if not is_filler and len(found) <= most:
                rows.update(found)
        ids = {index.sections[row].id for row in rows}
        hits = self.find(query, limit=_MAX_SPECIFIC) if ids else []
        return [hit for hit in hits if hit.section.id in ids][:limit]

    def rank(self, words: Sequence[Word]) -> list[tuple[SectionRef, float]]:
        """Return all sections that contain one of the words, with their scores, best first."""
        return list(self._iter_ranked(words))

    def _iter_ranked(self, words: Sequence[Word]) -> Iterator[tuple[SectionRef, float]]:
        sections = self._get_index().sections
        return ((sections[row], score) for row, score in self._rank_rows(words))

    def confidence(self, query: str) -> float:
        """Return how probably the site answers a query, from 0 to 1; see `relevance.MIN_CONFIDENCE`."""
        return self._get_relevance().confidence(query[:MAX_QUERY_CHARS])

    def is_doubtful(self, query: str) -> bool:
        """Return whether probably no section answers a query; never for the address of a section.

        It is known for languages with word shares only.
        """
        is_calibrated = self._get_relevance().is_calibrated and self._resolve_address(query) is None
        return is_calibrated and self.confidence(query) < DOUBTFUL_CONFIDENCE

    def words_only(self, query: str) -> bool:
        """Return whether the query was searched by words although vectors are configured."""
        return False

    def find_unknown_words(self, query: str) -> tuple[str, ...]:
        """Return the words of a query that no visible section contains, at most eight, shortened."""
        index = self._get_index()
        is_whole, visible = self.library is self.library.whole, self.library.sections

        def occurs(word: Word) -> bool:
            rows = index.postings.find(word.runs, prefix=word.prefix).rows
            return bool(rows) if is_whole else any(visible.get(index.sections[row].id) for row in rows)

        unknown = (
            truncate_at_word(word.text, _MAX_UNKNOWN_CHARS)
            for word in parse_query(query, self._language)
            if not occurs(word)
        )
        return tuple(islice(dict.fromkeys(unknown), _MAX_UNKNOWN))

    def load(self) -> None:
        """Read the data that searches need."""
        self._get_index()

    def _rank_query(self, query: str, words: Sequence[Word]) -> Iterator[RankedSection]:
        """Yield the sections for a query, best first."""
        return ((section, score, None) for section, score in self._iter_ranked(words))

    def _make_snippet(self, section: SectionRef, window: int | None, words: Sequence[Word]) -> str:
        return make_snippet(self._read(section), words, self._language)

    def _resolve_address(self, query: str) -> SectionRef | None:
        """Return the section that an id, a path or a URL names; a single word is a query, not a path."""
        sections, query = self.library.sections, query.strip()
        if len(query) > MAX_QUERY_CHARS:
            return None
        return sections.get(query) or (sections.resolve(query) if re.search(_ADDRESS, query) else None)

    def _scores(self, words: Sequence[Word], *, with_pairs: bool = True) -> dict[int, float]:
        """Return the score of each row that contains one of the words."""
        index, weights = self._get_index(), self.weights
        found = [(word, match) for word in words if (match := self._find_word(word)).rows]
        scores, page_scores = _sum_scores([match for _, match in found], index.page_count)
        coverage = self._coverage_factors(found)
        page_numbers = index.page_numbers
        scores = {
            row: (score + weights.page * page_scores[page_numbers[row]]) * coverage[row]
            for row, score in scores.items()
        }
        for row, share in _title_shares(index, found).items():
            if row in scores:
                scores[row] *= 1 + weights.full_title_bonus * share
        if with_pairs and weights.pairs:
            for row, share in _pair_shares(index, found, scores).items():
                scores[row] *= 1 + weights.pairs * share
        late_pages = _unasked_pages(index, words) if not asks_about_changes(words, self._language) else ()
        for row in scores if late_pages else ():
            scores[row] *= weights.late if page_numbers[row] in late_pages else 1
        return scores

    def _coverage_factors(self, found: Iterable[tuple[Word, PostingMatches]]) -> dict[int, float]:
        """Return the factor of each row: 1 if it has all words, less for each word that it lacks."""
        counts, total = Counter[int](), 0
        for word, match in found:
            weight = self.weights.name if _is_name(word) else 1
            total += weight
            for _ in range(weight):
                counts.update(match.rows)
        penalty = self.weights.coverage_penalty / (total or 1)
        return {row: 1 - penalty * (total - count) for row, count in counts.items()}

    def _rank_rows(self, words: Sequence[Word], *, with_pairs: bool = True) -> list[tuple[int, float]]:
        """Return the visible rows that contain one of the words, with their scores, best first."""
        key = tuple(words), with_pairs, self.library
        last, ranked = self._last_ranking
        if key != last:
            ranked = self._compute_ranking(words, with_pairs=with_pairs)
            if with_pairs:
                self._last_ranking = key, ranked
        return ranked

    def _compute_ranking(self, words: Sequence[Word], *, with_pairs: bool) -> list[tuple[int, float]]:
        scores = self._scores(words, with_pairs=with_pairs)
        if self.library is not self.library.whole:
            sections, visible = self._get_index().sections, self.library.sections
            scores = {row: score for row, score in scores.items() if visible.get(sections[row].id)}
        for row, other in self._get_index().data.repeats.items():
            if other in scores:
                scores.pop(row, None)
        page_numbers, ahead = self._get_index().page_numbers, Counter[int]()
        # Equal scores are in page order.
        for row in sorted(sorted(scores), key=scores.__getitem__, reverse=True):
            page = page_numbers[row]
            ahead[page] += 1
            scores[row] *= self.weights.repeated_page ** max(ahead[page] - 2, 0)
        return [(row, scores[row]) for row in sorted(sorted(scores), key=scores.__getitem__, reverse=True)]

    def _get_index(self) -> Index:
        if self._indexed is not None:
            return self._indexed._get_index()
        with self._lock:
            if self._index is None:
                self._index = self._open_index()
            return self._index

    def _open_index(self) -> Index:
        """Return the index from the cache, or build and cache it."""
        own, library = self.weights, self.library.whole
        fields = (own.title, own.above, own.nav, own.below, own.links, own.asks, own.body)
        if self._cache is None or len(library.sections) < self._cache.min_sections:
            return Index.from_texts(library, fields, self._excluded_links)
        key = self._key = index_key(library.manifest, fields)
        if (data := self._cache.load(key, IndexData)) is not None:
            with suppress(ValueError):
                return Index(library, data)
        index = Index.from_texts(library, fields)
        if index.complete:
            self._cache.store(key, index.data)
        else:
            self._key = ""
        return index

    def _get_relevance(self) -> Relevance:
        index = self._get_index()
        with self._lock:
            if self._relevance is None:
                self._relevance = Relevance(
                    index.postings,
                    self._language,
                    lambda words: [row for row, _ in self._rank_rows(words, with_pairs=False)],  # as it was fitted
                    self._find_word,
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

    def _find_word_uncached(self, word: Word) -> PostingMatches:
        """Return the matches of a word, of similar terms if it has none, and of its synonyms."""
        index, weights = self._get_index(), self.weights
        weight = weights.filler if word.text.lower() in load_words("en", "search.filler_words") else 1.0
        # A name is as relevant in a long section as in a short one.
        exact = index.postings.find(word.runs, prefix=word.prefix, dilute=not _is_name(word))
        matches = [(exact, weight)]
        if not exact.rows:
            similar = [] if word.prefix or not weights.fuzzy else index.similar_terms(word.parts[-1])
            matches = [(index.postings.find([(term,) for term in similar]), weight * weights.fuzzy)]
        if weights.synonym and len(word.parts) == 1:
            stems = find_stem_synonyms(word.parts[0], self._language)
            synonyms = index.postings.find([(stem,) for stem in stems])
            matches.append((synonyms, weight * weights.synonym * _synonym_share(exact, synonyms)))
        if base_language(self._language) in COMPOUNDING and len(word.parts) == 1:
            compounds = index.postings.find([(term,) for term in index.compounds(word.parts[0])])
            matches.append((compounds, weight * weights.compound))
        return merge_matches([(match, share) for match, share in matches if match.rows])

    def _read(self, section: SectionRef) -> str:
        try:
            return self.library.text(section)
        except LibraryError:
            return section.section.opening


def parse_query(query: str, language: str) -> list[Word]:
    """Return the distinct words of a query, without stop words if others remain.

    Of a long query the start and the end count: the error is in the last line of a traceback, the question above or
    below it.
    """
    if len(query) > MAX_QUERY_CHARS:
        query = f"{query[: MAX_QUERY_CHARS // 2]}\n{query[-MAX_QUERY_CHARS // 2 :]}"
    words = [word for word in tokenizer.parse_query(query, language) if any(word.runs)]
    words = [word for word in words if not word.stop] or words
    if len(words) > _MAX_QUERY_WORDS:
        words = words[: _MAX_QUERY_WORDS // 2] + words[-_MAX_QUERY_WORDS // 2 :]
    return words


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


def _put_first(target: SectionRef, ranked: Iterator[RankedSection]) -> Iterator[RankedSection]:
    best = next(ranked, None)
    yield target, best[1] + 1 if best else 1.0, None
    yield from (each for each in chain([best] if best else [], ranked) if each[0].id != target.id)


def _synonym_share(exact: PostingMatches, synonyms: PostingMatches) -> float:
    """Return the share that limits synonyms to twice the score of the word itself.

    A word in most sections scores next to nothing, such as *validator* on a site about validation; a rare synonym
    would decide the ranking.
    """
    if not exact.rows or not synonyms.rows:
        return 1.0
    return min(1.0, _MAX_SYNONYM_SHARE * max(exact.scores) / max(synonyms.scores))


def _is_name(word: Word) -> bool:
    """Return whether a word looks like a name from code: of several parts, or with a sign."""
    return not word.text[0].isdigit() and (len(word.parts) > 1 or not word.text[0].isalnum())


def _unasked_pages(index: Index, words: Iterable[Word]) -> set[int]:
    """Return the late pages whose titles have no word of a query."""
    terms = {term for word in words for run in word.runs for term in run}
    rows = {row for term in terms for row in index.postings.title_rows(term)}
    return set(index.data.late_pages).difference(
        index.page_numbers[row] for row in rows if index.sections[row].position == 0
    )


def _title_shares(index: Index, found: Iterable[tuple[Word, PostingMatches]]) -> dict[int, float]:
    """Return the share of each row's title that is in the query, from 0 to 1.

    It is multiplied by the rarity of the rarest of its words, relative to the rarest word of the query: otherwise the
    title *Usage* would be the best match for the use of a function that other sections explain.
    """
    rarities: dict[str, float] = {}
    for word, match in found:
        rarity = log1p(len(index.sections) / len(match.rows))
        rarities |= {term: max(rarity, rarities.get(term, 0.0)) for run in word.runs for term in run}
    counts, rarest = Counter[int](), dict[int, float]()
    for term in sorted(rarities, key=rarities.__getitem__):
        for row in index.postings.title_rows(term):
            counts[row] += 1
            rarest[row] = rarities[term]
    highest = max(rarities.values(), default=1.0)
    return {row: count / index.data.title_lengths[row] * rarest[row] / highest for row, count in counts.items()}


def _pair_shares(
    index: Index, found: Sequence[tuple[Word, PostingMatches]], scores: Mapping[int, float]
) -> dict[int, float]:
    """Return the share of the pairs of neighbouring words that are close to each other in a row, for the best rows.

    Pairs that are in none of them do not count, but a query has at least `_MIN_PAIRS`.
    """
    best = nlargest(_MAX_PAIRED, scores, scores.__getitem__)
    places = [
        {row: index.postings.places(row, word.runs) for row in set(best).intersection(match.rows)}
        for word, match in found
    ]
    sums, count = Counter[int](), 0
    for first, second in pairwise(places):
        closeness = {row: are_close(first[row], second[row]) for row in best if row in first and row in second}
        sums.update(closeness)
        count += any(closeness.values())
    return {row: total / max(count, _MIN_PAIRS) for row, total in sums.items()}


def _sum_scores(matches: Iterable[PostingMatches], page_count: int) -> tuple[dict[int, float], list[float]]:
    """Return the sums of the scores by row and by page."""
    scores: dict[int, float] = {}
    page_scores = [0.0] * page_count
    for match in matches:
        for page, score in zip(match.groups, match.group_scores, strict=True):
            page_scores[page] += score
        for row, score in zip(match.rows, match.scores, strict=True):
            scores[row] = scores.get(row, 0.0) + score
    return scores, page_scores

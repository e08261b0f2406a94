"""The ranking of sections by the words of a query: BM25 over their fields, plus the score of their page.

`widget/roaming-finder.js` ranks in the same way; `tests/unit/widget/test_ranking.py` compares both.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from heapq import nlargest
from itertools import chain
from math import log1p

from msgspec import Struct
from msgspec.structs import replace

from mkdocs_roaming.search.index import Index
from mkdocs_roaming.search.postings import PostingMatches, merge_matches
from mkdocs_roaming.text import tokenizer
from mkdocs_roaming.text.languages import COMPOUNDING, base_language, load_words
from mkdocs_roaming.text.tokenizer import Word, is_stop_word

MAX_QUERY_CHARS = 2_000
"""A longer query is cut."""

_MAX_QUERY_WORDS = 48
_LEAST_NEAR = 0.7
"""Share of the best score that a row needs which has none of the words."""

_SENTENCE_WORDS = 4
"""Number of words, without stop words, fillers and names from code, from which a query counts as a sentence."""

_LEAST_ROWS = 0.5
"""Number of rows of a word that the site lacks, in its rarity."""

_MAX_NEAR = 200
"""Number of rows that are found by meaning: the nearest ones."""

_WORD_CACHE_SIZE = 256
_VERSION = re.compile(r"v?\d+\.\d")
"""The beginning of a version: `2.1`, `v3.0.1`."""

_MatchedWord = tuple[Word, PostingMatches]
"""A word of a query with its matches."""


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
    coverage_penalty: float = 0.5
    """Share that is taken off a section with none of the words, and less for each word that it has."""
    name: int = 4
    """Number of words that a name from code counts for in the coverage."""
    filler: float = 0.4
    """Share of a filler word, such as *want* and *often*."""
    fuzzy: float = 0.7
    """Share of terms that are similar to a word that the site never uses."""
    compound: float = 0.4
    """Share of words that are composed with a word of the query, in languages that write compounds as one word."""
    late: float = 0.65
    """Share of sections of change logs, archives and pages for contributors, unless the query is about changes."""

    @property
    def fields(self) -> tuple[float, ...]:
        """The weights of the `index.FIELDS`."""
        return self.title, self.above, self.nav, self.below, self.links, self.asks, self.body


class Ranker:
    """Ranks the rows of an index by the words of a query. Several threads may use it.

    Args:
        index: The index of a site.
        weights: The parameters of the ranking.
    """

    def __init__(self, index: Index, weights: Weights) -> None:
        self.index = index
        self._weights = weights
        self._language = index.language
        self._score_once = lru_cache(1)(self.score)  # an answer ranks its question with and without cosines
        self.find_word = lru_cache(_WORD_CACHE_SIZE)(self._find_word)
        """Return the matches of a word, of similar terms if it has none, and of its compounds."""

    def rank(
        self,
        words: Sequence[Word],
        cosines: Mapping[int, float] | None = None,
        is_visible: Callable[[int], bool] | None = None,
        *,
        meaning: float = 0.0,
    ) -> list[tuple[int, float]]:
        """Return the rows that contain one of the words or are near in meaning, with their scores, best first.

        Args:
            words: The words of a query.
            cosines: The cosines of rows with the query; None for words alone.
            is_visible: Returns whether a row may be found; all may without it.
            meaning: The weight of the cosines for a sentence none of whose words is found, from 0 to 1; words have the
                rest.
        """
        scores = dict(self._score_once(tuple(words)))
        if is_visible:
            scores = {row: score for row, score in scores.items() if is_visible(row)}
        if cosines is not None:
            visible = filter(is_visible, cosines) if is_visible else cosines
            nearest = nlargest(_MAX_NEAR, visible, cosines.__getitem__)
            share = meaning * self._measure_meaning(words, scores)
            scores = fuse_scores(scores, {row: cosines[row] for row in nearest}, share)
        best = max(scores.values(), default=0.0)
        for row in _find_exact_titles(self.index, words):
            if row in scores:
                scores[row] += best
        best_rows: dict[int, int] = {}  # of equal texts the best one is shown
        for row in sorted(sorted(scores), key=scores.__getitem__, reverse=True):
            best_rows.setdefault(self.index.data.repeats.get(row, row), row)
        return [(row, scores[row]) for row in best_rows.values()]

    def _measure_meaning(self, words: Sequence[Word], scores: Mapping[int, float]) -> float:
        """Return how much the meaning of a query counts, from 0 to 1.

        It counts less for a few words or names, whose meaning is in the words themselves, and the less the more of the
        query, by the rarity of its words, is in the best row by words.
        """
        content_words = [word for word in words if word.text.lower() not in filler_words()]
        plain_words = [word for word in content_words if not _is_name(word)]
        best = max(scores, key=scores.__getitem__, default=-1)
        total = 0.0
        covered = 0.0
        for word in content_words:
            rows = self.find_word(word).rows
            rarity = log1p(len(self.index.sections) / (len(rows) or _LEAST_ROWS))
            total += rarity
            covered += rarity if best in rows else 0.0
        coverage = covered / (total or 1.0)
        return min(max(len(plain_words), 1) / _SENTENCE_WORDS, 1.0) * (1 - coverage**2)

    def score(self, words: Sequence[Word]) -> dict[int, float]:
        """Return the score of each row that contains one of the words; repeated texts and pages count in full."""
        index = self.index
        weights = self._weights
        page_numbers = index.page_numbers
        matched = [(word, match) for word in words if (match := self.find_word(word)).rows]
        sums: dict[int, float] = {}
        page_sums = [0.0] * index.page_count
        for _, match in matched:
            for page, score in zip(match.groups, match.group_scores, strict=True):
                page_sums[page] += score
            for row, score in zip(match.rows, match.scores, strict=True):
                sums[row] = sums.get(row, 0.0) + score
        coverage = self._coverage_factors(matched)
        scores: dict[int, float] = {}
        for row, score in sums.items():
            scores[row] = (score + weights.page * page_sums[page_numbers[row]]) * coverage[row]
        for row, share in _title_shares(index, matched).items():
            if row in scores:
                scores[row] *= 1 + weights.full_title_bonus * share
        late_pages = _unasked_pages(index, words)
        if late_pages:
            for row in scores:
                scores[row] *= weights.late if page_numbers[row] in late_pages else 1
        return scores

    def _coverage_factors(self, matched: Iterable[_MatchedWord]) -> dict[int, float]:
        """Return the factor of each row: 1 if it has all words, less for each word that it lacks."""
        counts = Counter[int]()
        total = 0
        for word, match in matched:
            weight = self._weights.name if _is_name(word) else 1
            total += weight
            for _ in range(weight):
                counts.update(match.rows)
        penalty = self._weights.coverage_penalty / (total or 1)
        return {row: 1 - penalty * (total - count) for row, count in counts.items()}

    def _find_word(self, word: Word) -> PostingMatches:
        """Return the matches of a word, of similar terms if it has none, and of its compounds."""
        find = self.index.postings.find
        weights = self._weights
        weight = weights.filler if word.text.lower() in filler_words() else 1.0
        # A name is as relevant in a long section as in a short one.
        exact = find(word.runs, prefix=word.prefix, dilute=not _is_name(word))
        matches = [(exact, weight)]
        if not exact.rows and not word.prefix and weights.fuzzy:
            similar = self.index.similar_terms(word.parts[-1])
            matches.append((find([(term,) for term in similar]), weight * weights.fuzzy))
        if len(word.parts) == 1 and base_language(self._language) in COMPOUNDING:
            compounds = self.index.compounds(word.parts[0])
            matches.append((find([(term,) for term in compounds]), weight * weights.compound))
        return merge_matches([(match, share) for match, share in matches if match.rows])


def fuse_scores(by_words: Mapping[int, float], cosines: Mapping[int, float], meaning: float) -> dict[int, float]:
    """Combine scores by words and cosines to scores from 0 to 1.

    A score by words counts as its share of the best one. Cosines of one model are all near 1, those of another near 0,
    so they are scaled from the smallest to the greatest of those found. Scores are used instead of ranks, so a section
    that words rank far ahead stays ahead even with a weak model. One without any word must come close to the best.

    Args:
        by_words: Scores by words, by row.
        cosines: Cosines of the nearest rows.
        meaning: The weight of the cosines.
    """
    scores: dict[int, float] = {}
    best = max(by_words.values(), default=0.0)
    if best > 0:
        scores = {row: (1 - meaning) * score / best for row, score in by_words.items()}
    lowest = min(cosines.values(), default=0.0)
    spread = max(cosines.values(), default=0.0) - lowest
    for row, cosine in cosines.items():
        share = (cosine - lowest) / spread if spread > 0 else 1.0
        scores[row] = scores.get(row, 0.0) + meaning * share
    least = _LEAST_NEAR * max(scores.values(), default=0.0)
    return {row: score for row, score in scores.items() if row in by_words or score >= least}


def parse_query(query: str, language: str) -> list[Word]:
    """Return the distinct words of a query, without stop words if others remain.

    Of a long query the start and the end count: the error is in the last line of a traceback, the question above or
    below it.
    """
    if len(query) > MAX_QUERY_CHARS:
        query = f"{query[: MAX_QUERY_CHARS // 2]}\n{query[-MAX_QUERY_CHARS // 2 :]}"
    words = [word for word in tokenizer.parse_query(query, language) if any(word.runs)]
    content_words = [word for word in words if not word.stop]
    if content_words:
        words = [_drop_stop_words(word, language) for word in content_words]
    if len(words) > _MAX_QUERY_WORDS:
        words = words[: _MAX_QUERY_WORDS // 2] + words[-_MAX_QUERY_WORDS // 2 :]
    return words


def _drop_stop_words(word: Word, language: str) -> Word:
    """Return a word without the stop words among its parts: `built-in`."""
    if len(word.parts) == 1:
        return word
    runs: list[tuple[str, ...]] = []
    for run in word.runs:
        content = tuple(term for term in run if not is_stop_word(term, language))
        if len(run) == 1:
            runs.append(run)
        elif content:
            runs.append(content)
    return replace(word, runs=tuple(runs))


def filler_words() -> frozenset[str]:
    """Return the words that people use in questions and pages seldom in answers."""
    return load_words("en", "search.filler_words")


def change_words(language: str) -> frozenset[str]:
    """Return the words of questions about versions and changes, in the language of a site or in English."""
    return load_words(language, "search.change_words") | load_words("en", "search.change_words")


def _is_name(word: Word) -> bool:
    """Return whether a word looks like a name from code: of several parts, or with a sign."""
    first = word.text[0]
    if first.isdigit():
        return False
    return len(word.parts) > 1 or not first.isalnum()


def _unasked_pages(index: Index, words: Iterable[Word]) -> set[int]:
    """Return the late pages whose titles have no word of a query; none if the query is about changes."""
    known = change_words(index.language)
    if any(word.whole in known or _VERSION.match(word.text) for word in words):
        return set()
    pages = set(index.data.late_pages)
    runs = chain.from_iterable(word.runs for word in words)
    for term in set(chain.from_iterable(runs)):
        for row in index.postings.title_rows(term):
            if index.sections[row].position == 0:
                pages.discard(index.page_numbers[row])
    return pages


def _title_shares(index: Index, matched: Iterable[_MatchedWord]) -> dict[int, float]:
    """Return the share of each row's title that is in the query, from 0 to 1.

    It is multiplied by the rarity of the rarest of its words, relative to the rarest word of the query: otherwise the
    title *Usage* would be the best match for the use of a function that other sections explain.
    """
    rarities: dict[str, float] = {}
    for word, match in matched:
        rarity = log1p(len(index.sections) / len(match.rows))
        for term in chain.from_iterable(word.runs):
            rarities[term] = max(rarity, rarities.get(term, 0.0))
    counts = Counter[int]()
    rarest = dict[int, float]()
    for term in sorted(rarities, key=rarities.__getitem__):
        for row in index.postings.title_rows(term):
            counts[row] += 1
            rarest[row] = rarities[term]
    highest = max(rarities.values(), default=1.0)
    lengths = index.data.title_lengths
    return {row: count / lengths[row] * rarest[row] / highest for row, count in counts.items()}


def _find_exact_titles(index: Index, words: Sequence[Word]) -> list[int]:
    """Return the rows whose title a query is, apart from stop words."""
    wanted = [word.parts for word in words]
    first = wanted[0][0] if wanted and wanted[0] else ""
    exact: list[int] = []
    for row in index.postings.title_rows(first):
        title = parse_query(index.sections[row].section.title, index.language)
        if [word.parts for word in title] == wanted:
            exact.append(row)
    return exact

"""The ranking of sections by the words of a query: BM25 over their fields, plus the score of their page.

`widget/roaming-finder.js` ranks in the same way; `tests/browser/widget/test_widget_ranking.py` compares both.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from heapq import nlargest
from itertools import pairwise
from math import log1p

from msgspec import Struct
from msgspec.structs import replace

from mkdocs_roaming.search.index import Index
from mkdocs_roaming.search.postings import PostingMatches, are_close, merge_matches
from mkdocs_roaming.text import tokenizer
from mkdocs_roaming.text.languages import COMPOUNDING, base_language, load_words
from mkdocs_roaming.text.tokenizer import Word, find_stem_synonyms, is_stop_word

MAX_QUERY_CHARS = 2_000
"""A longer query is cut."""

_MAX_QUERY_WORDS = 48
_MAX_PAIRED = 30
_MIN_PAIRS = 3  # of a query: the only pair of two words says less; link texts lose without this
_MAX_SYNONYM_SHARE = 2.0  # at 1 one of 51 questions is lost; at 5, which never applies, link texts gain less
_WORD_CACHE_SIZE = 256
_VERSION = r"v?\d+\.\d"


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
        self.find_word = lru_cache(_WORD_CACHE_SIZE)(self._find_word)
        """Return the matches of a word, of similar terms if it has none, and of its synonyms."""

    def rank(
        self, words: Sequence[Word], is_visible: Callable[[int], bool] | None = None, *, with_pairs: bool = True
    ) -> list[tuple[int, float]]:
        """Return the rows that contain one of the words, with their scores, best first.

        Args:
            words: The words of a query.
            is_visible: Returns whether a row may be found; all may without it.
            with_pairs: Whether words that are close to each other count more.
        """
        index = self.index
        weights = self._weights
        scores = self.score(words, with_pairs=with_pairs)
        if is_visible:
            scores = {row: score for row, score in scores.items() if is_visible(row)}
        ahead = Counter[int]()
        shown = set[int]()
        # Equal scores are in page order; of equal texts the best one is shown.
        for row in sorted(sorted(scores), key=scores.__getitem__, reverse=True):
            text = index.data.repeats.get(row, row)
            if text in shown:
                del scores[row]
                continue
            shown.add(text)
            page = index.page_numbers[row]
            ahead[page] += 1
            scores[row] *= weights.repeated_page ** max(ahead[page] - 2, 0)
        return [(row, scores[row]) for row in sorted(sorted(scores), key=scores.__getitem__, reverse=True)]

    def score(self, words: Sequence[Word], *, with_pairs: bool = True) -> dict[int, float]:
        """Return the score of each row that contains one of the words; repeated texts and pages count in full."""
        index = self.index
        weights = self._weights
        found = [(word, match) for word in words if (match := self.find_word(word)).rows]
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
        late_pages = _unasked_pages(index, words) if not _asks_about_changes(words, self._language) else ()
        for row in scores if late_pages else ():
            scores[row] *= weights.late if page_numbers[row] in late_pages else 1
        return scores

    def _coverage_factors(self, found: Iterable[tuple[Word, PostingMatches]]) -> dict[int, float]:
        """Return the factor of each row: 1 if it has all words, less for each word that it lacks."""
        counts = Counter[int]()
        total = 0
        for word, match in found:
            weight = self._weights.name if _is_name(word) else 1
            total += weight
            for _ in range(weight):
                counts.update(match.rows)
        penalty = self._weights.coverage_penalty / (total or 1)
        return {row: 1 - penalty * (total - count) for row, count in counts.items()}

    def _find_word(self, word: Word) -> PostingMatches:
        """Return the matches of a word, of similar terms if it has none, and of its synonyms."""
        index = self.index
        weights = self._weights
        weight = weights.filler if word.text.lower() in filler_words() else 1.0
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


def parse_query(query: str, language: str) -> list[Word]:
    """Return the distinct words of a query, without stop words if others remain.

    Of a long query the start and the end count: the error is in the last line of a traceback, the question above or
    below it.
    """
    if len(query) > MAX_QUERY_CHARS:
        query = f"{query[: MAX_QUERY_CHARS // 2]}\n{query[-MAX_QUERY_CHARS // 2 :]}"
    words = [word for word in tokenizer.parse_query(query, language) if any(word.runs)]
    words = [_drop_stop_words(word, language) for word in words if not word.stop] or words
    if len(words) > _MAX_QUERY_WORDS:
        words = words[: _MAX_QUERY_WORDS // 2] + words[-_MAX_QUERY_WORDS // 2 :]
    return words


def _drop_stop_words(word: Word, language: str) -> Word:
    """Return a word without the stop words among its parts: `built-in`."""
    if len(word.parts) == 1:
        return word
    runs = [tuple(term for term in run if len(run) == 1 or not is_stop_word(term, language)) for run in word.runs]
    return replace(word, runs=tuple(filter(None, runs)))


def filler_words() -> frozenset[str]:
    """Return the words that people use in questions and pages seldom in answers."""
    return load_words("en", "search.filler_words")


def change_words(language: str) -> frozenset[str]:
    """Return the words of questions about versions and changes, in the language of a site or in English."""
    return load_words(language, "search.change_words") | load_words("en", "search.change_words")


def _asks_about_changes(words: Sequence[Word], language: str) -> bool:
    known = change_words(language)
    return any(word.whole in known or re.match(_VERSION, word.text) for word in words)


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
    counts = Counter[int]()
    rarest = dict[int, float]()
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
    sums = Counter[int]()
    count = 0
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

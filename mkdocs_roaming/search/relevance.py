"""An estimate of whether a site answers a query.

The score of a query is a weighted sum of four features:

- *typical*: how much more often the site's sections contain the two most typical words than software documentation
  in general does (`relevance.word_shares` of the language), as a log ratio;
- *untypical*: the sum of the log ratios of words that the site uses less often than others, or never;
- *coverage*: the share of the query, by the rarity of its words in general, that one of the best sections contains;
- *proximity*: the rarity of pairs of words that are near each other in one of them.

Sites differ in size and vocabulary, so the score is compared with those of questions about other software
(`relevance.unrelated_questions`) on the same site. docs/explanation/benchmarks.md describes the measurement.

A name of the query that one of the best sections contains verbatim is worth `MIN_CONFIDENCE`: a name from code, such as
`allow_headers`, or a word that is code there, such as `force`, if the section covers most of the query.

A query in another language than the site's is recognized by its script, or by stop words of that language, and by the
words that neither the site nor software documentation in general contains.
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import cache, lru_cache
from itertools import combinations
from math import log, log1p

from msgspec import Struct

from mkdocs_roaming.search.postings import PostingMatches, Postings, are_close
from mkdocs_roaming.text import languages
from mkdocs_roaming.text.languages import available_languages, base_language, load_phrases, load_table, load_words
from mkdocs_roaming.text.tokenizer import SPACELESS, Word, is_common_word, parse_query, split_words, stem

Features = tuple[float, float, float, float]
"""*typical*, *untypical*, *coverage* and *proximity*."""

MIN_CONFIDENCE = 0.65
"""Below this confidence a site probably does not answer a query."""

LOW_CONFIDENCE = 0.3
"""The same for follow-ups, which have fewer words, and for search by meaning, which finds other words."""

NO_ANSWER = "Probably no section answers this."
"""The line above doubtful search results."""

OTHER_LANGUAGE = "These docs are in {language}. Search in {language}, or by names from code."
"""The line above the results of a query in another language."""

_BEST_SECTIONS = 3
"""Number of sections whose text is compared with the query."""

_SECTIONS_OF_WORD = 50
"""The same for a query of one word, which may be the name of an option in any of them."""

_MIN_COVERAGE = 0.25
"""Below this coverage the confidence is 0."""

_WEIGHTS = (0.67, 0.17, 2.8, 0.82)
"""The weights of the features, fitted as docs/explanation/benchmarks.md describes."""

_LEAST_SHARE = 0.0015
"""Share of sections in general that contain a word which is not in the table of shares."""

_NUMBER_SHARE = 0.03
"""The same for numbers."""

_LOG_RATIO_RANGE = (-3.0, 4.0)
_PRIOR_SECTIONS = 40
"""Number of sections with the general shares that are added to those of the site, so that small sites say less."""

_COMMON_WORD_WEIGHT = 0.4
_SIMILAR_SHARE = 0.3
_MAX_SIMILAR_SECTIONS = 3
"""Weight of a section with a similar word, and number of those that count for a word that the site lacks."""

_LEAST_PAIR_RARITY = 1.5
"""Pairs of more frequent words are near each other by chance."""

_MIN_NAME_COVERAGE = 0.6
"""Coverage from which a plain word may be a name in code."""

_RARE_SHARE = 0.03
"""Share of the sections up to which a word is foreign on a site."""

_MIN_SIGNS = 5
"""Signs of another language that a query needs; a stop word or a word in another script counts twice."""

_CODE_NAME = re.compile(r"(?=.*[A-Za-z]{2})(?:[-.$@]|.*(?:\w[-_.:@]|[a-z][A-Z]|[A-Z]{2}[a-z]|[A-Za-z]\d|\d[A-Za-z]))")
"""A name from code: `allow_headers`, `--force`, `HTTPServer`, `utf8`."""

_QUOTED = re.compile(r"`([^`\n]+)`")
"""Code in a query, with its text."""

_LAST_LATIN = "\u024f"
_KANA_OR_HANGUL = "[\u3041-\u309f]{2,4}|[\u30a0-\u30ff]+|[\uac00-\ud7a3]+"
_PLAIN_WORD = re.compile(rf"{_KANA_OR_HANGUL}|(?![\u3041-\u309f])[{SPACELESS}]{{1,2}}|[^\W\d_{SPACELESS}]+")
"""A word of letters alone; in scripts without spaces, a run of characters as long as a typical word."""

_SCRIPTS = {"ja": "[\u3041-\u30ff]", "ko": "[\uac00-\ud7a3]", "zh": "[\u4e00-\u9fff]", "uk": "[іїєґ]", "ru": "[а-я]"}
"""The characters by which the language of a text is known, in this order."""


class Relevance:
    """Estimates whether a site answers a query. Several threads may use it.

    Args:
        postings: The index of the site's sections.
        language: Language of the site. It is calibrated for English; without word shares for a language, the
            confidence is twice the coverage.
        rank: Returns the rows for the words of a query, best first.
        find_similar: Returns the rows with a word, or with another spelling of one that occurs nowhere.
        read: Returns the Markdown of a row.
        recall: Returns the scores of unrelated questions, from a cache or from the function that computes them.
    """

    def __init__(
        self,
        postings: Postings,
        language: str,
        rank: Callable[[Sequence[Word]], Sequence[int]],
        find_similar: Callable[[Word], PostingMatches],
        read: Callable[[int], str],
        recall: Callable[[Callable[[], list[float]]], list[float]] = lambda compute: compute(),
    ) -> None:
        self._postings = postings
        self._language = base_language(language)
        self._rank = rank
        self._find_similar = find_similar
        self._read = read
        self._recall = recall
        self._shares = _load_shares(self._language)
        self._lock = threading.Lock()
        self._unrelated_scores: list[float] | None = None
        self.confidence = lru_cache(1)(self._compute_confidence)
        """Return the share of unrelated questions that score lower than a query, from 0 to 1.

        It is at least `MIN_CONFIDENCE` if one of the best sections contains a name of the query.
        """

    def _compute_confidence(self, query: str) -> float:
        words, rows = self._match(query)
        features = self._features(words, rows)
        if features is None:
            return 0.0
        coverage = features[2]
        confidence = 0.0
        if coverage >= _MIN_COVERAGE and not self._shares:
            confidence = min(2 * coverage, 1.0)
        elif coverage >= _MIN_COVERAGE:
            with self._lock:
                if self._unrelated_scores is None:
                    self._unrelated_scores = self._recall(self._score_unrelated)
            lower = bisect_left(self._unrelated_scores, _score(features))
            confidence = lower / (len(self._unrelated_scores) or 1)
        if confidence < MIN_CONFIDENCE and self._contain_name(query, words, rows, coverage):
            return MIN_CONFIDENCE
        return confidence

    def _score_unrelated(self) -> list[float]:
        scores: list[float] = []
        for question in load_phrases(self._language, "relevance.unrelated_questions"):
            words, rows = self._match(question)
            scores.append(_score(self._features(words, rows)))
        return sorted(scores)

    def find_language(self, query: str) -> str | None:
        """Return the language of a query, empty if it is not clear; None for one in the language of the site."""
        counts = self._count_rows(query)
        words = counts.keys()
        own = load_words(self._language, "stop_words")
        in_script = {word for word in words if word > _LAST_LATIN}
        if self._language in languages.NOT_LATIN:
            own = own | in_script
            in_script = set()
        language, stops = _find_stop_words(words, own)
        content = words - own - stops
        in_script &= content
        unknown = {word for word in content if not counts[word] and stem(word, self._language) not in self._shares}
        strong = stops | (unknown & in_script)
        weak = unknown - strong
        if 2 * len(strong) + len(weak) < _MIN_SIGNS:
            return None
        own_stops = words & own - stops
        of_site = 2 * len(own_stops) + len(content - unknown)
        if len(strong | unknown) <= of_site:
            return None
        most = _RARE_SHARE * self._postings.row_count
        rare = {word for word in words if counts[word] <= most}
        is_common_here = rare.isdisjoint(strong - own)
        if is_common_here or in_script - rare or self._has_pages_in(language):
            return None
        return _guess_language(query, stops)

    def _has_pages_in(self, language: str) -> bool:
        """Return whether more sections have stop words of a language than of the site's, whatever the manifest says."""
        if self._language in languages.NOT_LATIN:
            return False
        foreign = load_words(language, "stop_words")
        own = load_words(self._language, "stop_words")
        counts: list[int] = []
        for words in (own - foreign, foreign - own):
            phrases = [(stem(word, self._language),) for word in words]
            counts.append(len(self._postings.find(phrases).rows))
        return 0 < counts[0] < counts[1]

    def contains_name(self, query: str) -> bool:
        """Return whether one of the best sections contains a name from code in the query."""
        words, rows = self._match(query)
        return self._contain_name(query, words, rows, coverage=0.0)

    def find_names(self, query: str) -> str:
        """Return the words of a query in another language that the site contains, if one of them is a name in code."""
        stops = load_words(self.find_language(query) or "", "stop_words")
        words = [word for word in self._parse_words(query) if word.whole not in stops]
        names = " ".join(word.text for word in words if self._find(word).rows)
        matched, rows = self._match(names)
        return names if self._contain_name(query, matched, rows, coverage=1) else ""

    def _count_rows(self, query: str) -> dict[str, int]:
        """Return the folded words of a query that are no names from code, with the number of rows that contain each."""
        counts: dict[str, int] = {}
        for run in split_words(_QUOTED.sub(" ", query)):
            without_hyphens = run[:1] + run[1:].replace("-", "")  # a hyphen within a word makes no name
            if is_code_name(without_hyphens):
                continue
            for text in _PLAIN_WORD.findall(languages.fold(run)):
                words = [word for word in parse_query(text, self._language) if any(word.runs)]
                row_counts = [len(self._find(word).rows) for word in words]
                counts[text] = min(row_counts, default=0)
        return counts

    def _match(self, query: str) -> tuple[list[_MatchedWord], Sequence[int]]:
        """Return the words of a query, without fillers if others remain, and the best rows."""
        words = self._parse_words(query)
        fillers = load_words("en", "search.filler_words")
        content_words = [word for word in words if word.text.lower() not in fillers] or words
        best = _BEST_SECTIONS if len(content_words) > 1 else _SECTIONS_OF_WORD
        rows = self._rank(words)
        return [self._find(word) for word in content_words], rows[:best]

    def _parse_words(self, query: str) -> list[Word]:
        return [word for word in parse_query(query, self._language) if any(word.runs) and not word.stop]

    def _features(self, words: Sequence[_MatchedWord], rows: Sequence[int]) -> Features | None:
        """Return the features of a query; None if no section has a word."""
        if not rows:
            return None
        ratios = sorted((word.ratio for word in words), reverse=True)
        typical = sum(max(ratio, 0.0) for ratio in ratios[:2])
        untypical = sum(min(ratio, 0.0) for ratio in ratios)
        total = sum(word.rarity for word in words)
        covered = 0.0
        proximity = 0.0
        for row in rows:
            in_row = sum(word.rarity * word.match(row) for word in words)
            covered = max(covered, in_row)
            proximity = max(proximity, self._sum_near_pairs(words, row))
        return typical, untypical, covered / total, proximity

    def _sum_near_pairs(self, words: Iterable[_MatchedWord], row: int) -> float:
        """Return the logarithm of the summed rarity of pairs of words that are near each other in a row."""
        present = [word for word in words if row in word.rows]
        places = [(word.rarity, self._postings.places(row, word.word.runs)) for word in present]
        total = 0.0
        for (rarity, first), (second_rarity, second) in combinations(places, 2):
            pair_rarity = min(rarity, second_rarity)
            if pair_rarity > _LEAST_PAIR_RARITY and are_close(first, second):
                total += pair_rarity - _LEAST_PAIR_RARITY
        return log1p(total)

    def _contain_name(self, query: str, words: Iterable[_MatchedWord], rows: Iterable[int], coverage: float) -> bool:
        """Return whether rows contain a name of the query verbatim, as a whole identifier."""
        quoted = {word.text for code in _QUOTED.findall(query) for word in parse_query(code, self._language)}
        patterns: list[tuple[_MatchedWord, str]] = []
        for word in words:
            text = word.word.text
            name = f"_*{re.escape(text)}_*"
            is_abbreviation = text.isupper() and len(text) > 2 and not query.isupper()
            if text in quoted or is_abbreviation or is_code_name(text):
                patterns.append((word, rf"(?<!\w){name}(?!\w)"))
            elif coverage >= _MIN_NAME_COVERAGE:  # a word that is code in the section
                patterns.append((word, rf"(?<!`)`-{{0,2}}{name}[\s=(\[:`]"))
        for row in rows:
            for word, pattern in patterns:
                if row in word.rows and re.search(pattern, self._read(row)):
                    return True
        return False

    def _find(self, word: Word) -> _MatchedWord:
        rows = frozenset(self._postings.find(word.runs, prefix=word.prefix).rows)
        similar = frozenset(self._find_similar(word).rows)
        share = _NUMBER_SHARE
        if any(map(str.isalpha, word.text)):
            shares = [self._shares.get(part, 0.0) for part in word.parts]
            share = _LEAST_SHARE + min(shares, default=0.0)
        count: float = len(rows)
        if not rows:
            count = _SIMILAR_SHARE * min(len(similar), _MAX_SIMILAR_SECTIONS)
        sections = self._postings.row_count + _PRIOR_SECTIONS
        expected = sections * share
        ratio = log((count + _PRIOR_SECTIONS * share) / expected)
        low, high = _LOG_RATIO_RANGE
        ratio = min(max(ratio, low), high)
        rarity = -log(share)
        is_in_most = 2 * len(rows) > self._postings.row_count  # such as the name of the site
        weight = _COMMON_WORD_WEIGHT if is_in_most or is_common_word(word) else 1.0
        return _MatchedWord(word, weight * rarity, weight * ratio, rows, similar)


class _MatchedWord(Struct, frozen=True):
    """A word of a query.

    Attributes:
        word: The word.
        rarity: Its rarity in documentation in general.
        ratio: The logarithm of how much more often the site contains it.
        rows: The rows that contain it.
        similar_rows: The rows that contain it or a similar word.
    """

    word: Word
    rarity: float
    ratio: float
    rows: frozenset[int]
    similar_rows: frozenset[int]

    def match(self, row: int) -> float:
        """Return 1 if a row contains the word, less if it contains a similar one, otherwise 0."""
        if row in self.rows:
            return 1.0
        return _SIMILAR_SHARE if row in self.similar_rows else 0.0


def is_code_name(word: str) -> bool:
    """Return whether a word looks like a name from code: `allow_headers`, `--force`, `HTTPServer`."""
    return _CODE_NAME.match(word) is not None


def name_language(site: str, question: str) -> str:
    """Return the line that names the language of a site, in that of the question if there is a translation."""
    code = base_language(site)
    names = load_table("en", "search.languages", dict[str, str]) or {}
    translation = load_table(question, "search.english_only", str) if code == "en" else None
    return translation or OTHER_LANGUAGE.format(language=names.get(code, "another language"))


def _guess_language(text: str, stops: Set[str]) -> str:
    """Return the language of a text by its script, or the only one with its stop words; empty if it is not clear."""
    for code, pattern in _SCRIPTS.items():
        if re.search(pattern, text.lower()):
            return code
    codes = [code for code in available_languages() if stops <= load_words(code, "stop_words")]
    is_clear = len(stops) > 1 and len(codes) == 1
    return codes[0] if is_clear else ""


def _find_stop_words(words: Set[str], own: Set[str]) -> tuple[str, Set[str]]:
    """Return the language that has most of the words as stop words, except own ones, and all of its stop words."""
    stops = {code: words & load_words(code, "stop_words") for code in available_languages()}
    language = max(stops, key=lambda code: len(stops[code] - own))
    if stops[language] <= own:
        return "", set()
    return language, stops[language]


def _score(features: Features | None) -> float:
    if features is None:
        return float("-inf")
    return sum(weight * value for weight, value in zip(_WEIGHTS, features, strict=True))


@cache
def _load_shares(language: str) -> Mapping[str, float]:
    shares: dict[str, float] = {}
    groups = load_table(language, "relevance.word_shares", dict[str, str]) or {}
    for share, terms in groups.items():
        shares |= dict.fromkeys(terms.split(), float(share))
    return shares

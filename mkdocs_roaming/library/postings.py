"""An index of terms: BM25 over weighted fields, for rows and for groups of rows.

`PostingsBuilder` collects the terms of rows; `Postings` finds them and scores as SQLite's FTS5 does. Each row is also
a string with one character per term, so a phrase is a substring. `PostingsData` is what an index file stores.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import accumulate
from math import isfinite, log
from operator import mul

from msgspec import Struct, field

Phrase = tuple[str, ...]
"""Consecutive terms."""

# BM25's k1 and b; a term in most rows has a small positive score instead of a negative one.
_SATURATION = 1.2
_LENGTH_SHARE = 0.75
_MIN_RARITY = 1e-6

_FIELD_SEPARATOR = "\0"  # the character of no term, so no phrase crosses fields
_SURROGATES = range(0xD800, 0xE000)  # no characters of UTF-8
_MAX_NUMBER = 0x10FFFF - len(_SURROGATES)
_ENTRY_BYTES = 12
_NEAR = 0.5  # closeness of words with terms between
_MAX_BETWEEN = 1
_MAX_PLACES = 50  # of a word in a row, which may be a long page
_ABSENT = (0, 0.0, 0.0)


class PostingMatches(Struct, frozen=True):
    """The matching rows and groups, each with its score, in ascending order of rows."""

    rows: array[int] = field(default_factory=lambda: array("I"))
    scores: array[float] = field(default_factory=lambda: array("d"))
    groups: array[int] = field(default_factory=lambda: array("I"))
    group_scores: array[float] = field(default_factory=lambda: array("d"))


class PostingsData(Struct, frozen=True, array_like=True):
    """The content of an index.

    Attributes:
        terms: All terms, in the order of their characters.
        ends: The number of entries up to each term and its own, as `array("I")`.
        entries: For each row of each term: row, frequency in the row, frequency for the group, as `array("f")`.
        texts: Each row as a string.
        group_lengths: The number of terms of each group, as `array("I")`.
    """

    terms: list[str]
    ends: bytes
    entries: bytes
    texts: list[str]
    group_lengths: bytes


class PostingsBuilder:
    """Collects the rows of an index.

    Args:
        weights: The weight of a term in each field of a row.
        group_weights: The weight of a term in each field, for the score of the row's group. A field without either
            weight is not indexed.
    """

    def __init__(self, weights: Sequence[float], group_weights: Sequence[float]) -> None:
        self._weights, self._group_weights = tuple(weights), tuple(group_weights)
        self._indexed = tuple(map(any, zip(weights, group_weights, strict=True)))
        self._characters = _Characters()
        self._entries: defaultdict[str, array[float]] = defaultdict(lambda: array("f"))
        self._texts: list[str] = []
        self._groups: list[int] = []

    def add(self, group: int, fields: Sequence[Sequence[str]]) -> None:
        """Add the next row: its group and the terms of each field, in order."""
        row, character, entries = len(self._texts), self._characters.__getitem__, self._entries
        texts = [
            "".join(map(character, terms)) if terms and indexed else ""
            for terms, indexed in zip(fields, self._indexed, strict=True)
        ]
        longest, *others = sorted(range(len(texts)), key=lambda at: -len(texts[at]))
        weight, group_weight = self._weights[longest], self._group_weights[longest]
        frequencies = {
            term: (row, weight * count, group_weight * count) for term, count in Counter(texts[longest]).items()
        }
        for at in others:
            weight, group_weight = self._weights[at], self._group_weights[at]
            for term in texts[at]:
                _, in_row, in_group = frequencies.get(term, _ABSENT)
                frequencies[term] = (row, in_row + weight, in_group + group_weight)
        for term, entry in frequencies.items():
            entries[term].extend(entry)
        self._texts.append(_FIELD_SEPARATOR.join(texts))
        self._groups.append(group)

    def build(self) -> PostingsData:
        """Return the content of the index."""
        group_lengths = array("I", bytes(4 * (max(self._groups, default=-1) + 1)))
        counted = [at for at, weight in enumerate(self._group_weights) if weight]
        for group, text in zip(self._groups, self._texts, strict=True):
            fields = text.split(_FIELD_SEPARATOR)
            group_lengths[group] += sum(len(fields[at]) for at in counted)
        entries = [self._entries[character] for character in dict.fromkeys(self._characters.values())]
        return PostingsData(
            list(self._characters),
            array("I", accumulate(len(each) // 3 for each in entries)).tobytes(),
            b"".join(entries),
            self._texts,
            group_lengths.tobytes(),
        )


class Postings:
    """An index of rows of terms. Several threads may use it.

    Args:
        data: The content. It may be from a file that another program has changed: numbers that fit no row are ignored.
        groups: The group of each row.
        weights: The weights of the builder.
        group_weights: The weights of the builder for groups.

    Raises:
        ValueError: The data are of other rows.
    """

    def __init__(
        self, data: PostingsData, groups: Sequence[int], weights: Sequence[float], group_weights: Sequence[float]
    ) -> None:
        self.data = data
        self._groups, self._weights, self._group_weights = groups, weights, group_weights
        self._ends, group_lengths = array("I", data.ends), array("I", data.group_lengths)
        if len(data.texts) != len(groups) or len(group_lengths) != max(groups, default=-1) + 1:
            raise ValueError("the index is of other rows")
        if len(data.entries) % _ENTRY_BYTES or len(self._ends) != min(len(data.terms), _MAX_NUMBER):
            raise ValueError("the index is incomplete")
        self._entries = memoryview(data.entries).cast("f")
        self._numbers = dict(zip(data.terms, range(len(data.terms)), strict=True))
        separators = len(weights) - 1
        self._norms = _length_norms([max(len(text) - separators, 0) for text in data.texts])
        self._capped_norms = [min(norm, _SATURATION) for norm in self._norms]
        self._group_norms = _length_norms(group_lengths)
        self._checked: set[int] = set()

    def find(self, phrases: Iterable[Phrase], *, prefix: bool = False, dilute: bool = True) -> PostingMatches:
        """Return the rows that contain any of the phrases, scored by the best of them.

        Args:
            phrases: The alternatives.
            prefix: Match all terms that begin with a phrase's first term.
            dilute: Score a match in a row that is longer than the average lower.
        """
        norms = self._norms if dilute else self._capped_norms
        matches = [each for phrase in phrases if phrase and (each := self._find_phrase(phrase, prefix, norms)).rows]
        return merge_matches([(each, 1.0) for each in matches])

    def terms_with_initial(self, character: str) -> Sequence[str]:
        """Return the terms that begin with a character, sorted."""
        return self._terms_by_initial.get(character, ())

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return len(self.data.texts)

    def positions(self, row: int, phrases: Iterable[Phrase]) -> list[int]:
        """Return where the phrases begin in a row, in terms from its start."""
        text = self.data.texts[row]
        known = self._encode_known(phrases)
        return [match.start() for characters in known for match in re.finditer(re.escape(characters), text)]

    def closeness(self, rows: Iterable[int], first: Iterable[Phrase], second: Iterable[Phrase]) -> dict[int, float]:
        """Return how close two words are in rows: 1 if they are adjacent, in any order, and less if terms are between.

        Args:
            rows: The rows.
            first: The phrases that match the first word.
            second: The phrases that match the second word.
        """
        pairs = [(left, right) for left in self._encode_known(first) for right in self._encode_known(second)]
        found: dict[int, float] = {}
        for row in rows if pairs else ():
            text = self.data.texts[row]
            if any(left + right in text or right + left in text for left, right in pairs):
                found[row] = 1.0
            elif any(_is_near(text, left, right) for left, right in pairs):
                found[row] = _NEAR
        return found

    def __contains__(self, term: str) -> bool:
        return term in self._numbers

    @cached_property
    def _terms_by_initial(self) -> dict[str, list[str]]:
        terms: dict[str, list[str]] = {}
        for term in sorted(self._numbers):
            terms.setdefault(term[:1], []).append(term)
        return terms

    def _encode(self, terms: Iterable[str]) -> str:
        """Return the characters of known terms."""
        return "".join(_to_character(self._numbers[term]) for term in terms)

    def _encode_known(self, phrases: Iterable[Phrase]) -> list[str]:
        """Return the characters of those phrases whose terms are all known."""
        return [self._encode(phrase) for phrase in phrases if phrase and all(term in self for term in phrase)]

    def _find_phrase(self, phrase: Phrase, prefix: bool, norms: Sequence[float]) -> PostingMatches:
        if prefix:
            entries = self._sum_entries(
                [term for term in self.terms_with_initial(phrase[0][0]) if term.startswith(phrase[0])]
            )
        elif not all(term in self for term in phrase):
            return PostingMatches()
        elif len(phrase) == 1:
            entries = self._entries_of(phrase[0])
        else:
            entries = self._phrase_entries(phrase)
        return self._score(list(map(int, entries[0::3])), entries[1::3], entries[2::3], norms)

    def _entries_of(self, term: str) -> list[float]:
        number = min(self._numbers[term], _MAX_NUMBER - 1)
        start = self._ends[number - 1] if number else 0
        entries = list[float](self._entries[3 * start : 3 * self._ends[number]])
        if number not in self._checked:
            if not self._fits_rows(entries):
                return []
            self._checked.add(number)
        return entries

    def _fits_rows(self, entries: Sequence[float]) -> bool:
        """Return whether the rows exist and ascend, and the frequencies are numbers."""
        if not entries or not isfinite(sum(entries)) or min(entries) < 0:  # the sum is NaN if one number is
            return False
        rows = list(map(int, entries[0::3]))
        return rows[-1] < self.row_count and rows == sorted(set(rows))

    def _score(
        self,
        rows: list[int],
        frequencies: Sequence[float],
        group_frequencies: Sequence[float],
        norms: Sequence[float],
    ) -> PostingMatches:
        in_groups: dict[int, float] = {}
        for row, frequency in zip(rows, group_frequencies, strict=True):
            if frequency:
                group = self._groups[row]
                in_groups[group] = in_groups.get(group, 0.0) + frequency
        return PostingMatches(
            array("I", rows),
            _bm25(rows, frequencies, norms),
            array("I", in_groups),
            _bm25(in_groups, in_groups.values(), self._group_norms),
        )

    def _sum_entries(self, terms: Sequence[str]) -> list[float]:
        """Return the entries of several terms as if they were one."""
        sums: dict[float, tuple[float, float]] = {}
        for term in terms:
            entries = self._entries_of(term)
            for row, in_row, in_group in zip(entries[0::3], entries[1::3], entries[2::3], strict=True):
                before = sums.get(row, (0.0, 0.0))
                sums[row] = (before[0] + in_row, before[1] + in_group)
        return [number for row in sorted(sums) for number in (row, *sums[row])]

    def _phrase_entries(self, phrase: Phrase) -> list[float]:
        """Return the entries of a phrase of several terms."""
        shortest, *others = sorted(map(self._entries_of, set(phrase)), key=len)
        rows = set(shortest[0::3]).intersection(*(entries[0::3] for entries in others))
        characters, result = self._encode(phrase), list[float]()
        for row in sorted(rows):
            text = self.data.texts[int(row)]
            if characters in text:
                counts = [field.count(characters) for field in text.split(_FIELD_SEPARATOR)]
                result.extend((row, _dot(counts, self._weights), _dot(counts, self._group_weights)))
        return result


def merge_matches(matches: Sequence[tuple[PostingMatches, float]]) -> PostingMatches:
    """Return all matching rows and groups with the highest of their weighted scores."""
    if not matches:
        return PostingMatches()
    if len(matches) == 1 and matches[0][1] == 1.0:
        return matches[0][0]
    rows = _highest([(each.rows, each.scores, weight) for each, weight in matches])
    groups = _highest([(each.groups, each.group_scores, weight) for each, weight in matches])
    return PostingMatches(array("I", rows), array("d", rows.values()), array("I", groups), array("d", groups.values()))


def _highest(matches: Sequence[tuple[array[int], array[float], float]]) -> dict[int, float]:
    highest: dict[int, float] = {}
    for numbers, scores, weight in matches:
        for number, score in zip(numbers, scores, strict=True):
            if weight * score > highest.get(number, -1.0):
                highest[number] = weight * score
    return highest


class _Characters(dict[str, str]):
    """A character for each term, assigned on first use."""

    def __missing__(self, term: str) -> str:
        self[term] = character = _to_character(len(self))
        return character


def _to_character(number: int) -> str:
    """Return the character of the term with a number; all terms beyond the number of characters share the last one."""
    point = min(number + 1, _MAX_NUMBER)
    return chr(point if point < _SURROGATES.start else point + len(_SURROGATES))


def _is_near(text: str, left: str, right: str) -> bool:
    """Return whether a phrase is before or behind another in the same field, with few terms between."""
    reach = len(right) + _MAX_BETWEEN
    start = -1
    for _ in range(_MAX_PLACES):
        start = text.find(left, start + 1)
        if start < 0:
            return False
        end = start + len(left)
        before = text[max(start - reach, 0) : start].rpartition(_FIELD_SEPARATOR)[2]
        if right in before or right in text[end : end + reach].partition(_FIELD_SEPARATOR)[0]:
            return True
    return False


def _bm25(rows: Iterable[int], frequencies: Iterable[float], norms: Sequence[float]) -> array[float]:
    rows = list(rows)
    rarity = log((len(norms) - len(rows) + 0.5) / (len(rows) + 0.5))
    maximum = (_SATURATION + 1) * (rarity if rarity > 0 else _MIN_RARITY)
    return array("d", [maximum * count / (count + norms[row]) for row, count in zip(rows, frequencies, strict=True)])


def _length_norms(lengths: Sequence[int]) -> list[float]:
    average = sum(lengths) / len(lengths) if lengths else 0.0
    return [_SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * length / (average or 1.0)) for length in lengths]


def _dot(counts: Iterable[int], weights: Iterable[float]) -> float:
    return sum(map(mul, counts, weights), 0.0)

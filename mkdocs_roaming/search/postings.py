"""An index of terms: BM25 over weighted fields, for rows and for groups of rows.

`PostingsBuilder` collects the terms of rows; `Postings` finds them and scores single terms as SQLite's FTS5 does. The
index has no positions of terms, but for each term in a row its first places: a place is a run of `PLACE_TERMS` terms.
That is enough to prefer rows in which words are close to each other, and small enough for a browser, which ranks with
the same numbers (publish/elements/finder_index.py, widget/roaming-finder.js).
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import islice, takewhile
from math import log

from msgspec import Struct

Phrase = tuple[str, ...]
"""Terms that are close to each other."""

Kind = tuple[float, float, bool]
"""What a term is in a row: its frequency, its frequency for the group, and whether it is a term of the title."""

PLACE_TERMS = 8
"""Number of terms of a place."""

# BM25's k1 and b; a term in most rows has a small positive score instead of a negative one.
SATURATION = 1.2
LENGTH_SHARE = 0.75
MIN_RARITY = 1e-6
_SMOOTHING = 0.5
"""Added to numbers of rows, so that a term in none or in all of them has a rarity."""

_NEXT_PLACE = 0.5
"""Closeness of words in neighbouring places."""

_WIDTH = 3
"""Numbers of an entry: row, kind, places."""

_PLACE_BITS = 16
"""Bits of one of the two places of an entry; 0 is none."""

_PLACE_MASK = (1 << _PLACE_BITS) - 1
_MAX_PLACE = _PLACE_MASK - 1

_Frequencies = dict[int, tuple[float, float]]
"""The frequencies of a term by row: for the row, and for its group."""


class PostingMatches(Struct, frozen=True):
    """The matching rows and groups, each with its score, in ascending order of rows."""

    rows: array[int]
    scores: array[float]
    groups: array[int]
    group_scores: array[float]


class PostingsData(Struct, frozen=True, array_like=True):
    """The content of an index.

    Attributes:
        terms: All terms, sorted.
        ends: The number of entries up to each term and its own, as `array("I")`.
        entries: For each row of each term: row, number of the kind, and up to two places, as `array("I")`.
        kinds: The different kinds of entries.
        lengths: The number of terms of each row, as `array("I")`.
        group_lengths: The number of terms of each group, as `array("I")`.
    """

    terms: list[str]
    ends: bytes
    entries: bytes
    kinds: list[Kind]
    lengths: bytes
    group_lengths: bytes


class PostingsBuilder:
    """Collects the rows of an index.

    Args:
        weights: The weight of a term in each field of a row. A field without weight is not indexed.
        group_weights: The weight of a term in each field, for the score of the row's group.
        placed: The numbers of the fields whose terms have places.
    """

    def __init__(self, weights: Sequence[float], group_weights: Sequence[float], placed: Collection[int]) -> None:
        self._weights = list(zip(weights, group_weights, strict=True))
        self._placed = [at for at in placed if any(self._weights[at])]
        self._entries: defaultdict[str, array[int]] = defaultdict(lambda: array("I"))
        self._kinds: dict[Kind, int] = {}
        self._lengths = array("I")
        self._group_lengths = Counter[int]()

    def add(self, group: int, fields: Sequence[Sequence[str]], title: Collection[str]) -> None:
        """Add the next row: its group, the terms of each field in order, and the distinct terms of its title."""
        row = len(self._lengths)
        length = 0
        frequencies: dict[str, tuple[float, float]] = {}
        for (weight, group_weight), terms in zip(self._weights, fields, strict=True):
            if not (weight or group_weight):
                continue
            length += len(terms)
            if group_weight:
                self._group_lengths[group] += len(terms)
            for term, count in Counter(terms).items():
                in_row, in_group = frequencies.get(term, (0.0, 0.0))
                frequencies[term] = (in_row + weight * count, in_group + group_weight * count)
        places = _find_places([fields[at] for at in self._placed])
        for term, (in_row, in_group) in frequencies.items():
            kind = (in_row, in_group, term in title)
            number = self._kinds.setdefault(kind, len(self._kinds))
            self._entries[term].extend((row, number, places.get(term, 0)))
        self._lengths.append(length)

    def build(self) -> PostingsData:
        """Return the content of the index."""
        terms = sorted(self._entries)
        ends = array("I")
        entries = array("I")
        for term in terms:
            entries += self._entries[term]
            ends.append(len(entries) // _WIDTH)
        group_count = max(self._group_lengths, default=-1) + 1
        group_lengths = array("I", map(self._group_lengths.__getitem__, range(group_count)))
        return PostingsData(
            terms,
            ends.tobytes(),
            entries.tobytes(),
            list(self._kinds),
            self._lengths.tobytes(),
            group_lengths.tobytes(),
        )


def _find_places(fields: Iterable[Sequence[str]]) -> dict[str, int]:
    """Return the first two places of each term, packed into a number; places of two fields are no neighbours."""
    places: dict[str, int] = {}
    place = 0
    for terms in fields:
        for start in range(0, len(terms), PLACE_TERMS):
            place = min(place + 1, _MAX_PLACE)
            for term in set(terms[start : start + PLACE_TERMS]):
                packed = places.get(term, 0)
                if packed == 0:
                    places[term] = place
                elif packed <= _PLACE_MASK and packed != place:
                    places[term] = packed | place << _PLACE_BITS
        place += 1
    return places


class Postings:
    """An index of rows of terms. Several threads may use it.

    Args:
        data: The content.
        groups: The group of each row.
    """

    def __init__(self, data: PostingsData, groups: Sequence[int]) -> None:
        self.data = data
        self.row_count = len(groups)
        self.lengths = array("I", data.lengths)
        self.group_lengths = array("I", data.group_lengths)
        self._groups = groups
        self._ends = array("I", data.ends)
        self._entries = memoryview(data.entries).cast("I")
        self._numbers = {term: number for number, term in enumerate(data.terms)}
        self._norms = _length_norms(self.lengths)
        self._capped_norms = [min(norm, SATURATION) for norm in self._norms]
        self._group_norms = _length_norms(self.group_lengths)

    def __contains__(self, term: str) -> bool:
        return term in self._numbers

    def entries(self, term: str) -> array[int]:
        """Return row, kind and places of a term, one after the other."""
        number = self._numbers.get(term)
        if number is None:
            return array("I")
        start = self._ends[number - 1] if number else 0
        return array("I", self._entries[_WIDTH * start : _WIDTH * self._ends[number]])

    def terms_with_prefix(self, prefix: str) -> list[str]:
        """Return the terms that begin with a prefix, sorted."""
        terms = self.data.terms
        following = islice(terms, bisect_left(terms, prefix), None)
        return list(takewhile(lambda term: term.startswith(prefix), following))

    def title_rows(self, term: str) -> list[int]:
        """Return the rows in whose titles a term is."""
        entries = self.entries(term)
        rows = entries[0::_WIDTH]
        kinds = entries[1::_WIDTH]
        return [row for row, kind in zip(rows, kinds, strict=True) if self.data.kinds[kind][2]]

    def places(self, row: int, phrases: Iterable[Phrase]) -> set[int]:
        """Return the first places of phrases in a row."""
        first_places: set[int] = set()
        for phrase in phrases:
            places = [self._places_of(term, row) for term in phrase]
            if places and all(are_close(places[0], of_term) for of_term in places):
                first_places |= places[0]
        return first_places

    def _places_of(self, term: str, row: int) -> set[int]:
        entries = self.entries(term)
        rows = entries[0::_WIDTH]
        at = bisect_left(rows, row)
        if at == len(rows) or rows[at] != row:
            return set()
        return unpack_places(entries[_WIDTH * at + 2])

    def find(self, phrases: Iterable[Phrase], *, prefix: bool = False, dilute: bool = True) -> PostingMatches:
        """Return the rows that contain any of the phrases, scored by the best of them.

        Args:
            phrases: The alternatives.
            prefix: Match all terms that begin with a phrase's first term.
            dilute: Score a match in a row that is longer than the average lower.
        """
        norms = self._norms if dilute else self._capped_norms
        matches: list[tuple[PostingMatches, float]] = []
        for phrase in phrases:
            frequencies: _Frequencies = {}
            if phrase and prefix:
                frequencies = self._sum_frequencies(phrase[0])
            elif len(phrase) == 1:
                frequencies = self._frequencies(phrase[0])
            elif phrase:
                frequencies = self._phrase_frequencies(phrase)
            if frequencies:
                match = self._score(frequencies, norms)
                matches.append((match, 1.0))
        return merge_matches(matches)

    def _frequencies(self, term: str) -> _Frequencies:
        """Return the frequencies of a term."""
        entries = self.entries(term)
        rows = entries[0::_WIDTH]
        kinds = entries[1::_WIDTH]
        return {row: self.data.kinds[kind][:2] for row, kind in zip(rows, kinds, strict=True)}

    def _sum_frequencies(self, prefix: str) -> _Frequencies:
        """Return the frequencies of the terms that begin with a prefix as if they were one."""
        sums: _Frequencies = {}
        for term in self.terms_with_prefix(prefix):
            for row, (in_row, in_group) in self._frequencies(term).items():
                sum_in_row, sum_in_group = sums.get(row, (0.0, 0.0))
                sums[row] = (sum_in_row + in_row, sum_in_group + in_group)
        return dict(sorted(sums.items()))

    def _phrase_frequencies(self, phrase: Phrase) -> _Frequencies:
        """Return the frequencies of the rarest term of a phrase, by row in which its terms are close to each other."""
        terms = [self._frequencies(term) for term in dict.fromkeys(phrase)]
        terms.sort(key=len)
        rows = set(terms[0]).intersection(*terms[1:])
        rarest: _Frequencies = {}
        for row in sorted(rows):
            if self.places(row, [phrase]):
                rarest[row] = min(frequencies[row] for frequencies in terms)
        return rarest

    def _score(self, frequencies: _Frequencies, norms: Sequence[float]) -> PostingMatches:
        in_rows = [frequency for frequency, _ in frequencies.values()]
        in_groups: dict[int, float] = {}
        for row, (_, frequency) in frequencies.items():
            if frequency:
                group = self._groups[row]
                in_groups[group] = in_groups.get(group, 0.0) + frequency
        scores = _bm25(frequencies, in_rows, norms)
        group_scores = _bm25(in_groups, in_groups.values(), self._group_norms)
        return PostingMatches(array("I", frequencies), scores, array("I", in_groups), group_scores)


def merge_matches(matches: Sequence[tuple[PostingMatches, float]]) -> PostingMatches:
    """Return all matching rows and groups with the highest of their weighted scores."""
    if len(matches) == 1 and matches[0][1] == 1.0:
        return matches[0][0]
    rows: dict[int, float] = {}
    groups: dict[int, float] = {}
    for match, weight in matches:
        _raise_scores(rows, match.rows, match.scores, weight)
        _raise_scores(groups, match.groups, match.group_scores, weight)
    scores = array("d", rows.values())
    group_scores = array("d", groups.values())
    return PostingMatches(array("I", rows), scores, array("I", groups), group_scores)


def _raise_scores(highest: dict[int, float], numbers: array[int], scores: array[float], weight: float) -> None:
    for number, score in zip(numbers, scores, strict=True):
        weighted = weight * score
        if weighted > highest.get(number, -1.0):
            highest[number] = weighted


def are_close(first: set[int], second: set[int]) -> float:
    """Return how close two words are by their places: 1 in the same place, less in neighbouring ones, otherwise 0."""
    if not first.isdisjoint(second):
        return 1.0
    is_next = any(place + 1 in second or place - 1 in second for place in first)
    return _NEXT_PLACE if is_next else 0.0


def unpack_places(packed: int) -> set[int]:
    """Return the places of an entry."""
    places = {(packed & _PLACE_MASK) - 1, (packed >> _PLACE_BITS) - 1}
    places.discard(-1)  # none
    return places


def _bm25(rows: Collection[int], frequencies: Iterable[float], norms: Sequence[float]) -> array[float]:
    """Return the score of each row or group."""
    with_term = len(rows) + _SMOOTHING
    without_term = len(norms) - len(rows) + _SMOOTHING
    rarity = log(without_term / with_term)
    if rarity <= 0:
        rarity = MIN_RARITY
    maximum = (SATURATION + 1) * rarity
    pairs = zip(rows, frequencies, strict=True)
    return array("d", [maximum * frequency / (frequency + norms[row]) for row, frequency in pairs])


def _length_norms(lengths: Sequence[int]) -> list[float]:
    average = sum(lengths) / (len(lengths) or 1) or 1.0
    return [SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length / average) for length in lengths]

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
from itertools import accumulate, islice, takewhile
from math import isfinite, log

from msgspec import Struct, field

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

_NEXT_PLACE = 0.5  # closeness of words in neighbouring places
_PLACE_BITS = 16
_MAX_PLACE = (1 << _PLACE_BITS) - 2
_ENTRY_BYTES = 12


class PostingMatches(Struct, frozen=True):
    """The matching rows and groups, each with its score, in ascending order of rows."""

    rows: array[int] = field(default_factory=lambda: array("I"))
    scores: array[float] = field(default_factory=lambda: array("d"))
    groups: array[int] = field(default_factory=lambda: array("I"))
    group_scores: array[float] = field(default_factory=lambda: array("d"))


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
        self._placed = placed
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
            self._group_lengths[group] += len(terms) if group_weight else 0
            for term, count in Counter(terms).items():
                in_row, in_group = frequencies.get(term, (0.0, 0.0))
                frequencies[term] = in_row + weight * count, in_group + group_weight * count
        places = _find_places(fields[at] for at in self._placed if any(self._weights[at]))
        for term, (in_row, in_group) in frequencies.items():
            kind = in_row, in_group, term in title
            number = self._kinds.setdefault(kind, len(self._kinds))
            self._entries[term].extend((row, number, places.get(term, 0)))
        self._lengths.append(length)

    def build(self) -> PostingsData:
        """Return the content of the index."""
        terms = sorted(self._entries)
        entries = [self._entries[term] for term in terms]
        group_lengths = [self._group_lengths[group] for group in range(max(self._group_lengths, default=-1) + 1)]
        return PostingsData(
            terms,
            array("I", accumulate(len(each) // 3 for each in entries)).tobytes(),
            b"".join(entries),
            list(self._kinds),
            self._lengths.tobytes(),
            array("I", group_lengths).tobytes(),
        )


class Postings:
    """An index of rows of terms. Several threads may use it.

    Args:
        data: The content. It may be from a file that another program has changed: numbers that fit no row are ignored.
        groups: The group of each row.

    Raises:
        ValueError: The data are of other rows.
    """

    def __init__(self, data: PostingsData, groups: Sequence[int]) -> None:
        self.data = data
        self._groups = groups
        self.row_count = len(groups)
        numbers = data.ends, data.lengths, data.group_lengths
        self._ends, self.lengths, self.group_lengths = (array("I", each) for each in numbers)
        if len(self.lengths) != len(groups) or len(self.group_lengths) != max(groups, default=-1) + 1:
            raise ValueError("the index is of other rows")
        if len(data.entries) % _ENTRY_BYTES or len(self._ends) != len(data.terms):
            raise ValueError("the index is incomplete")
        if not all(isfinite(number) and number >= 0 for kind in data.kinds for number in kind):
            raise ValueError("the index has invalid numbers")
        self._entries = memoryview(data.entries).cast("I")
        self._numbers = dict(zip(data.terms, range(len(data.terms)), strict=True))
        self._norms = _length_norms(self.lengths)
        self._capped_norms = [min(norm, SATURATION) for norm in self._norms]
        self._group_norms = _length_norms(self.group_lengths)
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

    def terms_with_prefix(self, prefix: str) -> list[str]:
        """Return the terms that begin with a prefix, sorted."""
        terms = self.data.terms
        return list(takewhile(lambda term: term.startswith(prefix), islice(terms, bisect_left(terms, prefix), None)))

    def places(self, row: int, phrases: Iterable[Phrase]) -> set[int]:
        """Return the first places of phrases in a row."""
        found: set[int] = set()
        for phrase in phrases:
            places = [self._places_of(term, row) for term in phrase]
            if places and all(are_close(places[0], other) for other in places):
                found |= places[0]
        return found

    def title_rows(self, term: str) -> list[int]:
        """Return the rows in whose titles a term is."""
        entries = self.entries(term)
        kinds = self.data.kinds
        return [row for row, kind in zip(entries[0::3], entries[1::3], strict=True) if kinds[kind][2]]

    def entries(self, term: str) -> array[int]:
        """Return row, kind and places of a term, one after the other."""
        number = self._numbers.get(term)
        if number is None:
            return array("I")
        start = self._ends[number - 1] if number else 0
        entries = array("I", self._entries[3 * start : 3 * self._ends[number]])
        if number not in self._checked:
            if not self._fits_rows(entries):
                return array("I")
            self._checked.add(number)
        return entries

    def __contains__(self, term: str) -> bool:
        return term in self._numbers

    def _places_of(self, term: str, row: int) -> set[int]:
        entries = self.entries(term)
        rows = entries[0::3]
        at = bisect_left(rows, row)
        return unpack_places(entries[3 * at + 2]) if at < len(rows) and rows[at] == row else set()

    def _find_phrase(self, phrase: Phrase, prefix: bool, norms: Sequence[float]) -> PostingMatches:
        if prefix:
            frequencies = _add(map(self._frequencies, self.terms_with_prefix(phrase[0])))
        elif len(phrase) == 1:
            frequencies = self._frequencies(phrase[0])
        else:
            frequencies = self._phrase_frequencies(phrase)
        return self._score(frequencies, norms)

    def _frequencies(self, term: str) -> dict[int, tuple[float, float]]:
        """Return the frequencies of a term by row."""
        entries = self.entries(term)
        kinds = self.data.kinds
        return {row: kinds[kind][:2] for row, kind in zip(entries[0::3], entries[1::3], strict=True)}

    def _phrase_frequencies(self, phrase: Phrase) -> dict[int, tuple[float, float]]:
        """Return the frequencies of the rarest term of a phrase, by row in which its terms are close to each other."""
        found = sorted((self._frequencies(term) for term in dict.fromkeys(phrase)), key=len)
        rows = set(found[0]).intersection(*found[1:])
        return {row: min(each[row] for each in found) for row in sorted(rows) if self.places(row, [phrase])}

    def _fits_rows(self, entries: array[int]) -> bool:
        """Return whether the rows and kinds exist and the rows ascend."""
        rows = entries[0::3]
        if not rows or rows[-1] >= self.row_count or max(entries[1::3]) >= len(self.data.kinds):
            return False
        return list(rows) == sorted(set(rows))

    def _score(self, frequencies: dict[int, tuple[float, float]], norms: Sequence[float]) -> PostingMatches:
        in_groups: dict[int, float] = {}
        for row, (_, frequency) in frequencies.items():
            if frequency:
                group = self._groups[row]
                in_groups[group] = in_groups.get(group, 0.0) + frequency
        return PostingMatches(
            array("I", frequencies),
            _bm25(frequencies, [in_row for in_row, _ in frequencies.values()], norms),
            array("I", in_groups),
            _bm25(in_groups, in_groups.values(), self._group_norms),
        )


def merge_matches(matches: Sequence[tuple[PostingMatches, float]]) -> PostingMatches:
    """Return all matching rows and groups with the highest of their weighted scores."""
    if len(matches) == 1 and matches[0][1] == 1.0:
        return matches[0][0]
    rows = _highest([(each.rows, each.scores, weight) for each, weight in matches])
    groups = _highest([(each.groups, each.group_scores, weight) for each, weight in matches])
    return PostingMatches(array("I", rows), array("d", rows.values()), array("I", groups), array("d", groups.values()))


def are_close(first: set[int], second: set[int]) -> float:
    """Return how close two words are by their places: 1 in the same place, less in neighbouring ones, otherwise 0."""
    if not first.isdisjoint(second):
        return 1.0
    return _NEXT_PLACE if any(place + 1 in second or place - 1 in second for place in first) else 0.0


def unpack_places(packed: int) -> set[int]:
    """Return the places of an entry."""
    return {place - 1 for place in (packed & ((1 << _PLACE_BITS) - 1), packed >> _PLACE_BITS) if place}


def _find_places(fields: Iterable[Sequence[str]]) -> dict[str, int]:
    """Return the first two places of each term, packed into a number; places of two fields are no neighbours."""
    found: dict[str, int] = {}
    place = 0
    for terms in fields:
        for start in range(0, len(terms), PLACE_TERMS):
            place = min(place + 1, _MAX_PLACE)
            for term in set(terms[start : start + PLACE_TERMS]):
                packed = found.get(term, 0)
                if not packed:
                    found[term] = place
                elif packed >> _PLACE_BITS == 0 and packed != place:
                    found[term] = packed | place << _PLACE_BITS
        place += 1
    return found


def _add(found: Iterable[dict[int, tuple[float, float]]]) -> dict[int, tuple[float, float]]:
    """Return the frequencies of several terms as if they were one."""
    sums: dict[int, tuple[float, float]] = {}
    for frequencies in found:
        for row, (in_row, in_group) in frequencies.items():
            before = sums.get(row, (0.0, 0.0))
            sums[row] = before[0] + in_row, before[1] + in_group
    return {row: sums[row] for row in sorted(sums)}


def _highest(matches: Sequence[tuple[array[int], array[float], float]]) -> dict[int, float]:
    highest: dict[int, float] = {}
    for numbers, scores, weight in matches:
        for number, score in zip(numbers, scores, strict=True):
            if weight * score > highest.get(number, -1.0):
                highest[number] = weight * score
    return highest


def _bm25(rows: Collection[int], frequencies: Iterable[float], norms: Sequence[float]) -> array[float]:
    rarity = log((len(norms) - len(rows) + 0.5) / (len(rows) + 0.5))
    maximum = (SATURATION + 1) * (rarity if rarity > 0 else MIN_RARITY)
    return array("d", [maximum * count / (count + norms[row]) for row, count in zip(rows, frequencies, strict=True)])


def _length_norms(lengths: Sequence[int]) -> list[float]:
    average = sum(lengths) / len(lengths) if lengths else 0.0
    return [SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length / (average or 1.0)) for length in lengths]

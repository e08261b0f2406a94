"""Which rows hold a term, and how much that says of each: BM25 over weighted fields, of rows and of groups of rows.

An index in memory that answers a word in one step, for sections and their pages at once. Each row is also kept as a
string in which every character stands for a term, so that a phrase is found by looking for a string in strings.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import log

Phrase = tuple[str, ...]
"""Terms that stand one after the other."""


@dataclass(frozen=True, slots=True)
class Found:
    """The rows, and the groups, that hold something, in order, each with its score."""

    rows: array[int] = field(default_factory=lambda: array("I"))
    scores: array[float] = field(default_factory=lambda: array("d"))
    groups: array[int] = field(default_factory=lambda: array("I"))
    group_scores: array[float] = field(default_factory=lambda: array("d"))


class Postings:
    """Rows are added in order, then `close` ends adding; from then on several threads may read.

    `weights` tells what a term counts in each field of a row, `group_weights` what it counts there for the group.
    """

    def __init__(self, weights: Sequence[float], group_weights: Sequence[float]) -> None:
        self._weights = tuple(weights)
        self._group_weights = tuple(group_weights)
        self._characters = _Characters()
        self._held = _Held()
        self._texts: list[str] = []
        self._group_of: list[int] = []
        self._lengths: list[int] = []
        self._norms: list[float] = []
        self._group_norms: list[float] = []
        self._spellings: dict[str, list[str]] = {}

    def add(self, group: int, fields: Sequence[Sequence[str]]) -> None:
        """Add a row: the terms of each of its fields, in order."""
        row, character, held = len(self._texts), self._characters.__getitem__, self._held
        texts = ["".join(map(character, terms)) if terms else "" for terms in fields]
        longest, *others = sorted(range(len(texts)), key=lambda at: -len(texts[at]))
        weight, shared = self._weights[longest], self._group_weights[longest]
        said = {each: (row, weight * count, shared * count) for each, count in Counter(texts[longest]).items()}
        for at in others:
            weight, shared = self._weights[at], self._group_weights[at]
            for each in texts[at]:
                _, own, together = said.get(each, _NONE)
                said[each] = (row, own + weight, together + shared)
        for each, entry in said.items():
            held[each].extend(entry)
        self._texts.append(_FIELD.join(texts))
        self._group_of.append(group)
        self._lengths.append(sum(map(len, texts)))

    def close(self) -> None:
        """End adding: what a row's length takes from its score is known from now on."""
        groups = [0] * (max(self._group_of, default=-1) + 1)
        counted = [at for at, weight in enumerate(self._group_weights) if weight]
        for group, text in zip(self._group_of, self._texts, strict=True):
            fields = text.split(_FIELD)
            groups[group] += sum(len(fields[at]) for at in counted)
        self._norms = _norms(self._lengths)
        self._group_norms = _norms(groups)
        for term in sorted(self._characters):
            self._spellings.setdefault(term[0], []).append(term)

    def find(self, phrases: Iterable[Phrase], *, prefix: bool = False) -> Found:
        """Give the rows that hold any of the phrases: what the best of them scores. With `prefix` terms begin so."""
        found = [each for phrase in phrases if (each := self._phrase(phrase, prefix)).rows]
        return best([(each, 1.0) for each in found])

    def spellings(self, first: str) -> Sequence[str]:
        """Give the terms that begin with a character, in alphabetical order."""
        return self._spellings.get(first, ())

    def __contains__(self, term: str) -> bool:
        return term in self._characters

    def _phrase(self, phrase: Phrase, prefix: bool) -> Found:
        if prefix:
            held = self._any([term for term in self.spellings(phrase[0][0]) if term.startswith(phrase[0])])
        elif not all(term in self._characters for term in phrase):
            return Found()
        elif len(phrase) == 1:
            held = self._held[self._characters[phrase[0]]]
        else:
            held = self._run([self._characters[term] for term in phrase])
        return self._scored(list(map(int, held[0::3])), held[1::3], held[2::3])

    def _scored(self, rows: list[int], frequencies: Sequence[float], shared: Sequence[float]) -> Found:
        """Give what rows score that hold something so often, and their groups."""
        together: dict[int, float] = {}
        group_of = self._group_of
        for row, frequency in zip(rows, shared, strict=True):
            if frequency:
                group = group_of[row]
                together[group] = together.get(group, 0.0) + frequency
        return Found(
            array("I", rows),
            _bm25(rows, frequencies, self._norms),
            array("I", together),
            _bm25(together, together.values(), self._group_norms),
        )

    def _any(self, terms: Sequence[str]) -> array[float]:
        """Give what rows hold of several terms, taken for one."""
        sums: dict[float, tuple[float, float]] = {}
        for term in terms:
            held = self._held[self._characters[term]]
            for row, own, shared in zip(held[0::3], held[1::3], held[2::3], strict=True):
                before = sums.get(row, (0.0, 0.0))
                sums[row] = (before[0] + own, before[1] + shared)
        return array("f", [each for row in sorted(sums) for each in (row, *sums[row])])

    def _run(self, characters: Sequence[str]) -> array[float]:
        """Give what rows hold of a phrase."""
        each = sorted((self._held[character] for character in set(characters)), key=len)
        rows = set(each[0][0::3]).intersection(*(held[0::3] for held in each[1:]))
        run, held = "".join(characters), array("f")
        for row in sorted(rows):
            text = self._texts[int(row)]
            if run in text:
                counts = [field.count(run) for field in text.split(_FIELD)]
                held.extend((row, _dot(counts, self._weights), _dot(counts, self._group_weights)))
        return held


def best(found: Sequence[tuple[Found, float]]) -> Found:
    """Give what the best of several scores in each row and group, each weighed."""
    if not found:
        return Found()
    if len(found) == 1 and found[0][1] == 1.0:
        return found[0][0]
    rows = _best([(each.rows, each.scores, weight) for each, weight in found])
    groups = _best([(each.groups, each.group_scores, weight) for each, weight in found])
    return Found(array("I", rows), array("d", rows.values()), array("I", groups), array("d", groups.values()))


def _best(found: Sequence[tuple[array[int], array[float], float]]) -> dict[int, float]:
    numbers, scores, weight = found[0]
    highest = dict(zip(numbers, scores if weight == 1.0 else [weight * score for score in scores], strict=True))
    for numbers, scores, weight in found[1:]:
        for number, score in zip(numbers, scores, strict=True):
            if weight * score > highest.get(number, -1.0):
                highest[number] = weight * score
    return highest


class _Held(dict[str, "array[float]"]):
    """Of each term, by its character, the rows that hold it: row, frequency there, frequency there for its group."""

    def __missing__(self, character: str) -> array[float]:
        self[character] = held = array("f")
        return held


class _Characters(dict[str, str]):
    """A character for each term, given when the term is first met."""

    def __missing__(self, term: str) -> str:
        self[term] = character = chr(min(len(self) + 1, _LAST))  # terms beyond a million are taken for one
        return character


def _bm25(rows: Iterable[int], frequencies: Iterable[float], norms: Sequence[float]) -> array[float]:
    """Score rows by BM25 as SQLite's FTS5 does: a word that most rows hold says next to nothing, but not nothing."""
    rows = list(rows)
    rarity = log((len(norms) - len(rows) + 0.5) / (len(rows) + 0.5))
    top = (_SATURATION + 1) * (rarity if rarity > 0 else _LEAST)
    return array("d", [top * often / (often + norms[row]) for row, often in zip(rows, frequencies, strict=True)])


def _norms(lengths: Sequence[int]) -> list[float]:
    average = sum(lengths) / len(lengths) if lengths else 0.0
    return [_SATURATION * (1 - _BY_LENGTH + _BY_LENGTH * length / (average or 1.0)) for length in lengths]


def _dot(counts: Iterable[int], weights: Iterable[float]) -> float:
    return sum(count * weight for count, weight in zip(counts, weights, strict=True))


_NONE = (0, 0.0, 0.0)
_FIELD = "\0"  # stands for no term, so no phrase reaches from one field into the next
_LAST = 0x10FFFF
_SATURATION = 1.2
_BY_LENGTH = 0.75
_LEAST = 1e-6

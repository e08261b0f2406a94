"""Which sections support an answer, sentence by sentence, and what in it none supports.

Two looks at every sentence. The first asks how much of it stands in a section, word by word (`overlap.py`). The second
is strict: numbers, names and quotations must stand there as they are written (`literals.py`), and a sentence must not
turn round what the nearest statement says (`polarity.py`). Words are all that is known here; no model is asked.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, cast

from mkdocs_roaming.answer.alike import is_common
from mkdocs_roaming.answer.support import overlap
from mkdocs_roaming.answer.support.literals import unfound, unfound_line
from mkdocs_roaming.answer.support.opposites import opposites
from mkdocs_roaming.answer.support.polarity import agrees, turns
from mkdocs_roaming.answer.support.sentences import Stretch, code_spans, sentences
from mkdocs_roaming.answer.support.statements import Near, Statements
from mkdocs_roaming.answer.support.tokens import Token, is_negation, tokens
from mkdocs_roaming.words import fold, is_stop, word

MarkKind = Literal[
    "number", "version", "flag", "path", "identifier", "url", "quote", "code", "word", "polarity", "sentence"
]
"""What is marked: a literal of that kind, a word that stands nowhere, a turned polarity, a sentence with no source."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A part of an answer that no opened section supports: `start` and `end` are UTF-16 offsets into the bare answer.

    `instead` is what the nearest statement has in its place, if that is known.
    """

    kind: MarkKind
    start: int
    end: int
    instead: str = ""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, heading, row or line of code of an answer, its best section (None: it has none) and the score."""

    start: int
    end: int
    section: str | None
    score: float
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True)
class Support:
    """What supports an answer. `text` is the answer without its `[^id]` markers, which all offsets count in."""

    text: str
    sentences: tuple[Sentence, ...]
    score: float
    """The mean of the sentences' scores, weighted by their length; 1 where there is nothing to support."""

    @property
    def unsupported(self) -> tuple[Mark, ...]:
        """All marks, in the order of the text."""
        return tuple(mark for sentence in self.sentences for mark in sentence.marks)


def support(answer: str, sections: Mapping[str, str] | Iterable[tuple[str, str]], *, language: str = "en") -> Support:
    """Hold an answer against the text of the sections that were opened for it, by their ids."""
    pairs = list(sections.items() if isinstance(sections, Mapping) else sections)
    text = bare(answer)
    check = _Check(text, [id_ for id_, _ in pairs], [body for _, body in pairs], language)
    found = tuple(map(check.sentence, sentences(text)))
    length = sum(sentence.end - sentence.start for sentence in found)
    score = sum(sentence.score * (sentence.end - sentence.start) for sentence in found) / length if length else 1.0
    return Support(text, found, round(score, 4))


def bare(answer: str) -> str:
    """Give an answer without its `[^id]` markers."""
    return _MARKER.sub("", answer)


def label(mark: Mark) -> str:
    """Give what a mark says, in words: `not in the sections`, `the sections say: 8000`."""
    if mark.kind == "sentence":
        return "no section says this"
    if mark.instead:
        return f"the sections say: {mark.instead}"
    return "the sections say the opposite" if mark.kind == "polarity" else "not in the sections"


_MARKER = re.compile(r"\[\^[0-9a-f]{8}\]")


class _Check:
    """One answer against the sections opened for it."""

    def __init__(self, text: str, ids: Sequence[str], texts: Sequence[str], language: str) -> None:
        self._text, self._ids, self._language = text, ids, language
        self._open = Statements(texts, language)
        self._grams = [overlap.grams([fold(token) for token in overlap.tokens(body)]) for body in texts]
        self._place = _Utf16(text)

    def sentence(self, stretch: Stretch) -> Sentence:
        """Judge one sentence."""
        text = self._text[stretch.start : stretch.end]
        ours = tokens(text, self._language, code=stretch.kind == "code")
        near = self._open.nearest(ours)
        credit = self._credit(text, near)
        marks = self._code(text, ours) if stretch.kind == "code" else self._prose(text, ours, near)
        if stretch.kind != "code" and not self._grounded(self._open.words(ours), near, credit.section):
            literals = [mark for mark in marks if mark.kind != "word"]
            marks, credit = [Mark("sentence", 0, len(text)), *literals], overlap.Credit(None, credit.score, 0)
        at = stretch.start
        return Sentence(
            self._place(at),
            self._place(stretch.end),
            None if credit.section is None else self._ids[credit.section],
            round(credit.score, 4),
            tuple(
                Mark(mark.kind, self._place(at + mark.start), self._place(at + mark.end), mark.instead)
                for mark in _apart(marks)
            ),
        )

    def _credit(self, text: str, near: Sequence[Near]) -> overlap.Credit:
        """Find the section that supports most of a sentence; where several do, the one with the nearest statement."""
        edges = [0, *(edge for start, end, _ in code_spans(text) for edge in (start, end)), len(text)]
        pieces = [
            overlap.piece([fold(token) for token in overlap.tokens(text[start:end])], self._grams, self._is_stop)
            for start, end in pairwise(edges)
            if start < end
        ]
        prefer = near[0].statement.section if near and near[0].covered >= _HALF else None
        return overlap.credit(pieces, prefer=prefer)

    def _is_stop(self, token: str) -> bool:
        return is_stop(token, self._language) or not token.strip()

    def _grounded(self, words: frozenset[str], near: Sequence[Near], section: int | None) -> bool:
        """Tell whether a sentence says what some statement or section is about."""
        if len(words) < _FEW:
            return True
        if section is None or not near:
            return False
        return near[0].covered >= _STATED or self._open.covered(words, section) >= _COVERED

    def _code(self, text: str, ours: Sequence[Token]) -> list[Mark]:
        return [_mark(each.kind, each.start, each.end) for each in unfound_line(text, ours, self._open)]

    def _prose(self, text: str, ours: Sequence[Token], near: Sequence[Near]) -> list[Mark]:
        literals = unfound(text, ours, near, self._open)
        marks = [_mark(each.kind, each.start, each.end, each.instead) for each in literals]
        marks += self._turned(ours, near)
        return [*marks, *self._words(ours)]

    def _turned(self, ours: Sequence[Token], near: Sequence[Near]) -> Iterator[Mark]:
        """Mark where a sentence says the opposite of the nearest statement, unless another says what it says."""
        if not near or near[0].covered < _COMPARABLE:
            return
        best = near[0].statement
        others = [
            other
            for other in near[1:]
            if other.covered >= near[0].covered - _AS_NEAR and other.like >= _LIKE * near[0].like
        ]
        for turn in turns(ours, best.tokens, self._language):
            if not any(agrees(ours, turn, other.statement.tokens, self._language) for other in others):
                first, last = (best.tokens[at] for at in turn.there)
                instead = " ".join(best.text[first.start : last.end].split())[:_LONGEST]
                yield Mark("polarity", ours[turn.start].start, ours[turn.end].end, instead)

    def _words(self, ours: Sequence[Token]) -> Iterator[Mark]:
        """Mark words that stand in no section; such as everybody uses all day say too little."""
        for at, token in enumerate(ours):
            unit = at > 0 and ours[at - 1].family == "number" and ours[at - 1].end == token.start
            if token.kind != "word" or token.code or token.stop or unit or not _SPELT.fullmatch(token.text):
                continue
            if is_negation(token, opposites(self._language)):
                continue
            if not self._open.knows(token) and not any(is_common(word(each)) for each in (token.text, token.key)):
                yield Mark("word", token.start, token.end)


_HALF = 0.5
_COMPARABLE = 0.5
_AS_NEAR = 0.05
_LIKE = 0.9
_STATED = 0.45
_COVERED = 0.8
_FEW = 3
_SPELT = re.compile(r"[^\W\d_]{3,}")
_LONGEST = 80


def _mark(kind: str, start: int, end: int, instead: str = "") -> Mark:
    return Mark(cast(MarkKind, kind), start, end, instead[:_LONGEST])


def _apart(marks: Iterable[Mark]) -> Iterator[Mark]:
    """Give marks in the order of the text; of those that overlap the first in rank, but a sentence's beside any."""
    edge = 0
    for mark in sorted(marks, key=lambda mark: (mark.start, mark.kind != "sentence", mark.kind == "word", -mark.end)):
        if mark.kind == "sentence":
            yield mark
        elif mark.start >= edge:
            yield mark
            edge = mark.end


class _Utf16:
    """Character offsets of a text as UTF-16 offsets."""

    def __init__(self, text: str) -> None:
        self._beyond = [at for at, character in enumerate(text) if ord(character) > 0xFFFF]

    def __call__(self, at: int) -> int:
        return at + bisect_left(self._beyond, at)

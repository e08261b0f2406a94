"""Which numbers, names, quotations and lines of code of a sentence do not stand in the opened sections."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, cast

from mkdocs_roaming.answer.support import matching as overlap
from mkdocs_roaming.answer.support.matching import NearStatement, StatementIndex
from mkdocs_roaming.answer.support.negation import agrees_with, context_similarity, find_contradictions
from mkdocs_roaming.answer.support.text import (
    Segment,
    Token,
    find_code_spans,
    is_negation,
    load_polarity_words,
    split_segments,
    tokenize,
)
from mkdocs_roaming.text.languages import fold
from mkdocs_roaming.text.synonyms import is_common_word
from mkdocs_roaming.text.tokenizer import is_stop_word, parse_word


@dataclass(frozen=True, slots=True)
class UnsupportedLiteral:
    """A literal that stands nowhere, or elsewhere only: `instead` is what stands in its place."""

    kind: str
    start: int
    end: int
    instead: str = ""


def find_unsupported_literals(
    text: str, ours: Sequence[Token], near: Sequence[NearStatement], open_: StatementIndex
) -> list[UnsupportedLiteral]:
    """Give the literals of a sentence that no section supports; offsets are the sentence's own."""
    missing = {at for at in range(len(ours)) if not _stands(ours, at, open_)}
    missing -= {at for at in missing if at - 1 in missing and _is_unit(ours, at)}
    found = [
        UnsupportedLiteral(
            _kind(ours[at]), ours[at].start, ours[at].end, _instead(ours, at, near) if number < _MOST else ""
        )
        for number, at in enumerate(sorted(missing))
    ]
    present = [at for at, token in enumerate(ours) if token.family and at not in missing]
    for at in present[:_MOST]:
        token = ours[at]
        if other := _mistaken(ours, at, near, open_):
            found.append(UnsupportedLiteral(_kind(token), token.start, token.end, other))
    return [*found, *_phrases(text, found, open_)]


def find_unsupported_code(text: str, ours: Sequence[Token], open_: StatementIndex) -> list[UnsupportedLiteral]:
    """Give what of a line of code no section supports: names and numbers, else the line where it stands nowhere."""
    bare = _COMMENT.sub("", text).rstrip() if not _COMMENT.match(text) else ""
    if not bare or open_.has_line(text) or open_.has_line(bare):
        return []
    found = [
        UnsupportedLiteral(_kind(token), token.start, token.end)
        for at, token in enumerate(ours)
        if token.end <= len(bare) and not _stands(ours, at, open_)
    ]
    return found or ([UnsupportedLiteral("code", 0, len(bare))] if re.search(r"\w", bare) else [])


def _kind(token: Token) -> str:
    return token.kind if token.kind != "word" else "identifier" if token.code else "number"  # a number's unit


def _stands(ours: Sequence[Token], at: int, open_: StatementIndex) -> bool:
    """Tell whether a literal stands anywhere; a unit must stand behind its number."""
    token = ours[at]
    if _is_unit(ours, at):
        return any(open_.has_name(ours[at - 1].text + gap + token.text) for gap in ("", " ", "\u00a0"))
    if not token.family:
        return True
    if token.family == "number":
        return open_.has_number(token)
    if token.kind == "url":
        return open_.has_name(token.key)
    written = token.text.replace("\\", "").removesuffix("()")
    return open_.has_name(written) or (token.text != written and open_.has_name(token.text))


def _is_unit(ours: Sequence[Token], at: int) -> bool:
    """Tell whether a token is the unit of the number right before it: `30s`."""
    before = ours[at - 1] if at else None
    return bool(before and before.family == "number" and before.end == ours[at].start and ours[at].text.isalpha())


def _instead(ours: Sequence[Token], at: int, near: Sequence[NearStatement]) -> str:
    """Give what the nearest statement has in a literal's place, if that can be told."""
    other = _other(ours, at, near[:1], 0.0) if near and near[0].covered >= _NEAR else None
    return other.text if other else ""


def _mistaken(ours: Sequence[Token], at: int, near: Sequence[NearStatement], open_: StatementIndex) -> str:
    """Give what stands in a literal's place where the literal itself stands elsewhere only."""
    if not near or near[0].covered < _NEAR:
        return ""
    others = [other for other in near if other.covered >= near[0].covered - _AS_NEAR]
    other = _other(ours, at, others, _own(ours, at, open_))
    if other is None or other.spare:
        return other.text if other else ""
    for there, token in enumerate(ours):  # both must be out of place where one stands for the other
        if token.text == other.text and _other(ours, there, others, _own(ours, there, open_)):
            return other.text
    return ""


@dataclass(frozen=True, slots=True)
class _Other:
    """What a statement has in a literal's place; `spare` tells that it has more of it than the sentence."""

    text: str
    spare: bool


def _own(ours: Sequence[Token], at: int, open_: StatementIndex) -> float:
    """Give how well a literal stands in its best place."""
    places = open_.literals(ours[at].family, ours[at].key)
    return max((context_similarity(ours, at, statement.tokens, there) for statement, there in places), default=0.0)


def _other(ours: Sequence[Token], at: int, near: Sequence[NearStatement], own: float) -> _Other | None:
    token = ours[at]
    here = Counter(each.key for each in ours)
    best, found = own + _CLEARLY, None
    for other in near:
        theirs = other.statement.tokens
        held = Counter(each.key for each in theirs)
        places = [there for there, each in enumerate(theirs) if each.family == token.family]
        for there in places[:_MOST]:
            candidate = theirs[there]
            if candidate.key == token.key:
                continue
            spare = held[candidate.key] > here[candidate.key]
            if not spare and not held[token.key]:
                continue  # it has its own place
            likeness = context_similarity(ours, at, theirs, there)
            if likeness >= (_SAME_ROW if other.statement.is_row else _SAME_PLACE) and likeness > best:
                best, found = likeness, _Other(candidate.text, spare)
    return found


def _phrases(text: str, found: Sequence[UnsupportedLiteral], open_: StatementIndex) -> Iterator[UnsupportedLiteral]:
    """Find inline code and quotations that stand nowhere as they are written."""
    for start, end, ticks in find_code_spans(text):
        inner = text[start + ticks : end - ticks].strip()
        known = open_.has_line(inner) or open_.has_name(inner) or not re.search(r"\w", inner)
        if not known and not any(start <= each.start < end for each in found):
            yield UnsupportedLiteral("code", start, end)
    for match in _QUOTATION.finditer(text):
        inner = match[0][1:-1].strip(" .,;:!?")
        known = not re.search(r"\w", inner) or open_.has_phrase(inner)
        if not known and not any(match.start() <= each.start < match.end() for each in found):
            yield UnsupportedLiteral("quote", match.start(), match.end())


_NEAR = 0.6


_AS_NEAR = 0.05


_MOST = 24  # literals that are compared, of a sentence and of a statement


_CLEARLY = 0.15


_SAME_PLACE = 0.9


_SAME_ROW = 0.4  # a row has few words


_QUOTATION = re.compile(r"\"[^\"\n]{2,300}\"|“[^”\n]{2,300}”|„[^“”\n]{2,300}[“”]|«[^»\n]{2,300}»|「[^」\n]{2,300}」")


_COMMENT = re.compile(r"(?:^|(?<=\s))(?:#|//|--\s|;)\s?.*$")


# MERGED mkdocs_roaming.answer.support:
# Which sections support an answer, sentence by sentence, and what in it none supports.
#
# Two looks at every sentence. The first asks how much of it stands in a section, word by word (`overlap.py`).
# The second
# is strict: numbers, names and quotations must stand there as they are written (`literals.py`), and a sentence
# must not
# turn round what the nearest statement says (`polarity.py`). Words are all that is known here; no model is
# asked.


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


def check_support(
    answer: str, sections: Mapping[str, str] | Iterable[tuple[str, str]], *, language: str = "en"
) -> Support:
    """Hold an answer against the text of the sections that were opened for it, by their ids."""
    pairs = list(sections.items() if isinstance(sections, Mapping) else sections)
    text = strip_citations(answer)
    check = _Check(text, [id_ for id_, _ in pairs], [body for _, body in pairs], language)
    found = tuple(map(check.sentence, split_segments(text)))
    length = sum(sentence.end - sentence.start for sentence in found)
    score = sum(sentence.score * (sentence.end - sentence.start) for sentence in found) / length if length else 1.0
    return Support(text, found, round(score, 4))


def strip_citations(answer: str) -> str:
    """Give an answer without its `[^id]` markers."""
    return _MARKER.sub("", answer)


def describe_mark(mark: Mark) -> str:
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
        self._open = StatementIndex(texts, language)
        self._grams = [
            overlap.word_and_trigram_set([fold(token) for token in overlap.split_words(body)]) for body in texts
        ]
        self._place = _Utf16(text)

    def sentence(self, stretch: Segment) -> Sentence:
        """Judge one sentence."""
        text = self._text[stretch.start : stretch.end]
        ours = tokenize(text, self._language, code=stretch.kind == "code")
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

    def _credit(self, text: str, near: Sequence[NearStatement]) -> overlap.Credit:
        """Find the section that supports most of a sentence; where several do, the one with the nearest statement."""
        edges = [0, *(edge for start, end, _ in find_code_spans(text) for edge in (start, end)), len(text)]
        pieces = [
            overlap.score_piece(
                [fold(token) for token in overlap.split_words(text[start:end])], self._grams, self._is_stop
            )
            for start, end in pairwise(edges)
            if start < end
        ]
        prefer = near[0].statement.section if near and near[0].covered >= _HALF else None
        return overlap.credit_section(pieces, prefer=prefer)

    def _is_stop(self, token: str) -> bool:
        return is_stop_word(token, self._language) or not token.strip()

    def _grounded(self, words: frozenset[str], near: Sequence[NearStatement], section: int | None) -> bool:
        """Tell whether a sentence says what some statement or section is about."""
        if len(words) < _FEW:
            return True
        if section is None or not near:
            return False
        return near[0].covered >= _STATED or self._open.covered(words, section) >= _COVERED

    def _code(self, text: str, ours: Sequence[Token]) -> list[Mark]:
        return [_mark(each.kind, each.start, each.end) for each in find_unsupported_code(text, ours, self._open)]

    def _prose(self, text: str, ours: Sequence[Token], near: Sequence[NearStatement]) -> list[Mark]:
        literals = find_unsupported_literals(text, ours, near, self._open)
        marks = [_mark(each.kind, each.start, each.end, each.instead) for each in literals]
        marks += self._turned(ours, near)
        return [*marks, *self._words(ours)]

    def _turned(self, ours: Sequence[Token], near: Sequence[NearStatement]) -> Iterator[Mark]:
        """Mark where a sentence says the opposite of the nearest statement, unless another says what it says."""
        if not near or near[0].covered < _COMPARABLE:
            return
        best = near[0].statement
        others = [
            other
            for other in near[1:]
            if other.covered >= near[0].covered - _AS_NEAR and other.like >= _LIKE * near[0].like
        ]
        for turn in find_contradictions(ours, best.tokens, self._language):
            if not any(agrees_with(ours, turn, other.statement.tokens, self._language) for other in others):
                first, last = (best.tokens[at] for at in turn.there)
                instead = " ".join(best.text[first.start : last.end].split())[:_LONGEST]
                yield Mark("polarity", ours[turn.start].start, ours[turn.end].end, instead)

    def _words(self, ours: Sequence[Token]) -> Iterator[Mark]:
        """Mark words that stand in no section; such as everybody uses all day say too little."""
        for at, token in enumerate(ours):
            unit = at > 0 and ours[at - 1].family == "number" and ours[at - 1].end == token.start
            if token.kind != "word" or token.code or token.stop or unit or not _SPELT.fullmatch(token.text):
                continue
            if is_negation(token, load_polarity_words(self._language)):
                continue
            if not self._open.knows(token) and not any(
                is_common_word(parse_word(each)) for each in (token.text, token.key)
            ):
                yield Mark("word", token.start, token.end)


_HALF = 0.5


_COMPARABLE = 0.5


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

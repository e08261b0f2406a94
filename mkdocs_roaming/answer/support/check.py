"""Checks, sentence by sentence, whether the opened sections support an answer. No model is involved.

Each sentence gets the section that contains most of its words (`matching`), and marks for the numbers, names,
quotations and words that no section contains.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, cast

from mkdocs_roaming.answer.support.matching import (
    Credit,
    NearStatement,
    StatementIndex,
    credit_section,
    score_piece,
    split_words,
    word_and_trigram_set,
    word_keys,
)
from mkdocs_roaming.answer.support.text import Segment, Token, find_code_spans, split_segments, tokenize
from mkdocs_roaming.text.languages import fold
from mkdocs_roaming.text.synonyms import is_common_word
from mkdocs_roaming.text.tokenizer import is_stop_word, parse_word

MarkKind = Literal["number", "version", "flag", "path", "identifier", "url", "quote", "code", "word", "sentence"]
"""The kind of a literal, a `word` that no section contains, or an unsupported `sentence`."""

_CITATION = re.compile(r"\[\^[0-9a-f]{8}\]")
_WORD_OF_LETTERS = re.compile(r"[^\W\d_]{3,}")
_QUOTATION = re.compile(r"\"[^\"\n]{2,300}\"|“[^”\n]{2,300}”|„[^“”\n]{2,300}[“”]|«[^»\n]{2,300}»|「[^」\n]{2,300}」")
_CODE_COMMENT = re.compile(r"(?:^|(?<=\s))(?:#|//|--\s|;)\s?.*$")

_MIN_CONTENT_WORDS = 3  # shorter sentences are always supported

# Shares of a sentence's words in a statement or a section
_PREFERRED_COVERAGE = 0.5
_STATED_COVERAGE = 0.45
_SECTION_COVERAGE = 0.8


@dataclass(frozen=True, slots=True)
class Mark:
    """A part of an answer that no opened section supports.

    Attributes:
        kind: What is not supported.
        start: Offset of the first character, in UTF-16 code units of the answer without citations.
        end: Offset behind the last character.
    """

    kind: MarkKind
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, heading, row or line of code of an answer.

    Attributes:
        start: Offset of the first character, in UTF-16 code units of the answer without citations.
        end: Offset behind the last character.
        section: Id of the section that supports it best; None if none does.
        score: How well the section supports it, from 0 to 1.
        marks: The parts that are not supported.
    """

    start: int
    end: int
    section: str | None
    score: float
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True)
class Support:
    """Result of the support check.

    Attributes:
        text: The answer without citations, to which all offsets refer.
        sentences: Its sentences.
        score: Mean score of the sentences, weighted by length; 1 without sentences.
    """

    text: str
    sentences: tuple[Sentence, ...]
    score: float

    @property
    def unsupported(self) -> tuple[Mark, ...]:
        """All marks, in the order of the text."""
        return tuple(mark for sentence in self.sentences for mark in sentence.marks)


def check_support(answer: str, sections: Mapping[str, str], *, language: str = "en") -> Support:
    """Compare an answer with the sections that were opened for it.

    Args:
        answer: The answer with its `[^id]` citations.
        sections: The text of each section, by id.
        language: Language of the site.
    """
    text = strip_citations(answer)
    checker = _Checker(text, sections, language)
    sentences = tuple(map(checker.check, split_segments(text)))
    length = sum(sentence.end - sentence.start for sentence in sentences)
    total = sum(sentence.score * (sentence.end - sentence.start) for sentence in sentences)
    return Support(text, sentences, round(total / length if length else 1.0, 4))


def strip_citations(answer: str) -> str:
    """Return an answer without its `[^id]` citations."""
    return _CITATION.sub("", answer)


def describe_mark(mark: Mark) -> str:
    """Return the explanation of a mark."""
    return "no section says this" if mark.kind == "sentence" else "not in the sections"


class _Checker:
    """Checks the sentences of one answer. Offsets within a sentence are character offsets."""

    def __init__(self, text: str, sections: Mapping[str, str], language: str) -> None:
        self._text, self._ids, self._language = text, list(sections), language
        self._index = StatementIndex(list(sections.values()), language)
        self._section_words = [
            word_and_trigram_set([fold(word) for word in split_words(body)]) for body in sections.values()
        ]
        self._astral = [position for position, character in enumerate(text) if ord(character) > 0xFFFF]

    def check(self, segment: Segment) -> Sentence:
        """Check one sentence."""
        text = self._text[segment.start : segment.end]
        is_code = segment.kind == "code"
        tokens = tokenize(text, self._language, code=is_code)
        near = self._index.find_nearest(tokens)
        credit = self._credit(text, near)
        if is_code:
            marks = find_unsupported_code(text, tokens, self._index)
        else:
            marks = find_unsupported_literals(text, tokens, self._index)
            if not self._is_supported(tokens, near, credit.section):
                marks = [Mark("sentence", 0, len(text)), *marks]
                credit = Credit(None, credit.score, 0)
            else:
                marks += self._find_unknown_words(tokens)
        start = segment.start
        return Sentence(
            self._to_utf16(start),
            self._to_utf16(segment.end),
            None if credit.section is None else self._ids[credit.section],
            round(credit.score, 4),
            tuple(
                Mark(mark.kind, self._to_utf16(start + mark.start), self._to_utf16(start + mark.end))
                for mark in _remove_overlaps(marks)
            ),
        )

    def _credit(self, text: str, near: NearStatement | None) -> Credit:
        """Find the section that supports most of a sentence, preferably the one with the nearest statement."""
        edges = [0, *(edge for start, end, _ in find_code_spans(text) for edge in (start, end)), len(text)]
        pieces = [
            score_piece([fold(word) for word in split_words(text[start:end])], self._section_words, self._is_stop_word)
            for start, end in pairwise(edges)
            if start < end
        ]
        prefer = near.section if near and near.coverage >= _PREFERRED_COVERAGE else None
        return credit_section(pieces, prefer=prefer)

    def _is_stop_word(self, word: str) -> bool:
        return is_stop_word(word, self._language) or not word.strip()

    def _is_supported(self, tokens: Sequence[Token], near: NearStatement | None, section: int | None) -> bool:
        """Return whether a statement or a section is about what the sentence says."""
        words = word_keys(tokens)
        if len(words) < _MIN_CONTENT_WORDS:
            return True
        if section is None or near is None:
            return False
        return near.coverage >= _STATED_COVERAGE or self._index.section_coverage(words, section) >= _SECTION_COVERAGE

    def _find_unknown_words(self, tokens: Sequence[Token]) -> Iterator[Mark]:
        """Mark words that no section contains, except common words."""
        for position, token in enumerate(tokens):
            if token.kind != "word" or token.is_code or token.is_stop_word or _is_unit(tokens, position):
                continue
            if not _WORD_OF_LETTERS.fullmatch(token.text):
                continue
            is_common = any(is_common_word(parse_word(text)) for text in (token.text, token.key))
            if not is_common and not self._index.has_word(token):
                yield Mark("word", token.start, token.end)

    def _to_utf16(self, offset: int) -> int:
        return offset + bisect_left(self._astral, offset)


def _remove_overlaps(marks: Iterable[Mark]) -> Iterator[Mark]:
    """Yield marks in order; of overlapping ones the first, except that a sentence may contain other marks."""
    edge = 0
    for mark in sorted(marks, key=lambda mark: (mark.start, mark.kind != "sentence", mark.kind == "word", -mark.end)):
        if mark.kind == "sentence":
            yield mark
        elif mark.start >= edge:
            yield mark
            edge = mark.end


# Literals


def find_unsupported_literals(text: str, tokens: Sequence[Token], index: StatementIndex) -> list[Mark]:
    """Return marks for the numbers, names, code and quotations of a sentence that the sections do not contain."""
    missing = {position for position in range(len(tokens)) if not _is_known(tokens, position, index)}
    missing -= {position for position in missing if position - 1 in missing and _is_unit(tokens, position)}
    marks = [_mark_literal(tokens[position]) for position in sorted(missing)]
    return [*marks, *_find_unsupported_quotes(text, marks, index)]


def find_unsupported_code(line: str, tokens: Sequence[Token], index: StatementIndex) -> list[Mark]:
    """Return marks for a line of code that the sections do not contain: its unknown literals, or the whole line."""
    code = _CODE_COMMENT.sub("", line).rstrip() if not _CODE_COMMENT.match(line) else ""
    if not code or index.has_line(line) or index.has_line(code):
        return []
    marks = [
        _mark_literal(token)
        for position, token in enumerate(tokens)
        if token.end <= len(code) and not _is_known(tokens, position, index)
    ]
    return marks or ([Mark("code", 0, len(code))] if re.search(r"\w", code) else [])


def _mark_literal(token: Token) -> Mark:
    kind = token.kind if token.kind != "word" else "identifier" if token.is_code else "number"  # a number's unit
    return Mark(cast(MarkKind, kind), token.start, token.end)


def _is_known(tokens: Sequence[Token], position: int, index: StatementIndex) -> bool:
    """Return whether a token is in the sections, or no literal; a unit must follow the same number."""
    token = tokens[position]
    if _is_unit(tokens, position):
        number = tokens[position - 1].text
        return any(index.has_name(f"{number}{gap}{token.text}") for gap in ("", " ", "\u00a0"))
    if not token.family:
        return True
    if token.family == "number":
        return index.has_number(token)
    if token.kind == "url":
        return index.has_name(token.key)
    plain = token.text.replace("\\", "").removesuffix("()")
    return index.has_name(plain) or (token.text != plain and index.has_name(token.text))


def _is_unit(tokens: Sequence[Token], position: int) -> bool:
    """Return whether a token is the unit of the number before it, such as `s` in `30s`."""
    before, token = tokens[position - 1] if position else None, tokens[position]
    return bool(before and before.family == "number" and before.end == token.start and token.text.isalpha())


def _find_unsupported_quotes(text: str, marks: Sequence[Mark], index: StatementIndex) -> Iterator[Mark]:
    """Mark inline code and quotations that the sections do not contain word for word."""
    for start, end, ticks in find_code_spans(text):
        inner = text[start + ticks : end - ticks].strip()
        is_known = index.has_line(inner) or index.has_name(inner) or not re.search(r"\w", inner)
        if not is_known and not any(start <= mark.start < end for mark in marks):
            yield Mark("code", start, end)
    for match in _QUOTATION.finditer(text):
        inner = match[0][1:-1].strip(" .,;:!?")
        is_known = not re.search(r"\w", inner) or index.has_phrase(inner)
        if not is_known and not any(match.start() <= mark.start < match.end() for mark in marks):
            yield Mark("quote", match.start(), match.end())

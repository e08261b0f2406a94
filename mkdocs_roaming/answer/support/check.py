"""Checks, sentence by sentence, whether the opened sections support an answer. No model is involved.

Each sentence gets the section that contains most of its words (`matching`), and marks: numbers, names and quotations
that are not in the sections, contradictions of the nearest statement (`negation`), and words that no section
contains.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
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
)
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

MarkKind = Literal[
    "number", "version", "flag", "path", "identifier", "url", "quote", "code", "word", "polarity", "sentence"
]
"""The kind of a literal, a `word` that no section contains, a contradiction (`polarity`), an unsupported `sentence`."""

_CITATION = re.compile(r"\[\^[0-9a-f]{8}\]")
_WORD_OF_LETTERS = re.compile(r"[^\W\d_]{3,}")
_QUOTATION = re.compile(r"\"[^\"\n]{2,300}\"|“[^”\n]{2,300}”|„[^“”\n]{2,300}[“”]|«[^»\n]{2,300}»|「[^」\n]{2,300}」")
_CODE_COMMENT = re.compile(r"(?:^|(?<=\s))(?:#|//|--\s|;)\s?.*$")

_MAX_INSTEAD_CHARS = 80
_MAX_LITERALS = 24  # literals that are compared, of a sentence and of a statement
_MIN_CONTENT_WORDS = 3  # shorter sentences are always supported

# Shares of a sentence's words in a statement or a section
_PREFERRED_COVERAGE = 0.5
_COMPARABLE_COVERAGE = 0.5
_REPLACEMENT_COVERAGE = 0.6
_STATED_COVERAGE = 0.45
_SECTION_COVERAGE = 0.8
_EQUAL_COVERAGE = 0.05
_EQUAL_SIMILARITY = 0.9

# Similarity of the words around a literal and around its replacement
_MIN_ADVANTAGE = 0.15
_SAME_CONTEXT = 0.9
_SAME_CONTEXT_IN_ROW = 0.4  # a row has few words


@dataclass(frozen=True, slots=True)
class Mark:
    """A part of an answer that no opened section supports.

    Attributes:
        kind: What is not supported.
        start: Offset of the first character, in UTF-16 code units of the answer without citations.
        end: Offset behind the last character.
        instead: The text in its place in the nearest statement, if known.
    """

    kind: MarkKind
    start: int
    end: int
    instead: str = ""


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


def check_support(
    answer: str, sections: Mapping[str, str] | Iterable[tuple[str, str]], *, language: str = "en"
) -> Support:
    """Compare an answer with the sections that were opened for it.

    Args:
        answer: The answer with its `[^id]` citations.
        sections: The text of each section, by id.
        language: Language of the site.
    """
    pairs = list(sections.items() if isinstance(sections, Mapping) else sections)
    text = strip_citations(answer)
    checker = _Checker(text, [id_ for id_, _ in pairs], [body for _, body in pairs], language)
    sentences = tuple(map(checker.check, split_segments(text)))
    length = sum(sentence.end - sentence.start for sentence in sentences)
    total = sum(sentence.score * (sentence.end - sentence.start) for sentence in sentences)
    return Support(text, sentences, round(total / length if length else 1.0, 4))


def strip_citations(answer: str) -> str:
    """Return an answer without its `[^id]` citations."""
    return _CITATION.sub("", answer)


def describe_mark(mark: Mark) -> str:
    """Return the explanation of a mark, such as `not in the sections` or `the sections say: 8000`."""
    if mark.kind == "sentence":
        return "no section says this"
    if mark.instead:
        return f"the sections say: {mark.instead}"
    return "the sections say the opposite" if mark.kind == "polarity" else "not in the sections"


class _Checker:
    """Checks the sentences of one answer. Offsets within a sentence are character offsets."""

    def __init__(self, text: str, ids: Sequence[str], texts: Sequence[str], language: str) -> None:
        self._text, self._ids, self._language = text, ids, language
        self._index = StatementIndex(texts, language)
        self._section_words = [word_and_trigram_set([fold(word) for word in split_words(body)]) for body in texts]
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
            marks = find_unsupported_literals(text, tokens, near, self._index)
            marks += self._find_contradictions(tokens, near)
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
                Mark(mark.kind, self._to_utf16(start + mark.start), self._to_utf16(start + mark.end), mark.instead)
                for mark in _remove_overlaps(marks)
            ),
        )

    def _credit(self, text: str, near: Sequence[NearStatement]) -> Credit:
        """Find the section that supports most of a sentence, preferably the one with the nearest statement."""
        edges = [0, *(edge for start, end, _ in find_code_spans(text) for edge in (start, end)), len(text)]
        pieces = [
            score_piece([fold(word) for word in split_words(text[start:end])], self._section_words, self._is_stop_word)
            for start, end in pairwise(edges)
            if start < end
        ]
        prefer = near[0].statement.section if near and near[0].coverage >= _PREFERRED_COVERAGE else None
        return credit_section(pieces, prefer=prefer)

    def _is_stop_word(self, word: str) -> bool:
        return is_stop_word(word, self._language) or not word.strip()

    def _is_supported(self, tokens: Sequence[Token], near: Sequence[NearStatement], section: int | None) -> bool:
        """Return whether a statement or a section is about what the sentence says."""
        words = self._index.word_keys(tokens)
        if len(words) < _MIN_CONTENT_WORDS:
            return True
        if section is None or not near:
            return False
        if near[0].coverage >= _STATED_COVERAGE:
            return True
        return self._index.section_coverage(words, section) >= _SECTION_COVERAGE

    def _find_contradictions(self, tokens: Sequence[Token], near: Sequence[NearStatement]) -> Iterator[Mark]:
        """Mark contradictions of the nearest statement, unless another statement agrees with the sentence."""
        if not near or near[0].coverage < _COMPARABLE_COVERAGE:
            return
        nearest = near[0].statement
        equally_near = [
            other
            for other in near[1:]
            if other.coverage >= near[0].coverage - _EQUAL_COVERAGE
            and other.similarity >= _EQUAL_SIMILARITY * near[0].similarity
        ]
        for found in find_contradictions(tokens, nearest.tokens, self._language):
            if any(agrees_with(tokens, found, other.statement.tokens, self._language) for other in equally_near):
                continue
            first, last = (nearest.tokens[position] for position in found.statement)
            instead = " ".join(nearest.text[first.start : last.end].split())[:_MAX_INSTEAD_CHARS]
            yield Mark("polarity", tokens[found.start].start, tokens[found.end].end, instead)

    def _find_unknown_words(self, tokens: Sequence[Token]) -> Iterator[Mark]:
        """Mark words that no section contains, except common words."""
        words = load_polarity_words(self._language)
        for position, token in enumerate(tokens):
            if token.kind != "word" or token.is_code or token.is_stop_word or _is_unit(tokens, position):
                continue
            if not _WORD_OF_LETTERS.fullmatch(token.text) or is_negation(token, words):
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


def find_unsupported_literals(
    text: str, tokens: Sequence[Token], near: Sequence[NearStatement], index: StatementIndex
) -> list[Mark]:
    """Return marks for the numbers, names, code and quotations of a sentence that the sections do not contain.

    A literal that occurs in another place only is marked, too, if the nearest statement has another one in its place.
    """
    missing = {position for position in range(len(tokens)) if not _is_known(tokens, position, index)}
    missing -= {position for position in missing if position - 1 in missing and _is_unit(tokens, position)}
    marks = [
        _mark_literal(
            tokens[position], _find_replacement_for_missing(tokens, position, near) if number < _MAX_LITERALS else ""
        )
        for number, position in enumerate(sorted(missing))
    ]
    present = [position for position, token in enumerate(tokens) if token.family and position not in missing]
    marks += [
        _mark_literal(tokens[position], replacement)
        for position in present[:_MAX_LITERALS]
        if (replacement := _find_replacement_for_present(tokens, position, near, index))
    ]
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


def _mark_literal(token: Token, instead: str = "") -> Mark:
    kind = token.kind if token.kind != "word" else "identifier" if token.is_code else "number"  # a number's unit
    return Mark(cast(MarkKind, kind), token.start, token.end, instead[:_MAX_INSTEAD_CHARS])


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


@dataclass(frozen=True, slots=True)
class _Replacement:
    """A literal that replaces another; `is_extra` if the statement has it more often than the sentence."""

    text: str
    is_extra: bool


def _find_replacement_for_missing(tokens: Sequence[Token], position: int, near: Sequence[NearStatement]) -> str:
    """Return the literal of the nearest statement at the position of an unknown one, or ""."""
    if not near or near[0].coverage < _REPLACEMENT_COVERAGE:
        return ""
    replacement = _find_replacement(tokens, position, near[:1], 0.0)
    return replacement.text if replacement else ""


def _find_replacement_for_present(
    tokens: Sequence[Token], position: int, near: Sequence[NearStatement], index: StatementIndex
) -> str:
    """Return the literal of a near statement at the position of one that another section contains, or ""."""
    if not near or near[0].coverage < _REPLACEMENT_COVERAGE:
        return ""
    equally_near = [other for other in near if other.coverage >= near[0].coverage - _EQUAL_COVERAGE]
    own = _own_similarity(tokens, position, index)
    replacement = _find_replacement(tokens, position, equally_near, own)
    if replacement is None or replacement.is_extra:
        return replacement.text if replacement else ""
    for other, token in enumerate(tokens):  # two literals that changed places: both must be in the wrong place
        if token.text == replacement.text:
            own = _own_similarity(tokens, other, index)
            if _find_replacement(tokens, other, equally_near, own):
                return replacement.text
    return ""


def _own_similarity(tokens: Sequence[Token], position: int, index: StatementIndex) -> float:
    """Return the similarity of a literal's context and its best context in the sections."""
    found = index.find_literals(tokens[position].family, tokens[position].key)
    return max(
        (context_similarity(tokens, position, statement.tokens, there) for statement, there in found), default=0.0
    )


def _find_replacement(
    tokens: Sequence[Token], position: int, near: Sequence[NearStatement], own_similarity: float
) -> _Replacement | None:
    token = tokens[position]
    counts = Counter(each.key for each in tokens)
    best, replacement = own_similarity + _MIN_ADVANTAGE, None
    for other in near:
        theirs = other.statement.tokens
        their_counts = Counter(each.key for each in theirs)
        min_similarity = _SAME_CONTEXT_IN_ROW if other.statement.is_row else _SAME_CONTEXT
        candidates = [there for there, each in enumerate(theirs) if each.family == token.family]
        for there in candidates[:_MAX_LITERALS]:
            candidate = theirs[there]
            if candidate.key == token.key:
                continue
            is_extra = their_counts[candidate.key] > counts[candidate.key]
            if not is_extra and not their_counts[token.key]:
                continue  # the sentence has it in another place
            similarity = context_similarity(tokens, position, theirs, there)
            if similarity >= min_similarity and similarity > best:
                best, replacement = similarity, _Replacement(candidate.text, is_extra)
    return replacement


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

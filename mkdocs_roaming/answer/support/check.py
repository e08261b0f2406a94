"""Checks whether the opened sections support an answer. No model is involved.

A mark is for a reader who wants to know what to verify first, so the check marks only what it can defend: names and
numbers that neither the opened sections nor the questions contain, numbers that the sections state differently, and
clauses about something else, or with an antonym in place of a word. It cannot see most of the reversed statements.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import Literal

from mkdocs_roaming.answer.support.evidence import (
    MAX_PASSAGE_CHARS,
    Evidence,
    Segment,
    find_numbers,
    find_words,
    mask_code,
    normalize_text,
    split_segments,
)
from mkdocs_roaming.answer.support.names import ADDRESS_OR_OPTION, NAME_IN_ENGLISH, NameReader
from mkdocs_roaming.text.languages import available_languages, base_language, load_phrases, load_words
from mkdocs_roaming.text.markdown import find_code_spans
from mkdocs_roaming.text.tokenizer import SPACELESS, find_stem_synonyms, is_common_word, is_stop_word, parse_word, stem

MarkKind = Literal["name", "number", "claim"]

MAX_MARK_CHARS = 120

LOW_SUPPORT = 0.5
"""An answer with a lower score counts as partial."""

GOOD_SUPPORT = 0.9
"""Only an answer with at least this score is cached and shared with other readers."""

CITATION = re.compile(r"\[\^([0-9a-f]{8})\]")
"""The citation of a section in an answer."""

GAP_CITATION = re.compile(r"\[\^none\]", re.IGNORECASE)
"""The mark of a statement that the documentation does not say something."""

_ANY_CITATION = re.compile(r"\[\^(?:[0-9a-f]{8}|none)\]")
_STATEMENT_END = re.compile(r"[.!?]?\s{0,3}\[\^(?:[0-9a-f]{8}|none)\]|[;\n]|[.!?]\s")
_CLAUSE_END = re.compile(
    r"[,;:]\s+|\s[–—-]\s|\s\(|\)\s?|\.\s+|(?<=\w)\s+(?=(?:and|but|so|because|which|unless|or|while|if|where)\s)"
)
_LEAD_IN = re.compile(r"[:：]\s*$")
_DOCUMENTATION = re.compile(r"\b(?:docs?|documentation|example|faq|guide|pages?|sections?)\b", re.IGNORECASE)
_READER = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)
_LINK_TARGET = re.compile(r"(?<=\])\([^()\s]{1,500}\)")  # not shown to readers; foreign ones are removed before
_END_OF_NAME = re.compile(rf"[^\W\d{SPACELESS}][_-]?")
_JUDGEMENT = re.compile(r"^[ \t]*([0-9]{1,4})[ \t]*[:.)](.*)$", re.MULTILINE)
_NO_JUDGEMENT = re.compile(r"\bnone\b", re.IGNORECASE)
_NAME = re.compile(r"\S*(?:[/_@]|\w\.\w)\S*")
_PUNCTUATION = " .,;:!?()–—-"
_MIN_LANGUAGE_SHARE = 0.12  # of English text, a fifth to a half are function words
_SAME_STATEMENT_SHARE = 0.7
_MAX_STATEMENTS = 20
_PLACE_WORDS = 3
_MIN_UNKNOWN_WORDS = 3


@dataclass(frozen=True, slots=True)
class Mark:
    """A part of an answer that the opened sections do not support.

    Attributes:
        kind: A `name` (identifier, option, command, path, address, value), a `number`, or a whole `claim`.
        start: Offset of the first character, in UTF-16 code units of the answer.
        end: Offset behind the last character.
        section: Id of the section with the nearest statement; None if nothing is near.
        passage: The nearest statement.
    """

    kind: MarkKind
    start: int
    end: int
    section: str | None = None
    passage: str = ""


@dataclass(frozen=True, slots=True)
class Support:
    """Result of the support check.

    Attributes:
        score: The share of the answer's characters in sentences without a mark, from 0 to 1.
        marks: What is not supported, in the order of the text. Their offsets refer to the answer's Markdown with its
            citations.
    """

    score: float
    marks: tuple[Mark, ...] = ()


def check_support(
    answer: str,
    sections: Mapping[str, str],
    *,
    question: str = "",
    language: str = "en",
    claims: Sequence[tuple[int, int]] | None = None,
    gaps: Sequence[tuple[int, int]] = (),
    foreign: Sequence[tuple[int, int]] = (),
) -> Support:
    """Compare an answer with the sections that were opened for it.

    Args:
        answer: The answer as Markdown, with `[^id]` citations.
        sections: Each section by id: its breadcrumb, a blank line, its text.
        question: The reader's questions: their words need no source.
        language: Language of the site.
        claims: Start and end of the claims that a model found unsupported; None to compare words.
        gaps: Start and end of statements that the model marked with `[^none]`; others are found by their words.
        foreign: Start and end of addresses that are marked in any case.
    """
    text = blank_citations(answer)
    segments = split_segments(text)
    gaps = sorted((*_find_gaps(answer), *gaps))
    if not claims and not foreign and all(_is_inside(segment.start, gaps) for segment in segments):
        return Support(1.0)  # it only says that the documentation does not answer
    prose = (text[segment.start : segment.end] for segment in segments if segment.kind != "code")
    evidence = Evidence(sections, question, language, answer)
    reads_prose = base_language(language) == "en" and _is_english(" ".join(map(mask_code, prose)))
    checker = _Checker(evidence, NameReader(evidence), reads_prose=reads_prose)
    found = list(_label("claim", claims or ()))
    for segment in segments:
        marks = checker.check(segment, text[segment.start : segment.end])
        found += (
            (kind, segment.start + start, segment.start + end)
            for kind, start, end in marks
            if kind != "claim" or claims is None
        )
    found = [mark for mark in found if not _is_inside(mark[1], gaps)]
    found += _label("name", foreign)
    return _make_support(answer, list(_merge(found)), segments, evidence)


def mark_addresses(answer: str, addresses: Sequence[tuple[int, int]]) -> Support:
    """Return the result for an answer that cannot be checked: marks on addresses that no opened section contains."""
    to_utf16 = make_utf16_converter(answer)
    return Support(0.0, tuple(Mark("name", to_utf16(start), to_utf16(end)) for start, end in addresses))


def find_statements(answer: str) -> list[tuple[int, int]]:
    """Return start and end of each sentence and table row of an answer, without gaps."""
    text, gaps = blank_citations(answer), list(_find_gaps(answer))
    return [
        (segment.start, segment.end)
        for segment in split_segments(text)
        if segment.kind in ("sentence", "row") and not _is_inside(segment.start, gaps)
    ]


def read_claims(reply: str, answer: str, statements: Sequence[tuple[int, int]]) -> list[tuple[int, int]] | None:
    """Return start and end of the claims that a model's reply names, in order; None if the reply has another form.

    Each line of the reply is the number of a statement and words from it, such as `2: the port is 9000`. If the
    statement does not contain the words, the claim is the whole statement.
    """
    lines = list(_JUDGEMENT.finditer(reply))
    if not lines:
        return [] if _NO_JUDGEMENT.search(reply) else None
    claims: set[tuple[int, int]] = set()
    for line in lines:
        number, words = int(line[1]), line[2].strip(" \t\"'“”")
        if not 0 < number <= len(statements):
            return None
        start, end = statements[number - 1]
        place = answer.find(words, start, end)
        claims.add((place, place + len(words)) if words and place >= 0 else (start, end))
    return sorted(claims)


def slice_utf16(text: str, start: int, end: int) -> str:
    """Return a part of a text whose offsets are UTF-16 code units."""
    return text.encode("utf-16-le", "surrogatepass")[2 * start : 2 * end].decode("utf-16-le", "replace")


# One segment

_Found = tuple[MarkKind, int, int]


@dataclass(frozen=True, slots=True)
class _Checker:
    """Checks segments, in their order. Offsets are those of the segment.

    Attributes:
        evidence: What is known.
        names: Finds unknown names.
        reads_prose: Whether answer and sections are English, so that their prose can be compared.
    """

    evidence: Evidence
    names: NameReader
    reads_prose: bool

    def check(self, segment: Segment, body: str) -> Iterator[_Found]:
        """Yield what is not supported."""
        if segment.kind == "code":
            read = self.names.read_program_line if segment.is_program else self.names.read_code_line
            yield from _label("name", read(body))
            return
        prose = _LINK_TARGET.sub(lambda match: " " * len(match[0]), mask_code(body))
        for start, end, ticks in find_code_spans(body):
            yield from _label("name", self.names.read_code_span(body[start + ticks : end - ticks]), start + ticks)
        yield from _label("number", self._find_unknown_numbers(prose))
        shape = NAME_IN_ENGLISH if self.reads_prose else ADDRESS_OR_OPTION
        yield from _label("name", self.names.read_prose(prose, shape=shape))
        if not self.reads_prose or _LEAD_IN.search(body):
            return
        for start, end in _split_clauses(prose):
            if self._is_foreign(prose[start:end]) or _is_reversed(body[start:end], self.evidence):
                yield "claim", start, start + len(prose[start:end].rstrip(_PUNCTUATION))
            yield from _label("number", self._find_other_numbers(prose[start:end]), start)

    def _find_unknown_numbers(self, prose: str) -> Iterator[tuple[int, int]]:
        known = self.evidence.numbers | self.evidence.chosen_numbers
        for number, start, end in find_numbers(prose):
            is_in_name = _END_OF_NAME.match(prose, start - 1, start) or _END_OF_NAME.fullmatch(prose, start - 2, start)
            is_known = number in known or (not self.reads_prose and number.replace(".", "") in known)
            if not is_known and not is_in_name:
                yield start, end

    def _is_foreign(self, clause: str) -> bool:
        """Return whether half of a clause's words, and three or more, are not in the evidence in any form."""
        if _DOCUMENTATION.search(clause) or _READER.search(clause):
            return False
        words = {
            word
            for word in find_words(normalize_text(clause))
            if "'" not in word and len(word) > 2 and not is_stop_word(word)
        }
        unknown = sum(not self._is_related(word) for word in words)
        return unknown >= max(_MIN_UNKNOWN_WORDS, len(words) / 2)

    def _is_related(self, word: str) -> bool:
        """Return whether the evidence contains a word or a synonym."""
        known = self.evidence.words
        found = (stem(word), *find_stem_synonyms(stem(word), "en"))
        return is_common_word(parse_word(word)) or not known.isdisjoint(found)

    def _find_other_numbers(self, clause: str) -> Iterator[tuple[int, int]]:
        """Yield the only number of a clause if the sections have another one in the same statement."""
        numbers, words = list(find_numbers(clause)), self.evidence.content_words(clause)
        if len(numbers) != 1 or len(words) < _MIN_UNKNOWN_WORDS or numbers[0][0] not in self.evidence.numbers:
            return
        number, start, end = numbers[0]
        similar = self.evidence.find_similar(words)
        if not similar or similar[0][0] < _SAME_STATEMENT_SHARE or self.evidence.is_asked(number):
            return
        has_other = any(other.count(".") == number.count(".") for other in similar[0][1].numbers)
        if has_other and not any(number in statement.numbers for _, statement in similar):
            yield start, end


def _split_clauses(text: str) -> Iterator[tuple[int, int]]:
    edges = [0, *(match.end() for match in _CLAUSE_END.finditer(text)), len(text)]
    for start, end in pairwise(edges):
        if text[start:end].strip():
            yield start, start + len(text[start:end].rstrip())


def _label(kind: MarkKind, spans: Iterable[tuple[int, int]], offset: int = 0) -> Iterator[_Found]:
    return ((kind, offset + start, offset + end) for start, end in spans)


def _merge(found: Iterable[_Found]) -> Iterator[_Found]:
    """Yield marks in order, shortened; of overlapping ones the first."""
    edge = 0
    for kind, start, end in sorted(found, key=lambda mark: (mark[1], -mark[2])):
        if start >= edge and end > start:
            yield kind, start, min(end, start + MAX_MARK_CHARS)
            edge = end


# Reversed statements


def _is_reversed(clause: str, evidence: Evidence) -> bool:
    """Return whether the nearest statements have the opposite of a word in its place, and none of them has the word.

    Verbs of instructions are not compared, as they are reversed legitimately (“to disable it, remove …”).
    """
    words = _read_words(clause)
    return any(_has_opposite(words, word, evidence) for word in _load_opposites().keys() & set(words))


def _has_opposite(words: Sequence[str], word: str, evidence: Evidence) -> bool:
    opposites, context = _load_opposites()[word], {stem(other) for other in words if other != word}
    known = context & evidence.words
    if _is_hedged(words, word) or opposites.intersection(words) or len(known) < max(2, len(context) / 2):
        return False
    near = evidence.find_similar(known)[:_MAX_STATEMENTS]
    parts = [(share, part) for share, statement in near for part in _read_clauses(statement.text)]
    return not any(_is_aligned(words, word, part, word) for _, part in parts) and any(
        share >= _SAME_STATEMENT_SHARE and _is_aligned(words, word, part, other) and not _is_hedged(part, other)
        for share, part in parts
        for other in opposites
    )


def _is_aligned(ours: Sequence[str], word: str, theirs: Sequence[str], other: str) -> bool:
    """Return whether two words precede one same word or, at the end of a clause, follow two same words."""
    return any(
        bool(after & their_after) if after and their_after else len(before & their_before) > 1
        for before, after in _find_places(ours, word)
        for their_before, their_after in _find_places(theirs, other)
    )


def _find_places(words: Sequence[str], word: str) -> Iterator[tuple[set[str], set[str]]]:
    """Yield the stems before and after each occurrence of a word."""
    for place in (place for place, found in enumerate(words) if found == word):
        near = words[max(0, place - _PLACE_WORDS) : place], words[place + 1 : place + 1 + _PLACE_WORDS]
        yield {*map(stem, near[0])}, {*map(stem, near[1])}


def _is_hedged(words: Sequence[str], word: str) -> bool:
    """Return whether a clause is a condition, or negates something."""
    negations = load_words("en", "support.negations") - {word}
    is_negated = any(one in negations or one.endswith("n't") for one in words)
    return is_negated or words[0] in load_words("en", "support.conditions")


def _read_words(clause: str) -> list[str]:
    """Return the words of a clause without function words and link targets."""
    ignored = load_words("en", "support.unimportant_words")
    return [word for word in find_words(normalize_text(_LINK_TARGET.sub("", clause))) if word not in ignored]


@lru_cache(1 << 9)
def _read_clauses(text: str) -> list[list[str]]:
    return [words for start, end in _split_clauses(text) if (words := _read_words(text[start:end]))]


@cache
def _load_opposites() -> dict[str, set[str]]:
    pairs = [[side.split() for side in pair.split("/")] for pair in load_phrases("en", "support.opposites")]
    return {word: {*theirs} for pair in pairs for ours, theirs in (pair, pair[::-1]) for word in ours}


# The whole answer


def blank_citations(answer: str) -> str:
    """Return an answer of the same length without citations."""
    return _ANY_CITATION.sub(lambda match: " " * len(match[0]), answer)


def _is_english(prose: str) -> bool:
    words = [word.lower() for word in find_words(_NAME.sub(" ", prose))]
    function_words = load_words("en", "support.function_words")
    return sum(word in function_words for word in words) >= _MIN_LANGUAGE_SHARE * len(words)


def _find_gaps(answer: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of statements about what the documentation does not contain.

    Such a statement is followed by `[^none]`, or negates something about the documentation.
    """
    start, prose = 0, mask_code(answer)
    for end in [*(match.end() for match in _STATEMENT_END.finditer(prose)), len(prose)]:
        statement = prose[start:end]
        if GAP_CITATION.search(statement) or gap_words().search(statement):
            yield start, end
        start = end


@cache
def gap_words() -> re.Pattern[str]:
    """Return the pattern of words that say that the documentation does not say something, in any language."""
    phrases = (phrase for code in available_languages() for phrase in load_phrases(code, "answer.gaps"))
    return re.compile("|".join(phrases), re.IGNORECASE)


def _is_inside(position: int, spans: Sequence[tuple[int, int]]) -> bool:
    following = bisect_left(spans, (position + 1,))
    return following > 0 and position < spans[following - 1][1]


def _make_support(answer: str, found: Sequence[_Found], segments: Sequence[Segment], evidence: Evidence) -> Support:
    """Return the result for marks in the order of the text, whose offsets are characters of the answer."""
    to_utf16 = make_utf16_converter(answer)
    starts, marks = [start for _, start, _ in found], list[Mark]()
    total = unsupported = position = 0
    for segment in segments:
        total += segment.end - segment.start
        own = found[position : bisect_left(starts, segment.end)]
        position += len(own)
        if own:
            unsupported += segment.end - segment.start
            nearest = evidence.find_nearest(answer[segment.start : segment.end])
            source = (nearest.section, nearest.text[:MAX_PASSAGE_CHARS]) if nearest else (None, "")
            marks += (Mark(kind, to_utf16(start), to_utf16(end), *source) for kind, start, end in own)
    return Support(round(1 - unsupported / total, 4) if total else 1.0, tuple(marks))


def make_utf16_converter(text: str) -> Callable[[int], int]:
    """Return the function that converts offsets of characters to UTF-16 code units."""
    astral = [position for position, character in enumerate(text) if ord(character) > 0xFFFF]
    return lambda offset: offset + bisect_left(astral, offset)

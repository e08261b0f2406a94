"""Checks whether the opened sections support an answer. No model is involved.

A mark is for a reader who wants to know what to verify first, so the check marks only what it can defend: names and
numbers that neither the opened sections nor the questions contain, and clauses about something else. It cannot see
reversed statements.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Literal

from mkdocs_roaming.answer.support.evidence import (
    MAX_PASSAGE_CHARS,
    Evidence,
    Segment,
    StatementIndex,
    find_numbers,
    find_words,
    mask_code,
    normalize_text,
    split_segments,
)
from mkdocs_roaming.answer.support.names import ADDRESS_OR_OPTION, NAME_IN_ENGLISH, NameReader
from mkdocs_roaming.text.blocks import find_code_spans
from mkdocs_roaming.text.languages import available_languages, base_language, load_phrases, load_words
from mkdocs_roaming.text.tokenizer import SPACELESS, is_common_word, is_stop_word, parse_word, stem

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
"""Where a statement ends: at its citation, or at a sentence's or a line's end."""
_CLAUSE_END = re.compile(
    r"[,;:]\s+|\s[–—-]\s|\s\(|\)\s?|\.\s+|(?<=\w)\s+(?=(?:and|but|so|because|which|unless|or|while|if|where)\s)"
)
"""Where a clause ends: `it, then` or `it and then`."""
_DOCUMENTATION = re.compile(r"\b(?:docs?|documentation|example|faq|guide|pages?|sections?)\b", re.IGNORECASE)
_READER = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)
_LINK_TARGET = re.compile(r"(?<=\])\([^()\s]{1,500}\)")  # not shown to readers; foreign ones are removed before
_END_OF_NAME = re.compile(rf"[^\W\d{SPACELESS}][_-]?")
"""What joins a number to a name: the `v` of `v2`, `utf-` of `utf-8`."""
_NAME = re.compile(r"\S*(?:[/_@]|\w\.\w)\S*")
"""What is no word of prose: a path, an address, a file."""
_PUNCTUATION = " .,;:!?()–—-"
_MIN_LANGUAGE_SHARE = 0.12  # of English text, a fifth to a half are function words
_MIN_UNKNOWN_WORDS = 3
_SCORE_DIGITS = 4
_LAST_OF_BMP = "\uffff"
"""The last character that is one UTF-16 code unit."""


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
    foreign: Sequence[tuple[int, int]] = (),
) -> Support:
    """Compare an answer with the sections that were opened for it.

    Args:
        answer: The answer as Markdown, with `[^id]` citations.
        sections: Each section by id: its breadcrumb, a blank line, its text.
        question: The reader's questions: their words need no source.
        language: Language of the site.
        foreign: Start and end of addresses that are marked in any case.
    """
    text = blank_citations(answer)
    segments = split_segments(text)
    gaps = list(_find_gaps(answer))
    if not foreign and all(_is_inside(segment.start, gaps) for segment in segments):
        return Support(1.0)  # it only says that the documentation does not answer
    prose = (text[segment.start : segment.end] for segment in segments if segment.kind != "code")
    evidence = Evidence(sections, question, language, answer)
    reads_prose = base_language(language) == "en" and _is_english(" ".join(map(mask_code, prose)))
    checker = _Checker(evidence, NameReader(evidence), reads_prose=reads_prose)
    spans = list(_label("name", foreign))
    for segment in segments:
        for kind, start, end in checker.check(segment, text[segment.start : segment.end]):
            if not _is_inside(segment.start + start, gaps):
                spans.append((kind, segment.start + start, segment.start + end))
    if not spans:
        return Support(1.0)
    # The first paragraph of a section is its breadcrumb or heading, which states nothing by itself.
    bodies = {id_: text.partition("\n\n")[2] or text for id_, text in sections.items()}
    return _make_support(answer, list(_merge(spans)), segments, StatementIndex(bodies, language))


def mark_addresses(answer: str, addresses: Sequence[tuple[int, int]]) -> Support:
    """Return the result for an answer that cannot be checked: marks on addresses that no opened section contains."""
    to_utf16 = make_utf16_converter(answer)
    marks = (Mark("name", to_utf16(start), to_utf16(end)) for start, end in addresses)
    return Support(0.0, tuple(marks))


def slice_utf16(text: str, start: int, end: int) -> str:
    """Return a part of a text whose offsets are UTF-16 code units."""
    return text.encode("utf-16-le", "surrogatepass")[2 * start : 2 * end].decode("utf-16-le", "replace")


# One segment

_Span = tuple[MarkKind, int, int]


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

    def check(self, segment: Segment, body: str) -> Iterator[_Span]:
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
        if not self.reads_prose or body.rstrip().endswith((":", "：")):
            return
        edges = [0, *(match.end() for match in _CLAUSE_END.finditer(prose)), len(prose)]
        for start, end in pairwise(edges):
            clause = prose[start:end]
            if self._is_foreign(clause):
                yield "claim", start, start + len(clause.rstrip(_PUNCTUATION))

    def _find_unknown_numbers(self, prose: str) -> Iterator[tuple[int, int]]:
        known = self.evidence.numbers | self.evidence.chosen_numbers
        for number, start, end in find_numbers(prose):
            if number in known:
                continue
            if not self.reads_prose and number.replace(".", "") in known:  # in some languages `1.024` is 1024
                continue
            if _END_OF_NAME.match(prose, start - 1, start) or _END_OF_NAME.fullmatch(prose, start - 2, start):
                continue
            yield start, end

    def _is_foreign(self, clause: str) -> bool:
        """Return whether half of a clause's words, and three or more, are not in the evidence."""
        if _DOCUMENTATION.search(clause) or _READER.search(clause):
            return False
        words: set[str] = set()
        for word in find_words(normalize_text(clause)):
            is_contraction = "'" in word
            if len(word) > 2 and not is_contraction and not is_stop_word(word):
                words.add(word)
        unknown = 0
        for word in words:
            unknown += stem(word) not in self.evidence.words and not is_common_word(parse_word(word))
        return unknown >= max(_MIN_UNKNOWN_WORDS, len(words) / 2)


def _label(kind: MarkKind, spans: Iterable[tuple[int, int]], offset: int = 0) -> Iterator[_Span]:
    return ((kind, offset + start, offset + end) for start, end in spans)


def _merge(spans: Iterable[_Span]) -> Iterator[_Span]:
    """Yield marks in order, shortened; of overlapping ones the first."""
    edge = 0
    for kind, start, end in sorted(spans, key=lambda mark: (mark[1], -mark[2])):
        if start >= edge and end > start:
            yield kind, start, min(end, start + MAX_MARK_CHARS)
            edge = end


# The whole answer


def blank_citations(answer: str) -> str:
    """Return an answer of the same length without citations."""
    return _ANY_CITATION.sub(lambda match: " " * len(match[0]), answer)


def _is_english(prose: str) -> bool:
    words = [word.lower() for word in find_words(_NAME.sub(" ", prose))]
    stop_words = load_words("en", "stop_words")
    count = sum(word in stop_words for word in words)
    return count >= _MIN_LANGUAGE_SHARE * len(words)


def _find_gaps(answer: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of statements about what the documentation does not contain.

    Such a statement is followed by `[^none]`, or negates something about the documentation.
    """
    start = 0
    prose = mask_code(answer)
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


def _make_support(
    answer: str, spans: Sequence[_Span], segments: Sequence[Segment], statements: StatementIndex
) -> Support:
    """Return the result for marks in the order of the text, whose offsets are characters of the answer."""
    to_utf16 = make_utf16_converter(answer)
    starts = [start for _, start, _ in spans]
    marks: list[Mark] = []
    total = unsupported = position = 0
    for segment in segments:
        total += segment.end - segment.start
        own = spans[position : bisect_left(starts, segment.end)]
        position += len(own)
        if not own:
            continue
        unsupported += segment.end - segment.start
        nearest = statements.find_nearest(answer[segment.start : segment.end])
        section = nearest.section if nearest else None
        passage = " ".join(nearest.body.split())[:MAX_PASSAGE_CHARS] if nearest else ""
        marks += (Mark(kind, to_utf16(start), to_utf16(end), section, passage) for kind, start, end in own)
    score = round(1 - unsupported / total, _SCORE_DIGITS) if total else 1.0
    return Support(score, tuple(marks))


def make_utf16_converter(text: str) -> Callable[[int], int]:
    """Return the function that converts offsets of characters to UTF-16 code units."""
    astral = [position for position, character in enumerate(text) if character > _LAST_OF_BMP]
    return lambda offset: offset + bisect_left(astral, offset)

"""Passages of a section that can be quoted, and the one that matches a question best.

A section is split into pieces: sentences, list items, table rows, code and notes, each as it is in the section. A
passage is one or more pieces that are quoted together. The best passage contains the rarest words of the question, and
a number or a time if the question asks for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from math import log
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

from mkdocs_roaming.answer.support.evidence import find_sentences
from mkdocs_roaming.text.tokenizer import Word, extract_terms, find_synonyms, is_common_word, occurs_in

Kind = Literal["sentence", "item", "row", "code", "note"]

# Pieces

GAP = "[…]"
"""Marks text that was left out between two quoted pieces."""

_MAX_CODE_LINES = 40  # longer code is no passage
_MAX_PARAGRAPH_CHARS = 420
_MAX_LIST_CHARS = 500

_MARKDOWN = MarkdownIt("commonmark").enable("table").disable("inline")
_LINE_END = re.compile(r"\r\n|\n|\r")
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_POINTER = re.compile(r"(?:[-*] |\()?(?:for more|for details|see|read|learn more|more (?:on|about))\b", re.IGNORECASE)
_MAX_POINTER_CHARS = 40
_LINK = re.compile(r"\[[^\]]*\]\([^)]*\)")
_FOOTNOTE = re.compile(r"[ \t]*\[\^[^\]\s]+\]:?")


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a section's Markdown that can be quoted.

    Attributes:
        kind: What it is.
        start: Offset of the first character.
        end: Offset behind the last character.
        block: Number of the Markdown block that contains it.
        head: Span to show above it: the head of a table.
        lead: Whether it introduces the next block.
    """

    kind: Kind
    start: int
    end: int
    block: int
    head: tuple[int, int] | None = None
    lead: bool = False


@dataclass(frozen=True, slots=True)
class Quote:
    """Pieces of one block as Markdown, with `GAP` where others were left out."""

    kind: Kind
    text: str


def split_pieces(text: str) -> list[Piece]:
    """Return all pieces of a section in order, without headings, images and pointers such as "See Settings"."""
    lines = [0, *(match.end() for match in _LINE_END.finditer(text)), len(text)]
    found: list[Piece] = []
    tokens = _MARKDOWN.parse(text)
    for block, token in enumerate(tokens):
        if token.level == 0 and token.map and token.nesting >= 0:
            start, end = lines[token.map[0]], lines[min(token.map[1], len(lines) - 1)]
            found += _split_block(text, tokens, block, start, end, lines)
    return [piece for piece in found if _is_quotable(text[piece.start : piece.end])]


def quote_pieces(text: str, pieces: Iterable[Piece]) -> list[Quote]:
    """Return pieces as one quote per block, in the order of the text."""
    ordered = sorted(set(pieces), key=lambda piece: piece.start)
    return [_quote_block(text, list(group)) for _, group in groupby(ordered, key=lambda piece: piece.block)]


@lru_cache(1 << 9)
def group_pieces(text: str) -> tuple[tuple[Piece, ...], ...]:
    """Return the pieces that are quoted together: short blocks as a whole, and parts of long ones."""
    return tuple(map(tuple, _iter_groups(text)))


def _iter_groups(text: str) -> Iterator[list[Piece]]:
    blocks = [list(group) for _, group in groupby(split_pieces(text), key=lambda piece: piece.block)]
    for position, block in enumerate(blocks):
        before = blocks[position - 1][-1] if position else block[0]
        lead = [before] if before.kind == "sentence" and before is not block[0] else []
        size = block[-1].end - block[0].start
        match block[0].kind:
            case "sentence" if block[-1].lead and block is not blocks[-1]:
                pass  # it is quoted with the next block
            case "sentence" if size <= _MAX_PARAGRAPH_CHARS:
                yield block
            case "code":
                yield [*lead, *block]
            case "item" | "row" if size <= _MAX_LIST_CHARS:
                yield [*(one for one in lead if one.lead), *block]
            case _:
                yield from ([piece] for piece in block)


def _split_block(text: str, tokens: list[Token], block: int, start: int, end: int, lines: list[int]) -> Iterator[Piece]:
    token = tokens[block]
    match token.type:
        case "paragraph_open":
            yield from _split_sentences(text, start, end, block)
        case "fence" | "code_block" if text.count("\n", start, end) <= _MAX_CODE_LINES:
            yield Piece("code", start, end, block)
        case "bullet_list_open" | "ordered_list_open":
            for item in _children(tokens, block, "list_item_open", 1):
                if item.map:
                    yield Piece("item", lines[item.map[0]], lines[item.map[1]], block)
        case "table_open":
            rows = [row for row in _children(tokens, block, "tr_open", 2) if row.map]
            head = (start, lines[token.map[0] + 2]) if token.map else None
            for row in rows[1:]:
                if row.map:
                    yield Piece("row", lines[row.map[0]], lines[row.map[1]], block, head)
        case "blockquote_open":
            yield Piece("note", start, end, block)
        case _:
            pass


def _children(tokens: list[Token], block: int, kind: str, level: int) -> Iterator[Token]:
    for token in tokens[block + 1 :]:
        if token.level == 0:
            return
        if token.type == kind and token.level == level:
            yield token


def _split_sentences(text: str, start: int, end: int, block: int) -> Iterator[Piece]:
    spans = find_sentences(text[start:end])
    for span in spans:
        piece = Piece("sentence", start + span[0], start + span[1], block)
        yield replace(piece, lead=span == spans[-1] and text[piece.end - 1] in ":：")


def _is_quotable(text: str) -> bool:
    plain = _IMAGE.sub("", text).strip()
    is_pointer = _POINTER.match(plain) and len(_LINK.sub("", plain)) < _MAX_POINTER_CHARS
    return not is_pointer and bool(re.search(r"\w", plain))


def _quote_block(text: str, pieces: list[Piece]) -> Quote:
    """Join adjacent pieces, mark gaps, and add the head above."""
    first = pieces[0]
    spans: list[tuple[int, int]] = []
    for piece in pieces:
        if spans and not text[spans[-1][1] : piece.start].strip():
            spans[-1] = (spans[-1][0], max(spans[-1][1], piece.end))
        else:
            spans.append((piece.start, piece.end))

    def cut(start: int, end: int) -> str:
        # The documentation's own footnote marks would look like citations.
        quoted = text[start:end] if first.kind == "code" else _FOOTNOTE.sub("", text[start:end])
        return quoted.strip("\r\n")

    separator = f" {GAP} " if first.kind == "sentence" else "\n"
    body = separator.join(cut(*span) for span in spans)
    return Quote(first.kind, f"{cut(*first.head)}\n{body}" if first.head else body)


# The best passage

_SYNONYM_SHARE = 0.7
_COMMON_WORD_WEIGHT = 0.6
_SEARCH_WEIGHT = 0.3
_SECTION_WEIGHT = 0.35
_PASSAGE_WEIGHT = 0.4
_MIN_RELATIVE_SCORE = 0.6

_ASKS_NUMBER = re.compile(
    r"\b(how (many|much|long|often|fast|old|big|large|far|high|deep|late|soon)|max(imum)?|min(imum)?|longest|shortest|"
    r"oldest|newest|highest|lowest|limits?|default|ports?|size|rate|interval|timeouts?|at what time|when|number|"
    r"version|after how)\b",
    re.IGNORECASE,
)
_ASKS_TIME = re.compile(
    r"\b(how (long|often|fast|soon|late|old|many (\w+ )?(seconds|minutes|hours|days|weeks|months|years))|timeouts?|"
    r"interval|at what time|lifetime|expires?)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w.])\d")
_TIME = re.compile(
    r"(?<![\w.])\d[\d.,]*[ -]?(?:ms|s|m|h|d|min|(?:milli)?seconds?|minutes?|hours?|days?|weeks?|months?|years?)\b"
    r"|\b\d\d?:\d\d\b|\b(?:daily|hourly|weekly|monthly)\b"
)
_BONUSES = ((_ASKS_NUMBER, _NUMBER, 0.06), (_ASKS_TIME, _TIME, 0.08))
"""Patterns of the question and of the passage, and the bonus if both match."""


@dataclass(frozen=True, slots=True)
class Source:
    """A section that may be quoted.

    Attributes:
        id: Its id.
        titles: The titles above it and its own.
        text: Its own text.
        share: Its search score as a share of the best one.
    """

    id: str
    titles: tuple[str, ...]
    text: str
    share: float


@dataclass(frozen=True, slots=True)
class Passage:
    """The pieces of a source that are quoted together, and the score of the source with this passage."""

    source: Source
    pieces: tuple[Piece, ...]
    score: float


def rank_passages(question: str, words: Sequence[Word], sources: Sequence[Source], language: str) -> list[Passage]:
    """Return all passages of the sources, best first.

    The score is the sum of the source's share in the search, the shares of the question's words that the section and
    the passage contain, weighted by rarity in the sources, and bonuses.
    """
    sections = [extract_terms("\n".join((*source.titles, source.text)), language) for source in sources]
    weights: dict[Word, float] = {}
    for word in words:
        count = sum(occurs_in(word, terms) for terms in sections)
        rarity = log((len(sections) + 1) / (count + 0.5))
        weights[word] = rarity * (_COMMON_WORD_WEIGHT if is_common_word(word) else 1.0)
    total = sum(weights.values()) or 1.0
    bonuses = [(pattern, bonus) for asks, pattern, bonus in _BONUSES if asks.search(question)]

    def match(terms: Sequence[str]) -> float:
        return sum(weight * _match(word, terms, language) for word, weight in weights.items()) / total

    def score_pieces(source: Source, group: Sequence[Piece]) -> float:
        spans = [*([group[0].head] if group[0].head else []), *((piece.start, piece.end) for piece in group)]
        passage = "\n".join(source.text[start:end] for start, end in spans)
        bonus = sum(bonus for pattern, bonus in bonuses if pattern.search(passage))
        return _PASSAGE_WEIGHT * match(extract_terms(passage, language)) + bonus

    ranked: list[Passage] = []
    for source, terms in zip(sources, sections, strict=True):
        score = _SEARCH_WEIGHT * source.share + _SECTION_WEIGHT * match(terms)
        ranked += [Passage(source, group, score + score_pieces(source, group)) for group in group_pieces(source.text)]
    return sorted(ranked, key=lambda passage: -passage.score)


def choose_passages(ranked: Sequence[Passage], limit: int) -> list[Passage]:
    """Return the best passages, at first one of each section; no two contain the same piece."""
    chosen: list[Passage] = []
    ranked = [passage for passage in ranked if passage.score >= _MIN_RELATIVE_SCORE * ranked[0].score]
    for passage in ranked:
        if all(passage.source is not other.source for other in chosen):
            chosen.append(passage)
    for passage in ranked:
        if all(passage.source is not other.source or not {*passage.pieces} & {*other.pieces} for other in chosen):
            chosen.append(passage)
    return chosen[:limit]


def _match(word: Word, terms: Sequence[str], language: str) -> float:
    if occurs_in(word, terms):
        return 1.0
    return _SYNONYM_SHARE if any(occurs_in(synonym, terms) for synonym in find_synonyms(word, language)) else 0.0

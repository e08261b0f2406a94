"""What can be quoted of a section: its sentences, list items, table rows, code and notes, each as it stands there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

Kind = Literal["sentence", "item", "row", "code", "note"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A quotable piece of a text: `start` and `end` are character offsets, `block` counts the blocks it stands in.

    `head` is what has to be shown above it: a table's head for its rows, else nothing. `lead` tells that it leads to
    the block behind it.
    """

    kind: Kind
    start: int
    end: int
    block: int
    head: tuple[int, int] | None = None
    lead: bool = False


def pieces(text: str) -> list[Piece]:
    """Give all that can be quoted of a section's Markdown, in its order; headings and bare pointers cannot."""
    lines = [0, *(match.end() for match in _LINE_END.finditer(text)), len(text)]
    found: list[Piece] = []
    tokens = _MARKDOWN.parse(text)
    for at, token in enumerate(tokens):
        if token.level == 0 and token.map and token.nesting >= 0:
            start, end = lines[token.map[0]], lines[min(token.map[1], len(lines) - 1)]
            found += _block(text, tokens, at, start, end, lines)
    return [piece for piece in found if text[piece.start : piece.end].strip()]


@dataclass(frozen=True, slots=True)
class Quote:
    """Pieces of one block, ready to be shown: each slice stands so in the section."""

    kind: Kind
    slices: tuple[str, ...]

    def __str__(self) -> str:
        if self.kind == "sentence":
            return GAP.join(self.slices)
        return "\n".join(part.strip("\r\n") for part in self.slices)


def quote(text: str, chosen: Iterable[Piece]) -> list[Quote]:
    """Give chosen pieces of a text as blocks of Markdown, in the order of the text."""
    ordered = sorted(set(chosen), key=lambda piece: piece.start)
    return [_quote(text, list(group)) for _, group in groupby(ordered, key=lambda piece: piece.block)]


GAP = " […] "
"""What stands where sentences between two quoted ones were left out."""


_LINE_END = re.compile(r"\r\n|\n|\r")
_MARKDOWN = MarkdownIt("commonmark").enable("table").disable("inline")
_CODE_OR_LINK = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)|\]\([^)\s]*\)|<[^>\s]+>", re.DOTALL)
_SENTENCE_END = re.compile(
    r"(?:(?<![\s.][A-Za-z])(?<!e\.g)(?<!i\.e)(?<!\bvs)(?<!\bcf)(?<!\bca)(?<!\betc)(?<!\bapprox)\.|[!?])[\"'”’)*_]*(?=\s+[^\sa-z])"
    r"|[。！？]"
)
_QUOTE_GAP = re.compile(r"^[ \t]*>[ \t]*\n", re.MULTILINE)


def _block(text: str, tokens: list[Token], at: int, start: int, end: int, lines: list[int]) -> Iterator[Piece]:
    token = tokens[at]
    match token.type:
        case "paragraph_open":
            yield from _sentences(text, start, end, at)
        case "fence" | "code_block":
            yield Piece("code", start, end, at)
        case "bullet_list_open" | "ordered_list_open":
            for item in _inside(tokens, at, "list_item_open", 1):
                if item.map:
                    yield Piece("item", lines[item.map[0]], lines[item.map[1]], at)
        case "table_open":
            rows = [row for row in _inside(tokens, at, "tr_open", 2) if row.map]
            head = (start, lines[token.map[0] + 2]) if token.map else None
            for row in rows[1:]:
                if row.map:
                    yield Piece("row", lines[row.map[0]], lines[row.map[1]], at, head)
        case "blockquote_open":
            edge = start
            for gap in _QUOTE_GAP.finditer(text, start, end):
                yield Piece("note", edge, gap.start(), at)
                edge = gap.end()
            yield Piece("note", edge, end, at)
        case _:
            pass


def _inside(tokens: list[Token], at: int, kind: str, level: int) -> Iterator[Token]:
    for token in tokens[at + 1 :]:
        if token.level == 0:
            return
        if token.type == kind and token.level == level:
            yield token


def _sentences(text: str, start: int, end: int, block: int) -> Iterator[Piece]:
    """Cut a paragraph into sentences; code and addresses hide what looks like their end."""
    hidden = _CODE_OR_LINK.sub(lambda match: "x" * len(match[0]), text[start:end])
    edge = 0
    for stop in [*(match.end() for match in _SENTENCE_END.finditer(hidden)), len(hidden)]:
        piece = text[start + edge : start + stop]
        body = piece.strip()
        if body:
            begin = start + edge + len(piece) - len(piece.lstrip())
            last = not hidden[stop:].strip()
            yield Piece("sentence", begin, begin + len(body), block, lead=last and body.endswith((":", "：")))
        edge = stop


def _quote(text: str, of_block: list[Piece]) -> Quote:
    """Join what follows one another in a paragraph; put a table's head above its rows."""
    first = of_block[0]
    spans = [first.head] if first.head else []
    for piece in of_block:
        if piece.kind == "sentence" and spans and not text[spans[-1][1] : piece.start].strip():
            spans[-1] = (spans[-1][0], piece.end)
        else:
            spans.append((piece.start, piece.end))
    return Quote(first.kind, tuple(text[start:end] for start, end in spans))

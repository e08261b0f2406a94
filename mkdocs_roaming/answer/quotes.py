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

    `head` and `tail` are what has to be shown around it: a table's head, the fences around some lines of code. `lead`
    tells that it leads to the block behind it.
    """

    kind: Kind
    start: int
    end: int
    block: int
    head: tuple[int, int] | None = None
    tail: tuple[int, int] | None = None
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
    return [piece for piece in found if _says_something(text[piece.start : piece.end])]


@dataclass(frozen=True, slots=True)
class Quote:
    """Pieces of one block, ready to be shown: each slice stands so in the section."""

    kind: Kind
    slices: tuple[str, ...]
    gaps: tuple[str, ...]
    """What stands between two slices."""

    def __str__(self) -> str:
        parts = [part.strip("\r\n") for part in self.slices]
        return "".join(gap + part for gap, part in zip(("", *self.gaps), parts, strict=True))


def quote(text: str, chosen: Iterable[Piece]) -> list[Quote]:
    """Give chosen pieces of a text as blocks of Markdown, in the order of the text."""
    ordered = sorted(set(chosen), key=lambda piece: piece.start)
    return [_quote(text, list(group)) for _, group in groupby(ordered, key=lambda piece: piece.block)]


GAP = "[…]"
"""What stands where something between two quoted pieces was left out."""


_LINE_END = re.compile(r"\r\n|\n|\r")
_MARKDOWN = MarkdownIt("commonmark").enable("table").disable("inline")
_CODE_OR_LINK = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)|\]\([^)\s]*\)|<[^>\s]+>", re.DOTALL)
_SENTENCE_END = re.compile(
    r"(?:(?<![\s.][A-Za-z])(?<!e\.g)(?<!i\.e)(?<!\bvs)(?<!\bcf)(?<!\bca)(?<!\betc)(?<!\bapprox)\.|[!?])[\"'”’)*_]*(?=\s+[^\sa-z])"
    r"|[。！？]"
)
_QUOTE_GAP = re.compile(r"^[ \t]*>[ \t]*\r?\n", re.MULTILINE)


def _block(text: str, tokens: list[Token], at: int, start: int, end: int, lines: list[int]) -> Iterator[Piece]:
    token = tokens[at]
    match token.type:
        case "paragraph_open":
            yield from _sentences(text, start, end, at)
        case "fence" | "code_block":
            yield from _code(text, token, start, end, at)
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
            yield from _note(text, start, end, at)
        case _:
            pass


def _code(text: str, token: Token, start: int, end: int, block: int) -> Iterator[Piece]:
    """Give code whole where it is short, else a few lines at a time between its fences."""
    lines = [match.end() + start for match in _LINE_END.finditer(text[start:end])]
    fenced = token.type == "fence" and len(lines) > 1 and text[lines[-2] : end].lstrip(" ").startswith(token.markup)
    if not fenced or len(lines) <= _SHORT_CODE:
        yield Piece("code", start, end, block)
        return
    head, tail = (start, lines[0]), (lines[-2], end)
    for first in range(0, len(lines) - 2, _WINDOW // 2):
        last = min(first + _WINDOW, len(lines) - 2)
        yield Piece("code", lines[first], lines[last], block, head, tail)
        if last == len(lines) - 2:
            return


def _note(text: str, start: int, end: int, block: int) -> Iterator[Piece]:
    """Give a quote or an admonition whole where it is short, else its paragraphs."""
    if end - start <= _SHORT_NOTE:
        yield Piece("note", start, end, block)
        return
    edge = start
    for stop, after in [*(match.span() for match in _QUOTE_GAP.finditer(text, start, end)), (end, end)]:
        if not _FENCE.search(text, edge, stop):
            yield Piece("note", edge, stop, block)
        edge = after


def _says_something(text: str) -> bool:
    """Tell whether a piece is worth quoting: not blank, no picture, no bare pointer, no admonition's title."""
    bare = _PICTURE.sub("", text).strip()
    if _POINTER.match(bare) and len(_LINK.sub("", bare)) < _POINTING:
        return False
    return bool(re.search(r"\w", _LABEL.sub("", bare)))


_SHORT_CODE = 16
_WINDOW = 8
_SHORT_NOTE = 600
_POINTING = 40
_FENCE = re.compile(r"^[> \t]*(?:`{3,}|~{3,})", re.MULTILINE)
_PICTURE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_LINK = re.compile(r"\[[^\]]*\]\([^)]*\)")
_POINTER = re.compile(
    r"(?:[-*] |\()?(?:for more|for details|see|read|learn more|more (?:on|about)|continue)\b", re.IGNORECASE
)
_LABEL = re.compile(r"^>[ \t]*(?:\[!\w+\]|\*\*[^*\n]+\*\*)[ \t]*$", re.MULTILINE)
_FOOTNOTE = re.compile(r"[ \t]*\[\^[^\]\s]+\]:?")


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
    """Join what follows one another; put heads above, tails below, and tell where something is left out."""
    first, last = of_block[0], of_block[-1]
    spans: list[tuple[int, int]] = []
    gaps: list[str] = []
    for piece in of_block:
        if spans and piece.start <= spans[-1][1] + _blank(text, spans[-1][1]):
            spans[-1] = (spans[-1][0], max(spans[-1][1], piece.end))
            continue
        if spans:
            gaps.append(f" {GAP} " if first.kind == "sentence" else f"\n{GAP}\n" if first.kind == "code" else "\n")
        spans.append((piece.start, piece.end))
    if first.head:
        spans, gaps = [first.head, *spans], ["\n", *gaps]
    if last.tail:
        spans, gaps = [*spans, last.tail], [*gaps, "\n"]
    slices = [text[start:end] for start, end in spans]
    if first.kind == "code":
        return Quote(first.kind, tuple(slices), tuple(gaps))
    return _without_footnotes(first.kind, slices, gaps)


def _blank(text: str, at: int) -> int:
    """Give how many blank characters follow."""
    return len(text[at:]) - len(text[at:].lstrip())


def _without_footnotes(kind: Kind, slices: list[str], gaps: list[str]) -> Quote:
    """Take the docs' own footnote marks out: they would look like citations."""
    parts: list[str] = []
    between: list[str] = []
    for at, slice_ in enumerate(slices):
        split = _FOOTNOTE.split(slice_)
        between += [*gaps[at - 1 : at], *[""] * (len(split) - 1)] if at else [""] * (len(split) - 1)
        parts += split
    return Quote(kind, tuple(parts), tuple(between))

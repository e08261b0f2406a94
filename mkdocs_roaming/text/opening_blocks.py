"""Blocks of Markdown, line by line: only as exact as the beginning of a section requires, and fast."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from mkdocs_roaming.text.blocks import FENCE_MARK, TABLE_RULE

MAX_BLOCK_CHARS = 2_000
"""Maximum length of the text of a block, or of an item of a list."""

FENCE = re.compile(rf"\s*({FENCE_MARK}|:{{3,}})")
"""The beginning of a line that opens fenced code or a directive."""
_ITEM = re.compile(r"([ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t]+(?=\S)")
_TASK_BOX = re.compile(r"\[[ xX]\][ \t]+")
_RULE = re.compile(r"[ \t]*(?:(?:[-*_][ \t]*){3,}|=+[ \t]*)$")
_WITH_BAR = re.compile(r"[^|]*\|")
_INDENTED_OR_BLANK = re.compile(r" {4}|\t|\s*$")
_QUOTE = re.compile(r" {0,3}> ?")
SKIPPED_LINE = re.compile(
    r" {0,3}(?:#{1,6}(?:[ \t]|$)|!!!|\?\?\?|===[ \t]|\.\. |\{[%:#*!{]|\[TOC\]|--8<--|\[[^\]\n]+\]:"
    r"|import[ \t].*[\"'];?$|export[ \t])"
)
"""The beginning of a line that is no prose: a heading, a directive, a definition of a link, a statement of MDX."""
_HTML_LINE = re.compile(
    r" {0,3}<(?:/?(?:address|article|aside|blockquote|body|br|center|col|colgroup|dd|details|dialog|div|dl|dt|fieldset"
    r"|figcaption|figure|footer|form|h[1-6]|head|header|hr|html|iframe|img|input|label|legend|li|link|main|meta|nav|ol"
    r"|object|option|p|picture|section|select|source|summary|svg|tbody|td|tfoot|th|thead|tr|ul|video)\b|[!?])",
    re.IGNORECASE,
)
_RAW_HTML = re.compile(r" {0,3}<(table|script|style|pre|textarea|iframe|svg|video)\b", re.IGNORECASE)
_TAG_LINE = re.compile(r"\s*(?:</?[a-zA-Z][^<>]*>\s*)+$")


Kind = Literal["text", "list", "table", "quote", "code"]


class Block(NamedTuple):
    """Consecutive lines of one kind; a quote's without their markers."""

    kind: Kind
    lines: Sequence[str]

    @property
    def text(self) -> str:
        """The lines, up to a maximum number of characters."""
        return "\n".join(self.lines)[:MAX_BLOCK_CHARS]


def iter_blocks(lines: Sequence[str]) -> Iterator[Block]:
    """Yield the blocks of a text. HTML, headings, thematic breaks and definitions of links are left out."""
    at = 0
    while at < len(lines):
        line = lines[at]
        if not line or line.isspace() or (line[0] in "-*_= \t" and _RULE.match(line)):
            at += 1
            continue
        start = at
        (at, kind) = _find_end(lines, at)
        if kind == "directive":
            yield Block("quote", ["[!NOTE]", *lines[start + 1 : at - 1]])
        elif kind == "quote":
            yield Block("quote", [_QUOTE.sub("", other, count=1) for other in lines[start:at]])
        elif kind:
            yield Block(kind, lines[start:at])


def _find_end(lines: Sequence[str], start: int) -> tuple[int, Kind | Literal["directive"] | None]:
    """Return the line after a block and its kind, None for a block that is left out."""
    line = lines[start]
    at = start + 1
    is_table = "|" in line and _starts_table(lines, start)
    if fence := FENCE.match(line):
        return _skip_fence(lines, at, fence[1]), "directive" if fence[1][0] == ":" else "code"
    if _INDENTED_OR_BLANK.match(line):
        return _skip_while(lines, at, _INDENTED_OR_BLANK.match), "code"
    if SKIPPED_LINE.match(line):
        return at, None
    if _QUOTE.match(line):
        return _skip_while(lines, at, _QUOTE.match), "quote"
    if _ITEM.match(line):
        return _skip_list(lines, at), "list"
    if is_table:
        return _skip_while(lines, at, _WITH_BAR.match), "table"
    if html := _RAW_HTML.match(line):
        return _skip_raw_html(lines, start, f"</{html[1].lower()}"), "code"
    if _HTML_LINE.match(line):
        return _skip_while(lines, at, str.strip), None
    if _TAG_LINE.match(line):
        return at, None
    return _skip_while(lines, at, _continues_text), "text"


def _starts_table(lines: Sequence[str], at: int) -> bool:
    return lines[at].lstrip()[0] == "|" or any(map(TABLE_RULE.match, lines[at + 1 : at + 2]))


def _skip_raw_html(lines: Sequence[str], at: int, end: str) -> int:
    """Return the line after an end tag. Without one, the HTML reaches to the end."""
    return next((number for number in range(at, len(lines)) if end in lines[number].lower()), len(lines)) + 1


def _skip_while(lines: Sequence[str], at: int, continues: Callable[[str], object]) -> int:
    while at < len(lines) and continues(lines[at]):
        at += 1
    return at


def _continues_text(line: str) -> bool:
    return bool(line.strip()) and not (
        FENCE.match(line) or _QUOTE.match(line) or (_ITEM.match(line) and line[0] not in " \t") or line[0] == "#"
    )


def _skip_fence(lines: Sequence[str], at: int, fence: str) -> int:
    """Return the line after a fence. An unclosed one reaches to the end."""
    while at < len(lines):
        bare = lines[at].strip()
        at += 1
        if len(bare) >= len(fence) and bare == fence[0] * len(bare):
            break
    return at


def _skip_list(lines: Sequence[str], at: int) -> int:
    """Return the line after a list: its items, their continuation lines, and what is indented below them."""
    blank = False
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            blank = True
        elif line[0] in " \t" or _ITEM.match(line):
            blank = False
        elif blank or not _continues_text(line):
            break
        at += 1
    return at


def iter_items(lines: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each top-level item of a list: its first paragraph, and the lines below it."""
    margin = len(lines[0]) - len(lines[0].lstrip()) + 1
    text: list[str] = []
    below: list[str] = []
    ended = False  # the first paragraph
    for line in lines:
        found = _ITEM.match(line)
        if found and len(found[1]) <= margin:
            if text:
                yield "\n".join(text)[:MAX_BLOCK_CHARS], below
            text = [_TASK_BOX.sub("", line[found.end() :], count=1)]
            below = []
            ended = False
        elif not ended and line.strip() and not found and not FENCE.match(line):
            text.append(line.strip())
        else:
            ended = True
            if below or line.strip():
                below.append(line)
    if text:
        yield "\n".join(text)[:MAX_BLOCK_CHARS], below

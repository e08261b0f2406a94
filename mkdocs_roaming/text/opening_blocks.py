"""The first blocks of a section, line by line: only as exact as an opening requires, and fast.

Each build reads the beginning of each section, and mostly no further than its first paragraph: a parse of all blocks
(`text.blocks`) would take longer than the rest of the manifest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from mkdocs_roaming.text.blocks import FENCE_MARK, TABLE_RULE, follow_fence

MAX_BLOCK_CHARS = 2_000
"""Maximum length of the text of a block, or of an item of a list."""

FENCE = re.compile(rf"\s*({FENCE_MARK}|:{{3,}})")
"""The beginning of a line that opens fenced code or a directive: "```py", `:::note`."""
_ITEM = re.compile(r"([ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t]+(?=\S)")
"""The mark of a list item, with its indent: `- `, `1. `."""
_INDENTS = ("    ", "\t")
_TASK_BOXES = ("[ ] ", "[x] ", "[X] ")
_MIN_RULE = 3
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
"""The beginning of a block of HTML, which ends at a blank line: `<div class="grid">`."""
_RAW_HTML = re.compile(r" {0,3}<(table|script|style|pre|textarea|iframe|svg|video)\b", re.IGNORECASE)
"""The beginning of HTML that ends with its end tag, and shows no text of the section: `<script>`."""
_TAG_LINE = re.compile(r"\s*(?:</?[a-zA-Z][^<>]*>\s*)+$")
"""A line of tags alone: `<Tabs>`."""

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
    end = 0
    while end < len(lines):
        start = end
        end, kind = _find_end(lines, start)
        if kind == "directive":
            yield Block("quote", ["[!NOTE]", *lines[start + 1 : end - 1]])
        elif kind == "quote":
            yield Block("quote", [line.lstrip(" ").removeprefix(">").removeprefix(" ") for line in lines[start:end]])
        elif kind:
            yield Block(kind, lines[start:end])


def _find_end(lines: Sequence[str], start: int) -> tuple[int, Kind | Literal["directive"] | None]:
    """Return the line after a block and its kind, None for a block that is left out."""
    line = lines[start]
    bare = line.strip()
    below = start + 1
    if not bare or _is_rule(bare):
        return below, None
    if fence := FENCE.match(line):
        mark = fence[1]  # an unclosed fence reaches to the end
        end = _skip_while(lines, below, lambda line: follow_fence(line.strip(), mark)) + 1
        return end, "directive" if mark[0] == ":" else "code"
    if line.startswith(_INDENTS):
        return _skip_while(lines, below, lambda line: line.startswith(_INDENTS) or not line.strip()), "code"
    if SKIPPED_LINE.match(line):
        return below, None
    if bare[0] == ">":
        return _skip_while(lines, below, _is_quoted), "quote"
    if _ITEM.match(line):
        return _skip_list(lines, below), "list"
    if "|" in line and (bare[0] == "|" or any(map(TABLE_RULE.match, lines[below : below + 1]))):
        return _skip_while(lines, below, lambda line: "|" in line), "table"
    if html := _RAW_HTML.match(line):
        end_tag = f"</{html[1].lower()}"  # without one, the HTML reaches to the end
        return _skip_while(lines, start, lambda line: end_tag not in line.lower()) + 1, "code"
    if _HTML_LINE.match(line):
        return _skip_while(lines, below, str.strip), None
    if _TAG_LINE.match(line):
        return below, None
    return _skip_while(lines, below, _continues_text), "text"


def _is_rule(bare: str) -> bool:
    """Return whether a line is a thematic break, or underlines a heading."""
    if bare[0] not in "-*_=":
        return False
    marks = "".join(bare.split())
    return not bare.strip("=") or (len(marks) >= _MIN_RULE and not marks.strip("-*_"))


def _is_quoted(line: str) -> bool:
    return line.lstrip(" ").startswith(">")


def _skip_while(lines: Sequence[str], at: int, continues: Callable[[str], object]) -> int:
    while at < len(lines) and continues(lines[at]):
        at += 1
    return at


def _continues_text(line: str) -> bool:
    if not line.strip() or line[0] == "#" or _is_quoted(line) or FENCE.match(line):
        return False
    return line[0] in " \t" or not _ITEM.match(line)


def _skip_list(lines: Sequence[str], at: int) -> int:
    """Return the line after a list: its items, their continuation lines, and what is indented below them."""
    is_after_blank = False
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            is_after_blank = True
        elif line[0] in " \t" or _ITEM.match(line):
            is_after_blank = False
        elif is_after_blank or not _continues_text(line):
            break
        at += 1
    return at


def iter_items(lines: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each top-level item of a list: its first paragraph, and the lines below it."""
    margin = len(lines[0]) - len(lines[0].lstrip()) + 1
    text: list[str] = []
    below: list[str] = []
    is_in_text = True  # the first paragraph
    for line in lines:
        mark = _ITEM.match(line)
        if mark and len(mark[1]) <= margin:
            if text:
                yield "\n".join(text)[:MAX_BLOCK_CHARS], below
            first = line[mark.end() :]
            text = [first[len(_TASK_BOXES[0]) :].lstrip() if first.startswith(_TASK_BOXES) else first]
            below = []
            is_in_text = True
            continue
        is_in_text = is_in_text and bool(line.strip()) and not mark and not FENCE.match(line)
        if is_in_text:
            text.append(line.strip())
        elif below or line.strip():
            below.append(line)
    if text:
        yield "\n".join(text)[:MAX_BLOCK_CHARS], below

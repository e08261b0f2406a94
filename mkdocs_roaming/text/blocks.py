"""Blocks of Markdown, line by line: text, lists, tables, quotes and code.

CommonMark is not implemented: the rules are only as exact as the beginning of a section's text requires.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

_MAX_BLOCK_CHARS = 800

FENCE = re.compile(r"\s*(`{3,}(?=[^`]*$)|~{3,}|:{3,})")
"""The beginning of a line that opens fenced code or a directive."""
_ITEM = re.compile(r"([ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t]+(?=\S)")
_RULE = re.compile(r"[ \t]*(?:(?:[-*_][ \t]*){3,}|=+[ \t]*)$")
_TABLE_RULE = re.compile(r"[ \t]*\|?(?:[ \t]*:?-+:?[ \t]*\|)+[ \t]*(?::?-+:?[ \t]*)?$")
_QUOTE = re.compile(r" {0,3}> ?")
_SKIPPED_LINE = re.compile(
    r" {0,3}(?:#{1,6}(?:[ \t]|$)|!!!|\?\?\?|===[ \t]|\.\. |\{[%:#]|\[[^\]\n]+\]:|import[ \t].*[\"'];?$|export[ \t])"
)
_HTML_LINE = re.compile(
    r" {0,3}<(?:/?(?:address|article|aside|blockquote|body|br|center|col|colgroup|dd|details|dialog|div|dl|dt|fieldset"
    r"|figcaption|figure|footer|form|h[1-6]|head|header|hr|html|iframe|img|input|label|legend|li|link|main|meta|nav|ol"
    r"|object|option|p|picture|section|select|source|summary|svg|tbody|td|tfoot|th|thead|tr|ul|video)\b|[!?])",
    re.IGNORECASE,
)
_RAW_HTML = re.compile(r" {0,3}<(table|script|style|pre|textarea|iframe|svg|video)\b", re.IGNORECASE)
_TAG_LINE = re.compile(r"\s*(?:</?[a-zA-Z][^<>]*>\s*)+$")


class Block(NamedTuple):
    """Consecutive lines of one kind; a quote's without their markers."""

    kind: Literal["text", "list", "table", "quote", "code"]
    lines: Sequence[str]

    @property
    def text(self) -> str:
        """The lines, up to a maximum number of characters."""
        return "\n".join(self.lines)[:_MAX_BLOCK_CHARS]


def iter_blocks(lines: Sequence[str]) -> Iterator[Block]:
    """Yield the blocks of a text. HTML, headings, thematic breaks and definitions of links are left out."""
    at, count = 0, len(lines)
    while at < count:
        line = lines[at]
        start = at
        at += 1
        if not line or line.isspace() or (line[0] in "-*_= \t" and _RULE.match(line)):
            continue
        if _is_plain(line) and not (at < count and "|" in line and _TABLE_RULE.match(lines[at])):
            at = _skip_while(lines, at, _continues_text)
            yield Block("text", lines[start:at])
        elif fence := FENCE.match(line):
            at = _skip_fence(lines, at, fence[1])
            if fence[1][0] == ":":
                yield Block("quote", ["[!NOTE]", *lines[start + 1 : at - 1]])
            else:
                yield Block("code", [])
        elif line.startswith(("    ", "\t")):
            at = _skip_while(lines, at, lambda other: other[:4] == "    " or other[:1] == "\t" or not other.strip())
            yield Block("code", [])
        elif _SKIPPED_LINE.match(line):
            pass
        elif _QUOTE.match(line):
            at = _skip_while(lines, at, lambda other: _QUOTE.match(other) is not None)
            yield Block("quote", [_QUOTE.sub("", other, count=1) for other in lines[start:at]])
        elif _ITEM.match(line):
            at = _skip_list(lines, at)
            yield Block("list", lines[start:at])
        elif line.lstrip()[0] == "|" or (at < count and "|" in line and _TABLE_RULE.match(lines[at])):
            at = _skip_while(lines, at, lambda other: "|" in other)
            yield Block("table", lines[start:at])
        elif html := _RAW_HTML.match(line):
            end = f"</{html[1].lower()}"
            at = start + next((n for n, other in enumerate(lines[start:], 1) if end in other.lower()), count)
            yield Block("code", [])
        elif _TAG_LINE.match(line) and not _HTML_LINE.match(line):
            pass
        elif _HTML_LINE.match(line):
            at = _skip_while(lines, at, lambda other: bool(other.strip()))
        else:
            at = _skip_while(lines, at, _continues_text)
            yield Block("text", lines[start:at])


def _skip_while(lines: Sequence[str], at: int, continues: Callable[[str], bool]) -> int:
    while at < len(lines) and continues(lines[at]):
        at += 1
    return at


def _is_plain(line: str) -> bool:
    """Return whether a line starts with a letter, so that it can only be text; `import` and `export` may be code."""
    return line[:1].isalpha() and line[0] not in "ie"


def _continues_text(line: str) -> bool:
    return _is_plain(line) or (
        bool(line.strip())
        and not (
            FENCE.match(line) or _QUOTE.match(line) or (_ITEM.match(line) and line[0] not in " \t") or line[0] == "#"
        )
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
                yield "\n".join(text)[:_MAX_BLOCK_CHARS], below
            text, below, ended = [line[found.end() :]], [], False
        elif not ended and line.strip() and not found and not FENCE.match(line):
            text.append(line.strip())
        else:
            ended = True
            if below or line.strip():
                below.append(line)
    if text:
        yield "\n".join(text)[:_MAX_BLOCK_CHARS], below

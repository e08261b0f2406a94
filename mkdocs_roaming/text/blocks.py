"""The one reader of Markdown: a tree of blocks with their lines, as CommonMark defines them, and the code in a text.

`parse_blocks` parses a text with markdown-it and keeps the latest results. Line by line is read only what cannot wait
for that: an answer while it is written (`follow_fence`), the headings of large files (`find_headings`), the targets of
links and the openings of all sections of a build, whose headings the converter knows.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from mkdocs_roaming.text.markdown import ends_sentence

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LINE_END = re.compile(r"\r\n|\n|\r")
"""The end of a line in CommonMark; `str.splitlines` also splits at U+2028 and others."""

FRONT_MATTER = re.compile(
    r"\A\ufeff?---[ \t]*(?:\r\n|\n|\r)((?:[^\r\n]*(?:\r\n|\n|\r))*?)(?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|\Z)"
)
"""Front matter at the beginning of a file, which CommonMark does not know; the group is its YAML."""

FENCE_MARK = r"(`{3,}(?=[^`]*$)|~{3,})"
FENCE = re.compile(" {0,3}" + FENCE_MARK)
"""The beginning of a line that opens fenced code, such as ```` ```py ````; backticks may not follow backticks."""

TABLE_RULE = re.compile(r"[ \t]*\|?(?:[ \t]*:?-+:?[ \t]*\|)+[ \t]*(?::?-+:?[ \t]*)?$")
"""The line below the header of a table, such as `| --- | :-: |`."""

_MARKUP = re.compile(r"[\\`*_\[\]<>&!~$\n]")
"""A character of which inline Markdown may be made; text without one needs no parser."""

_PARAGRAPH_END = re.compile(r"(\n[ \t>]*(?:\n|(?=(?:[-*+]|\d{1,9}[.)]|#{1,6})[ \t])))")
"""Where inline code ends at the latest: before a blank line, `- item` or `## Title`. A parse for each piece of an
answer that has backticks would be too slow."""

_LINK_TARGET = re.compile(r"\]\(\s*(?:<([^<>\s]+)>|([^()<>\s]+(?:\([^()\s]*\)[^()\s]*)*))")
"""The target of a link or an image: `](guide.md`, `](<a(b>`. Builds look for targets in each section, and a parser of
inline Markdown would take longer than all the rest of a section."""
_TARGET = re.compile(_LINK_TARGET.pattern + r"|<(https?://[^>\s]+)>")
"""The same, or `<https://example.org>`. The literal prefix of the other makes it three times as fast."""

_BACKTICKS = re.compile("`+")
_RUN = re.compile("`+|~+")
_CONTAINER_MARKS = " >-*+.)0123456789"
"""The characters before a fence in lists and quotes, as in `> 1. ```py`."""
_MAX_CLOSING_INDENT = 3
"""Spaces before a fence; with more, the line is code."""
_MAX_TITLE_CHARS = 120
_NO_TITLE = re.compile(r"[\n`]|\]\(|\*\*|[:：]\Z|\A[\s>#|+<$-]")
"""What a title that is no heading does not have: a second line, code, a link, a colon, the mark of another block."""
_KEPT_TEXTS = 4
"""Number of parsed texts that are kept: what is done with a text takes a few steps, and a server has many texts."""

Kind = Literal["heading", "paragraph", "fence", "code", "list", "item", "table", "row", "quote", "html", "rule"]
"""`code` is indented code. A table contains rows, a list items; items and quotes contain blocks."""


class Block(Struct, frozen=True):
    """A block of Markdown.

    Attributes:
        kind: What it is.
        start: Its first line, counted from 0.
        end: The line after it; of a list or a quote that blank lines follow, they may belong to it.
        text: The inline Markdown of a heading, a paragraph or a row (a line for each cell), the code, the raw HTML.
        level: The level of a heading.
        info: What follows the opening fence, with the space before it.
        markup: The characters of the opening fence.
        children: The blocks in it.
    """

    kind: Kind
    start: int
    end: int
    text: str = ""
    level: int = 0
    info: str = ""
    markup: str = ""
    children: tuple[Block, ...] = ()

    @property
    def code_end(self) -> int:
        """The line after the code of a fence: that of the closing one, or the end without one."""
        return min(self.start + 1 + self.text.count("\n"), self.end)


class Reference(Struct, frozen=True):
    """A definition of a link, `[label]: href`, and its lines."""

    href: str
    start: int
    end: int


class Document(Struct, frozen=True):
    """A parsed text: its top-level blocks, and the definitions of links by normalized label."""

    blocks: tuple[Block, ...]
    references: Mapping[str, Reference]

    def walk(self) -> Iterator[Block]:
        """Yield all blocks, each before those in it."""
        pending = list(reversed(self.blocks))
        while pending:
            block = pending.pop()
            yield block
            pending.extend(reversed(block.children))


_KINDS: Mapping[str, Kind] = {
    "blockquote_open": "quote",
    "bullet_list_open": "list",
    "code_block": "code",
    "fence": "fence",
    "heading_open": "heading",
    "hr": "rule",
    "html_block": "html",
    "list_item_open": "item",
    "ordered_list_open": "list",
    "paragraph_open": "paragraph",
    "table_open": "table",
    "tr_open": "row",
}
_ENDS = frozenset(name.replace("_open", "_close") for name in _KINDS)


@lru_cache(_KEPT_TEXTS)
def parse_blocks(markdown: str) -> Document:
    """Return the blocks of Markdown; the inline Markdown in them is not parsed."""
    environment: dict[str, dict[str, dict[str, Any]]] = {}
    tokens = load_parser(inline=False).parse(markdown, environment)
    definitions = environment.get("references", {})
    references = {label: Reference(definition["href"], *definition["map"]) for label, definition in definitions.items()}
    return Document(_build_tree(tokens), references)


def _build_tree(tokens: Iterable[Token]) -> tuple[Block, ...]:
    """Return the top-level blocks of tokens, of which a container has one at its beginning and one at its end."""
    opened: list[Token] = []
    texts: list[list[str]] = [[]]  # of each open block
    children: list[list[Block]] = [[]]
    for token in tokens:
        name = token.type
        if name == "inline":
            texts[-1].append(token.content)
        elif token.nesting == 0 and name in _KINDS:
            children[-1].append(_make_block(token, token.content, ()))
        elif token.nesting == 1 and name in _KINDS:
            opened.append(token)
            texts.append([])
            children.append([])
        elif token.nesting == -1 and name in _ENDS:
            inner = tuple(children.pop())
            children[-1].append(_make_block(opened.pop(), "\n".join(texts.pop()), inner))
    return tuple(children[0])


def _make_block(token: Token, text: str, children: tuple[Block, ...]) -> Block:
    assert token.map is not None
    start, end = token.map
    kind = _KINDS[token.type]
    level = int(token.tag[1]) if kind == "heading" else 0
    return Block(kind, start, end, text, level, token.info, token.markup, children)


@cache
def load_parser(*, inline: bool) -> MarkdownIt:
    """Return the parser of CommonMark with tables, for inline Markdown also or for blocks alone."""
    from markdown_it import MarkdownIt  # takes 0.1 s to import, and most builds do not need it

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    return parser if inline else parser.disable("inline")


# Headings


def find_headings(markdown: str) -> list[Block]:
    """Return the headings that are not nested in lists or quotes."""
    return [block for block in parse_blocks(markdown).blocks if block.kind == "heading"]


# Inline Markdown


def strip_markup(inline: str) -> str:
    """Return the text of inline Markdown."""
    if not _MARKUP.search(inline):
        return " ".join(inline.split())
    tokens = load_parser(inline=True).parseInline(inline)[0].children or []
    return " ".join("".join(map(_token_text, tokens)).split())


def is_title(inline: str) -> bool:
    """Return whether inline Markdown is one line in bold or in capitals, and no sentence other than a question."""
    text = inline.strip("*")
    if len(text) > _MAX_TITLE_CHARS or not (inline == f"**{text}**" or text.isupper()) or _NO_TITLE.search(text):
        return False
    return text.endswith("?") or not ends_sentence(text)


def find_titles(paragraphs: Sequence[str]) -> list[int]:
    """Return which paragraphs stand in place of headings. Lines that occur more than once are labels.

    Args:
        paragraphs: What is between the blank lines of a text, in order.
    """
    titles = [at for at, text in enumerate(paragraphs[:-1]) if is_title(text) and not is_title(paragraphs[at + 1])]
    counts = Counter(paragraphs[at] for at in titles)
    return [at for at in titles if counts[paragraphs[at]] == 1]


def _token_text(token: Token) -> str:
    match token.type:
        case "softbreak" | "hardbreak":
            return " "
        case "image":
            return "".join(map(_token_text, token.children or []))
        case "text" | "code_inline" | "text_special":
            return token.content
        case _:
            return ""


def find_targets(markdown: str) -> tuple[str, ...]:
    """Return the targets of the links in Markdown in order, without those in fenced code."""
    has_addresses = "<http" in markdown
    if not has_addresses and "](" not in markdown:
        return ()
    prose = "\n".join(_iter_prose(markdown)) if _may_have_fence(markdown) else markdown
    matches = (_TARGET if has_addresses else _LINK_TARGET).finditer(prose)
    return tuple(match[match.lastindex or 0] for match in matches)


def _iter_prose(markdown: str) -> Iterator[str]:
    """Yield the lines outside of fenced code. In lists and quotes any indentation will do for a fence."""
    fence = ""
    for line in split_lines(markdown):
        before = fence
        fence = follow_fence(line.lstrip(" >") if fence else line.lstrip(_CONTAINER_MARKS), fence)
        if not (fence or before):
            yield line


def _may_have_fence(markdown: str) -> bool:
    return "```" in markdown or "~~~" in markdown


# Code


def split_lines(markdown: str) -> list[str]:
    """Return the lines of Markdown without their ends."""
    return LINE_END.split(markdown) if "\r" in markdown else markdown.split("\n")


def line_offsets(markdown: str) -> list[int]:
    """Return the offset of each line, and that of the end."""
    return [0, *(end.end() for end in LINE_END.finditer(markdown)), len(markdown)]


def follow_fence(line: str, fence: str = "") -> str:
    """Return the fence that is open after a line; empty outside of fenced code.

    Containers such as lists and quotes are not known here (CommonMark 0.31, section 4.5).

    Args:
        line: The line, without the markers of a quote around it.
        fence: The fence that is open before it, such as three backticks.
    """
    if not fence:
        opening = FENCE.match(line)
        return opening[1] if opening else ""
    if fence not in line:
        return fence
    line = line.rstrip(" \t\r\n")
    marks = line.lstrip(" ")
    is_closing = marks.startswith(fence) and not marks.strip(fence[0]) and len(line) - len(marks) <= _MAX_CLOSING_INDENT
    return "" if is_closing else fence


def lengthen_fence(fence: str, code: str) -> str:
    """Return a fence that is longer than any in the code. Code may be a single run of a million backticks."""
    if fence not in code:
        return fence
    longest = max(len(run) for run in _RUN.findall(code) if run[0] == fence[0])
    return fence[0] * (longest + 1)


def find_fences(markdown: str) -> list[Block]:
    """Return the fenced code of Markdown in order, also within lists and quotes."""
    if not _may_have_fence(markdown):
        return []
    return [block for block in parse_blocks(markdown).walk() if block.kind == "fence"]


def find_code(markdown: str) -> list[tuple[int, int]]:
    """Return start and end of all fenced and inline code in order."""
    fences = find_fences(markdown)
    offsets = line_offsets(markdown) if fences else []
    edges = [(offsets[fence.start], offsets[fence.end]) for fence in fences]
    code: list[tuple[int, int]] = []
    position = 0
    for start, end in [*edges, (len(markdown), len(markdown))]:
        for paragraph in _PARAGRAPH_END.split(markdown[position:start]):
            code += [(position + first, position + last) for first, last, _ in find_code_spans(paragraph)]
            position += len(paragraph)
        code.append((start, end))
        position = end
    return code[:-1]


def find_code_spans(paragraph: str) -> list[tuple[int, int, int]]:
    """Return start and end of each span of inline code, and its number of backticks on each side."""
    runs = [match.span() for match in _BACKTICKS.finditer(paragraph)]
    by_length: dict[int, list[int]] = {}
    for start, end in runs:
        by_length.setdefault(end - start, []).append(start)
    spans: list[tuple[int, int, int]] = []
    edge = 0
    for start, end in runs:
        if start < edge or paragraph[start - 1 : start] == "\\":
            continue
        same_length = by_length[end - start]
        closing = bisect_left(same_length, end)
        if closing < len(same_length):
            edge = same_length[closing] + end - start
            spans.append((start, edge, end - start))
    return spans


def sub_outside_code(pattern: re.Pattern[str], replace: Callable[[re.Match[str]], str], markdown: str) -> str:
    """Replace the matches of a pattern that begin outside of code."""
    match = pattern.search(markdown)
    if not match:
        return markdown
    behind = len(markdown) + 1
    code = iter([*find_code(markdown), (behind, behind)])
    start, end = next(code)
    parts: list[str] = []
    copied = 0
    while match:
        while end <= match.start():
            start, end = next(code)
        resume = end
        if match.start() < start:
            parts += [markdown[copied : match.start()], replace(match)]
            copied = resume = match.end()
        match = pattern.search(markdown, resume)
    return "".join([*parts, markdown[copied:]])

"""The walk down an article's tree: tells blocks from lines of text and hands each element to what writes its role."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from lxml import etree

from mkdocs_roaming.html.escape import (
    LINE_STARTERS,
    escape_line_starts,
    escape_text,
    find_special,
    normalize_whitespace,
)
from mkdocs_roaming.html.themes import BLOCK_TAGS, Roles
from mkdocs_roaming.manifest.models import Heading

Element = etree._Element
BlockWriter = Callable[["Visitor", Element, list[str]], None]
"""Writes an element as blocks, appended to a list."""
InlineWriter = Callable[["Visitor", Element, list[str]], None]
"""Writes an element within a line, as pieces appended to a list."""

MAX_DEPTH = 120
"""Below this depth of nesting only the text is taken."""

HARD_BREAK = "\\\n"

ROLES = Roles()

_HOLDERS = frozenset(
    {"span", "text", "link", "permalink", "self link", "emphasis", "strong", "strike", "tag", "quotation"}
)
_PARAGRAPH_MARKS = {
    **dict.fromkeys(("b", "strong"), ("**", "strong")),
    **dict.fromkeys(("i", "em"), ("*", "em")),
    **dict.fromkeys(("del", "s", "strike"), ("~~", "del")),
    **{tag: ("", tag) for tag in ("ins", "mark", "u")},
}
"""What marks a paragraph in an element of text around it: Markdown's sign, if it has one, and the tag."""
_MARK_ENDS = frozenset("*~")
_SPACES = frozenset(" \n")
_JOINED = frozenset("]~")
_BREAK_STARTS = frozenset("<\\")
_BREAK_ENDS = frozenset(">\\")
_BREAKS = re.compile(r"(?:\\\n\s*|<br>\s*)+")
_DISPLAY_NONE = re.compile(r"display\s*:\s*none")


@dataclass(slots=True)
class Visitor:
    """One article's conversion while it goes on: what is around the element that is being written."""

    block_writers: Mapping[str, BlockWriter]
    inline_writers: Mapping[str, InlineWriter]
    link: Callable[[str], str]
    image: Callable[[str], str]
    source_language: Callable[[str, str | None], str | None]

    top: list[str] = field(default_factory=list)
    """The blocks of the article itself; what is nested writes into lists of its own."""
    marks: list[tuple[int, Heading]] = field(default_factory=list)
    """The headings of the top level, with their places in `top`."""
    title: int | None = None
    """The place in `top` of the heading that is the page's title."""
    note_uses: dict[str, int] = field(default_factory=dict)
    """Footnotes in order of first use, by label, with the place in `top` where each is used."""
    notes: dict[str, str] = field(default_factory=dict)
    note_labels: dict[str, str] | None = None
    """Labels of the footnotes that the article defines, by id; None until somebody asks."""

    depth: int = 0
    nested: int = 0
    """How many lists, quotes and callouts are around."""
    level: int = 1
    """The level of the last heading, of an API object or the top level."""
    line_break: str = HARD_BREAK
    styles: frozenset[str] = frozenset()
    """The emphasis that is on."""
    marks_around: tuple[tuple[str, str], ...] = ()
    """The emphasis that is around blocks, by mark and tag."""
    in_link: bool = False
    heading_id: str | None = None
    in_heading: bool = False
    plain: list[str] | None = None
    """Gathers the text without markup while a heading is written."""
    card: str | None = None
    """Where a link around blocks leads, until its first line of text is written."""
    taken: Element | None = None
    """The title that the callout around has written already."""
    language: str | None = None
    code_title: str | None = None
    in_code: bool = False
    """Whether something that belongs to a code block is around."""

    def blocks(self, parent: Element, out: list[str]) -> None:
        """Write what stands in an element as blocks."""
        if self.depth > MAX_DEPTH:
            self._only_text(parent, out)
            return
        self.depth += 1
        writers, inlines = self.block_writers, self.inline_writers
        pieces: list[str] = []
        text = parent.text
        if text and not text.isspace():
            self.text(text, pieces)
        for element in parent:
            role = ROLES[element.tag, element.get("class")]
            writer = writers.get(role)
            if writer is not None:
                if pieces:
                    self.flush(pieces, out)
                writer(self, element, out)
            elif role in _HOLDERS and len(element) and contains_block(element):
                self.flush(pieces, out)
                self._open(role, element, out)
            else:
                inlines[role](self, element, pieces)
            text = element.tail
            if text and (pieces or not text.isspace()):
                self.text(text, pieces)
        if pieces:
            self.flush(pieces, out)
        self.depth -= 1

    def block(self, element: Element, out: list[str]) -> None:
        """Write one element as blocks."""
        writer = self.block_writers.get(ROLES[element.tag, element.get("class")])
        if writer is not None:
            writer(self, element, out)
        else:
            self.blocks(element, out)

    def inline(self, parent: Element, pieces: list[str]) -> None:
        """Write what stands in an element within a line."""
        if self.depth > MAX_DEPTH:
            self.text(element_text(parent), pieces)
            return
        self.depth += 1
        writers = self.inline_writers
        text = parent.text
        if text:
            self.text(text, pieces)
        for element in parent:
            writer = writers.get(ROLES[element.tag, element.get("class")])
            if writer is not None:
                writer(self, element, pieces)
            else:  # a block where there can be none
                self.text(" ", pieces)
                self.inline(element, pieces)
                self.text(" ", pieces)
            text = element.tail
            if text:
                self.text(text, pieces)
        self.depth -= 1

    def line(self, element: Element, *, styles: str = "", line_break: str = " ") -> str:
        """Give an element's content as one line, for headings, titles and cells."""
        pieces: list[str] = []
        before = self.styles, self.line_break
        self.line_break = line_break
        if styles:
            self.styles |= {styles}
        self.inline(element, pieces)
        self.styles, self.line_break = before
        return strip_breaks("".join(pieces))

    def text(self, text: str, pieces: list[str]) -> None:
        """Write text within a line: white space collapsed, escaped."""
        if self.plain is not None:
            self.plain.append(text)
        written = text.replace("\n", " ")
        if "  " in written or not written.isprintable():
            written = normalize_whitespace(written)
        before = pieces[-1][-1:] if pieces else ""
        if before in _SPACES and written[:1] == " ":
            written = written[1:]
        if find_special(written):
            words = escape_text(written.strip(" "), brackets=self.in_link)
            written = f"{' ' if written[0] == ' ' else ''}{words}{' ' if written[-1] == ' ' else ''}"
        if before in _JOINED and written and written[0] + before in ("(]", "~~"):
            written = "\\" + written
        if written:
            pieces.append(written)

    def flush(self, pieces: list[str], out: list[str]) -> None:
        """End a line of text: what was gathered becomes a paragraph."""
        text = strip_breaks("".join(pieces) if len(pieces) > 1 else pieces[0]) if pieces else ""
        pieces.clear()
        if text:
            if self.marks_around:
                text = self._marked(text)
            if "\n" in text or text[0] in LINE_STARTERS:
                text = escape_line_starts(text)
            out.append(text if self.card is None else self.carded(text))

    def carded(self, text: str) -> str:
        """Make the first line of text within a link around blocks the link."""
        if self.card is None:
            return text
        url, self.card = self.card, None
        return f"[{text}]({url})"

    def contents(self, element: Element) -> list[str]:
        """Give an element's blocks as those of a container: their headings are not the page's."""
        parts: list[str] = []
        self.nested += 1
        self.blocks(element, parts)
        self.nested -= 1
        return parts

    @contextmanager
    def within(self, **state: object) -> Iterator[None]:
        """Change what is around while the block runs."""
        before = {name: getattr(self, name) for name in state}
        for name, value in state.items():
            setattr(self, name, value)
        try:
            yield
        finally:
            for name, value in before.items():
                setattr(self, name, value)

    def _open(self, role: str, element: Element, out: list[str]) -> None:
        """Write an element of text that holds blocks: a link goes to its first line, emphasis to each paragraph."""
        if role == "link" and element.get("href") is not None and not self.in_link:
            self.inline_writers["card"](self, element, out)
        elif role in self.styles or (mark := _PARAGRAPH_MARKS.get(element.tag)) is None:
            self.blocks(element, out)
        else:
            styles = self.styles | {role} if mark[0] else self.styles
            with self.within(styles=styles, marks_around=(*self.marks_around, mark)):
                self.blocks(element, out)

    def _marked(self, text: str) -> str:
        for mark, tag in reversed(self.marks_around):
            plain = mark and text[0] not in _MARK_ENDS and text[-1] not in _MARK_ENDS
            text = f"{mark}{text}{mark}" if plain else f"<{tag}>{text}</{tag}>"
        return text

    def _only_text(self, element: Element, out: list[str]) -> None:
        pieces: list[str] = []
        self.text(element_text(element), pieces)
        self.flush(pieces, out)


def contains_block(element: Element) -> bool:
    """Tell whether blocks stand somewhere in an element."""
    return any(child.tag in BLOCK_TAGS for child in element.iterdescendants())


def is_hidden(element: Element) -> bool:
    """Tell whether the page hides an element. (What tabs hide is asked for by name, not here.)"""
    if element.get("hidden") is not None:
        return True
    style = element.get("style")
    return style is not None and _DISPLAY_NONE.search(style) is not None


def element_text(element: Element) -> str:
    """Give the text of an element as it stands, without what follows the element."""
    return str(etree.tostring(element, method="text", encoding="unicode", with_tail=False))


def strip_breaks(text: str) -> str:
    """Take white space and line breaks off both ends."""
    text = text.strip()
    if not text or (text[-1] not in _BREAK_ENDS and text[0] not in _BREAK_STARTS):
        return text
    begin = _BREAKS.match(text)
    start, end = begin.end() if begin else 0, len(text)
    while end > start:
        if text.endswith("<br>", start, end) and text[end - 5 : end - 4] != "\\":
            end -= 4
        elif text[end - 1].isspace() or _ends_in_break(text, start, end):
            end -= 1
        else:
            break
    return text[start:end]


def _ends_in_break(text: str, start: int, end: int) -> bool:
    """Tell whether text ends in the backslash of a break: text escapes its own, so theirs are even."""
    at = end
    while at > start and text[at - 1] == "\\":
        at -= 1
    return (end - at) % 2 == 1


def format_bold(text: str) -> str:
    """Give a title as bold text."""
    return f"**{text}**" if text else ""

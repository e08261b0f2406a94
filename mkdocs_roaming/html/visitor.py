"""The visitor of an article's tree: separates blocks from lines of text and calls the writer of each element's role."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import msgspec
from lxml import etree

from mkdocs_roaming.html.escape import (
    LINE_STARTERS,
    escape_line_starts,
    escape_text,
    find_special,
    format_destination,
    normalize_whitespace,
)
from mkdocs_roaming.html.themes import Role, ThemeSet, block_tags
from mkdocs_roaming.manifest.models import Heading

Element = etree._Element
Blocks = list[str]
"""Paragraphs, lists and other blocks, to which a writer appends its own."""
Pieces = list[str]
"""The parts of a line, to which a writer appends its own."""
BlockWriter = Callable[["Visitor", Element, Blocks], None]
InlineWriter = Callable[["Visitor", Element, Pieces], None]

MAX_DEPTH = 120
"""Elements that are nested deeper are written as plain text."""

HARD_BREAK = "\\\n"

_INLINE_WRAPPERS = frozenset(
    {"span", "text", "code-span", "link", "permalink", "self-link", "emphasis", "strong", "strike", "tag", "quotation"}
)
"""Roles of inline elements that may contain blocks."""
_PARAGRAPH_MARKS = {
    **dict.fromkeys(("b", "strong"), ("**", "strong")),
    **dict.fromkeys(("i", "em"), ("*", "em")),
    **dict.fromkeys(("del", "s", "strike"), ("~~", "del")),
    **{tag: ("", tag) for tag in ("ins", "mark", "u")},
}
"""How a paragraph inside an inline element is marked: the Markdown delimiter, if there is one, and the tag."""
_TAB_ROLES = frozenset({"tablist", "tabpanel"})
"""WAI-ARIA roles of tabs."""
_DELIMITERS = frozenset("*~")
_MISREAD_PAIRS = frozenset({"](", "~~"})
"""Characters that are markup only together, so that the second one is escaped if it begins another text."""
_BREAK_TAG = "<br>"
_BREAK_STARTS = frozenset("<\\")
_BREAK_ENDS = frozenset(">\\")
_BREAKS = re.compile(r"(?:\\\n\s*|<br>\s*)+")
"""The line breaks at the beginning of a line: `<br>`, or a backslash at the end of the line before."""
_OTHER_BLOCK = re.compile(r"(?:[-*>] |\|.*\n\||\d+[.)] |#{1,6} |```|<|\$\$|---$|___$)")
"""The beginning of a block of our Markdown that is no paragraph."""
_UNRESOLVED = re.compile(
    r"(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)"  # code is passed over
    r"|(?<![\w\])\\])\[(?P<text>[^\[\]`]+|`[^`]+`)\]\[(?:[^\W\d][\w\\]*(?:\.[\w\\]+)+)?\](?!\()",
    re.DOTALL,
)
"""A reference of autorefs that leads nowhere, `[text][package.name]` or `[package.name][]`."""
_HIDDEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|clip(?:-path)?\s*:\s*(?:rect|inset\((?:50|100)%)",
    re.IGNORECASE,
)
"""A style that hides an element, such as `display: none` or `clip: rect(0 0 0 0)`."""
_LOADING = etree.XPath(
    "boolean(descendant-or-self::*[@onload or @onloadeddata or @oncanplay]) and not(normalize-space())"
)
"""Whether an element has no text, and a handler that runs when something in it is loaded."""


class Footnotes(msgspec.Struct):
    """The footnotes of an article."""

    labels: dict[str, str] | None = None
    """Labels by id; None until they are needed."""
    uses: dict[str, int] = msgspec.field(default_factory=dict)
    """Index of the top-level block that first uses a footnote, by label, in order of use."""
    definitions: dict[str, str] = msgspec.field(default_factory=dict)


class Output(msgspec.Struct):
    """The converted article."""

    blocks: Blocks = msgspec.field(default_factory=list)
    """The blocks of the top level. Nested blocks are collected in lists of their own."""
    headings: list[tuple[int, Heading]] = msgspec.field(default_factory=list)
    """The headings of the top level, with their indexes in `blocks`."""
    title: int | None = None
    """Index in `blocks` of the heading that is the page's title."""
    footnotes: Footnotes = msgspec.field(default_factory=Footnotes)
    explained: set[tuple[int, str]] = msgspec.field(default_factory=set)
    """The meanings of abbreviations that are written, each with the number of headings before it."""
    anchors: dict[str, int] = msgspec.field(default_factory=dict)
    """Ids of elements other than top-level headings, with the index that the next block has in `blocks`."""
    member_levels: dict[str, int] = msgspec.field(default_factory=dict)
    """Levels of the headings of API members, by tag."""


class HeadingContext(msgspec.Struct):
    """The heading that is being written."""

    anchor: str | None
    plain: list[str] = msgspec.field(default_factory=list)
    """Its text without markup."""


@dataclass(slots=True)
class Context:
    """The surroundings of the element that is being written."""

    depth: int = 0
    nesting: int = 0
    """Number of lists, quotes and admonitions around the element."""
    level: int = 1
    """Level of the last top-level heading."""
    line_break: str = HARD_BREAK
    styles: frozenset[str] = frozenset()
    """Emphasis that is already written."""
    paragraph_marks: tuple[tuple[str, str], ...] = ()
    """Emphasis around blocks, as in `_PARAGRAPH_MARKS`; every paragraph gets it."""
    in_link: bool = False
    heading: HeadingContext | None = None
    block_link: str | None = None
    """Target of a link around blocks, until its first line of text is written."""
    written_title: Element | None = None
    """The title that the enclosing admonition has written."""
    language: str | None = None
    """Language of code that an element around it names."""
    default_language: str = ""
    """Language of code that nothing names."""
    code_title: str | None = None
    in_code: bool = False
    """Whether the element belongs to a code block, such as its title."""
    in_terminal: bool = False
    """Whether code is the source of an animated terminal."""


@dataclass(slots=True)
class Visitor:
    """Visits the elements of one article and writes them as Markdown."""

    article: Element
    block_writers: Mapping[str, BlockWriter]
    """Writers of blocks by role."""
    inline_writers: Mapping[str, InlineWriter]
    """Writers of everything else by role."""
    themes: ThemeSet
    link: Callable[[str], str]
    """Maps the target of a link to the address to write."""
    image: Callable[[str], str]
    """Maps the source of an image to the address to write."""
    recorded_languages: dict[str, list[str]]
    """Languages of code that were recorded when the page was built (see `code.index_languages`)."""
    output: Output = field(default_factory=Output)
    context: Context = field(default_factory=Context)
    tab_panels: dict[str, Element] | None = None
    """Panels of WAI-ARIA tab lists by id; None until they are needed."""
    written_panels: set[Element] = field(default_factory=set)

    def role(self, element: Element) -> Role:
        """Return the role of an element."""
        return self.themes.roles[element.tag, element.get("class")]

    def write_blocks(self, parent: Element, out: Blocks) -> None:
        """Write the content of an element as blocks."""
        context = self.context
        if context.depth > MAX_DEPTH:
            self.write_paragraph(element_text(parent), out)
            return
        context.depth += 1
        roles = self.themes.roles
        block_writers = self.block_writers
        inline_writers = self.inline_writers
        pieces: Pieces = []
        text = parent.text
        if text and not text.isspace():
            self.write_text(text, pieces)
        for element in parent:
            role = roles[element.tag, element.get("class")]
            writer = block_writers.get(role)
            if writer is not None:
                if pieces:
                    self.end_paragraph(pieces, out)
                writer(self, element, out)
            elif role in _INLINE_WRAPPERS and len(element) and contains_block(element):
                self.end_paragraph(pieces, out)
                self._write_block_wrapper(role, element, out)
            else:
                inline_writers[role](self, element, pieces)
            text = element.tail
            if text and (pieces or not text.isspace()):
                self.write_text(text, pieces)
        if pieces:
            self.end_paragraph(pieces, out)
        context.depth -= 1

    def write_block(self, element: Element, out: Blocks) -> None:
        """Write one element as blocks."""
        writer = self.block_writers.get(self.role(element))
        if writer is not None:
            writer(self, element, out)
        else:
            self.write_blocks(element, out)

    def write_group(self, element: Element, out: Blocks) -> None:
        """Write the content of an element as blocks, unless the page hides it. A picture without text has a name."""
        if element.attrib:
            if (role := element.get("role")) in _TAB_ROLES:
                self.block_writers[role](self, element, out)
                return
            if is_hidden(element):
                return
            if anchor := element.get("id"):
                self.output.anchors.setdefault(anchor, len(self.output.blocks))
        count = len(out)
        self.write_blocks(element, out)
        if len(out) == count and element.get("role") == "img":
            self.write_paragraph(element.get("aria-label", ""), out)

    def write_paragraph(self, text: str, out: Blocks) -> None:
        """Write text without markup as a paragraph."""
        pieces: Pieces = []
        self.write_text(text, pieces)
        self.end_paragraph(pieces, out)

    def write_inline(self, parent: Element, pieces: Pieces) -> None:
        """Write the content of an element within a line."""
        context = self.context
        if context.depth > MAX_DEPTH:
            self.write_text(element_text(parent), pieces)
            return
        context.depth += 1
        roles = self.themes.roles
        inline_writers = self.inline_writers
        text = parent.text
        if text:
            self.write_text(text, pieces)
        for element in parent:
            writer = inline_writers.get(roles[element.tag, element.get("class")])
            if writer is not None:
                writer(self, element, pieces)
            else:  # a block inside a line
                self.write_text(" ", pieces)
                self.write_inline(element, pieces)
                self.write_text(" ", pieces)
            text = element.tail
            if text:
                self.write_text(text, pieces)
        context.depth -= 1

    def render_line(self, element: Element, *, style: str = "", line_break: str = " ") -> str:
        """Return the content of an element as one line, for headings, titles and cells."""
        context = self.context
        styles = context.styles
        outer_break = context.line_break
        context.styles = styles | {style} if style else styles
        context.line_break = line_break
        line = strip_breaks(self.render_inline(element))
        context.styles = styles
        context.line_break = outer_break
        return line

    def render_inline(self, element: Element) -> str:
        """Return the content of an element within a line, with the white space around it."""
        pieces: Pieces = []
        self.write_inline(element, pieces)
        return join_pieces(pieces)

    def render_nested(self, element: Element) -> Blocks:
        """Return the content of an element as the blocks of a container, whose headings are not the page's."""
        parts: Blocks = []
        with self.within(nesting=self.context.nesting + 1):
            self.write_blocks(element, parts)
        return parts

    def write_text(self, text: str, pieces: Pieces) -> None:
        """Write text within a line: white space normalized, Markdown escaped."""
        context = self.context
        if context.heading is not None:
            context.heading.plain.append(text)
        written = text.replace("\n", " ")
        if "  " in written or not written.isprintable():
            written = normalize_whitespace(written)
        if pieces and written[:1] == " " and pieces[-1][-1:] in {" ", "\n"}:
            written = written[1:]
        if find_special(written):
            words = written.strip(" ")
            written = written.replace(words, escape_text(words, brackets=context.in_link), 1)
        if written:
            if pieces and written[0] in "(~" and pieces[-1][-1:] + written[0] in _MISREAD_PAIRS:
                written = "\\" + written
            pieces.append(written)

    def destination(self, href: str) -> str:
        """Return the destination of a link as Markdown."""
        return format_destination(self.link(href.strip()))

    def record_anchor(self, element: Element) -> None:
        """Add the id of an element to the anchors of the section that it is in, or that begins below it."""
        if anchor := element.get("id") or element.get("name"):
            self.output.anchors.setdefault(anchor, len(self.output.blocks))

    def record_plain(self, text: str) -> None:
        """Add text to the plain text of the heading that is being written, if there is one."""
        if self.context.heading is not None:
            self.context.heading.plain.append(text)

    def end_paragraph(self, pieces: Pieces, out: Blocks) -> None:
        """Turn the pieces of a line into a paragraph."""
        text = strip_breaks(join_pieces(pieces))
        pieces.clear()
        if not text:
            return
        for mark, tag in reversed(self.context.paragraph_marks):
            if mark and _DELIMITERS.isdisjoint((text[0], text[-1])):
                text = f"{mark}{text}{mark}"
            else:
                text = f"<{tag}>{text}</{tag}>"
        if "\n" in text or text[0] in LINE_STARTERS:
            text = escape_line_starts(text)
        out.append(self.apply_block_link(text))

    def apply_block_link(self, text: str) -> str:
        """Return the first line of text inside a link around blocks as the link, any other line unchanged.

        An image without a description is no text: the title of a card follows it.
        """
        url = self.context.block_link
        if url is None or (text.startswith("![](") and " " not in text):
            return text
        self.context.block_link = None
        return f"[{text}]({url})"

    @contextmanager
    def within(self, **state: object) -> Iterator[None]:
        """Set fields of the context for the duration of a block."""
        context = self.context
        before = {name: getattr(context, name) for name in state}
        for name, value in state.items():
            setattr(context, name, value)
        try:
            yield
        finally:
            for name, value in before.items():
                setattr(context, name, value)

    def _write_block_wrapper(self, role: Role, element: Element, out: Blocks) -> None:
        """Write an inline element that contains blocks: its first line becomes the link, each paragraph is marked."""
        context = self.context
        mark = _PARAGRAPH_MARKS.get(element.tag)
        if role == "link" and element.get("href") is not None and not context.in_link:
            self.block_writers["block-link"](self, element, out)
        elif mark is None or role in context.styles:
            self.write_blocks(element, out)
        else:
            styles = context.styles | {role} if mark[0] else context.styles
            with self.within(styles=styles, paragraph_marks=(*context.paragraph_marks, mark)):
                self.write_blocks(element, out)


def contains_block(element: Element) -> bool:
    """Return whether an element contains blocks, at any depth."""
    tags = block_tags()
    return any(child.tag in tags for child in element.iterdescendants())


def is_hidden(element: Element) -> bool:
    """Return whether the page hides an element for good.

    Readers can open panels of tabs, and hits of a page search. A frame or an image is hidden until it is loaded.
    """
    hidden = element.get("hidden")
    style = element.get("style")
    if hidden is None and (style is None or _HIDDEN.search(style) is None):
        return False
    if hidden == "until-found" or element.get("role") == "tabpanel":
        return False
    return not _LOADING(element)


def has_class(element: Element, *names: str) -> bool:
    """Return whether an element has one of the classes."""
    return not set(names).isdisjoint((element.get("class") or "").split())


def find_class(element: Element, *names: str, tag: str | None = None) -> Element | None:
    """Return the first element with one of the classes, and with this tag, among an element and everything in it."""
    return next((child for child in element.iter(tag) if has_class(child, *names)), None)


def local_name(element: Element) -> str:
    """Return the tag of an element without the prefix of its namespace."""
    return str(element.tag).rpartition(":")[2]


def read_label(element: Element, *names: str) -> str:
    """Return the first of some attributes that is not empty, on one line; `""` if there is none."""
    for name in names:
        if value := element.get(name):
            return " ".join(value.split())
    return ""


def element_text(element: Element) -> str:
    """Return the text of an element, without its tail."""
    return str(etree.tostring(element, method="text", encoding="unicode", with_tail=False))


def normalized_text(element: Element) -> str:
    """Return the text of an element on one line, without its tail."""
    return " ".join(element_text(element).split())


def join_pieces(pieces: Pieces) -> str:
    """Join the pieces of a line. References of autorefs that it could not resolve become their text."""
    text = pieces[0] if len(pieces) == 1 else "".join(pieces)
    if "][" in text:
        text = _UNRESOLVED.sub(lambda match: match["text"] or match[0], text)
    return text


def strip_breaks(text: str) -> str:
    """Strip white space and line breaks from both ends of a line of Markdown."""
    text = text.strip()
    if not text or (text[-1] not in _BREAK_ENDS and text[0] not in _BREAK_STARTS):
        return text
    begin = _BREAKS.match(text)
    start = begin.end() if begin else 0
    end = len(text)
    while end > start:
        if text.endswith(_BREAK_TAG, start, end) and not text.endswith(f"\\{_BREAK_TAG}", 0, end):
            end -= len(_BREAK_TAG)
        elif text[end - 1].isspace():
            end -= 1
        elif text[end - 1] == "\\":
            run = end
            while run > start and text[run - 1] == "\\":
                run -= 1
            if (end - run) % 2 == 0:  # escaped backslashes come in pairs
                break
            end -= 1
        else:
            break
    return text[start:end]


def is_paragraph(block: str) -> bool:
    """Return whether a block is a paragraph, not a heading, a list, a quote, a table, code or the like."""
    return _OTHER_BLOCK.match(block) is None

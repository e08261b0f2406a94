"""Where a text's top-level headings stand, and what the sections below them begin with and link to.

CommonMark decides what a heading is. A line-by-line reading comes to the same for nearly all pages at a fraction of the
price; wherever it cannot be sure it gives way to markdown-it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import unescape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_OPENING_CHARS = 100
"""The most characters of a section's opening."""

LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class MarkdownHeading:
    """A top-level heading: its line, level and text, as written; what its section begins with, the URLs it links to.

    `below` is the first line of the section's text.
    """

    line: int
    level: int
    title: str
    opening: str = ""
    targets: tuple[str, ...] = ()
    below: int = 0


def parse_headings(markdown: str) -> list[MarkdownHeading]:
    """Give the top-level headings in order; the text before the first one is nobody's."""
    found = scan_headings(markdown)
    return parse_headings_commonmark(markdown) if found is None else found


def strip_markup(inline: str) -> str:
    """Give the text of inline Markdown without its markup."""
    if not _MARKUP.search(inline):
        return " ".join(inline.split())
    tokens = _reader(inline=True).parseInline(inline)[0].children or []
    return " ".join("".join(_spoken(token) for token in tokens).split())


def truncate_at_word(text: str, most: int) -> str:
    """Give the text in at most that many characters, cut between words, with `…` where something is missing."""
    if len(text) <= most:
        return text
    head = text[:most]  # one more than fits beside the ellipsis, to see whether a word ends there
    cut = head.rfind(" ")
    kept = head[:cut] if cut > most // 2 else head[:-1]
    return _unturned(kept.rstrip(" ,;:.–—-")) + "…"


def to_single_line(text: str) -> str:
    """Give a text as it may stand on a line among others: a title, a description, a crumb.

    White space becomes single spaces. Control characters and halves of characters go, and so does what would turn round
    the rest of the line: overrides of its direction, and embeddings and isolates that do not end within the text. What
    is written from right to left stays, with its marks and joiners.
    """
    text = " ".join(text.split())
    if not _UNSOUND.search(text):
        return text
    return " ".join(_unturned(_CONTROL.sub("", text)).split())


def _unturned(text: str) -> str:
    """Give a text without overrides of its direction, and without what opens or closes another one only half."""
    if not _TURNING.search(text):
        return text
    gone: set[int] = set()
    opened: list[int] = []
    for at, mark in ((found.start(), found[0]) for found in _TURNING.finditer(text)):
        if mark == _POP:
            if not opened or text[opened[-1]] in _ISOLATES:
                gone.add(at)
            elif text[begun := opened.pop()] in _OVERRIDES:
                gone |= {begun, at}
        elif mark == _POP_ISOLATE:
            inner = next((depth for depth in reversed(range(len(opened))) if text[opened[depth]] in _ISOLATES), None)
            if inner is None:
                gone.add(at)
            else:
                gone |= set(opened[inner + 1 :])
                del opened[inner:]
        else:
            opened.append(at)
    gone |= set(opened)
    return "".join(mark for at, mark in enumerate(text) if at not in gone)


@dataclass(slots=True)
class _Section:
    """What is gathered of a section while it is read."""

    line: int
    level: int
    title: str
    below: int
    texts: list[str] = field(default_factory=list)
    prose: list[str] = field(default_factory=list)

    def mark(self) -> MarkdownHeading:
        prose = "\n".join([self.title, *self.prose])
        targets = tuple(found for each in _TARGET.findall(prose) for found in each if found)
        return MarkdownHeading(self.line, self.level, self.title, _opening(self.texts), targets, self.below)


# Line by line


def scan_headings(markdown: str) -> list[MarkdownHeading] | None:
    """Read headings line by line; None where that could differ from CommonMark's reading.

    Headings and fences count at the margin only, where no list or quote can hold them. What could hide a heading in
    another way (HTML blocks, fences and headings that are indented by a little) ends the reading only if a heading
    follows that it could hide; a setext underline ends it at once.
    """
    sections: list[_Section] = []
    fence = ""  # the fence that is open at the margin
    code: list[str] | None = None
    inner = ""  # a fence that is open in a list or by a little indentation, nobody knows
    html = before = unsure = False  # an HTML block may be open; the line before holds something; `inner` may have ended
    for number, line in enumerate(LINE_END.split(markdown)):
        if fence:
            if line.lstrip(" ")[:1] == fence[0] and _closes(line, fence):
                fence, before = "", False
                if sections and code is not None:
                    sections[-1].texts.append("\0" + "\n".join(code))
                code = None
            elif code is not None:
                code.append(line)
            continue
        stripped = line.strip(" \t")
        if not stripped:
            html = before = False
            continue
        first = line[0]
        if first in "#`~<=-+ \t":
            if found := _HEADING.match(line):
                if inner and found[1] and not unsure:
                    continue
                if html or inner or found[1]:
                    return None
                level = len(found[2])
                sections.append(_Section(number, level, _content(line[level:]), number + 1))
                before = False
                continue
            if found := _FENCE.match(line):
                if found[1] and not unsure:
                    inner = "" if inner and _closes(line, inner) else inner or found[2]
                    continue
                if html or inner:
                    return None
                fence, before = found[2], False
                code = [] if sections and not sections[-1].texts else None
                continue
            if inner:
                if unsure and before and _UNDERLINE.match(line):
                    return None
                unsure, before = unsure or first not in " \t", True
                continue
            if before and _UNDERLINE.match(line):
                return None
            if first == "<" or stripped[0] == "<":
                if _RAW.match(stripped):
                    return None
                html = html or not stripped.startswith(("<http://", "<https://"))
        elif inner:  # the list may have ended, and the fence in it
            unsure = True
        before = True
        if sections and not html:
            _gather(sections[-1], stripped)
    if fence and sections and code:
        sections[-1].texts.append("\0" + "\n".join(code))
    return [section.mark() for section in sections]


_HEADING = re.compile(r"( {0,3})(#{1,6})(?=[ \t]|$)")
_FENCE = re.compile(r"( {0,3})(`{3,}(?=[^`]*$)|~{3,})")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
_RAW = re.compile(r"<(?:script|pre|style|textarea|[!?])", re.IGNORECASE)
_MARKER = re.compile(r"^(?:>[ \t]?|[-*+][ \t]+|\d{1,9}[.)][ \t]+)+")
_RULE = re.compile(r"(?:[-*_][ \t]*){3,}$|\|?[ \t:|-]+\|[ \t:|-]*$")


def _closes(line: str, fence: str) -> bool:
    bare = line.strip(" \t")
    return len(bare) >= len(fence) and bare == fence[0] * len(bare) and len(line) - len(line.lstrip(" ")) < 4


def _content(rest: str) -> str:
    """Give a heading's text: closing hashes belong to it only where no space stands before them."""
    kept = rest.rstrip(" \t")
    bare = kept.rstrip("#")
    return (bare if bare[-1:] in (" ", "\t") else kept).strip(" \t")


def _gather(section: _Section, line: str) -> None:
    """Add a line to what a section says, without the marks of lists, quotes and tables."""
    section.prose.append(line)
    if len(section.texts) < _LINES and not _RULE.match(line):
        text = _MARKER.sub("", line, count=1)
        if text[:1] == "|":
            text = text.strip("|").replace("\\|", "\0").replace("|", " ").replace("\0", "|")
        if text := _CALLOUT.sub("", text):
            section.texts.append(text)


_LINES = 12


# As CommonMark has it


def parse_headings_commonmark(markdown: str) -> list[MarkdownHeading]:
    """Read headings with markdown-it."""
    return list(_by_commonmark(_reader(inline=False).parse(markdown)))  # it counts lines as we do, \r included


def _by_commonmark(tokens: Sequence[Token]) -> Iterator[MarkdownHeading]:
    section: _Section | None = None
    for at, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            if section:
                yield section.mark()
            section = _Section(token.map[0], int(token.tag[1]), tokens[at + 1].content, token.map[1])
        elif section and token.type == "inline" and not _is_title(tokens, at):
            section.prose.append(token.content)
            section.texts.append(_CALLOUT.sub("", token.content))
        elif section and token.type in ("fence", "code_block") and not section.texts:
            section.texts.append("\0" + token.content)
    if section:
        yield section.mark()


def _is_title(tokens: Sequence[Token], at: int) -> bool:
    return tokens[at - 1].type == "heading_open" and tokens[at - 1].level == 0


@cache
def _reader(*, inline: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt  # a tenth of a second, which most builds need not pay

    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    return reader if inline else reader.disable("inline")


def _spoken(token: Token) -> str:
    if token.type in ("softbreak", "hardbreak"):
        return " "
    if token.type == "image":
        return "".join(_spoken(child) for child in token.children or [])
    return token.content if token.type in ("text", "code_inline", "text_special") else ""


# Words


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_TURNING = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
_UNSOUND = re.compile(f"{_CONTROL.pattern}|{_TURNING.pattern}")
_OVERRIDES, _ISOLATES = "\u202d\u202e", "\u2066\u2067\u2068"
_POP, _POP_ISOLATE = "\u202c", "\u2069"
_MARKUP = re.compile(r"[\\`*_\[\]<>&!~$\n]")
_TARGET = re.compile(r"\]\(\s*(?:<([^<>\s]+)>|([^()<>\s]+(?:\([^()\s]*\)[^()\s]*)*))|<(https?://[^>\s]+)>")
_CALLOUT = re.compile(r"^\[![A-Z]+\][ \t]*\n?")


def _opening(texts: Iterable[str]) -> str:
    """Give the first ~100 characters, cut at a word."""
    gathered = ""
    for text in texts:
        code = text.startswith("\0")
        gathered = f"{gathered} {' '.join((text[1:600] if code else _nearly_plain(text[:600])).split())}".strip()
        if len(gathered) > MAX_OPENING_CHARS:
            break
    return truncate_at_word(gathered, MAX_OPENING_CHARS)


def _nearly_plain(inline: str) -> str:
    """Give the text of inline Markdown by its commonest marks: an opening is cut anyway, and a parse costs more."""
    if not _MARKUP.search(inline):
        return inline
    return unescape(_INLINE_MARK.sub(lambda found: next(filter(None, found.groups()[1:]), ""), inline))


_ADDRESS = r"\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)"
_INLINE_MARK = re.compile(
    r"(`+)(?!`)(.+?)(?<!`)\1(?!`)"  # code keeps its stars
    rf"|!\[([^\]]*)\]{_ADDRESS}|\[\^[^\]]*\]:?"  # an image's words stay, a footnote's mark goes
    rf"|\[(?=!\[|[^\[\]]*\]\()|\]{_ADDRESS}"  # what stands around a link's words
    r"|<(https?://[^<>\s]+|[^<>\s@/]+@[^<>\s]+)>|</?[a-zA-Z][^<>]*>"
    r"|\\(?=\n|$)|\\([!-/:-@\[-`{-~])|\*+|~~|(?<![^\W_])_+(?=\w)|(?<=\w)_+(?![^\W_])",
    re.DOTALL,
)

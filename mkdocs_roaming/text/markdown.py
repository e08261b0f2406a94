"""Headings of Markdown, and text on a single line with its sentences.

CommonMark defines what a heading is. A scan line by line finds the same headings on nearly all pages at a fraction of
the cost; where it cannot be sure, markdown-it parses the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LINE_END = re.compile(r"\r\n|\n|\r")


def split_lines(markdown: str) -> list[str]:
    """Return the lines of Markdown without their ends."""
    return LINE_END.split(markdown) if "\r" in markdown else markdown.split("\n")


class MarkdownHeading(Struct, frozen=True):
    """A top-level heading as written, with the link targets of its section.

    `line` is the heading's line, `below` the first line of the section's text.
    """

    line: int
    level: int
    title: str
    targets: tuple[str, ...] = ()
    below: int = 0


FENCE = re.compile(r"( {0,3})(`{3,}(?=[^`]*$)|~{3,})")
"""The beginning of a line that opens fenced code; backticks may not follow a fence of backticks."""


def follow_fence(line: str, fence: str = "") -> str:
    """Return the fence that is open after a line; empty outside of fenced code.

    Containers such as lists and quotes are not known here (CommonMark 0.31, section 4.5).

    Args:
        line: The line, without the markers of a quote around it.
        fence: The fence that is open before it, such as three backticks.
    """
    if fence:
        return "" if line.lstrip(" ")[:1] == fence[0] and _closes(line, fence) else fence
    opening = FENCE.match(line)
    return opening[2] if opening else ""


def parse_headings(markdown: str) -> list[MarkdownHeading]:
    """Return the top-level headings in order."""
    headings = scan_headings(markdown)
    return parse_headings_commonmark(markdown) if headings is None else headings


def strip_markup(inline: str) -> str:
    """Return the text of inline Markdown."""
    if not _MARKUP.search(inline):
        return " ".join(inline.split())
    tokens = _load_parser(inline=True).parseInline(inline)[0].children or []
    return " ".join("".join(map(_token_text, tokens)).split())


_MARKUP = re.compile(r"[\\`*_\[\]<>&!~$\n]")


# Headings, line by line


class _Section(Struct):
    """Text of a section that is being read."""

    line: int
    level: int
    title: str
    below: int
    prose: list[str] = field(default_factory=list)

    def finish(self) -> MarkdownHeading:
        prose = "\n".join([self.title, *self.prose])
        pattern = _TARGET if "<http" in prose else _LINK_TARGET  # its literal prefix makes it three times as fast
        found = pattern.findall(prose) if "](" in prose or pattern is _TARGET else ()
        targets = tuple(target for groups in found for target in groups if target)
        return MarkdownHeading(self.line, self.level, self.title, targets, self.below)


_LINK_TARGET = re.compile(r"\]\(\s*(?:<([^<>\s]+)>|([^()<>\s]+(?:\([^()\s]*\)[^()\s]*)*))")
_TARGET = re.compile(_LINK_TARGET.pattern + r"|<(https?://[^>\s]+)>")
_HEADING = re.compile(r"( {0,3})(#{1,6})(?=[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
_RAW = re.compile(r"<(?:script|pre|style|textarea|[!?])", re.IGNORECASE)


def scan_headings(markdown: str) -> list[MarkdownHeading] | None:
    """Find headings line by line, or return None if CommonMark might find others.

    Headings and fences count at the margin only, where no list or quote can contain them. Anything else that could hide
    a heading (an HTML block, an indented fence or heading) stops the scan only if a heading follows; a setext underline
    stops it at once.
    """
    sections: list[_Section] = []
    fence = ""  # the open fence at the margin
    inner = ""  # an open fence that may be in a list or indented
    html = False  # an HTML block may be open
    before = False  # the previous line is not blank
    unsure = False  # `inner` may have been closed by the end of its list
    for number, line in enumerate(split_lines(markdown)):
        if fence:
            fence, before = follow_fence(line, fence), False
            continue
        stripped = line.strip(" \t")
        if not stripped:
            html = before = False
            continue
        first, mark = line[0], stripped[0]
        if first in "#`~<=-+ \t":
            if mark == "#" and (found := _HEADING.match(line)):
                if inner and found[1] and not unsure:
                    continue
                if html or inner or found[1]:
                    return None
                level = len(found[2])
                sections.append(_Section(number, level, _strip_closing_hashes(line[level:]), number + 1))
                before = False
                continue
            if mark in "`~" and (found := FENCE.match(line)):
                if html:
                    return None
                if found[1] and not unsure:
                    inner = "" if inner and _closes(line, inner) else inner or found[2]
                    continue
                if inner:
                    return None
                fence, before = found[2], False
                continue
            is_underline = before and mark in "=-" and _UNDERLINE.match(line)
            if inner:
                if unsure and is_underline:
                    return None
                unsure, before = unsure or first not in " \t", True
                continue
            if is_underline:
                return None
            if mark == "<":
                if _RAW.match(stripped):
                    return None
                html = html or not stripped.startswith(("<http://", "<https://"))
        elif inner:  # the list with the fence may have ended
            unsure = True
        before = True
        if sections and not html:
            sections[-1].prose.append(stripped)
    return [section.finish() for section in sections]


def _closes(line: str, fence: str) -> bool:
    bare = line.strip(" \t\r\n")
    return len(bare) >= len(fence) and bare == fence[0] * len(bare) and len(line) - len(line.lstrip(" ")) < 4


def _strip_closing_hashes(text: str) -> str:
    """Return the text of a heading. Hashes at its end belong to it unless a space precedes them."""
    text = text.rstrip(" \t")
    bare = text.rstrip("#")
    return (bare if bare[-1:] in (" ", "\t") else text).strip(" \t")


# Headings by CommonMark


def parse_headings_commonmark(markdown: str) -> list[MarkdownHeading]:
    """Return the top-level headings as markdown-it finds them."""
    return list(_iter_headings(_load_parser(inline=False).parse(markdown)))


def _iter_headings(tokens: Sequence[Token]) -> Iterator[MarkdownHeading]:
    section: _Section | None = None
    for index, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            if section:
                yield section.finish()
            section = _Section(token.map[0], int(token.tag[1]), tokens[index + 1].content, token.map[1])
        elif section and token.type == "inline" and not _is_heading_text(tokens, index):
            section.prose.append(token.content)
    if section:
        yield section.finish()


def _is_heading_text(tokens: Sequence[Token], index: int) -> bool:
    return tokens[index - 1].type == "heading_open" and tokens[index - 1].level == 0


@cache
def _load_parser(*, inline: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt  # takes 0.1 s to import, and most builds do not need it

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    return parser if inline else parser.disable("inline")


def _token_text(token: Token) -> str:
    if token.type in ("softbreak", "hardbreak"):
        return " "
    if token.type == "image":
        return "".join(map(_token_text, token.children or []))
    return token.content if token.type in ("text", "code_inline", "text_special") else ""


# Text on a single line


def truncate_at_word(text: str, limit: int) -> str:
    """Return text in at most `limit` characters, cut between words, with `…` in place of the rest."""
    if len(text) <= limit:
        return text
    head = text[:limit]  # one more than fits next to the ellipsis: a word may end there
    cut = head.rfind(" ")
    kept = head[:cut] if cut > limit // 2 else head[:-1]
    return strip_direction_overrides(kept.rstrip(" ,;:.–—-")) + "…"


def to_single_line(text: str) -> str:
    """Return text that is safe on a line next to other text, such as a title, description or breadcrumb.

    White space becomes single spaces. Control characters and lone surrogates are removed, and so are bidirectional
    controls that would affect the rest of the line: overrides, and embeddings and isolates that are not closed within
    the text. Right-to-left text keeps its marks and joiners.
    """
    text = " ".join(text.split())
    if text.isprintable():
        return text
    return " ".join(strip_direction_overrides(_CONTROL.sub("", text)).split())


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_DIRECTION = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
_OVERRIDES, _ISOLATES = "\u202d\u202e", "\u2066\u2067\u2068"
_POP, _POP_ISOLATE = "\u202c", "\u2069"


def strip_direction_overrides(text: str) -> str:
    """Remove overrides of the text direction, and embeddings and isolates without a counterpart."""
    if not _DIRECTION.search(text):
        return text
    removed: set[int] = set()
    opened: list[int] = []
    for index, mark in ((found.start(), found[0]) for found in _DIRECTION.finditer(text)):
        if mark == _POP:
            if not opened or text[opened[-1]] in _ISOLATES:
                removed.add(index)
            elif text[start := opened.pop()] in _OVERRIDES:
                removed |= {start, index}
        elif mark == _POP_ISOLATE:
            inner = next((depth for depth in reversed(range(len(opened))) if text[opened[depth]] in _ISOLATES), None)
            if inner is None:
                removed.add(index)
            else:
                removed |= set(opened[inner + 1 :])
                del opened[inner:]
        else:
            opened.append(index)
    removed |= set(opened)
    return "".join(character for index, character in enumerate(text) if index not in removed)


# Sentences: where the first one ends, and where a text that is too long can be cut


def first_sentence(text: str) -> str:
    """Return a text up to the end of its first sentence; the whole text if no sentence ends in it."""
    return text[: next(_iter_ends(text), len(text))]


def ends_sentence(text: str) -> bool:
    """Return whether a text ends where a sentence does."""
    return text.rstrip(_CLOSING)[-1:] in _TERMINATORS


def shorten(text: str, limit: int) -> str:
    """Return a single line in at most `limit` characters: its first sentences, or else its first clauses and `…`.

    The text is cut between words only if no clause ends in its second half.
    """
    if len(text) <= limit:
        return text
    head = text[:limit]
    if end := max((end for end in _iter_ends(text[: limit + 2]) if end <= limit), default=0):
        kept = strip_direction_overrides(text[:end])
        if end >= limit * _MIN_SENTENCES and len(kept) <= limit:
            return kept
    for pattern, share in _CLAUSE_ENDS:
        cut = max((found.start() for found in pattern.finditer(head[: limit - 1])), default=0)
        if head.count("(", 0, cut) > head.count(")", 0, cut):
            cut = head.rindex("(", 0, cut)
        if cut >= limit * share:
            return _DANGLING.sub("…", strip_direction_overrides(head[:cut].rstrip(_PUNCTUATION)) + "…")
    return _DANGLING.sub("…", truncate_at_word(text, limit))


# Ends of sentences

# The set of all first characters, without alternatives, lets `re` skip other text quickly.
_END = re.compile(
    r"[.!?…؟۔।॥።։။។。！？｡](?:(?:(?<=[.!?…])[.!?…]*[\"'”’»)\]]*|(?<=[؟۔।॥።։။។])[؟۔।॥።։။។]*)(?=\s|$)"
    r"|(?<=[。！？｡])[。！？｡]*[」』）”]*)"  # a space does not follow
)
_TERMINATORS = tuple(".!?…。！？｡؟۔।॥።։။។")
_CLOSING = "\"'”’»)]」』）"
_ABBREVIATION = re.compile(
    r"(?:^|(?<=[\s(\[/]))(?:e\.g|i\.e|eg|ie|vs|cf|viz|approx|resp|incl|excl|esp|al|figs?|eqs?|sec|vol|pp|eds?|dr|mrs?|ms|prof|st|mt"
    r"|z\.b|d\.h|u\.a|i\.d\.r|o\.ä|bzw|ggf|evtl|vgl|ca|p\.ex|p\.ej|[^\W\d_])$",
    re.IGNORECASE,
)
_NUMBER_SIGN = re.compile(r"\b(?:no|nr|núm|fig|eq)$", re.IGNORECASE)


def _iter_ends(text: str) -> Iterator[int]:
    """Yield the offsets after the sentences of a text."""
    for found in _END.finditer(text):
        if _is_end(text, found.start(), found.end()):
            yield found.end()


def _is_end(text: str, start: int, end: int) -> bool:
    following = text[end : end + 2].lstrip()
    if not following:
        return True
    if following[0].islower() or text.count("(", 0, end) > text.count(")", 0, end):
        return False
    if text[start:end] != ".":
        return True
    before = text[max(0, start - 8) : start]
    if following[0].isdigit() and _NUMBER_SIGN.search(before):
        return False
    return not _ABBREVIATION.search(before) or before.endswith(" I")


# Ends of clauses

_PUNCTUATION = " ,;:.–—-，、；：("
_MIN_SENTENCES = 0.4
"""Minimum share of the limit that whole sentences use. Below, more of the text is worth an ellipsis."""

_CLAUSE_ENDS = (
    (
        re.compile(r"[;:,](?=\s)|[；：，、]|\s[–—-](?=\s)|\s(?=\(|(?:which|that|because|although|while|where|so)\s)"),
        0.5,
    ),
    (re.compile(r"\s(?=(?:and|or|but|if|when|unless|until|by|for|from|with|without|using|to|in|as|such)\s)"), 0.6),
)
_DANGLING = re.compile(
    r"(?: (?:an?|the|except|than|not|also|of|to|in|on|at|by|for|from|with|and|or|is|are|be|its|your|this|that))+…$"
)

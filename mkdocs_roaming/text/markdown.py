"""Headings of Markdown, and text on a single line with its sentences.

CommonMark defines what a heading is. A scan line by line finds the same headings on nearly all pages at a fraction of
the cost; where it cannot be sure, markdown-it parses the page.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LINE_END = re.compile(r"\r\n|\n|\r")

FRONT_MATTER = re.compile(
    r"\A\ufeff?---[ \t]*(?:\r\n|\n|\r)((?:[^\r\n]*(?:\r\n|\n|\r))*?)(?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|\Z)"
)
"""Front matter at the beginning of a file; the group is its YAML."""


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


# Code


class CodeBlock(NamedTuple):
    """Fenced code.

    Attributes:
        start: The line of the opening fence.
        end: The line after the code: that of the closing fence, the end of the list or quote, or the end of the text.
        stop: The line after the block, which is the same without a closing fence.
        info: What follows the opening fence.
    """

    start: int
    end: int
    stop: int
    info: str


FENCE_MARK = r"(`{3,}(?=[^`]*$)|~{3,})"
FENCE = re.compile(r"( {0,3})" + FENCE_MARK)
"""The beginning of a line that opens fenced code; backticks may not follow a fence of backticks."""
TABLE_RULE = re.compile(r"[ \t]*\|?(?:[ \t]*:?-+:?[ \t]*\|)+[ \t]*(?::?-+:?[ \t]*)?$")
"""The line below the header of a table."""


def follow_fence(line: str, fence: str = "") -> str:
    """Return the fence that is open after a line; empty outside of fenced code.

    Containers such as lists and quotes are not known here (CommonMark 0.31, section 4.5).

    Args:
        line: The line, without the markers of a quote around it.
        fence: The fence that is open before it, such as three backticks.
    """
    if fence:
        return "" if fence in line and _closes(line, fence) else fence
    opening = FENCE.match(line)
    return opening[2] if opening else ""


def find_code_blocks(markdown: str) -> list[CodeBlock]:
    """Return the fenced code of Markdown in order, also within lists and quotes."""
    if "```" not in markdown and "~~~" not in markdown:
        return []
    blocks: list[CodeBlock] = []
    for token in load_parser(inline=False).parse(markdown):
        if token.type == "fence" and token.map:
            start, stop = token.map
            end = min(start + 1 + token.content.count("\n"), stop)
            blocks.append(CodeBlock(start, end, stop, token.info.strip()))
    return blocks


def find_code(markdown: str) -> list[tuple[int, int]]:
    """Return start and end of all fenced and inline code in order."""
    blocks = find_code_blocks(markdown)
    starts = [0, *(end.end() for end in LINE_END.finditer(markdown)), len(markdown)] if blocks else []
    found: list[tuple[int, int]] = []
    edge = 0
    for start, stop in [*((starts[block.start], starts[block.stop]) for block in blocks), (len(markdown),) * 2]:
        for paragraph in _PARAGRAPH_END.split(markdown[edge:start]):
            found += ((edge + first, edge + last) for first, last, _ in find_code_spans(paragraph))
            edge += len(paragraph)
        found.append((start, stop))
        edge = stop
    return found[:-1]


def find_code_spans(paragraph: str) -> list[tuple[int, int, int]]:
    """Return start and end of each span of inline code, and its number of backticks on each side."""
    runs = [match.span() for match in re.finditer("`+", paragraph)]
    by_length: dict[int, list[int]] = {}
    for start, end in runs:
        by_length.setdefault(end - start, []).append(start)
    spans = list[tuple[int, int, int]]()
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
    code = [*find_code(markdown), (len(markdown) + 1,) * 2]
    parts = list[str]()
    edge = 0
    position = 0
    found = pattern.search(markdown)
    while found:
        while code[position][1] <= found.start():
            position += 1
        start, stop = code[position]
        if start > found.start():
            parts += [markdown[edge : found.start()], replace(found)]
            edge = stop = found.end()
        found = pattern.search(markdown, stop)
    return "".join([*parts, markdown[edge:]])


def _find_clear_end(lines: Sequence[str], number: int, fence: str, indent: str) -> int:
    """Return the line after the code that begins at a line, or -1 if a list around an indented fence decides."""
    width = len(indent)
    for at, line in enumerate(lines[number:], number):
        closes = _closes(line, fence)
        if indent and (line[:width].strip(" ") or _closes(line[width:], fence) != closes):
            return -1
        if closes:
            return at + 1
    return -1 if indent else len(lines)


def _closes(line: str, fence: str) -> bool:
    line = line.rstrip(" \t\r\n")
    bare = line.lstrip(" ")
    return bare.startswith(fence) and bare == fence[0] * len(bare) and len(line) - len(bare) < 4


_PARAGRAPH_END = re.compile(r"(\n[ \t>]*(?:\n|(?=(?:[-*+]|\d{1,9}[.)]|#{1,6})[ \t])))")

# Headings


def parse_headings(markdown: str) -> list[MarkdownHeading]:
    """Return the top-level headings in order."""
    headings = scan_headings(markdown)
    return parse_headings_commonmark(markdown) if headings is None else headings


def strip_markup(inline: str) -> str:
    """Return the text of inline Markdown."""
    if not _MARKUP.search(inline):
        return " ".join(inline.split())
    tokens = load_parser(inline=True).parseInline(inline)[0].children or []
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
_HEADING_OR_FENCE = re.compile(rf"( {{0,3}})(?:(#{{1,6}})(?=[ \t]|$)|{FENCE_MARK})")
_HTML = re.compile(r"<(?!https?://)")
_RAW = re.compile(r"[ \t]*<(?:script|pre|style|textarea|[!?])", re.IGNORECASE)
_RAW_OR_UNDERLINE = re.compile(rf"{_RAW.pattern}| {{0,3}}(?:=+|-+)[ \t]*$", re.IGNORECASE)


def scan_headings(markdown: str) -> list[MarkdownHeading] | None:
    """Find headings line by line, or return None if CommonMark might find others.

    Headings count at the margin only, where no list or quote can contain them. Anything else that could hide one (an
    HTML block, indentation) stops the scan only if a heading follows; a setext underline stops it at once.
    """
    sections = [_Section(0, 0, "", 0)]  # the text above the first heading
    lines = split_lines(markdown)
    code_end = 0
    html = False  # an HTML block may be open
    before = False  # the previous line is not blank
    for number, line in enumerate(lines):
        if number < code_end:
            continue
        stripped = line.strip(" \t")
        if not stripped:
            html = before = False
            continue
        if line[0] in "#`~<=-+ \t":
            if found := _HEADING_OR_FENCE.match(line):
                indent, hashes, fence = found.groups()
                if hashes:
                    title = _strip_closing_hashes(stripped[len(hashes) :])
                    sections.append(_Section(number, len(hashes), title, number + 1))
                elif (code_end := _find_clear_end(lines, number + 1, fence, indent)) < 0:
                    return None
                if html or (indent and hashes):
                    return None
                before = False
                continue
            if (_RAW_OR_UNDERLINE if before else _RAW).match(line):
                return None
            html = html or _HTML.match(stripped) is not None
        before = True
        if not html:
            sections[-1].prose.append(stripped)
    return list(map(_Section.finish, sections[1:]))


def _strip_closing_hashes(text: str) -> str:
    """Return the text of a heading. Hashes at its end belong to it unless a space precedes them."""
    text = text.rstrip(" \t")
    bare = text.rstrip("#")
    return (bare if bare[-1:] in (" ", "\t") else text).strip(" \t")


# Headings by CommonMark


def parse_headings_commonmark(markdown: str) -> list[MarkdownHeading]:
    """Return the top-level headings as markdown-it finds them."""
    return list(_iter_headings(load_parser(inline=False).parse(markdown)))


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
def load_parser(*, inline: bool) -> MarkdownIt:
    """Return the parser of CommonMark with tables, for inline Markdown also or for blocks alone."""
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


_VERSION_WORD = re.compile(
    r"[a-z]|[a-f]+|alpha|beta|rc|pre|preview|dev|post|rev|final|stable|latest|main|master|next|canary|nightly|lts|line|"
    r"experimental|snapshot|release|build|branch|insiders?|milestone|git|cu|cpu|ga|sp|sr"
)


def plain_version(text: str) -> str:
    """Return a version; empty if the text, which others chose, has words that versions do not have."""
    words = re.findall(r"[a-z]+", text.lower())
    is_plain = re.fullmatch(r"[\w.+!-]{0,40}", text, re.ASCII) and all(map(_VERSION_WORD.fullmatch, words))
    return text if is_plain else ""


def truncate_at_word(text: str, limit: int) -> str:
    """Return text in at most `limit` characters, cut between words, with `…` in place of the rest."""
    if len(text) <= limit:
        return text
    head = text[:limit]  # one more than fits next to the ellipsis: a word may end there
    cut = head.rfind(" ")
    kept = head[:cut] if cut > limit // 2 else head[:-1]
    return _DIRECTION.sub("", kept.rstrip(" ,;:.–—-")) + "…"


def to_single_line(text: str) -> str:
    """Return text that is safe on a line next to other text, such as a title, description or breadcrumb.

    White space becomes single spaces. Control characters, lone surrogates, tags and bidirectional controls are
    removed: the latter would affect the rest of the line. Right-to-left text keeps its marks and joiners.
    """
    text = " ".join(text.split())
    return text if text.isprintable() else " ".join(_UNSAFE.sub(r"\1", text).split())


def sanitize(text: str) -> str:
    """Return text that cannot move the cursor of a terminal, change its title, or change or hide what follows.

    Control characters, bidirectional controls and invisible tag characters are removed, but tabs and line feeds stay.
    """
    return CONTROL.sub(r"\1", text)


def remove_invisible(text: str) -> str:
    """Return text without the characters that readers do not see, or that change the order of what they see.

    Tabs and ends of lines stay; Unicode's separators of lines become spaces. Joiners next to a character that is not
    ASCII stay: scripts and emoji need them.
    """
    return _JOINERS.sub("", _INVISIBLE.sub("", _SEPARATOR.sub(" ", text)))


def escape_markup(text: str) -> str:
    """Return text on a single line in which Markdown finds no markup; characters that mean nothing stay as they are."""
    return _SPECIAL.sub(r"\\\g<0>", to_single_line(text))


_SPECIAL = re.compile(r"[\\`*\[\]]|(?<![^\W_])_|_(?![^\W_])|<(?=[a-z/!?])|&(?=#?\w+;)|~(?=~)|(?<=~)~", re.IGNORECASE)
_DIRECTION = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
"""Embeddings, overrides and isolates, and their ends."""
_INVISIBLE = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f"
    r"\u202a-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e01ef]"
)
"""Controls, direction controls, fillers, characters without a width, tags, variation selectors of rare letters."""
_SEPARATOR = re.compile(r"[\u2028\u2029]")
_JOINERS = re.compile(
    r"(?<![^\x00-\x7f])[\u200c\u200d]+(?![^\x00-\x7f])|(?<=[\u200c\u200d])[\u200c\u200d]+"
    r"|(?<=[\ufe00-\ufe0f])[\ufe00-\ufe0f]+"
)
FLAG = re.compile("\U0001f3f4[\U000e0061-\U000e007a\U000e0030-\U000e0039]{3,6}\U000e007f")
"""Emoji of flags of regions, which tag characters spell; elsewhere they are invisible text."""
CONTROL = re.compile(rf"({FLAG.pattern})|[\x00-\x08\x0b-\x1f\x7f-\x9f\U000e0000-\U000e007f]|{_DIRECTION.pattern}")
"""Characters to remove; the first group is a flag, which stays."""
_UNSAFE = re.compile(rf"[\ud800-\udfff]|{CONTROL.pattern}")


# Sentences: where the first one ends, and where a text that is too long can be cut


def first_sentence(text: str) -> str:
    """Return a text up to the end of its first sentence; the whole text if no sentence ends in it."""
    return text[: next(_iter_ends(text), len(text))]


def iter_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text without the space between them."""
    while text:
        sentence = first_sentence(text)
        text = text[len(sentence) :].lstrip()
        yield sentence


def ends_sentence(text: str) -> bool:
    """Return whether a text ends where a sentence does."""
    return text.rstrip(_CLOSING)[-1:] in _TERMINATORS


def pluralize(count: int, noun: str) -> str:
    """Return a number with its noun, such as `2 pages`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def to_italics(text: str) -> str:
    """Return a text in italics, as lines that a model has written are marked."""
    return "*{}*".format(text.replace("*", "\\*"))


def shorten(text: str, limit: int) -> str:
    """Return a single line in at most `limit` characters: its first sentences, or else its first clauses and `…`.

    The text is cut between words only if no clause ends in its second half.
    """
    if len(text) <= limit:
        return text
    head = text[:limit]
    end = max((end for end in _iter_ends(text[: limit + 2]) if end <= limit), default=0)
    if end >= limit * _MIN_SENTENCES:
        return text[:end]
    for pattern, share in _CLAUSE_ENDS:
        cut = max((found.start() for found in pattern.finditer(head[: limit - 1])), default=0)
        if head.count("(", 0, cut) > head.count(")", 0, cut):
            cut = head.rindex("(", 0, cut)
        if cut >= limit * share:
            return _DANGLING.sub("…", head[:cut].rstrip(_PUNCTUATION) + "…")
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
    if following[0].isdigit() and re.search(r"(?i)\b(?:no|nr|núm|fig|eq)$", before):
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

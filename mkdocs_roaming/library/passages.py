"""The passage of a section that matches a query best, for readers: whole blocks, with a mark for what is left out.

A short section is its own passage. Of a longer one, the passage begins with the block that has the rarest words of the
query, or with the text that introduces it, and continues to the end of the section or until it is full: what restricts
or reverses a statement comes after it. What ends no sentence is shown with the block below, and a list with the text
above. Short callouts at the beginning stay, too. Code is never cut; a long table keeps its header and the rows that
match, a long list the items that match. Footnotes follow at the end.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from html import unescape
from itertools import pairwise
from textwrap import dedent, indent
from types import MappingProxyType
from typing import NamedTuple

from markdown_it.common.utils import normalizeReference

from mkdocs_roaming.library.snippets import GAP, HEADING, make_scorer
from mkdocs_roaming.text.blocks import (
    Block,
    follow_fence,
    is_title,
    lengthen_fence,
    line_offsets,
    parse_blocks,
    sub_outside_code,
)
from mkdocs_roaming.text.markdown import ends_sentence, escape_markup, truncate_at_word
from mkdocs_roaming.text.tokenizer import Word, collect_terms, extract_terms

MAX_PASSAGE_CHARS = 1_000
"""Length up to which a passage grows; it is longer if its first blocks are, or if no more than as much is left."""

_MAX_BLOCK_CHARS = 1_500  # of a longer block a part is shown
_MAX_LIST_CHARS = 2_000
_MAX_LEAD_CHARS = 2_500  # a longer passage gets no further blocks that introduce others
_MAX_ADDRESS_CHARS = 2_000
_MAX_NOTE_CHARS = 300  # of a callout or a footnote
_LEAD_KINDS = frozenset({"paragraph", "heading"})
_TEXT_KINDS = frozenset({"paragraph", "quote"})
_CODE_KINDS = frozenset({"fence", "code"})
_HEADING = re.compile(HEADING.pattern + r"|\A\s*[^\s\-*+>#|`~][^\n]*\n {0,3}(?:=+|-+)[ \t]*(?:\n|\Z)")
"""The heading of a section, `## Title` or underlined; a parse of the whole section would take longer."""
_ADDRESS = re.compile(rf"(?<=\])\([^()\s]{{0,{_MAX_ADDRESS_CHARS}}}\)")
"""The address of a link: `(https://example.org)` after its text."""
_LEFT_OUT = re.compile(
    r"(?:!\[[^\[\]]*\]|\[\s*\])(?:\((?:[^()]|\([^()]*\))*\)|\[[^\[\]\n]*\])"  # an image, or the link around one
    r"|(?<![ \t])[ \t]*\[\^([^\[\]\s]+)\]"  # the mark of a footnote, which would look like a citation
    r"|<!--(?:(?!<!--).)*?-->|(?<!\\)</?(?:(?:script|style|iframe|object|svg|template)\b"
    r"|[a-z][\w-]*(?:\s+[a-z@:][\w:.-]*)+\s*=)[^<>]*>",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)
"""What a passage is shown without. The parser knows no footnotes, and does not say where in a line an image is."""
_WARNING = re.compile(r"\s*> \[!(?:WARNING|CAUTION)\].*(?:\n>.*)*")
"""A callout that warns, as the publisher writes it: `> [!WARNING]` and the lines of its quote."""
_FOOTNOTE = re.compile(r"^ {0,3}\[\^([^\[\]\s]+)\]:(.*(?:\n(?! {0,3}\[\^).+)*)\n?", re.MULTILINE)
"""A footnote, which CommonMark does not know: `[^1]: Text` and the lines below it."""
_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_SUPERSCRIPT = str.maketrans("0123456789", _SUPERSCRIPTS)
_ANY_SUPERSCRIPT = re.compile(f"[{_SUPERSCRIPTS}]+")
_AROUND_TEXT = f'*_~`(["“„«¿¡ \n{_SUPERSCRIPTS}'
"""Markup and quotation marks before the first letter of a text, markup and footnotes after its last one."""
_REFERENCE = re.compile(r"(?<![\w\]\\!])\[(?!\d+\])([^\[\]\n^]+)\]\[([^\[\]\n^]*)\]")
"""A link whose address is elsewhere: `[text][name]`, `[name][]`; the parser of blocks leaves it as it is."""
DEFINITION = re.compile(
    r"^ {0,3}\[(?:\^[^\[\]\s]+\]:.*(?:\n(?! {0,3}\[).+)*|[^\[\]\n]+\]:[ \t]*\S+[ \t]*$)", re.MULTILINE
)
"""Matches footnotes, and the addresses of links such as `[text][name]`."""

_HTML = re.compile(
    r"<(script|style)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)|</?[a-z][^<>]*>|<[!?][^<>]*>", re.IGNORECASE | re.DOTALL
)
"""A tag or a comment in a block of raw HTML, which may be a fragment that no parser of HTML reads as it is meant."""
_QUOTE_MARK = re.compile(r"^ {0,3}> ?", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])(?:\s+|(?<=[。！？]))")
"""The space after a sentence, which the writing of Chinese and Japanese does not have."""


class _Part(NamedTuple):
    """A block as a passage shows it.

    Attributes:
        kind: Its kind; that of a title which is no heading is one, too.
        text: Its Markdown.
        size: The number of characters without the addresses of links.
        terms: The terms of the query in it.
        rows: Of a list or a table, the Markdown of its items or rows; a table's first is the header.
        continues: Whether it begins in the middle of a sentence.
    """

    kind: str
    text: str
    size: int
    terms: Collection[str]
    rows: tuple[str, ...] = ()
    continues: bool = False

    @property
    def max_chars(self) -> int:
        """Length of which a part is shown if it is longer."""
        return _MAX_LIST_CHARS if self.kind == "list" else _MAX_BLOCK_CHARS

    @property
    def is_callout(self) -> bool:
        """Whether it is a short callout, such as a warning."""
        return self.size <= _MAX_NOTE_CHARS and self.text.lstrip().startswith("> [!")

    @property
    def is_complete(self) -> bool:
        """Whether a sentence ends at its end."""
        return ends_sentence(_ADDRESS.sub("", self.text).rstrip(_AROUND_TEXT))

    def needs(self, above: _Part) -> bool:
        """Return whether it says nothing without the block above it, or that one nothing without it.

        Lines that end no sentence, such as the captions of pictures, do not introduce each other.
        """
        if above.kind == "heading" or above.text.rstrip(_AROUND_TEXT).endswith((":", "：")):
            return True
        if above.kind == "paragraph" and self.kind not in _LEAD_KINDS:
            return True
        is_introduced = self.continues or (above.kind == "paragraph" and self.is_complete)
        return is_introduced and not above.is_complete


class _Query(NamedTuple):
    terms: set[str]
    language: str

    def find(self, text: str) -> set[str]:
        """Return the terms in a text."""
        return self.terms.intersection(extract_terms(text, self.language))


def _measure(markdown: str) -> int:
    return len(_ADDRESS.sub("", markdown))


def _has_text(markdown: str) -> bool:
    return any(character.isalnum() for character in markdown)


def find_warning(markdown: str) -> str:
    """Return the short warning that a section begins with; empty if there is none."""
    warning = _WARNING.match(_HEADING.sub("", markdown, count=1))
    if warning is None or _measure(warning[0]) > _MAX_NOTE_CHARS:
        return ""
    return _leave_out(warning[0].strip())


def choose_passage(
    markdown: str, words: Sequence[Word], language: str, *, max_chars: int = MAX_PASSAGE_CHARS, definitions: str = ""
) -> str:
    """Return the passage of a section for a query; empty if the section has no text of its own.

    Args:
        markdown: The section's text, with its heading.
        words: The words of the query.
        language: The site's language.
        max_chars: Length up to which the passage grows.
        definitions: The footnotes and addresses of links (`DEFINITION`) of its page.
    """
    body = _HEADING.sub("", markdown, count=1)
    footnotes: dict[str, str] = {}

    def collect(match: re.Match[str]) -> str:
        note = _leave_out(match[2]).replace("\\\n", "\n")
        line = " ".join(note.split())
        footnotes.setdefault(match[1], truncate_at_word(line, _MAX_NOTE_CHARS))
        return ""

    text = sub_outside_code(_FOOTNOTE, collect, _resolve_references(f"{definitions}\n\n{body}"))
    marks = {label: str(number).translate(_SUPERSCRIPT) for number, label in enumerate(footnotes, 1)}
    query = _Query(collect_terms(words), language)
    passage = _choose(_leave_out(text, marks), query, max_chars)
    used = set(_ANY_SUPERSCRIPT.findall(passage))
    notes = [f"{mark} {footnotes[label]}" for label, mark in marks.items() if mark in used]
    return "\n\n".join([passage, *notes])


def _choose(markdown: str, query: _Query, max_chars: int) -> str:
    parts = [part for part in _split_parts(markdown, query) if _has_text(part.text)]
    weigh = make_scorer([part.terms for part in parts])
    best = max(range(len(parts)), key=lambda at: weigh(parts[at].terms), default=0)
    start, end = _choose_range(parts, best, max_chars)
    shown = [_shorten(part, query) for part in parts[start:end]]
    if not any(text != GAP for text in shown):
        return ""
    callouts: list[str] = []
    for part in parts[:start]:
        if part.is_callout:
            callouts.append(part.text.strip())
        elif part.kind not in _CODE_KINDS:
            break
    gap_above = GAP if start > len(callouts) else ""
    gap_below = GAP if end < len(parts) and shown[-1] != GAP else ""
    return "\n\n".join(filter(None, [*callouts, gap_above, *shown, gap_below]))


def _choose_range(parts: Sequence[_Part], best: int, max_chars: int) -> tuple[int, int]:
    """Return start and end of the parts around the best one."""
    sizes = [min(part.size, part.max_chars) for part in parts]
    start = best
    end = best + 1

    def is_joined(at: int) -> bool:
        return sum(sizes[start:end]) <= _MAX_LEAD_CHARS and parts[at].needs(parts[at - 1])

    while start and is_joined(start):
        start -= 1
    while end < len(parts):
        may_negate = end == best + 1 and parts[end].kind in _TEXT_KINDS  # may say that the opposite is true
        fits = sum(sizes[start : end + 1]) <= max_chars or sum(part.size for part in parts[end:]) <= max_chars
        if not (fits or may_negate or is_joined(end)):
            break
        end += 1
    while start and (sum(sizes[start - 1 : end]) <= max_chars or is_joined(start)):
        start -= 1
    return (0 if sum(sizes[:start]) <= _MAX_NOTE_CHARS else start), end


# Parts of long blocks


def _shorten(part: _Part, query: _Query) -> str:
    """Return a block, or a part of a long one; of long code only `GAP`."""
    if part.size <= part.max_chars:
        return part.text.strip("\r\n")
    match part.kind:
        case "list" | "table":
            return _choose_rows(part, query)
        case "quote":
            return indent(_choose_inside(_QUOTE_MARK.sub("", part.text), query), "> ", lambda line: True)
        case "paragraph":
            return _cut_at_sentence(part.text)
        case _:
            return GAP


def _choose_inside(markdown: str, query: _Query) -> str:
    return _choose(markdown, query, MAX_PASSAGE_CHARS) or GAP


def _shorten_item(item: str, query: _Query) -> str:
    """Return an item of a list with a part of its blocks."""
    mark = item.split(maxsplit=1)[0]
    margin = " " * (item.index(mark) + len(mark) + 1)
    inner = dedent(margin + item[len(margin) :])
    return item[: len(margin)] + indent(_choose_inside(inner, query), margin)[len(margin) :]


def _choose_rows(part: _Part, query: _Query) -> str:
    """Return the header of a table and the rows that match best, or the items of a list, in their order."""
    is_table = part.kind == "table"
    rows = list(part.rows)
    order = sorted(range(is_table, len(rows)), key=lambda at: (-len(query.find(rows[at])), at))
    first = 0 if is_table else order.pop(0)
    if not is_table and _measure(rows[first]) > part.max_chars:
        rows[first] = _shorten_item(rows[first], query)
    room = part.max_chars - _measure(rows[first])
    chosen = {first}
    for at in order:
        size = _measure(rows[at])
        if size <= room:
            room -= size
            chosen.add(at)
    margin = part.text[: len(part.text) - len(part.text.lstrip(" "))]
    gap = f"| {GAP} |" if is_table else f"{margin}- {GAP}"
    shown = [row.strip("\r\n") if at in chosen else gap for at, row in enumerate(rows)]
    return "\n".join(row for row, below in pairwise([*shown, ""]) if row != gap or below != gap)


def _cut_at_sentence(text: str) -> str:
    ends = [match.start() for match in _SENTENCE_END.finditer(text, 0, _MAX_BLOCK_CHARS)]
    start = text[: ends[-1]] if ends else ""
    has_fence = any(map(follow_fence, start.splitlines()))  # inline code became one
    return GAP if has_fence else f"{start} {GAP}".lstrip()


# Blocks


def _split_parts(markdown: str, query: _Query) -> Iterator[_Part]:
    """Yield the blocks of Markdown in order, without diagrams."""
    lines = line_offsets(markdown)
    for block in parse_blocks(markdown).blocks:
        if block.info.strip() == "mermaid":
            continue
        text = markdown[lines[block.start] : lines[block.end]]
        if block.kind == "fence":
            text = _format_fence(block)
        elif block.kind == "html":
            text = escape_markup(unescape(_HTML.sub(" ", text)))
        rows = [markdown[lines[row.start] : lines[row.end]] for row in block.children]
        if block.kind == "table":
            rows[0] = markdown[lines[block.start] : lines[block.start + 2]]  # with the line below the header
        elif block.kind == "list":
            rows = list(filter(_has_text, rows))
            text = "".join(rows)
        is_paragraph = block.kind == "paragraph"
        kind = "heading" if is_paragraph and is_title(block.text) else block.kind
        continues = is_paragraph and text.lstrip(_AROUND_TEXT)[:1].islower()
        yield _Part(kind, text, _measure(text), query.find(text), tuple(rows), continues)


def _format_fence(fence: Block) -> str:
    """Return fenced code between fences that every client reads as those of one block."""
    code = fence.text.removesuffix("\n")
    mark = lengthen_fence(fence.markup, code)
    opening = mark + fence.info.replace("`", "")
    return "\n".join([opening, code, mark] if code else [opening, mark])


def _leave_out(markdown: str, marks: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return Markdown without images and raw HTML outside of code, and with `marks` for those of footnotes."""
    before = ""
    while markdown != before and _LEFT_OUT.search(markdown):  # what remains may form another one
        before = markdown
        markdown = sub_outside_code(_LEFT_OUT, lambda match: marks.get(match[1], ""), markdown)
    return markdown


def _resolve_references(markdown: str) -> str:
    """Return Markdown with the addresses of `[text][name]` in place, or the text alone if there is none."""
    if "][" not in markdown:
        return markdown
    references = parse_blocks(markdown).references

    def resolve(match: re.Match[str]) -> str:
        reference = references.get(normalizeReference(match[2] or match[1]))
        if reference is None or not reference.href:
            return match[1]
        address = reference.href.replace("(", "%28").replace(")", "%29")
        return f"[{match[1]}]({address})"

    return sub_outside_code(_REFERENCE, resolve, markdown)

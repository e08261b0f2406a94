"""The passage of a section that matches a query best, for readers: whole blocks, with a mark for what is left out.

A short section is its own passage. Of a longer one, the passage begins with the block that has the rarest words of the
query, or with the sentence that introduces it, and continues to the end of the section or until it is full: what
restricts or reverses a statement comes after it. Short callouts at the beginning stay, too. Code is never cut; a long
table keeps its header and the rows that match, a long list the items that match. Footnotes follow at the end.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import unescape
from itertools import chain, pairwise, takewhile
from math import log
from types import MappingProxyType

from markdown_it.common.utils import normalizeReference
from markdown_it.token import Token
from msgspec import Struct

from mkdocs_roaming.library.snippets import GAP, HEADING
from mkdocs_roaming.text.blocks import follow_fence, load_parser, sub_outside_code
from mkdocs_roaming.text.markdown import escape_markup, truncate_at_word
from mkdocs_roaming.text.tokenizer import Word, extract_terms

MAX_PASSAGE_CHARS = 1_000
"""Length up to which a passage grows; it is longer if its first blocks are, or if no more than as much is left."""

_MAX_BLOCK_CHARS = 1_500  # of a longer block a part is shown
_MAX_LEAD_CHARS = 2_500  # a longer passage gets no further blocks that introduce others
_MAX_ADDRESS_CHARS = 2_000
_MAX_NOTE_CHARS = 300  # of a callout or a footnote
_LEAD_TYPES = frozenset({"paragraph", "heading"})
_TEXT_TYPES = frozenset({"paragraph", "note"})
_LINE_END = re.compile(r"\r\n|\n|\r")
_HEADING = re.compile(HEADING.pattern + r"|\A\s*[^\s\-*+>#|`~][^\n]*\n {0,3}(?:=+|-+)[ \t]*(?:\n|\Z)")
_ADDRESS = re.compile(rf"(?<=\])\([^()\s]{{0,{_MAX_ADDRESS_CHARS}}}\)")
_LEFT_OUT = re.compile(
    r"(?:!\[[^\[\]]*\]|\[\s*\])(?:\((?:[^()]|\([^()]*\))*\)|\[[^\[\]\n]*\])"  # an image, or the link around one
    r"|(?<![ \t])[ \t]*\[\^([^\[\]\s]+)\]"  # the mark of a footnote, which would look like a citation
    r"|<!--(?:(?!<!--).)*?-->|(?<!\\)</?(?:(?:script|style|iframe|object|svg|template)\b"
    r"|[a-z][\w-]*(?:\s+[a-z@:][\w:.-]*)+\s*=)[^<>]*>",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)
_WARNING = re.compile(r"\s*> \[!(?:WARNING|CAUTION)\].*(?:\n>.*)*")
_FOOTNOTE = re.compile(r"^ {0,3}\[\^([^\[\]\s]+)\]:(.*(?:\n(?! {0,3}\[\^).+)*)\n?", re.MULTILINE)
_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_ANY_SUPERSCRIPT = "[⁰¹²³⁴⁵⁶⁷⁸⁹]+"
_REFERENCE = re.compile(r"(?<![\w\]\\!])\[(?!\d+\])([^\[\]\n^]+)\]\[([^\[\]\n^]*)\]")
DEFINITION = re.compile(
    r"^ {0,3}\[(?:\^[^\[\]\s]+\]:.*(?:\n(?! {0,3}\[).+)*|[^\[\]\n]+\]:[ \t]*\S+[ \t]*$)", re.MULTILINE
)
"""Matches footnotes, and the addresses of links such as `[text][name]`."""

_HTML = re.compile(
    r"<(script|style)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)|</?[a-z][^<>]*>|<[!?][^<>]*>", re.IGNORECASE | re.DOTALL
)
_QUOTE_MARK = re.compile(r"^ {0,3}> ?", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])(?:\s+|(?<=[。！？]))")


class _Block(Struct, frozen=True):
    """A block of Markdown: a paragraph, a list, a table, code or a note.

    Attributes:
        kind: What it is.
        text: Its Markdown.
        rows: Of a list or a table, the Markdown of its items or rows; a table's first is the header.
    """

    kind: str
    text: str
    rows: tuple[str, ...] = ()

    @property
    def is_callout(self) -> bool:
        """Whether it is a short callout, such as a warning."""
        return self.size <= _MAX_NOTE_CHARS and self.text.lstrip().startswith("> [!")

    @property
    def size(self) -> int:
        """The number of characters without the addresses of links."""
        return _measure(self.text)


def _measure(markdown: str) -> int:
    return len(_ADDRESS.sub("", markdown))


def find_warning(markdown: str) -> str:
    """Return the short warning that a section begins with; empty if there is none."""
    found = _WARNING.match(_HEADING.sub("", markdown, count=1))
    return _leave_out(found[0].strip()) if found and _measure(found[0]) <= _MAX_NOTE_CHARS else ""


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
    if not re.search(r"\w", _leave_out(body)):
        return ""
    footnotes = dict[str, str]()

    def collect(match: re.Match[str]) -> str:
        note = _leave_out(match[2]).replace("\\\n", "\n")
        footnotes.setdefault(match[1], truncate_at_word(" ".join(note.split()), _MAX_NOTE_CHARS))
        return ""

    text = sub_outside_code(_FOOTNOTE, collect, _resolve_references(f"{definitions}\n\n{body}"))
    marks = {label: str(number).translate(_SUPERSCRIPT) for number, label in enumerate(footnotes, 1)}
    terms = {term for word in words for run in word.runs for term in run}
    passage = _choose(_leave_out(text, marks), terms, language, max_chars)
    used = set(re.findall(_ANY_SUPERSCRIPT, passage))
    return "\n\n".join([passage, *(f"{mark} {footnotes[label]}" for label, mark in marks.items() if mark in used)])


def _choose(markdown: str, terms: set[str], language: str, max_chars: int) -> str:
    blocks = [block for block in _split_blocks(markdown) if re.search(r"\w", block.text)]
    found = [terms.intersection(extract_terms(block.text, language)) for block in blocks]
    counts = Counter(chain.from_iterable(found))
    scores = [sum(log(1 + len(blocks) / counts[term]) for term in one) for one in found]
    best = max(range(len(blocks)), key=scores.__getitem__, default=0)
    start, end = _choose_range(blocks, best, max_chars)
    shown = [_shorten(block, terms, language) for block in blocks[start:end]]
    first = takewhile(lambda block: block.is_callout or block.kind == "code", blocks[:start])
    callouts = [block.text.strip() for block in first if block.is_callout]
    texts = [*callouts, GAP if start > len(callouts) else "", *shown, GAP if end < len(blocks) else ""]
    return "\n\n".join(filter(None, texts)) if any(text != GAP for text in shown) else ""


def _choose_range(blocks: Sequence[_Block], best: int, max_chars: int) -> tuple[int, int]:
    """Return start and end of the blocks around the best one."""
    sizes = [min(block.size, _MAX_BLOCK_CHARS) for block in blocks]
    start = _find_start(blocks, sizes, best, best + 1, 0)
    end = _find_end(blocks, sizes, start, best, max_chars)
    return _find_start(blocks, sizes, start, end, max_chars), end


def _find_start(blocks: Sequence[_Block], sizes: Sequence[int], start: int, end: int, max_chars: int) -> int:
    """Return the start with the blocks that introduce those from start to end, and with those that fit."""
    size = sum(sizes[start:end])
    while start and (
        size + sizes[start - 1] <= max_chars
        or (size <= _MAX_LEAD_CHARS and _is_introduced(blocks[start - 1], blocks[start]))
    ):
        start -= 1
        size += sizes[start]
    return start


def _find_end(blocks: Sequence[_Block], sizes: Sequence[int], start: int, best: int, max_chars: int) -> int:
    """Return the end with the blocks below the best one that fit, or may not be left out."""
    end = min(best + 1, len(blocks))
    size = sum(sizes[start:end])
    while end < len(blocks):
        fits = size + sizes[end] <= max_chars or (size <= _MAX_LEAD_CHARS and _introduces(blocks[end - 1]))
        may_negate = end == best + 1 and blocks[end].kind in _TEXT_TYPES  # may say that the opposite is true
        if not (fits or may_negate or sum(block.size for block in blocks[end:]) <= max_chars):
            break
        size += sizes[end]
        end += 1
    return end


def _is_introduced(before: _Block, block: _Block) -> bool:
    """Return whether a block is not understood without the one before it."""
    return before.kind in _LEAD_TYPES and (_introduces(before) or block.kind not in _LEAD_TYPES)


def _introduces(block: _Block) -> bool:
    return block.kind == "heading" or block.text.rstrip().endswith((":", "："))


# Parts of long blocks


def _shorten(block: _Block, terms: set[str], language: str) -> str:
    """Return a block, or a part of a long one; of long code only `GAP`."""
    if block.size <= _MAX_BLOCK_CHARS:
        return block.text.strip("\r\n")
    match block.kind:
        case "list" | "table":
            return _choose_rows(block, terms, language)
        case "note":
            inner = _choose(_QUOTE_MARK.sub("", block.text), terms, language, MAX_PASSAGE_CHARS)
            return re.sub(r"^", "> ", inner or GAP, flags=re.MULTILINE)
        case "paragraph":
            return _cut_at_sentence(block.text)
        case _:
            return GAP


def _choose_rows(block: _Block, terms: set[str], language: str) -> str:
    """Return the header of a table and the rows that match best, or the items of a list, in their order."""
    head, rows = (block.rows[:1], block.rows[1:]) if block.kind == "table" else ((), block.rows)
    counts = [len(terms.intersection(extract_terms(row, language))) for row in rows]
    room = _MAX_BLOCK_CHARS - sum(map(_measure, head))
    chosen: list[int] = []
    for at in sorted(range(len(rows)), key=lambda one: (-counts[one], one)):
        if (size := _measure(rows[at])) <= room:
            room -= size
            chosen.append(at)
    gap = f"| {GAP} |" if head else re.sub(r"(?<! )(?! ).*", f"- {GAP}", rows[0], count=1, flags=re.DOTALL)
    shown = list(head)
    last = -1
    for at in sorted(chosen):
        shown += [*([gap] if at > last + 1 else []), rows[at]]
        last = at
    shown += [gap] if last + 1 < len(rows) else []
    return "\n".join(row.strip("\r\n") for row in shown)


def _cut_at_sentence(text: str) -> str:
    ends = [match.start() for match in _SENTENCE_END.finditer(text, 0, _MAX_BLOCK_CHARS)]
    start = text[: ends[-1]] if ends else ""
    return (
        GAP if any(map(follow_fence, start.splitlines())) else f"{start} {GAP}".lstrip()
    )  # inline code became a fence


# Blocks


def _split_blocks(markdown: str) -> Iterator[_Block]:
    """Yield the blocks of Markdown in order, without diagrams."""
    lines = [0, *(match.end() for match in _LINE_END.finditer(markdown)), len(markdown)]
    tokens = load_parser(inline=False).parse(markdown)
    tops = [at for at, token in enumerate(tokens) if token.level == 0 and token.map and token.nesting >= 0]
    for at, following in pairwise([*tops, len(tokens)]):
        kind = _KINDS.get(tokens[at].type, "other")
        first, last = tokens[at].map or (0, 0)
        if tokens[at].info.strip() == "mermaid":
            continue
        spans = [(first, last), *_find_rows(tokens[at + 1 : following], kind)]
        if kind == "table" and len(spans) > 1:
            spans[1] = (first, first + 2)  # with the line below the header
        texts = [markdown[lines[start] : lines[min(end, len(lines) - 1)]] for start, end in spans]
        if tokens[at].type == "fence":
            texts = [_format_fence(tokens[at])]
        elif tokens[at].type == "html_block":
            texts = [escape_markup(unescape(_HTML.sub(" ", texts[0])))]
        yield _Block(kind, texts[0], tuple(texts[1:]))


def _format_fence(token: Token) -> str:
    """Return fenced code between fences that every client reads as those of one block."""
    code = token.content.removesuffix("\n")
    mark = token.markup
    longest = max(map(len, re.findall(f"{mark[0]}+", code)), default=0)
    mark = mark[0] * max(len(mark), longest + 1)
    return "\n".join([f"{mark}{token.info.replace('`', '')}", *([code] if code else []), mark])


def _leave_out(markdown: str, marks: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return Markdown without images and raw HTML outside of code, and with `marks` for those of footnotes."""
    before = ""
    while markdown != before and _LEFT_OUT.search(markdown):  # what remains may form another one
        before = markdown
        markdown = sub_outside_code(_LEFT_OUT, lambda match: marks.get(match[1], ""), markdown)
    return markdown


def _resolve_references(markdown: str) -> str:
    """Return Markdown with the addresses of `[text][name]` in place, or the text alone if there is none."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    if "][" in markdown:
        load_parser(inline=False).parse(markdown, found)

    def resolve(match: re.Match[str]) -> str:
        definition = found.get("references", {}).get(normalizeReference(match[2] or match[1]))
        address = definition["href"].replace("(", "%28").replace(")", "%29") if definition else ""
        return f"[{match[1]}]({address})" if address else match[1]

    return sub_outside_code(_REFERENCE, resolve, markdown)


def _find_rows(tokens: Sequence[Token], kind: str) -> Iterator[tuple[int, int]]:
    """Yield the lines of the rows of a table, or of the items of a list."""
    row = {"table": ("tr_open", 2), "list": ("list_item_open", 1)}.get(kind)
    for token in tokens:
        if (token.type, token.level) == row and token.map:
            yield token.map[0], token.map[1]


_KINDS = {
    "paragraph_open": "paragraph",
    "heading_open": "heading",
    "fence": "code",
    "code_block": "code",
    "table_open": "table",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "blockquote_open": "note",
}

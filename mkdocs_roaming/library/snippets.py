"""Parts of a section's text that match a query: snippets for lists of hits, and whole blocks for models."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from itertools import chain
from math import log1p
from typing import NamedTuple

from mkdocs_roaming.text.blocks import TABLE_RULE, follow_fence
from mkdocs_roaming.text.markdown import truncate_at_word
from mkdocs_roaming.text.tokenizer import Word, collect_terms, estimate_tokens, extract_terms

SNIPPET_CHARS = 200
"""Maximum length of a snippet."""

GAP = "…"
"""The beginning of a line in place of text that is left out."""

_SEARCHED_CHARS = 200_000
_MAX_LEAD_CHARS = 200
"""Maximum length of a section's first sentences before a later part of it."""
_MAX_READ_CHARS = 1_000  # of a block whose beginning is named, with the addresses of its links
_MAX_NAMED = 3
_MAX_NAMED_CHARS = 40
# Lines and markup are read by patterns here: snippets of hundreds of sections are made for a search, of parts of texts
# that no parser of whole blocks could read, and a parse of a section takes longer than its snippet.

_INTRODUCTION = re.compile(r"[:：][*_]*\s*\Z|\A[ >]*(?:#{1,6}\s|\[!\w+\]\s*\Z|(?:[-*+] )?\*\*.+\*\*\s*\Z)")
"""A line that says nothing without those below it: it ends with a colon, or is the title of a section or a note."""
_LEAD_END = re.compile(r"[.!?。！？](?=\s)|\n(?=\s*(?:[-*+]|\d+[.)])\s|\s*\n)")
"""The end of a sentence, of a paragraph, or of a line above a list."""
_FENCE_OR_TABLE = re.compile(r"^[ >\t]*(?:`{3}|~{3}|\|)", re.MULTILINE)
"""The beginning of a line of code or of a table: "```py", `> | cell`."""
_CUTS = 8  # number of places in a part where it may begin within a long block
_MAX_LEAD = 60
"""Maximum number of characters before the first match."""
_REPEATED_TERM = 0.01
"""What a further occurrence of terms counts in a snippet, where a different term counts 1."""
_KEPT_SECTIONS = 512
_KEPT_WORDS = 1_024
HEADING = re.compile(r"\A\s*#{1,6}[ \t][^\n]*")
"""The heading with which a section begins: `## Title`. Results show the title already."""
_CHUNK = re.compile(r"\S{1,40}")  # scripts without spaces have no words to split at
_INLINE_MARKUP = re.compile(r"^[ \t>]*`{3,}.*$|`+|\*\*", re.MULTILINE)
"""Marks of code, with the line of a fence, and of bold text."""
_MARKUP = re.compile(
    r"!?\[([^\]\n]*)\]\([^)\s]*(?:\s+\"[^\"\n]*\")?\)"  # a link or an image: its text remains
    r"|^[ \t]*~{3,}.*$"
    r"|^[ \t]*(?:#{1,6}|>|[-*+])[ \t]+"
    r"|^[ \t]*\|?[-:| ]{3,}$"
    r"|\[\^[^\]]*\]:?|\[!\w+\]|^\|\s|(?<=\s)\|(?:\s|$)"
    r"|</?(?:a|b|br|code|dd|details|div|dl|dt|em|h[1-6]|hr|i|img|kbd|li|ol|p|pre|s|span|strong|su[bp]|summary|t(?:able|body|d|h|head|r)|ul)"
    r"\b[^>\n]{0,200}>",
    re.MULTILINE,
)
"""Other markup: links, whose text is the group, headings, quotes, items, tables, footnotes, callouts, tags."""

_SHORT_REST_CHARS = 400
"""Length up to which text before or after a part is shown, too: a call that opens it costs far more."""


def make_snippet(
    markdown: str,
    words: Iterable[Word],
    language: str = "en",
    read_nearest: Callable[[], str] | None = None,
) -> str:
    """Return the part of a section's text with the most words of a query, without markup, on one line.

    Args:
        markdown: The section's text, with its heading.
        words: The words of the query.
        language: The site's language.
        read_nearest: Returns the part that is shown if the text has none of the words; its beginning without it.
    """
    terms = collect_terms(words)
    text = _strip_section(markdown[:_SEARCHED_CHARS])
    if len(text) <= SNIPPET_CHARS:
        return text
    matches: list[tuple[int, int, frozenset[str]]] = []
    for chunk in _CHUNK.finditer(text):
        shared = _extract_cached(chunk[0], language) & terms
        if shared:
            matches.append((chunk.start(), chunk.end(), shared))
    if read_nearest and not matches:
        return make_snippet(read_nearest(), (), language)
    best_score = 0.0
    best_start = 0
    for at, (start, _, _) in enumerate(matches):
        distinct: set[str] = set()
        count = 0
        for _, end, shared in matches[at:]:
            if end - start > SNIPPET_CHARS - _MAX_LEAD:
                break
            distinct |= shared
            count += 1
        score = len(distinct) + count * _REPEATED_TERM
        if score > best_score:
            best_score = score
            best_start = start
    return _cut(text, best_start)


class Part(NamedTuple):
    """A part of a section's text: as it is shown, with marks for what is left out, and as the section contains it."""

    text: str
    source: str


def cut_best_part(markdown: str, words: Iterable[Word], language: str, max_chars: int) -> Part:
    """Return the part of a section's text with the most words of a query, after the section's first sentences.

    A part consists of whole blocks: paragraphs, lists, tables or fenced code. What introduces a block is not separated
    from it. A block that is longer is cut at lines, and its fence or the header of its table is repeated. A line that
    begins with `…` stands for what is left out; it names the first blocks of that. Of equal parts it
    is one that begins with the terms: what restricts a statement follows it.

    Args:
        markdown: The section's text, with its heading.
        words: The words of the query.
        language: The site's language.
        max_chars: Maximum length without what is repeated, the marks, and a short rest before or after it.
    """
    terms = collect_terms(words)
    ends = _find_block_ends(markdown)
    lead = _find_lead(markdown, ends)
    if lead > max_chars // 2:
        lead = 0
    max_chars -= lead
    start, end = _find_best_part(markdown, _cut_long_blocks(markdown, ends, max_chars), terms, language, max_chars)
    lead = lead or _heading_end(markdown)
    short_rest = min(max_chars // 4, _SHORT_REST_CHARS)
    start = start if start - lead > short_rest else lead
    end = end if len(markdown) - end > short_rest else len(markdown)
    beginning = ""
    if start > lead:
        beginning = f"{markdown[:lead].rstrip()}\n\n{describe_rest(markdown[lead:start])}\n"
    else:
        start = 0
    source = markdown[start:end]
    rest = markdown[end:]
    opening = _repeat_opening(markdown[:start], source)
    left_open = find_open_fence(markdown[:end])[1]
    closing = f"{GAP}\n{left_open}\n" if left_open else ""
    mark = f"\n{describe_rest(rest)}" if rest.strip().strip("`~") else ""
    return Part(f"{beginning}{opening}{source.rstrip()}\n{closing}{mark}", source)


def _heading_end(markdown: str) -> int:
    heading = HEADING.match(markdown)
    return heading.end() if heading else 0


def describe_rest(markdown: str) -> str:
    """Return a line that says how much text is left out, and how its first blocks begin."""
    names: list[str] = []
    at = 0
    for end in _find_block_ends(markdown):
        text = strip_markdown(markdown[at:end][:_MAX_READ_CHARS])
        at = end
        if text and len(names) < _MAX_NAMED:
            names.append(truncate_at_word(text, _MAX_NAMED_CHARS))
    return f"{GAP} {estimate_tokens(markdown)} tokens more: {' · '.join(names)}\n"


def _repeat_opening(before: str, part: str) -> str:
    """Return the line that opens the fence in which a part begins, the items around it, or its table's header."""
    if fence := find_open_fence(before)[0]:
        return f"{fence}{GAP}\n"
    if part.startswith(" "):
        return _repeat_items(before, len(part) - len(part.lstrip(" ")))
    table = before[before.rfind("\n\n") + 1 :].lstrip("\n").split("\n")
    is_row = part.startswith("|") and len(table) > 2 and TABLE_RULE.match(table[1])
    return f"{table[0]}\n{table[1]}\n| {GAP} |\n" if is_row else ""


def _repeat_items(before: str, indent: int) -> str:
    """Return the lines of the list items that contain a line with an indent, outermost first."""
    items = ""
    for line in reversed(before.splitlines()):
        depth = len(line) - len(line.lstrip(" "))
        if line.strip() and depth < indent:
            item = truncate_at_word(line, SNIPPET_CHARS).removesuffix(GAP)
            items = f"{item.rstrip()} {GAP}\n{items}"
            indent = depth
        if not indent:
            break
    return items


def _find_best_part(
    markdown: str, ends: Sequence[int], terms: set[str], language: str, max_chars: int
) -> tuple[int, int]:
    """Return start and end of the part whose blocks contain, and begin with, the rarest terms.

    It begins and ends at one of the ends, if it can.
    """
    starts = [0, *ends[:-1]]
    blocks = [markdown[start:end] for start, end in zip(starts, ends, strict=True)]
    terms_of_blocks = _find_terms_of_blocks(blocks, terms, language)
    weigh = make_scorer(terms_of_blocks)
    best = -1.0
    best_part = (0, 0)
    for at, start in enumerate(starts):
        after = max(at + 1, bisect_right(ends, start + max_chars))
        score = weigh(set(chain.from_iterable(terms_of_blocks[at:after])))
        is_equal = score == best and start < best_part[1]
        if score > best or is_equal:
            best = score
            best_part = (start, ends[after - 1])
    start, end = best_part
    start = next((earlier for earlier in starts if end - earlier <= max_chars), start)
    if end - start > max_chars:
        end = markdown.rfind("\n", start, start + max_chars) + 1 or start + max_chars
    return start, end


def make_scorer(terms_of_blocks: Sequence[Collection[str]]) -> Callable[[Iterable[str]], float]:
    """Return a function that weighs different terms, those that are in few blocks more."""
    counts = Counter(chain.from_iterable(terms_of_blocks))
    return lambda terms: sum(log1p(len(terms_of_blocks) / counts[term]) for term in sorted(terms))


def _find_terms_of_blocks(blocks: Iterable[str], terms: set[str], language: str) -> list[frozenset[str]]:
    """Return the terms in each block, or in the header of its table, and with a colon those with which it begins."""
    terms_of_blocks: list[frozenset[str]] = []
    header = frozenset[str]()
    for block in blocks:
        first, rule, *_ = *block.split("\n", 2), ""
        if not block.startswith("|"):
            header = frozenset()
        elif TABLE_RULE.match(rule):
            header = _extract_cached(first, language)
        beginning = strip_markdown(block[: _MAX_NAMED_CHARS * 2])[:_MAX_NAMED_CHARS]  # mostly what the block is about
        names = _extract_cached(beginning, language) & terms
        own = (_extract_cached(block, language) | header) & terms
        terms_of_blocks.append(own.union(f"{name}:" for name in names))
    return terms_of_blocks


def _find_lead(markdown: str, ends: Sequence[int]) -> int:
    """Return the end of a text's heading and of the first sentences after it; 0 if there are none."""
    start = _heading_end(markdown)
    end = next((end for end in ends if markdown[start:end].strip()), 0)
    lead = markdown[start:end]
    if block := _FENCE_OR_TABLE.search(lead):
        end = start + block.start()
        lead = markdown[start:end]
    if len(lead) > _MAX_LEAD_CHARS:
        end = start + max((match.start() + 1 for match in _LEAD_END.finditer(lead, 0, _MAX_LEAD_CHARS)), default=0)
    return end if markdown[start:end].strip() else 0


def _find_block_ends(markdown: str) -> list[int]:
    """Return where the blocks of Markdown end. Blank lines separate none in a fence or below an introduction."""
    ends: list[int] = []
    fence = ""
    at = 0
    blank = False
    last = ""
    for line in markdown.splitlines(keepends=True):
        if not fence and blank and line.strip() and not _INTRODUCTION.search(last):
            ends.append(at)
        fence = follow_fence(line, fence)
        at += len(line)
        blank = not line.strip()
        last = last if blank else line
    return [*ends, at]


def find_open_fence(markdown: str) -> tuple[str, str]:
    """Return the line that opens a fence without an end, and the fence; two empty texts if there is none."""
    opening = fence = ""
    for line in markdown.splitlines(keepends=True):
        before = fence
        fence = follow_fence(line, fence)
        if not fence:
            opening = ""
        elif not before:
            opening = line
    return opening, fence


def _cut_long_blocks(markdown: str, ends: Sequence[int], max_chars: int) -> list[int]:
    """Return the ends of blocks, with ends of lines in those that are too long, so that a part can begin within."""
    cut: list[int] = []
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        at = start
        if end - start > max_chars:
            introduces = False
            for line in markdown[start:end].splitlines(keepends=True)[:-1]:
                at += len(line)
                introduces = bool(_INTRODUCTION.search(line)) if line.strip(" >\n") else introduces
                if not introduces and at - (cut[-1] if cut and cut[-1] > start else start) >= max_chars // _CUTS:
                    cut.append(at)
        cut.append(end)
    return cut


def strip_markdown(markdown: str) -> str:
    """Return the text of Markdown without its markup, on one line."""
    return " ".join(_MARKUP.sub(lambda match: match[1] or " ", _INLINE_MARKUP.sub("", markdown)).split())


@lru_cache(_KEPT_SECTIONS)
def _strip_section(markdown: str) -> str:
    """Return the text of a section without its heading and markup; the same sections are found by many questions."""
    return strip_markdown(HEADING.sub("", markdown, count=1))


@lru_cache(_KEPT_WORDS)
def _extract_cached(text: str, language: str) -> frozenset[str]:
    return frozenset(extract_terms(text, language))


def _cut(text: str, match_start: int) -> str:
    """Return the part around a match in `SNIPPET_CHARS` characters, with `…` for what is left out."""
    start = 0
    if match_start > _MAX_LEAD:
        start = match_start - _MAX_LEAD
        lead = text[start:match_start]
        sentence = max(lead.rfind(". "), lead.rfind(": "))
        if sentence >= 0:
            start += sentence + 2
        else:
            start += lead.find(" ") + 1 or _MAX_LEAD
    part = truncate_at_word(text[start:], SNIPPET_CHARS - 2 * len(GAP))
    return GAP + part if start else part

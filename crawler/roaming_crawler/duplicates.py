"""Pages that repeat others: copies, and print views of one or many pages."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import chain

from roaming_crawler.page import FetchedPage, PageBody
from roaming_crawler.variants import find_variant_folders

_MIN_CHARS = 200
"""Shorter texts may be the same by chance."""
_MIN_LINE = 30
"""Hardly any two pages have a piece of text of this length in common by chance."""
_SAMPLE_LINES = 8
_MAX_SHARED = 20
"""Lines of more pages are not looked up: they could take quadratic time."""
_MIN_SHARE = 0.9
"""Share of the text of a print view that others have."""
_TEXT = re.compile(r"(?:\A|[>\n])([^<>\n]+)")
"""A piece of text between the tags and line ends of a body, such as `Install` in `<h1>Install</h1>`."""
_PRINT = re.compile(r"(^|[/_.-])(print(able|view|page)?|all|single(page|html)?)([/_.-]|$)", re.IGNORECASE)
"""The path of a print view, such as `print/guide/` or `guide/all.html`."""


@dataclass(frozen=True, slots=True)
class TextSummary:
    """What of a page's text tells whether it may repeat another."""

    digest: bytes
    size: int
    """Number of characters."""
    line_size: int
    """Number of characters of the longer pieces."""
    sample: Sequence[str]
    """A few of the longer pieces."""


def summarize_text(body: PageBody) -> TextSummary:
    """Return the summary of a page's text."""
    pieces = _split_text(body)
    text = "".join(pieces)
    lines = _select_lines(pieces)
    sample = nsmallest(_SAMPLE_LINES, lines, key=lambda line: (zlib.crc32(line.encode("utf-8", "surrogatepass")), line))
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return TextSummary(digest, len(text), sum(map(len, lines)), sample)


def find_copies(pages: Collection[FetchedPage], summaries: Mapping[str, TextSummary], base: str) -> dict[str, str]:
    """Return the URL of the original by the path of each copy of a page.

    The original is the page that a copy names as its canonical URL, or that with the shortest path.

    Args:
        pages: The pages, in any order.
        summaries: The summaries of their texts by path.
        base: Prefix of the URLs of a site with several versions or languages, which are not copies of each other.
    """
    copies: dict[str, str] = {}
    originals: dict[tuple[object, ...], FetchedPage] = {}
    canonical = {page.url: page for page in pages if not _names_another(page)}
    for page in sorted(pages, key=lambda page: (_names_another(page), *_rank(page))):
        text = summaries[page.path]
        original = canonical.get(page.parsed.canonical, page)
        if original is page or summaries[original.path].digest != text.digest:
            if text.size < _MIN_CHARS:
                continue
            folders = find_variant_folders(page.url, base) if base else ()
            variants = tuple(folder.name for folder in folders)
            original = originals.setdefault((text.digest, page.title, variants), page)
        if original is not page:
            copies[page.path] = original.url
    return copies


def find_print_views(
    pages: Sequence[FetchedPage], summaries: Mapping[str, TextSummary], bodies: Mapping[str, PageBody]
) -> dict[str, str]:
    """Return the paths of pages that print others, such as `print/` or `all.html`, and what they repeat.

    Args:
        pages: The pages without copies, in any order.
        summaries: The summaries of their texts by path.
        bodies: Their bodies by key.
    """
    by_line: dict[str, list[FetchedPage]] = {}
    for page in sorted(pages, key=_rank):
        for line in summaries[page.path].sample[:1]:
            by_line.setdefault(line, []).append(page)
    by_line = {line: sharing for line, sharing in by_line.items() if len(sharing) <= _MAX_SHARED}
    views = [page for page in pages if _is_print(page)]
    repeats: dict[str, str] = {}
    for page in sorted(views, key=lambda page: (summaries[page.path].line_size, page.path)):
        size = summaries[page.path].line_size
        lines = _select_lines(_split_text(bodies[page.key]))
        repeated: list[FetchedPage] = []
        for candidate in chain.from_iterable(by_line[line] for line in lines & by_line.keys()):
            summary = summaries[candidate.path]
            is_apart = candidate.path not in repeats and not candidate.path.startswith(page.path)
            if is_apart and summary.line_size <= size and lines.issuperset(summary.sample):
                repeated.append(candidate)
        if repeated and sum(summaries[part.path].line_size for part in repeated) >= _MIN_SHARE * size:
            first = min(repeated, key=_rank)
            repeats[page.path] = f"{len(repeated)} pages such as {first.url}"
    return repeats


def _names_another(page: FetchedPage) -> bool:
    return page.parsed.canonical not in ("", page.url)


def _is_print(page: FetchedPage) -> bool:
    return _PRINT.search(page.path) is not None


def _rank(page: FetchedPage) -> tuple[bool, int, int, str]:
    return _is_print(page), page.path.count("/"), len(page.path), page.path


def _split_text(body: PageBody) -> list[str]:
    text = body.article if body.markdown is None else body.markdown
    return [piece.strip() for piece in _TEXT.findall(text)]


def _select_lines(pieces: Iterable[str]) -> set[str]:
    return {piece for piece in pieces if len(piece) >= _MIN_LINE}

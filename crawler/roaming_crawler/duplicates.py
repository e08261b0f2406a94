"""Pages that repeat others: one text at several URLs, print views, archives of full texts, a whole site on one page."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from heapq import nsmallest
from itertools import chain
from urllib.parse import unquote

from roaming_crawler.page import NOT_FOUND, FetchedPage, PageBody
from roaming_crawler.parser import split_words
from roaming_crawler.variants import find_variant_folders


@dataclass(frozen=True, slots=True)
class TextSummary:
    """What of a page's text tells whether it may repeat another."""

    digest: bytes
    size: int
    """Number of characters."""
    first: Sequence[str]
    """The first three pieces of text."""
    line_size: int
    """Number of characters of the longer pieces."""
    sample: Sequence[str]
    """A few of the longer pieces."""


def summarize_text(body: PageBody) -> TextSummary:
    """Return the summary of a page's text."""
    pieces = _split_text(body)
    lines = _select_lines(pieces)
    text = "".join(pieces).encode("utf-8", "surrogatepass")
    sample = nsmallest(_SAMPLE, lines, key=lambda line: (zlib.crc32(line.encode("utf-8", "surrogatepass")), line))
    return TextSummary(hashlib.sha256(text).digest(), sum(map(len, pieces)), pieces[:3], sum(map(len, lines)), sample)


def find_copies(pages: Iterable[FetchedPage], summaries: Mapping[str, TextSummary], base: str) -> dict[str, str]:
    """Return the URL of the original by the path of each copy of a page.

    The original has the shortest path.

    Args:
        pages: The pages, in any order.
        summaries: The summaries of their texts by path.
        base: Prefix of the URLs of a site with several versions or languages, which are not copies of each other.
    """
    copies: dict[str, str] = {}
    originals: dict[tuple[object, ...], FetchedPage] = {}
    for page in sorted(pages, key=_rank):
        text = summaries[page.path]
        if text.size >= _MIN_CHARS:
            variants = tuple(folder.name for folder in find_variant_folders(page.url, base)) if base else ()
            if (original := originals.setdefault((text.digest, page.title, variants), page)) is not page:
                copies[page.path] = original.url
    return copies


def find_collections(
    pages: Iterable[FetchedPage], summaries: Mapping[str, TextSummary], bodies: Mapping[str, PageBody]
) -> dict[str, str]:
    """Return the paths of pages whose text is that of several others, and what they repeat.

    A few lines of each page are looked up first. Lines of many pages are ignored: they could take quadratic time.

    Args:
        pages: The pages without copies, in any order.
        summaries: The summaries of their texts by path.
        bodies: Their bodies by key.
    """
    by_path = {page.path: page for page in pages}
    sampled: dict[str, list[str]] = {}
    for path in sorted(by_path):
        for line in summaries[path].sample:
            sampled.setdefault(line, []).append(path)
    found: dict[str, str] = {}
    for path in sorted(by_path, key=lambda path: (summaries[path].line_size, path)):
        lines = _select_lines(_split_text(bodies[by_path[path].key]))
        near = (other for other in _find_near(path, lines, sampled, summaries) if other not in found)
        texts = {other: _select_lines(_split_text(bodies[by_path[other].key])) for other in near}
        inner = {other: text for other, text in texts.items() if len(text & lines) >= _MIN_SHARE * len(text)}
        covered = lines.intersection(chain.from_iterable(inner.values()))
        min_pages = 1 if _PRINT.search(path) else _MIN_PAGES
        if len(inner) >= min_pages and sum(map(len, covered)) >= _MIN_SHARE * summaries[path].line_size:
            first = min(map(by_path.__getitem__, inner), key=_rank)
            found[path] = f"{len(inner)} pages such as {first.url}"
    return found


def _find_near(
    path: str, lines: Set[str], sampled: Mapping[str, Sequence[str]], summaries: Mapping[str, TextSummary]
) -> Iterator[str]:
    """Yield the smaller pages whose sample is in the lines of a page.

    The overview of a folder stays, and the home page. Versions of one page are no collection.
    """
    size = summaries[path].line_size
    max_size = size if _PRINT.search(path) else size // 2
    shared = (paths for line in lines if len(paths := sampled.get(line, ())) <= _MAX_SHARED)
    for other, count in Counter(chain.from_iterable(shared)).items():
        text = summaries[other]
        if count >= _MIN_SHARE * len(text.sample) and text.line_size <= max_size and not other.startswith(path):
            yield other


def find_not_found_pages(pages: Iterable[FetchedPage], summaries: Mapping[str, TextSummary]) -> list[str]:
    """Return the paths of short pages with the same heading, such as `Page not found`, apart from their URLs.

    Args:
        pages: The pages, in any order.
        summaries: The summaries of their texts by path.
    """
    by_heading: dict[str, set[str]] = {}
    for page in pages:
        text = summaries[page.path]
        for line in (page.title, *text.first) if text.size < _MAX_NOT_FOUND_CHARS else ():
            if NOT_FOUND.search(line):
                own = split_words(unquote(page.url))
                words = (word for word in re.findall(r"[^\W\d]+", line.casefold()) if word not in own)
                by_heading.setdefault(" ".join(words), set()).add(page.path)
    return sorted({path for paths in by_heading.values() if len(paths) >= _MIN_PAGES for path in paths})


def _rank(page: FetchedPage) -> tuple[bool, int, int, str]:
    return bool(_PRINT.search(page.path)), page.path.count("/"), len(page.path), page.path


def _split_text(body: PageBody) -> list[str]:
    """Return the pieces of text between the tags and line ends of a body."""
    text = body.article if body.markdown is None else body.markdown
    return [piece for match in _TEXT.findall(text) if (piece := match.strip())]


def _select_lines(pieces: Iterable[str]) -> set[str]:
    """Return the longer pieces of text, which hardly any two pages have in common by chance."""
    return {piece for piece in pieces if len(piece) >= _MIN_LINE}


_MIN_CHARS = 200
"""Shorter texts may be the same by chance."""
_MIN_LINE = 30
_SAMPLE = 8
_MAX_SHARED = 20
"""Largest number of pages with a line that is looked up."""
_MIN_PAGES = 3
_MIN_SHARE = 0.9
_MAX_NOT_FOUND_CHARS = 2_000
_TEXT = re.compile(r"(?:\A|[>\n])([^<>\n]+)")
_PRINT = re.compile(r"(^|[/_.-])(print(able|view|page)?|all|single(page|html)?)([/_.-]|$)", re.IGNORECASE)

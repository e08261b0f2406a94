"""Pages that repeat others: one text at several URLs, print views, archives of full texts, a whole site on one page."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import chain
from urllib.parse import unquote

from roaming_crawler.editions import find_editions
from roaming_crawler.page import NOT_FOUND, FetchedPage, PageBody
from roaming_crawler.parser import split_words


def find_copies(pages: Sequence[FetchedPage], bodies: Mapping[str, PageBody], base: str = "") -> dict[str, str]:
    """Return the URL of the original by the path of each copy of a page.

    The original has the shortest path.

    Args:
        pages: The pages, in any order.
        bodies: Their bodies by key.
        base: Prefix of the URLs of a site with several versions or languages, which are not copies of each other.
    """
    copies: dict[str, str] = {}
    originals: dict[tuple[object, ...], FetchedPage] = {}
    for page in sorted(pages, key=_rank):
        text = "".join(_split_text(bodies[page.key]))
        if len(text) >= _MIN_CHARS:
            editions = tuple(folder.name for folder in find_editions(page.url, base)) if base else ()
            digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
            if (original := originals.setdefault((digest, page.title, editions), page)) is not page:
                copies[page.path] = original.url
    return copies


def find_collections(pages: Iterable[FetchedPage], bodies: Mapping[str, PageBody]) -> dict[str, str]:
    """Return the paths of pages whose text is that of several others, and what they repeat.

    A few lines of each page are looked up first. Lines of many pages are ignored: they could take quadratic time.

    Args:
        pages: The pages without copies, in any order.
        bodies: Their bodies by key.
    """
    by_path = {page.path: page for page in sorted(pages, key=_rank)}
    index = _LineIndex()
    for path, page in by_path.items():
        index.add(path, _read_lines(bodies[page.key]))
    found: dict[str, str] = {}
    for path in sorted(by_path, key=lambda path: (index.sizes[path], path)):
        lines = _read_lines(bodies[by_path[path].key])
        near = (other for other in index.find_near(path, lines) if other not in found)
        texts = {other: _read_lines(bodies[by_path[other].key]) for other in near}
        inner = {other: text for other, text in texts.items() if len(text & lines) >= _MIN_SHARE * len(text)}
        covered = lines.intersection(chain.from_iterable(inner.values()))
        min_pages = 1 if _PRINT.search(path) else _MIN_PAGES
        if len(inner) >= min_pages and sum(map(len, covered)) >= _MIN_SHARE * index.sizes[path]:
            first = min(map(by_path.__getitem__, inner), key=_rank)
            found[path] = f"{len(inner)} pages such as {first.url}"
    return found


@dataclass(slots=True)
class _LineIndex:
    """A few lines of each page, with the pages that they are from."""

    sizes: dict[str, int] = field(default_factory=dict)
    """Number of characters of the lines of each page."""
    _samples: dict[str, int] = field(default_factory=dict)
    _pages: dict[str, list[str]] = field(default_factory=dict)

    def add(self, path: str, lines: Set[str]) -> None:
        """Add a page."""
        sample = nsmallest(_SAMPLE, lines, key=lambda line: (zlib.crc32(line.encode("utf-8", "surrogatepass")), line))
        self.sizes[path], self._samples[path] = sum(map(len, lines)), len(sample)
        for line in sample:
            self._pages.setdefault(line, []).append(path)

    def find_near(self, path: str, lines: Set[str]) -> Iterator[str]:
        """Yield the smaller pages whose sample is in the lines of a page.

        The overview of a folder stays, and the home page. Versions of one page are no collection.
        """
        max_size = self.sizes[path] if _PRINT.search(path) else self.sizes[path] // 2
        shared = (paths for line in lines if len(paths := self._pages.get(line, ())) <= _MAX_SHARED)
        for other, count in Counter(chain.from_iterable(shared)).items():
            is_near = count >= _MIN_SHARE * self._samples[other] and self.sizes[other] <= max_size
            if is_near and not other.startswith(path):
                yield other


def find_not_found_pages(pages: Iterable[FetchedPage], bodies: Mapping[str, PageBody]) -> list[str]:
    """Return the paths of short pages with the same heading, such as `Page not found`, apart from their URLs.

    Args:
        pages: The pages, in any order.
        bodies: Their bodies by key.
    """
    by_heading: dict[str, set[str]] = {}
    for page in pages:
        pieces = _split_text(bodies[page.key])
        own = split_words(unquote(page.url))
        for line in (page.title, *pieces[:3]) if sum(map(len, pieces)) < _MAX_NOT_FOUND_CHARS else ():
            if NOT_FOUND.search(line):
                words = (word for word in re.findall(r"[^\W\d]+", line.casefold()) if word not in own)
                by_heading.setdefault(" ".join(words), set()).add(page.path)
    return sorted({path for paths in by_heading.values() if len(paths) >= _MIN_PAGES for path in paths})


def _rank(page: FetchedPage) -> tuple[bool, int, int, str]:
    return bool(_PRINT.search(page.path)), page.path.count("/"), len(page.path), page.path


def _split_text(body: PageBody) -> list[str]:
    """Return the pieces of text between the tags and line ends of a body."""
    text = body.article if body.markdown is None else body.markdown
    return [piece for match in _TEXT.findall(text) if (piece := match.strip())]


def _read_lines(body: PageBody) -> set[str]:
    """Return the longer pieces of text, which hardly any two pages have in common by chance."""
    return {piece for piece in _split_text(body) if len(piece) >= _MIN_LINE}


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

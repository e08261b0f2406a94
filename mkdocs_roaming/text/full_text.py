"""llms-full.txt: the Markdown of several pages in one text, which is split into pages.

There is no standard: of the conventions of common generators, the one that yields the most pages is used.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from mkdocs_roaming.text.blocks import follow_fence, split_lines

Resolver = Callable[[str], str | None]
"""Returns the address of a page as the caller needs it, None for what is none."""

_TITLE = re.compile(r" {0,3}#[ \t]")
"""A heading of the first level: `# Guide`."""
_SOURCE = re.compile(r"[*_]{0,2}(?:Source|URL)[*_]{0,2}:[*_]{0,2}\s*<?([^\s<>()]+)", re.IGNORECASE)
"""A line such as `**Source:** https://docs.example/guide/`."""
_URL_LINE = re.compile(r"[*_]*[A-Z][\w ]{0,20}:[*_]*[ \t]*<?https?://\S+\s*$")
"""A line such as `Edit: https://…` after the source of a page."""
_YAML = re.compile(r"[A-Za-z_][\w-]*:|\s+\S|- |#|\s*$")
"""What a line of front matter begins with, such as `title:`."""
_TAG = re.compile(r"\s*<(/?)(?:doc|document|page)\b([^>]*)>\s*$", re.IGNORECASE)
"""A line such as `<doc title="Guide" source="https://…">` or `</doc>`; the text between is no HTML."""
_ATTRIBUTE = re.compile(r"""([\w-]+)\s*=\s*["']([^"']*)["']""")
"""An attribute in it."""
_TRAILING_RULE = re.compile(r"\n[ \t]*\n[ \t]*(?:-{3,}|\*{3,}|_{3,})\s*\Z")
"""A rule `---` between two pages."""
_URL_KEYS = ("url", "canonical", "source_url", "source", "permalink")
_MIN_BAR = 3
"""Length of the bars around front matter."""
_MAX_FRONT_MATTER = 60
_MAX_SOURCE_DISTANCE = 12
"""Number of lines below a source in which the title of its page is looked for."""


class FullPage(NamedTuple):
    """The Markdown of a page, and its address; None for other text, and if several pages have the same."""

    url: str | None
    text: str


class _Mark(NamedTuple):
    """A line at which a page begins or ends, the lines that are not part of its text, and its URL."""

    line: int
    header: range = range(0)
    url: str | None = None


def split_full_text(text: str, resolve: Resolver) -> list[FullPage]:
    """Return the pages in a text; an empty list if it is no text of several pages or of one with its address.

    Args:
        text: The text.
        resolve: Returns the address of a page as the caller needs it, None for what is none.
    """
    lines = split_lines(text.removeprefix("\ufeff"))
    prose = blank_code(lines)
    conventions = (_find_front_matter, _find_tags, _find_source_before_title, _find_source_after_title)
    splits = [_cut(lines, list(find_marks(prose, resolve))) for find_marks in conventions]
    pages = max(splits, key=lambda pages: sum(page.url is not None for page in pages))
    sizes = [len(page.text) for page in pages if page.url]
    is_split = len(sizes) > 1 or 2 * max(sizes, default=0) > len(text)  # else a page quotes one
    return pages if is_split else []


def blank_code(lines: Sequence[str]) -> list[str]:
    """Return the lines with those in code fences left blank. An unclosed fence contains nothing."""
    prose = list(lines)
    fence = ""
    start = 0
    for at, line in enumerate(lines):
        before = fence
        fence = follow_fence(line, fence)
        if fence and not before:
            start = at
        elif before and not fence:
            prose[start : at + 1] = [""] * (at + 1 - start)
    return prose


def _cut(lines: Sequence[str], marks: Sequence[_Mark]) -> list[FullPage]:
    """Return the texts between marks, without their headers and the rules between them."""
    pages: list[FullPage] = []
    counts = Counter(mark.url for mark in marks)
    for mark, following in pairwise([_Mark(0), *marks, _Mark(len(lines))]):
        inner = range(mark.line, following.line)
        text = "\n".join(lines[at] for at in inner if at not in mark.header)
        text = _TRAILING_RULE.sub("", text).strip("\n") + "\n"
        url = mark.url if counts[mark.url] == 1 else None
        if url or text.strip():
            pages.append(FullPage(url, text))
    return pages


def _find_front_matter(prose: Sequence[str], resolve: Resolver) -> Iterator[_Mark]:
    """Find blocks between two bars that contain a URL, as VitePress and Next.js write them."""
    header = range(0)
    for at, line in enumerate(prose):
        bar = line.rstrip()
        if at in header or len(bar) < _MIN_BAR or bar.strip("-"):
            continue
        below = [line.rstrip() for line in prose[at + 1 : at + _MAX_FRONT_MATTER]]
        inner = below[: below.index(bar)] if bar in below else []
        keys = dict(line.split(":", maxsplit=1) for line in reversed(inner) if ":" in line)
        values = (keys.get(key, "").strip(" \t'\"") for key in _URL_KEYS)
        url = next(filter(None, values), "")
        if url and all(map(_YAML.match, inner)):
            header = range(at, at + len(inner) + 2)
            yield _Mark(at, header, resolve(url))


def _find_tags(prose: Sequence[str], resolve: Resolver) -> Iterator[_Mark]:
    """Find `<doc>`, `<document>` and `<page>` tags, as llms_txt2ctx writes them."""
    for at, line in enumerate(prose):
        tag = _TAG.match(line)
        if tag is None:
            continue
        attributes = {key.lower(): value for key, value in _ATTRIBUTE.findall(tag[2])}
        url = next((attributes[key] for key in (*_URL_KEYS, "href") if attributes.get(key)), "")
        is_end = bool(tag[1])
        yield _Mark(at) if is_end else _Mark(at, range(at, at + 1), resolve(url) if url else None)


def _find_source_before_title(prose: Sequence[str], resolve: Resolver) -> Iterator[_Mark]:
    """Find lines `Source: URL` that are followed by the page's title; blank lines and a quote may be between."""
    for at, line in enumerate(prose):
        if url := _parse_source(line, resolve):
            below = prose[at + 1 : at + _MAX_SOURCE_DISTANCE]
            text = (line for line in below if line.strip() and not line.lstrip().startswith(">"))
            if _TITLE.match(next(text, "")):
                yield _Mark(at, range(at, at + 1), url)


def _find_source_after_title(prose: Sequence[str], resolve: Resolver) -> Iterator[_Mark]:
    """Find titles that are followed by a line `Source: URL`, as Mintlify and Fumadocs write them."""
    for at, line in enumerate(prose):
        if not _TITLE.match(line):
            continue
        end = at + 1
        if end < len(prose) and not prose[end].strip():
            end += 1
        url = _parse_source(prose[end], resolve) if end < len(prose) else None
        if url:
            end += 1
            while end < len(prose) and _URL_LINE.match(prose[end]):
                end += 1
            yield _Mark(at, range(at + 1, end), url)


def _parse_source(line: str, resolve: Resolver) -> str | None:
    match = _SOURCE.match(line)
    return resolve(match[1]) if match else None

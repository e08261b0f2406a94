"""Splitter for llms-full.txt files, which have no standard: the conventions of common generators are tried."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mkdocs_roaming.publish.markdown_source import split_front_matter
from mkdocs_roaming.text.markdown import follow_fence, split_lines
from roaming_crawler.scope import canonical_url


@dataclass(frozen=True, slots=True)
class FullTextPage:
    """A page within an llms-full.txt; `url` is None if the text does not name it."""

    title: str
    markdown: str
    url: str | None = None


@dataclass(frozen=True, slots=True)
class FullText:
    """The pages of an llms-full.txt, and the name of the convention that separates them."""

    pages: tuple[FullTextPage, ...]
    convention: str

    def by_url(self) -> dict[str, FullTextPage]:
        """Return the pages that have a unique URL."""
        found: dict[str, FullTextPage] = {}
        duplicates: set[str] = set()
        for page in self.pages:
            if page.url is not None:
                duplicates |= {page.url} & found.keys()
                found[page.url] = page
        return {url: page for url, page in found.items() if url not in duplicates}


class _Mark(NamedTuple):
    """A line at which a page begins or ends, the lines that are not part of its text, and its URL."""

    line: int
    header: range = range(0)
    url: str | None = None
    is_end: bool = False


def split_llms_full(text: str, base: str) -> FullText:
    """Split an llms-full.txt into pages; `base` is its URL.

    The convention that yields the most pages with URLs is used. Otherwise pages start at each H1; a text with fewer
    than two of them is one page.
    """
    lines = split_lines(text.removeprefix("\ufeff"))
    prose = blank_code(lines)
    candidates = [FullText(tuple(_cut(lines, find(prose, base))), name) for name, find in _CONVENTIONS.items()]
    best = max(candidates, key=lambda candidate: len(candidate.by_url()))
    with_url = [page for page in best.pages if page.url is not None]
    if len(with_url) > 1 or any(2 * len(page.markdown) > len(text) for page in with_url):  # else a page quotes one
        return best
    by_title = FullText(tuple(_cut(lines, _find_titles(prose))), "one H1 a page")
    return by_title if len(by_title.pages) > 1 else FullText((_make_page(lines, None),), "one page")


def blank_code(lines: Sequence[str]) -> list[str]:
    """Return the lines with those in code fences left blank. An unclosed fence contains nothing."""
    prose = list(lines)
    fence, start = "", 0
    for at, line in enumerate(lines):
        before, fence = fence, follow_fence(line, fence)
        if fence and not before:
            start = at
        elif before and not fence:
            prose[start : at + 1] = [""] * (at + 1 - start)
    return prose


def _cut(lines: Sequence[str], marks: Iterable[_Mark]) -> Iterator[FullTextPage]:
    """Yield the pages between marks, without their headers and the rules between them."""
    marks = list(marks)
    for mark, end in zip(marks, [*(mark.line for mark in marks), len(lines)][1:], strict=True):
        if not mark.is_end:
            text = [line for at, line in enumerate(lines[mark.line : end], mark.line) if at not in mark.header]
            yield _make_page(text, mark.url)


def _find_front_matter(prose: Sequence[str], base: str) -> Iterator[_Mark]:
    """Find blocks between two bars that contain a URL, as VitePress and Next.js write them."""
    header = range(0)
    for at, line in enumerate(prose):
        bar = line.rstrip()
        if at in header or not _BAR.fullmatch(bar):
            continue
        end = next((i for i in range(at + 1, min(at + 60, len(prose))) if prose[i].rstrip() == bar), at)
        inner = prose[at + 1 : end]
        keys = split_front_matter("\n".join(["---", *inner, "---", ""]))[1] if inner else {}
        url = next((keys[key] for key in _URL_KEYS if keys.get(key)), "")
        if url and all(_YAML.match(line) for line in inner):
            header = range(at, end + 1)
            yield _Mark(at, header, canonical_url(url, base))


def _find_tags(prose: Sequence[str], base: str) -> Iterator[_Mark]:
    """Find `<doc>`, `<document>` and `<page>` tags, as llms_txt2ctx writes them."""
    for at, line in enumerate(prose):
        if match := _DOC.match(line):
            attributes = {key.lower(): value for key, value in _ATTRIBUTE.findall(match[1])}
            url = next((attributes[key] for key in (*_URL_KEYS, "href") if attributes.get(key)), "")
            yield _Mark(at, range(at, at + 1), canonical_url(url, base) if url else None)
        elif _DOC_END.match(line):
            yield _Mark(at, is_end=True)


def _find_source_before_title(prose: Sequence[str], base: str) -> Iterator[_Mark]:
    """Find lines `Source: URL` that are followed by the page's title; blank lines and a quote may be between."""
    for at, line in enumerate(prose):
        if url := _parse_source(line, base):
            below = (line for line in prose[at + 1 : at + 12] if line.strip() and line.lstrip()[0] != ">")
            if _H1.match(next(below, "")):
                yield _Mark(at, range(at, at + 1), url)


def _find_source_after_title(prose: Sequence[str], base: str) -> Iterator[_Mark]:
    """Find titles that are followed by a line `Source: URL`, as Mintlify and Fumadocs write them."""
    for at in _title_lines(prose):
        source = at + 1 if "".join(prose[at + 1 : at + 2]).strip() else at + 2
        if url := _parse_source("".join(prose[source : source + 1]), base):
            end = source + 1
            while end < len(prose) and _URL_LINE.match(prose[end]):
                end += 1
            yield _Mark(at, range(at + 1, end), url)


def _find_titles(prose: Sequence[str]) -> Iterator[_Mark]:
    return map(_Mark, _title_lines(prose))


def _title_lines(prose: Sequence[str]) -> list[int]:
    return [at for at, line in enumerate(prose) if _H1.match(line)]


def _parse_source(line: str, base: str) -> str | None:
    match = _SOURCE.match(line)
    return canonical_url(match[1], base) if match else None


def _make_page(lines: Sequence[str], url: str | None) -> FullTextPage:
    markdown = _TRAILING_RULE.sub("", "\n".join(lines)).strip("\n") + "\n"
    heading = next(filter(None, map(_H1.match, lines)), None)
    return FullTextPage(heading[1] if heading else "", markdown, url)


_CONVENTIONS: dict[str, Callable[[Sequence[str], str], Iterator[_Mark]]] = {
    "front matter": _find_front_matter,
    "<doc>": _find_tags,
    "Source: before the title": _find_source_before_title,
    "Source: after the title": _find_source_after_title,
}
_H1 = re.compile(r" {0,3}#[ \t]+(.*?)[ \t]*#*[ \t]*$")
_SOURCE = re.compile(r"[*_]{0,2}(?:Source|URL)[*_]{0,2}:[*_]{0,2}\s*<?([^\s<>()]+)", re.IGNORECASE)
_URL_KEYS = ("url", "canonical", "source_url", "source", "permalink")
_URL_LINE = re.compile(r"[*_]*[A-Z][\w ]{0,20}:[*_]*[ \t]*<?https?://\S+\s*$")
_YAML = re.compile(r"[A-Za-z_][\w-]*:|\s+\S|- |#|\s*$")
_DOC = re.compile(r"\s*<(?:doc|document|page)\b([^>]*)>\s*$", re.IGNORECASE)
_DOC_END = re.compile(r"\s*</(?:doc|document|page)>\s*$", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([\w-]+)\s*=\s*["']([^"']*)["']""")
_BAR = re.compile(r"-{3,}")
_TRAILING_RULE = re.compile(r"\n[ \t]*\n[ \t]*(?:-{3,}|\*{3,}|_{3,})\s*\Z")

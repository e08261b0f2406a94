"""Splitter for llms-full.txt files, which have no standard: several conventions are tried."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from mkdocs_roaming.publish.markdown_source import split_front_matter
from mkdocs_roaming.text.markdown import follow_fence
from roaming_crawler.scope import canonical_url

T = TypeVar("T")


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


def split_llms_full(text: str, base: str) -> FullText:
    """Split an llms-full.txt into pages; `base` is its URL.

    The convention that yields the most pages with URLs is used. Otherwise pages start at each H1, or at rules; a text
    that follows no convention is one page.
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    code = _mark_code_lines(lines)
    candidates = [
        FullText(tuple(split(lines, code, base)), name)
        for name, split in (
            ("front matter", _split_by_front_matter),
            ("<doc>", _split_by_tags),
            ("Source: before the title", _split_by_source_before_title),
            ("Source: after the title", _split_by_source_after_title),
            ("Source: before a second-level title", partial(_split_by_source_before_title, level=2)),
            ("Source: after a second-level title", partial(_split_by_source_after_title, level=2)),
        )
    ]
    best = max(candidates, key=lambda candidate: len(candidate.by_url()))
    with_url = [page for page in best.pages if page.url is not None]
    if len(with_url) > 1 or any(2 * len(page.markdown) > len(text) for page in with_url):  # else a page quotes one
        return best
    by_title = FullText(tuple(_split_by_title(lines, code)), "one H1 a page")
    if len(by_title.pages) > 1:
        return by_title
    by_rule = FullText(tuple(_split_by_rule(lines, code)), "rules")
    return by_rule if len(by_rule.pages) > 1 else FullText((_make_page(lines, None),), "one page")


def _mark_code_lines(lines: Sequence[str]) -> list[bool]:
    """Return for each line whether it is in a code fence. An unclosed fence contains nothing."""
    code = [False] * len(lines)
    fence, start = "", 0
    for at, line in enumerate(lines):
        before, fence = fence, follow_fence(line, fence)
        if fence and not before:
            start = at
        elif before and not fence:
            code[start : at + 1] = [True] * (at + 1 - start)
    return code


def _split_by_front_matter(lines: Sequence[str], code: Sequence[bool], base: str) -> Iterable[FullTextPage]:
    """Split at blocks between two bars that contain a URL.

    The bars may be longer than those of front matter, or of equals signs, and the keys may be commented out.
    """
    starts: list[tuple[int, str, tuple[int, str]]] = []
    at = 0
    while at < len(lines):
        bar = lines[at].rstrip()
        if _BAR.fullmatch(bar) and not code[at]:
            end = next((i for i in range(at + 1, min(at + 60, len(lines))) if lines[i].rstrip() == bar), None)
            inner = [line.removeprefix("# ") for line in lines[at + 1 : end]] if end is not None else []
            keys = split_front_matter("\n".join(["---", *inner, "---", ""]))[1] if inner else {}
            urls = [value for key, value in keys.items() if _URL_KEY.match(key) and value]
            urls.sort(key=lambda value: "://" not in value)  # there may be a source file's path, too
            if end is not None and urls and all(_looks_like_yaml(line) for line in inner):
                starts.append((at, urls[0], (end, keys.get("title", ""))))
                at = end
        at += 1
    for (_, url, (close, title)), end in _with_ends(starts, len(lines)):
        yield _make_page(_strip_banner(lines[close + 1 : end]), canonical_url(url, base), title)


def _with_ends(starts: Sequence[tuple[int, str, T]], end: int) -> Iterable[tuple[tuple[int, str, T], int]]:
    """Pair each start with the line at which the next one begins."""
    return zip(starts, [*(start[0] for start in starts), end][1:], strict=True)


def _looks_like_yaml(line: str) -> bool:
    return not line.strip() or bool(re.match(r"[A-Za-z_][\w-]*:|\s+\S|- |#", line))


def _split_by_tags(lines: Sequence[str], code: Sequence[bool], base: str) -> Iterable[FullTextPage]:
    """Split at `<doc>`, `<document>` and `<page>` tags."""
    start, attributes = None, ""
    for at, line in enumerate(lines):
        if code[at]:
            continue
        opening = _DOC.match(line)
        if start is not None and (opening or _DOC_END.match(line)):
            yield _page_from_tag(lines[start:at], attributes, base)
            start = None
        if opening:
            start, attributes = at + 1, opening[1]
    if start is not None:
        yield _page_from_tag(lines[start:], attributes, base)


def _page_from_tag(lines: Sequence[str], attributes: str, base: str) -> FullTextPage:
    pairs = {key.lower(): value for key, value in _ATTRIBUTE.findall(attributes)}
    url = next((value for key, value in pairs.items() if _URL_KEY.match(key) or key in ("href", "path")), "")
    return _make_page(lines, canonical_url(url, base) if url else None, pairs.get("title", ""))


def _split_by_source_before_title(
    lines: Sequence[str], code: Sequence[bool], base: str, level: int = 1
) -> Iterable[FullTextPage]:
    """Split at a line `Source: URL` followed by the page's title; blank lines, rules, a quote may be between."""
    starts: list[tuple[int, str, int]] = []
    for at, line in enumerate(lines):
        match = _SOURCE.match(line) if not code[at] else None
        url = canonical_url(match[1], base) if match else None
        if url is None:
            continue
        end = at + 1
        while end < len(lines) and end < at + 12 and (_is_blank_or_quote(lines[end]) or _RULE.match(lines[end])):
            end += 1
        if end < len(lines) and _TITLES[level].match(lines[end]):
            starts.append((at, url, at + 1))
    for (_, url, begin), end in _with_ends(starts, len(lines)):
        yield _make_page(_promote_title(_strip_trailing_rule(lines[begin:end]), level), url)


def _split_by_source_after_title(
    lines: Sequence[str], code: Sequence[bool], base: str, level: int = 1
) -> Iterable[FullTextPage]:
    """Split at a title that is followed by a line `Source: URL`; blank lines and a quote may be between."""
    starts: list[tuple[int, str, int]] = []
    for at, line in enumerate(lines):
        if code[at] or not _TITLES[level].match(line):
            continue
        end = at + 1
        while end < min(at + 8, len(lines)) and _is_blank_or_quote(lines[end]) and not _SOURCE.match(lines[end]):
            end += 1
        match = _SOURCE.match(lines[end]) if end < len(lines) else None
        url = canonical_url(match[1], base) if match else None
        if url is not None:
            starts.append((at, url, end))
    for (start, url, source), end in _with_ends(starts, len(lines)):
        after = source + 1
        while after < end and _URL_LINE.match(lines[after]):
            after += 1
        text = [*_strip_trailing_blanks(lines[start:source]), *_strip_trailing_rule(lines[after:end])]
        yield _make_page(_promote_title(text, level), url)


def _is_blank_or_quote(line: str) -> bool:
    return not line.strip() or line.lstrip()[:1] == ">"


def _promote_title(lines: Sequence[str], level: int) -> Sequence[str]:
    """Turn a page's second-level title into a first-level one."""
    if level == 1:
        return lines
    at = next((at for at, line in enumerate(lines) if _TITLES[level].match(line)), 0)
    return [*lines[:at], re.sub(r"^( {0,3})##", r"\1#", lines[at]), *lines[at + 1 :]]


def _split_by_title(lines: Sequence[str], code: Sequence[bool]) -> Iterable[FullTextPage]:
    starts = [at for at, line in enumerate(lines) if not code[at] and _H1.match(line)]
    for start, end in zip(starts, [*starts, len(lines)][1:], strict=True):
        yield _make_page(_strip_trailing_rule(lines[start:end]), None)


def _split_by_rule(lines: Sequence[str], code: Sequence[bool]) -> Iterable[FullTextPage]:
    """Split at rules that are directly followed by a heading."""
    cuts = [at for at, line in enumerate(lines) if not code[at] and _RULE.match(line) and _has_heading_below(lines, at)]
    if not cuts:
        return
    starts = [0, *(cut + 1 for cut in cuts)]
    for start, end in zip(starts, [*cuts, len(lines)], strict=True):
        if any(line.strip() for line in lines[start:end]):
            yield _make_page(lines[start:end], None)


def _has_heading_below(lines: Sequence[str], at: int) -> bool:
    below = next((line for line in lines[at + 1 : at + 4] if line.strip()), "")
    return bool(re.match(r" {0,3}#{1,2}[ \t]", below))


def _strip_trailing_rule(lines: Sequence[str]) -> Sequence[str]:
    """Remove the rule between a page and the next one."""
    end = len(_strip_trailing_blanks(lines))
    return lines[: end - 1] if end > 1 and _RULE.match(lines[end - 1]) and not lines[end - 2].strip() else lines[:end]


def _strip_trailing_blanks(lines: Sequence[str]) -> Sequence[str]:
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    return lines[:end]


def _strip_banner(lines: Sequence[str]) -> Sequence[str]:
    """Remove a trailing heading between two bars, which begins the next part of the whole text."""
    end = len(_strip_trailing_blanks(lines))
    if end > 2 and _BAR.fullmatch(lines[end - 1].rstrip()) and lines[end - 3].rstrip() == lines[end - 1].rstrip():
        return lines[: end - 3]
    return lines


def _make_page(lines: Sequence[str], url: str | None, title: str = "") -> FullTextPage:
    markdown = "\n".join(lines).strip("\n") + "\n"
    heading = next((match for line in lines if (match := re.match(r" {0,3}#{1,2}[ \t]+(.*?)[ \t#]*$", line))), None)
    return FullTextPage(title or (heading[1] if heading else ""), markdown, url)


_H1 = re.compile(r" {0,3}#[ \t]+(.*?)[ \t]*#*[ \t]*$")
_TITLES = {1: _H1, 2: re.compile(r" {0,3}##[ \t]+(.*?)[ \t]*#*[ \t]*$")}
_SOURCE = re.compile(
    r"(?:>|\s)*(?:[*_]{0,2})(?:Source|URL|Link)(?:[*_]{0,2}):(?:[*_]{0,2})\s*(?:\[[^\]]*\]\()?<?([^\s<>()]+)", re.I
)
_DOC = re.compile(r"\s*<(?:doc|document|page)\b([^>]*)>\s*$", re.IGNORECASE)
_DOC_END = re.compile(r"\s*</(?:doc|document|page)>\s*$", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([\w-]+)\s*=\s*["']([^"']*)["']""")
_URL_KEY = re.compile(r"(url|source|link|permalink|canonical|canonical_url|source_url)$", re.IGNORECASE)
_URL_LINE = re.compile(r"[>\s]*[*_]*[A-Z][\w ]{0,20}:[*_]*[ \t]*<?https?://\S+\s*$")
_BAR = re.compile(r"-{3,}|={3,}")
_RULE = re.compile(r"\s*(-{3,}|={3,}|\*{3,}|_{3,})\s*$")

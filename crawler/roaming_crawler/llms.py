"""llms.txt files, read tolerantly, and llms-full.txt files, split into pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from mkdocs_roaming.publish.markdown_source import split_front_matter
from mkdocs_roaming.text.blocks import follow_fence, split_lines
from roaming_crawler.scope import canonical_url

# llms.txt


@dataclass(frozen=True, slots=True)
class LlmsLink:
    """A page that an llms.txt lists."""

    url: str
    title: str
    description: str
    group: tuple[str, ...]
    """The headings above it, from the second level on."""


@dataclass(slots=True)
class LlmsIndex:
    """A parsed llms.txt.

    Attributes:
        base: Its URL.
        title: Name of the site.
        summary: Text of the block quote below the title.
        entries: Listed pages by URL.
        nested: URLs of other llms.txt files.
        full: URLs of llms-full.txt files.
    """

    base: str = ""
    title: str = ""
    summary: str = ""
    entries: dict[str, LlmsLink] = field(default_factory=dict)
    nested: dict[str, None] = field(default_factory=dict)
    full: dict[str, None] = field(default_factory=dict)


def parse_llms_txt(text: str, base: str) -> LlmsIndex:
    """Parse an llms.txt; `base` is its URL."""
    parser = _LlmsParser(LlmsIndex(base))
    for line in _blank_code(split_lines(text.removeprefix("\ufeff"))):
        parser.read_line(line)
    for url, entry in parser.mentioned.items():
        parser.index.entries.setdefault(url, entry)
    return parser.index


@dataclass(slots=True)
class _LlmsParser:
    index: LlmsIndex
    group: tuple[str, ...] = ()
    mentioned: dict[str, LlmsLink] = field(default_factory=dict)
    """Links within the descriptions of list items; they are listed last."""

    def read_line(self, line: str) -> None:
        if heading := _HEADING.match(line):
            self._read_heading(len(heading[1]), heading[2])
        elif line.lstrip().startswith(">") and not self.index.entries and not self.group:
            self.index.summary = f"{self.index.summary} {line.lstrip().lstrip('> ')}".strip()
        item = _ITEM.match(line)
        if links := list(_LINK.finditer(line)):
            self._read_links(line, item, links)
        for at, match in enumerate(_BARE_URL.finditer(line)):
            url = match[1].rstrip(".,;:*_")
            if item and not links and not at:
                label = _plain_text(line[item.start(1) : match.start()]).strip(" -*+:–—<>`")
                self._add(url, label, line[match.end() :], self.index.entries)
            elif _LLMS.search(url):
                self._add(url, "", "", self.index.entries)

    def _read_links(self, line: str, item: re.Match[str] | None, links: Sequence[re.Match[str]]) -> None:
        """Add links: a list item is about its first one, the rest of the line describes it."""
        starts_with_link = item is not None and links[0].start() <= item.start(1) + 2
        has_description = item is not None and (starts_with_link or len(links) == 1)
        first, *others = links
        self._add(first[2] or first[3], first[1], line[first.end() :] if has_description else "", self.index.entries)
        for link in others:
            self._add(link[2] or link[3], link[1], "", self.mentioned if starts_with_link else self.index.entries)

    def _read_heading(self, level: int, text: str) -> None:
        title = _plain_text(text)
        if level == 1 and not self.index.title:
            self.index.title = title
        elif level == 1:
            self.group = (title,)
        elif level == 2 or not _LINK.search(text):
            self.group = (*self.group[: level - 2], *filter(None, [title]))

    def _add(self, href: str, title: str, rest: str, entries: dict[str, LlmsLink]) -> None:
        if href.startswith(("#", "mailto:", "tel:", "javascript:", "data:")):
            return
        url = None if _PLACEHOLDER.search(href) or not href else canonical_url(href, self.index.base)
        if url is None:
            return
        if _FULL.search(url):
            self.index.full[url] = None
        elif _LLMS.search(url):
            if url != self.index.base and not _ABRIDGED.search(url):
                self.index.nested[url] = None
        else:
            description = re.sub(r"^[\s:,–—`*_-]+|[`*_]+$", "", _plain_text(rest))
            description = description if re.search(r"\w", description) else ""
            if self.group and url in entries and not entries[url].group:
                del entries[url]  # mentioned above the first group, for example on a map of the groups
            entries.setdefault(url, LlmsLink(url, _plain_text(title) or url, description, self.group))


def _plain_text(text: str) -> str:
    """Return the text of inline Markdown. A parser would take minutes for what a hostile site may write."""
    return " ".join(_MARKUP.sub(r"\1", text).split())


_MARKUP = re.compile(r"!?\[((?:\\.|[^\[\]\\])*)\]\([^()]*\)|\*\*|__|`|\\(?=[!-/:-@\[-`{-~])")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,4}[.)])[ \t]+(.*)")
_LINK = re.compile(
    r"(?<!!)\[((?:\\.|[^\[\]\\]|\[[^\[\]]*\])*)\]\([ \t]*(?:<([^<>]*)>|([^\s()]*(?:\([^\s()]*\)[^\s()]*)*))"
    r"(?:[ \t]+(?:\"[^\"]*\"|'[^']*'))?[ \t]*\)"
)
_BARE_URL = re.compile(r"<?(https?://[^\s<>\"'`)\]|]+)>?")
_LLMS = re.compile(r"(^|/)llms?([-_.][\w.-]*)?\.txt$", re.IGNORECASE)
_FULL = re.compile(r"(^|/)llms?[-_.](\w+[-_.])?full[\w.-]*\.txt$", re.IGNORECASE)
_ABRIDGED = re.compile(r"(^|/)llms?[-_.](ctx|medium|small|tiny|mini)\.txt$", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"\{[^{}]*\}|%7B[^%]*%7D|/:\w+(/|$)|<[\w -]+>", re.IGNORECASE)


# llms-full.txt


class _Mark(NamedTuple):
    """A line at which a page begins or ends, the lines that are not part of its text, and its URL."""

    line: int
    header: range = range(0)
    url: str | None = None


def split_llms_full(text: str, base: str) -> dict[str, str]:
    """Return the Markdown of the pages in an llms-full.txt by URL; `base` is its URL.

    There is no standard: of the conventions of common generators, the one that yields the most pages is used. A URL
    that occurs several times is left out.
    """
    lines = split_lines(text.removeprefix("\ufeff"))
    prose = _blank_code(lines)
    best = max((_cut(lines, find(prose, base)) for find in _CONVENTIONS), key=len)
    is_split = len(best) > 1 or any(2 * len(page) > len(text) for page in best.values())  # else a page quotes one
    return best if is_split else {}


def _blank_code(lines: Sequence[str]) -> list[str]:
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


def _cut(lines: Sequence[str], marks: Iterable[_Mark]) -> dict[str, str]:
    """Return the texts between marks, without their headers and the rules between them."""
    marks = list(marks)
    counts = Counter(mark.url for mark in marks)
    pages: dict[str, str] = {}
    for mark, end in zip(marks, [*(mark.line for mark in marks), len(lines)][1:], strict=True):
        if mark.url is not None and counts[mark.url] == 1:
            text = "\n".join(line for at, line in enumerate(lines[mark.line : end], mark.line) if at not in mark.header)
            pages[mark.url] = _TRAILING_RULE.sub("", text).strip("\n") + "\n"
    return pages


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
            yield _Mark(at)


def _find_source_before_title(prose: Sequence[str], base: str) -> Iterator[_Mark]:
    """Find lines `Source: URL` that are followed by the page's title; blank lines and a quote may be between."""
    for at, line in enumerate(prose):
        if url := _parse_source(line, base):
            below = (line for line in prose[at + 1 : at + 12] if line.strip() and line.lstrip()[0] != ">")
            if _H1.match(next(below, "")):
                yield _Mark(at, range(at, at + 1), url)


def _find_source_after_title(prose: Sequence[str], base: str) -> Iterator[_Mark]:
    """Find titles that are followed by a line `Source: URL`, as Mintlify and Fumadocs write them."""
    for at, line in enumerate(prose):
        if not _H1.match(line):
            continue
        source = at + 1 if "".join(prose[at + 1 : at + 2]).strip() else at + 2
        if url := _parse_source("".join(prose[source : source + 1]), base):
            end = source + 1
            while end < len(prose) and _URL_LINE.match(prose[end]):
                end += 1
            yield _Mark(at, range(at + 1, end), url)


def _parse_source(line: str, base: str) -> str | None:
    match = _SOURCE.match(line)
    return canonical_url(match[1], base) if match else None


_CONVENTIONS = (_find_front_matter, _find_tags, _find_source_before_title, _find_source_after_title)
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

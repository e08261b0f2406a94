"""llms.txt files, read tolerantly, and llms-full.txt files, split into pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import NamedTuple

from mkdocs_roaming.publish.markdown_source import split_front_matter
from mkdocs_roaming.text.blocks import follow_fence, split_lines
from roaming_crawler.scope import canonical_url

_MARKUP = re.compile(r"!?\[((?:\\.|[^\[\]\\])*)\]\([^()]*\)|\*\*|__|`|\\(?=[!-/:-@\[-`{-~])")
"""Inline Markdown, such as `**bold**` or `[Guide](guide.md)`. A parser would take minutes for hostile text."""
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
"""A heading, such as `## Guides`."""
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,4}[.)])[ \t]+(.*)")
"""A list item, such as `- [Guide](guide.md): how to start`."""
_LINK = re.compile(
    r"(?<!!)\[((?:\\.|[^\[\]\\]|\[[^\[\]]*\])*)\]\([ \t]*(?:<([^<>]*)>|([^\s()]*(?:\([^\s()]*\)[^\s()]*)*))"
    r"(?:[ \t]+(?:\"[^\"]*\"|'[^']*'))?[ \t]*\)"
)
"""A link, such as `[Guide](guide.md "Title")` or `[Guide](<my guide.md>)`."""
_BARE_URL = re.compile(r"<?(https?://[^\s<>\"'`)\]|]+)>?")
"""A URL in the text, such as `https://docs.example/` or `<https://docs.example/>`."""
_LLMS = re.compile(r"(^|/)llms?([-_.][\w.-]*)?\.txt$", re.IGNORECASE)
"""The URL of another list, such as `docs/llms.txt` or `llms-api.txt`."""
_FULL = re.compile(r"(^|/)llms?[-_.](\w+[-_.])?full[\w.-]*\.txt$", re.IGNORECASE)
"""The URL of full texts, such as `llms-full.txt` or `llms-ctx-full.txt`."""
_ABRIDGED = re.compile(r"(^|/)llms?[-_.](ctx|medium|small|tiny|mini)\.txt$", re.IGNORECASE)
"""The URL of shortened texts, such as `llms-small.txt`; they list nothing new."""
_PLACEHOLDER = re.compile(r"\{[^{}]*\}|%7B[^%]*%7D|/:\w+(/|$)|<[\w -]+>", re.IGNORECASE)
"""A part of a URL that readers replace, such as `{version}`, `/:id/` or `<name>`."""
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
        first, *more = links
        starts_with_link = item is not None and first.start() <= item.start(1) + 2
        has_description = starts_with_link or (item is not None and not more)
        description = line[first.end() :] if has_description else ""
        self._add(first[first.lastindex or 0], first[1], description, self.index.entries)
        entries = self.mentioned if starts_with_link else self.index.entries
        for link in more:
            self._add(link[link.lastindex or 0], link[1], "", entries)

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
            description = _plain_text(rest).lstrip(" :,–—`*_-").rstrip("`*_")
            if not any(map(str.isalnum, description)):
                description = ""
            if self.group and url in entries and not entries[url].group:
                del entries[url]  # mentioned above the first group, for example on a map of the groups
            entries.setdefault(url, LlmsLink(url, _plain_text(title) or url, description, self.group))


def _plain_text(text: str) -> str:
    """Return the text of inline Markdown."""
    return " ".join(_MARKUP.sub(r"\1", text).split())


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
    conventions = (_find_front_matter, _find_tags, _find_source_before_title, _find_source_after_title)
    pages = max((_cut(lines, list(find(prose, base))) for find in conventions), key=len)
    is_split = len(pages) > 1 or any(2 * len(page) > len(text) for page in pages.values())  # else a page quotes one
    return pages if is_split else {}


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


def _cut(lines: Sequence[str], marks: Sequence[_Mark]) -> dict[str, str]:
    """Return the texts between marks, without their headers and the rules between them."""
    counts = Counter(mark.url for mark in marks)
    pages: dict[str, str] = {}
    for mark, following in zip_longest(marks, marks[1:], fillvalue=_Mark(len(lines))):
        if mark.url is not None and counts[mark.url] == 1:
            inner = range(mark.line, following.line)
            text = "\n".join(lines[at] for at in inner if at not in mark.header)
            pages[mark.url] = _TRAILING_RULE.sub("", text).strip("\n") + "\n"
    return pages


def _find_front_matter(prose: Sequence[str], base: str) -> Iterator[_Mark]:
    """Find blocks between two bars that contain a URL, as VitePress and Next.js write them."""
    header = range(0)
    for at, line in enumerate(prose):
        bar = line.rstrip()
        if at in header or len(bar) < _MIN_BAR or bar.strip("-"):
            continue
        below = [line.rstrip() for line in prose[at + 1 : at + _MAX_FRONT_MATTER]]
        inner = below[: below.index(bar)] if bar in below else []
        keys = split_front_matter("\n".join(["---", *inner, "---", ""]))[1] if inner else {}
        url = next((keys[key] for key in _URL_KEYS if keys.get(key)), "")
        if url and all(map(_YAML.match, inner)):
            header = range(at, at + len(inner) + 2)
            yield _Mark(at, header, canonical_url(url, base))


def _find_tags(prose: Sequence[str], base: str) -> Iterator[_Mark]:
    """Find `<doc>`, `<document>` and `<page>` tags, as llms_txt2ctx writes them."""
    for at, line in enumerate(prose):
        tag = _TAG.match(line)
        if tag is None:
            continue
        attributes = {key.lower(): value for key, value in _ATTRIBUTE.findall(tag[2])}
        url = next((attributes[key] for key in (*_URL_KEYS, "href") if attributes.get(key)), "")
        is_end = bool(tag[1])
        yield _Mark(at) if is_end else _Mark(at, range(at, at + 1), canonical_url(url, base) if url else None)


def _find_source_before_title(prose: Sequence[str], base: str) -> Iterator[_Mark]:
    """Find lines `Source: URL` that are followed by the page's title; blank lines and a quote may be between."""
    for at, line in enumerate(prose):
        if url := _parse_source(line, base):
            below = prose[at + 1 : at + _MAX_SOURCE_DISTANCE]
            text = (line for line in below if line.strip() and not line.lstrip().startswith(">"))
            if _is_title(next(text, "")):
                yield _Mark(at, range(at, at + 1), url)


def _find_source_after_title(prose: Sequence[str], base: str) -> Iterator[_Mark]:
    """Find titles that are followed by a line `Source: URL`, as Mintlify and Fumadocs write them."""
    for at, line in enumerate(prose):
        if not _is_title(line):
            continue
        end = at + 1
        if end < len(prose) and not prose[end].strip():
            end += 1
        url = _parse_source(prose[end], base) if end < len(prose) else None
        if url:
            end += 1
            while end < len(prose) and _URL_LINE.match(prose[end]):
                end += 1
            yield _Mark(at, range(at + 1, end), url)


def _is_title(line: str) -> bool:
    heading = _HEADING.match(line)
    return heading is not None and heading[1] == "#"


def _parse_source(line: str, base: str) -> str | None:
    match = _SOURCE.match(line)
    return canonical_url(match[1], base) if match else None

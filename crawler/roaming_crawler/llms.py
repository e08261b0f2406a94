"""llms.txt files, read tolerantly, and llms-full.txt files, split into pages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from mkdocs_roaming.text.blocks import split_lines
from mkdocs_roaming.text.full_text import blank_code, split_full_text
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
    for line in blank_code(split_lines(text.removeprefix("\ufeff"))):
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
            quoted = line.lstrip("> \t")
            self.index.summary = f"{self.index.summary} {quoted}".strip()
        item = _ITEM.match(line)
        links = list(_LINK.finditer(line))
        if links:
            self._read_links(line, item, links)
        is_subject = item is not None and not links
        for match in _BARE_URL.finditer(line):
            url = match[1].rstrip(".,;:*_")
            if item and is_subject:
                label = _plain_text(line[item.start(1) : match.start()])
                self._add(url, label.strip(" -*+:–—<>`"), line[match.end() :], self.index.entries)
            elif _LLMS.search(url):
                self._add(url, "", "", self.index.entries)
            is_subject = False

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
        if not href or _PLACEHOLDER.search(href):
            return
        url = canonical_url(href, self.index.base)
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


def split_llms_full(text: str, base: str) -> dict[str, str]:
    """Return the Markdown of the pages in an llms-full.txt by URL; `base` is its URL.

    A URL that occurs several times is left out.
    """
    pages = split_full_text(text, lambda url: canonical_url(url, base))
    return {page.url: page.text for page in pages if page.url}

"""llms.txt: a list of the pages of a site, read tolerantly."""

from __future__ import annotations

import os.path
import re
from collections import Counter
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

from msgspec import Struct

from mkdocs_roaming.text.full_text import Resolver, blank_code, frame_lines

_MIN_LINKED_LEVEL = 3
"""Level of headings from which a link in them is a page of the group above, and no group."""
_MARKUP = re.compile(r"!?\[((?:\\.|[^\[\]\\])*)\]\([^()]*\)|\*\*|__|`|\\(?=[!-/:-@\[-`{-~])")
"""Inline Markdown, such as `**bold**` or `[Guide](guide.md)`. A parser would take minutes for hostile text."""
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
"""A heading, such as `## Guides`."""
_ITEM = re.compile(r"[ \t]*(?:[-*+|]|\d{1,4}[.)])[ \t]+(.*)")
"""A list item or a row, such as `- [Guide](guide.md): how to start`."""
_LINK = re.compile(
    r"(?<!!)\[((?:\\.|[^\[\]\\]|\[[^\[\]]*\])*)\]\([ \t]*(?:<([^<>]*)>|([^\s()]*(?:\([^\s()]*\)[^\s()]*)*))"
    r"(?:[ \t]+(?:\"[^\"]*\"|'[^']*'))?[ \t]*\)"
)
"""A link, such as `[Guide](guide.md "Title")` or `[Guide](<my guide.md>)`."""
_BARE_URL = re.compile(
    r"\n[ \t]*((?:[-*+|]|\d{1,4}[.)])[ \t]+)?(?:[*_]*(?:url|link|address)[*_]*:[*_]*[ \t]+"
    r"|((?(1)(?:(?!\]\()[^\n<])*?|(?:[^.,;|\n\[\]<]{0,80}:[ \t]+)?)))"
    r"[*_`<]*(https?://[^\s<>\"'`)\]|]*[^\s<>\"'`)\]|.,;:*_]|(?<=\s)/[\w%~.-]+/[\w%~./-]*(?=[ \t]*(?:\n|[:–—-])))>?",
    re.IGNORECASE,
)
"""A line that is about a URL, such as `- Guide: https://docs.example/guide/`, `https://docs.example/` or a row."""
_AS_ITEM = r"\n- [\2](<\3>)"
_URL = re.compile(r"https?://[^\s<>\"'`)\]|]*[^\s<>\"'`)\]|.,;:*_]", re.IGNORECASE)
"""A URL anywhere in the text."""
_DEFINITION = re.compile(r"\n {0,3}\[([^\[\]\n]+)\]:[ \t]*<?([^\s<>]+)[^\n]*")
"""The address of reference links, such as `[guide]: guide.md`."""
_REFERENCE = re.compile(r"(?<![!\]])\[([^\[\]\n]*)\](?:\[([^\[\]\n]*)\])?(?!\()")
"""A reference link, such as `[Guide][guide]` or `[Guide]`."""
_ANCHOR = re.compile(
    r"<a\s[^<>]*?href\s*=\s*[\"']?([^\s\"'<>]+)[^<>]*>(?:\s*<[^<>]*>)*\s*([^<>\n]*?)\s*(?:<[^<>]*>\s*)*</a>",
    re.IGNORECASE,
)
_AS_LINK = r"[\2](<\1>)"
_LLMS = re.compile(r"(^|/)llms?([-_.][\w.-]*)?\.txt$", re.IGNORECASE)
"""The URL of another list, such as `docs/llms.txt` or `llms-api.txt`."""
_FULL = re.compile(r"(^|/)llms?[-_.](\w+[-_.])?full[\w.-]*\.txt$", re.IGNORECASE)
"""The URL of full texts, such as `llms-full.txt` or `llms-ctx-full.txt`."""
_ABRIDGED = re.compile(r"(^|/)llms?[-_.](ctx|medium|small|tiny|mini)\.txt$", re.IGNORECASE)
"""The URL of shortened texts, such as `llms-small.txt`; they list nothing new."""
_PLACEHOLDER = re.compile(r"\A(?:#|\Z)|\{[^{}]*\}|%7B[^%]*%7D|/:\w+(/|$)|<[\w -]+>", re.IGNORECASE)
"""A part of a URL that readers replace, such as `{version}`, `/:id/` or `<name>`; also no URL but an anchor."""


class LlmsLink(NamedTuple):
    """A page that an llms.txt lists; its group is the headings above it, from the second level on."""

    url: str
    title: str
    description: str
    group: tuple[str, ...]


class LlmsIndex(Struct):
    """A parsed llms.txt.

    Attributes:
        base: Its URL.
        resolve: Returns the URL of a link, None for what is none.
        title: Name of the site.
        summary: Text of the block quote below the title.
        entries: Listed pages by URL.
        nested: URLs of other llms.txt files.
        full: URLs of llms-full.txt files.
        lines: Number of lines that are neither headings nor quotes.
        items: Number of list items with links.
    """

    base: str
    resolve: Resolver
    title: str = ""
    summary: str = ""
    entries: dict[str, LlmsLink] = {}
    nested: dict[str, None] = {}
    full: dict[str, None] = {}
    lines: int = 0
    items: int = 0
    _group: tuple[str, ...] = ()
    _above: str = ""
    """Text of the last list item without a link."""
    _mentioned: dict[str, LlmsLink] = {}
    """Links within the descriptions of list items; they are listed last."""

    @classmethod
    def from_text(cls, text: str, base: str, resolve: Resolver) -> LlmsIndex:
        """Parse an llms.txt.

        Args:
            text: The text.
            base: Its URL.
            resolve: Returns the URL of a link, None for what is none.
        """
        index = cls(base, resolve)
        prose = blank_code(frame_lines(text))
        definitions = {_plain_text(label).casefold(): url for label, url in _DEFINITION.findall(prose)}

        def make_link(match: re.Match[str]) -> str:
            url = definitions.get(_plain_text(match[2] or match[1]).casefold())
            return f"[{match[1]}](<{url}>)" if url else match[0]

        if definitions:
            prose = _REFERENCE.sub(make_link, _DEFINITION.sub("", prose))
        prose = _BARE_URL.sub(_AS_ITEM, _ANCHOR.sub(_AS_LINK, prose))
        for line in prose.split("\n"):
            index._read_line(line)
        wanted = _LLMS if index.entries else _URL
        for url in filter(wanted.search, _URL.findall(prose)):
            index._add(url, "", "", index.entries)
        for url, entry in index._mentioned.items():
            index.entries.setdefault(url, entry)
        return index

    def find_site(self) -> str:
        """Return the folder of the listed pages; empty if the text is no list of the pages of one host."""
        urls = (*self.entries, *self.nested, *self.full)
        hosts = Counter(urlsplit(url).netloc for url in urls)
        [(host, count)] = hosts.most_common(1) or [("", 0)]
        is_list = self.items > 1 and 2 * self.items > self.lines and 2 * count > len(urls)
        shared = os.path.commonprefix([url for url in urls if urlsplit(url).netloc == host])  # noqa: RUF071
        return urljoin(shared, ".") if is_list else ""

    def _read_line(self, line: str) -> None:
        """Add what a line lists: a list item is about its first link, the rest of the line describes it."""
        item = _ITEM.match(line)
        links = list(_LINK.finditer(line))
        if heading := _HEADING.match(line):
            self._read_heading(len(heading[1]), heading[2])
        elif not line.lstrip().startswith(">"):
            self.lines += bool(line.strip())
        elif not self.entries and not self._group:
            self.summary = f"{self.summary} {line.strip().lstrip('> ')}".strip()
        if item and links:
            self.items += 1
        elif item:
            self._above = _plain_text(item[1])
        for link in links:
            is_first = link is links[0]
            starts_with_link = item is not None and links[0].start() <= item.start(1) + 2
            description = line[link.end() :] if item and is_first else ""
            known = self.entries if is_first or not starts_with_link else self._mentioned
            self._add(link[link.lastindex or 0], link[1] or self._above, description, known)

    def _read_heading(self, level: int, text: str) -> None:
        title = _plain_text(text)
        if level == 1 and not self.title:
            self.title = title
        elif level < _MIN_LINKED_LEVEL or not _LINK.search(text):
            self._group = (*self._group[: max(0, level - 2)], title)

    def _add(self, href: str, title: str, rest: str, entries: dict[str, LlmsLink]) -> None:
        """Add a link to the entries, or to the lists of its kind."""
        url = None if _PLACEHOLDER.search(href) else self.resolve(href)
        if not url:
            return
        if _FULL.search(url):
            self.full[url] = None
        elif _LLMS.search(url):
            if url != self.base and not _ABRIDGED.search(url):
                self.nested[url] = None
        else:
            description = _plain_text(rest).lstrip(" :,–—`*_-|").rstrip("`*_ |")
            if not any(map(str.isalnum, description)):
                description = ""
            if self._group and url in entries and not entries[url].group:
                del entries[url]  # mentioned above the first group, for example on a map of the groups
            title = _plain_text(title).rstrip(" :–—|-") or url
            entries.setdefault(url, LlmsLink(url, title, description, self._group))


def _plain_text(text: str) -> str:
    """Return the text of inline Markdown."""
    return " ".join(_MARKUP.sub(r"\1", text).split())

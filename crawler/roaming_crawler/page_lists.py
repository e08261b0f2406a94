"""Lists of pages that sites publish: llms.txt files, read tolerantly, and sitemaps, parsed without XML entities."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass, field

import httpx2
from lxml import etree

from mkdocs_roaming.text.markdown import split_lines, strip_markup
from roaming_crawler.contents import sniff_kind
from roaming_crawler.fetch import FetchError, Response, decompress
from roaming_crawler.llms_full import blank_code
from roaming_crawler.scope import canonical_url, url_origin

MAX_SITEMAPS = 200
MAX_SITEMAP_BYTES = 50_000_000
"""Maximum size of a decompressed sitemap, as the protocol says."""


# Sitemaps


@dataclass(frozen=True, slots=True)
class Sitemap:
    """The URLs of pages and of other sitemaps in a sitemap; `fault` is a problem, as a message."""

    urls: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()
    fault: str = ""


@dataclass(slots=True)
class ListedUrls:
    """The canonical URLs in all sitemaps of a site, each with the URL of its sitemap, and problems as messages."""

    pages: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


async def collect_sitemaps(
    get: Callable[[str], Awaitable[Response | None]], roots: Iterable[str], *, expected: Collection[str]
) -> ListedUrls:
    """Fetch sitemaps and the sitemaps that they list on the same host.

    Args:
        get: Fetches a URL; returns None if there is nothing.
        roots: URLs of the first sitemaps.
        expected: URLs that robots.txt names: it is reported if one of them is not a sitemap.
    """
    found = ListedUrls()
    queue = list(dict.fromkeys(roots))
    seen = set(queue)
    while queue:
        url = queue.pop(0)
        response = await get(url)
        if response is None or sniff_kind(response) == "html":
            if url in expected:
                found.notes.append(f"{url}: named by robots.txt, but is not a sitemap")
            continue
        sitemap = parse_sitemap(response.body)
        if sitemap.fault:
            found.notes.append(f"{url}: {sitemap.fault}")
        for listed in sitemap.urls:
            if page := canonical_url(listed, response.url):
                found.pages.append((page, url))
        for listed in sitemap.sitemaps:
            nested = canonical_url(listed, response.url)
            if nested and nested not in seen and url_origin(nested) == url_origin(response.url):
                if len(seen) >= MAX_SITEMAPS:
                    found.notes.append(f"{url}: more than {MAX_SITEMAPS} sitemaps; the rest is not read")
                    queue.clear()
                    break
                seen.add(nested)
                queue.append(nested)
    return found


def parse_sitemap(data: bytes) -> Sitemap:
    """Parse a sitemap or a sitemap index in XML or text, gzipped or not.

    Data that is not a sitemap, or unsafe to parse, yields a fault and no URLs.
    """
    if data[:2] == b"\x1f\x8b":
        try:
            data = decompress(data, MAX_SITEMAP_BYTES)
        except (FetchError, httpx2.DecodingError) as error:
            return Sitemap(fault=str(error))
    if re.search(rb"<!(DOCTYPE|ENTITY)", data[:10_000].replace(b"\0", b""), re.IGNORECASE):
        return Sitemap(fault="declares entities or is a web page; not read")
    if not data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"<", b"\xff\xfe", b"\xfe\xff")):
        urls = re.findall(rb"^\s*(https?://\S+)\s*$", data, re.MULTILINE)
        return Sitemap(tuple(url.decode("utf-8", "replace") for url in urls), fault="" if urls else "lists no URLs")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=True, huge_tree=False)
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        return Sitemap(fault=f"not XML ({error})")
    if root is None:
        return Sitemap(fault="not XML")
    return _read_entries(root)


def _read_entries(root: etree._Element) -> Sitemap:
    """Return the URLs below the root of a sitemap, whatever its namespace."""
    found: dict[str, list[str]] = {"url": [], "sitemap": []}
    for location in root.iter("{*}loc"):
        parent = location.getparent()
        name = etree.QName(parent).localname if parent is not None else ""
        if name in found and (url := (location.text or "").strip()):
            found[name].append(url)
    fault = "" if found["url"] or found["sitemap"] else "lists no URLs"
    return Sitemap(tuple(found["url"]), tuple(found["sitemap"]), fault)


# llms.txt


@dataclass(frozen=True, slots=True)
class LlmsLink:
    """A page that an llms.txt lists."""

    url: str
    title: str
    description: str = ""
    group: tuple[str, ...] = ()
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
        invalid: Links that are not URLs.
    """

    base: str = ""
    title: str = ""
    summary: str = ""
    entries: dict[str, LlmsLink] = field(default_factory=dict)
    nested: dict[str, None] = field(default_factory=dict)
    full: dict[str, None] = field(default_factory=dict)
    invalid: list[str] = field(default_factory=list)


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
            self.index.summary = f"{self.index.summary} {line.lstrip().lstrip('> ')}".strip()
        item, links = _ITEM.match(line), list(_LINK.finditer(line))
        starts_with_link = bool(item and links and links[0].start() <= item.start(1) + 2)
        for at, link in enumerate(links):
            # A list item is about its first link.
            rest = line[link.end() :] if item and not at and (starts_with_link or len(links) == 1) else ""
            entries = self.mentioned if starts_with_link and at else self.index.entries
            self._add(link[2] or link[3], link[1], rest, entries)
        for at, match in enumerate(_BARE_URL.finditer(line)):
            url = match[1].rstrip(".,;:*_")
            if item and not links and not at:
                label = _plain_text(item[1][: match.start() - item.start(1)]).strip(" -*+:–—<>`")
                self._add(url, label, line[match.end() :], self.index.entries)
            elif _LLMS.search(url):
                self._add(url, "", "", self.index.entries)

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
            self.index.invalid.append(href[:80])
        elif _FULL.search(url):
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
    return strip_markup(text[:_MAX_TEXT])


_MAX_TEXT = 2_000
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

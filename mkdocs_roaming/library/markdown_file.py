"""One Markdown text as a site: a README, an article, or an llms-full.txt with many pages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from markdown_it import MarkdownIt

from mkdocs_roaming.library.readers import MemoryReader, parent_url
from mkdocs_roaming.manifest.builder import PublishedPage, build_manifest
from mkdocs_roaming.manifest.io import dump_manifest, with_digest
from mkdocs_roaming.manifest.models import Manifest, Page, Site, markdown_path, url_to_path
from mkdocs_roaming.manifest.sections import Section, github_slug, split_sections

_SOURCE_BEFORE = re.compile(  # a page's `Source:` line, and what may be between it and the page's H1
    r"(?:\A|(?<=[\r\n]))(?:-{3,}[ \t]*[\r\n]+)?(?:Source|URL):[ \t]*<?(https?://[^\s<>]+)>?[ \t]*(?:\r\n|\n|\r)\s*"
    r"(?:>[^\r\n]*llms\.txt[^\r\n]*\s*)?(?:-{3,}\s*)?\Z"
)
_SOURCE_AFTER = re.compile(
    r"\A([^\r\n]*(?:\r\n|\n|\r)\s*)((?:Source|URL):[ \t]*<?(https?://[^\s<>]+)>?[ \t]*(?:\r\n|[\r\n]|\Z))"
)
_SOURCE_DISTANCE = 2000
"""Maximum number of characters between a `Source:` line and its H1."""
_MAX_LEAD_WORDS = 3
"""A text of no more words before the first page is a rule or a logo, not a page."""


def parse_markdown_site(markdown: str, *, name: str, url: str, where: str) -> tuple[Manifest, MemoryReader]:
    """Return the manifest of a Markdown text, and a reader of its pages.

    A text with several H1s becomes several pages. A line `Source: URL` before or after an H1 is the address of its
    page; if two or more H1s have one, the others are sections of the page above them.

    Args:
        markdown: The text.
        name: The site's name, unless the only page has a title.
        url: The text's own address; empty if it has none.
        where: Names the text in messages.
    """
    pages = _split_pages(markdown, name)
    site_url = _site_url([page.url for page in pages], url)
    title = pages[0].sections[0].title if len(pages) == 1 else name
    paths = _unique_paths(pages, site_url)
    published = [
        PublishedPage(
            Page(path=path, title=page.sections[0].title, url=page.url or url or None), page.text, page.sections
        )
        for page, path in zip(pages, paths, strict=True)
    ]
    manifest = with_digest(build_manifest(Site(title or name, site_url, nav_source="llms.txt"), published))
    data = [page.text.encode("utf-8", "surrogatepass") for page in pages]
    files = dict(zip(map(markdown_path, paths), data, strict=True))
    return manifest, MemoryReader(files, dump_manifest(manifest).encode("utf-8", "surrogatepass"), where=where)


@dataclass(frozen=True, slots=True)
class _MarkdownPage:
    """The text of one page, without its `Source:` line, and its address."""

    text: str
    url: str | None
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True)
class _PageStart:
    """An H1: the byte at which its page begins (its `Source:` line or itself), its address, the byte of the H1."""

    cut: int
    url: str | None
    heading: int


def _split_pages(markdown: str, name: str) -> list[_MarkdownPage]:
    data = markdown.encode("utf-8", "surrogatepass")
    sections = split_sections(markdown, title=name)
    # The first section is always the page's own: only its text shows whether it has an H1, and where.
    first = _find_h1(data[sections[0].start : sections[0].end].decode("utf-8", "replace"))
    headings = [section.start for section in sections[1:] if section.level == 1]
    if first is not None:
        headings.insert(0, sections[0].start + first)
    if not headings or (len(headings) == 1 and first is not None):
        url = _page_start(data, headings[0] if headings else sections[0].start).url
        return [_MarkdownPage(markdown, url, sections)]
    starts = [_page_start(data, heading) for heading in headings]
    if sum(1 for start in starts if start.url) > 1:
        starts = [start for start in starts if start.url]
    ends = [*(start.cut for start in starts[1:]), len(data)]
    lead = data[: starts[0].cut].decode("utf-8", "surrogatepass")
    pages = [_page(data[start.heading : end], start.url, name) for start, end in zip(starts, ends, strict=True)]
    if starts[0].url is None and _find_h1(lead) is None:  # a logo above the title
        return [_page(data[: ends[0]], None, name), *pages[1:]]
    has_lead_page = len(lead.split()) > _MAX_LEAD_WORDS
    return [_page(data[: starts[0].cut], None, name), *pages] if has_lead_page else pages


def _page(data: bytes, url: str | None, name: str) -> _MarkdownPage:
    text = data.decode("utf-8", "surrogatepass")
    if url and (source := _SOURCE_AFTER.match(text)):
        text = text[: source.start(2)] + text[source.end(2) :]
    return _MarkdownPage(text, url, split_sections(text, title=name))


def _find_h1(text: str) -> int | None:
    """Return the byte at which the first H1 begins."""
    lines = text.splitlines(keepends=True)
    for token in MarkdownIt("commonmark").disable("inline").parse(text):
        if token.type == "heading_open" and token.level == 0 and token.tag == "h1" and token.map:
            return len("".join(lines[: token.map[0]]).encode("utf-8"))
    return None


def _page_start(data: bytes, heading: int) -> _PageStart:
    before = data[max(0, heading - _SOURCE_DISTANCE) : heading].decode("utf-8", "ignore")
    if source := _SOURCE_BEFORE.search(before):
        return _PageStart(heading - len(before[source.start() :].encode("utf-8")), source[1], heading)
    after = _SOURCE_AFTER.match(data[heading : heading + _SOURCE_DISTANCE].decode("utf-8", "ignore"))
    return _PageStart(heading, after[3] if after else None, heading)


# Addresses


def _site_url(page_urls: Sequence[str | None], url: str) -> str:
    """Return the folder that the pages' addresses share, or else the folder of the text's own address."""
    urls = [each for each in page_urls if each]
    if len(urls) > 1 and len({urlsplit(each)[:2] for each in urls}) == 1:
        shared = parent_url(_common_prefix(urls))
        if urlsplit(shared).netloc:
            return shared
    return parent_url(urls[0] if urls else url) if urls or url else ""


def _common_prefix(texts: Sequence[str]) -> str:
    first, last = min(texts), max(texts)
    length = next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
    return first[:length]


def _unique_paths(pages: Sequence[_MarkdownPage], site_url: str) -> list[str]:
    """Return a path for each page, from its address or else from its title."""
    taken: set[str] = set()
    paths: list[str] = []
    for page in pages:
        path = url_to_path(site_url, page.url) if page.url and site_url else None
        if path is None:
            path = "" if len(pages) == 1 else github_slug(page.sections[0].title)[:80] + "/"
        base, number = path, 1
        while markdown_path(path) in taken:
            number += 1
            path = f"{base.rstrip('/')}~{number}/"
        taken.add(markdown_path(path))
        paths.append(path)
    return paths

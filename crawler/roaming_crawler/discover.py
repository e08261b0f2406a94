"""Discovery of a site's pages by its manifest, llms.txt and sitemaps. Links on pages are followed later."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import cast
from urllib.parse import urljoin

from lxml import etree

from mkdocs_roaming.errors import ManifestError, RoamingError
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from mkdocs_roaming.manifest.models import Manifest, NavItem
from mkdocs_roaming.text.full_text import split_full_text
from mkdocs_roaming.text.llms_index import LlmsIndex
from roaming_crawler.config import MEGABYTE, DiscoveryConfig
from roaming_crawler.contents import sniff_kind
from roaming_crawler.fetch import Response
from roaming_crawler.page import PageRef, make_page_ref
from roaming_crawler.parser import ParsedPage, parse_page
from roaming_crawler.scope import (
    Scope,
    file_suffix,
    has_web_scheme,
    is_page_url,
    loose_key,
    url_origin,
)
from roaming_crawler.session import ACCEPT_HTML, Session

MAX_LISTS = 251
"""Maximum number of llms.txt files or sitemaps that are read from the first one."""
MAX_FULL_BYTES = 50 * MEGABYTE
MAX_MANIFEST_BYTES = 100 * MEGABYTE
MAX_SITEMAP_BYTES = 50 * MEGABYTE
"""Maximum size of a decompressed sitemap, as the protocol says."""

_MIN_FULL_SHARE = 0.9
"""Share of the listed pages that llms-full.txt must contain to be used."""
_MAX_PROLOG_BYTES = 10_000
_PAGES = (
    "//*[local-name()='url']/*[local-name()='loc']/text() | //*[local-name()='item']/*[local-name()='link']/text()"
    " | //*[local-name()='item'][not(*[local-name()='link'])]/*[local-name()='guid'][not(@isPermaLink='false')]/text()"
    " | //*[local-name()='entry']/*[local-name()='link'][not(@rel) or @rel='alternate']/@href"
)
"""URLs of pages in sitemaps, RSS and Atom."""
_SITEMAPS = "//*[local-name()='sitemap']/*[local-name()='loc']/text()"


@dataclass(slots=True)
class DiscoveredPages:
    """What a site publishes about its pages.

    Attributes:
        scope: Scope of the crawl.
        manifest: The site's manifest; nothing else is discovered then.
        root: URL to which the manifest's paths are relative.
        indexes: The llms.txt files.
        full: URL of the llms-full.txt that texts were taken from.
        entries: Pages by what the spellings of their URLs have in common.
        is_alone: Whether the start page has text, links to no other page in scope, and no list is known.
        ways: URLs of the lists that name pages; `links on pages` if those lead to more.
        notes: Problems, as messages.
        siblings: URLs of pages that are not in the scope, but in the folder above it.
        navs: Navigation of pages that are not published themselves, such as mdBook's frame.
    """

    scope: Scope
    manifest: Manifest | None = None
    root: str = ""
    indexes: list[LlmsIndex] = field(default_factory=list)
    full: str = ""
    entries: dict[str, PageRef] = field(default_factory=dict)
    is_alone: bool = False
    ways: dict[str, None] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    navs: list[tuple[NavItem, ...]] = field(default_factory=list)
    siblings: set[str] = field(default_factory=set)

    def add(self, ref: PageRef) -> None:
        """Add a page, or merge it with a known reference to the same page. A listed URL wins over a guessed one."""
        key = loose_key(ref.url)
        known = self.entries.get(key, ref)
        preferred = ref if known.guessed else known
        self.entries[key] = replace(
            preferred,
            markdown=known.markdown or ref.markdown,
            title=known.title or ref.title,
            description=known.description or ref.description,
        )

    def add_sibling(self, url: str) -> None:
        """Add a page that is not in scope if it is in the folder above."""
        if is_page_url(url) and not self.scope.is_below(url) and url.startswith(urljoin(self.scope.url, "../")):
            self.siblings.add(url)


async def discover(session: Session, scope: Scope, start: str, config: DiscoveryConfig) -> DiscoveredPages:
    """Discover the pages of a site.

    Args:
        session: Network access.
        scope: Scope of the crawl.
        start: URL given by the user; it may be outside of the scope.
        config: Which lists are used.
    """
    discovered = DiscoveredPages(scope)
    lists = _ListReader(session, discovered)
    if config.manifest and await lists.read_manifest():
        return discovered
    response = await session.find(start, ACCEPT_HTML)
    home = scope.localize(response.url) if response else start
    is_html = response is not None and sniff_kind(response) == "html"
    page = parse_page(response, scope.url) if response and is_html else ParsedPage(skip_reason="no page")
    links = [link for link in map(scope.localize, page.all_links) if is_page_url(link) and scope.contains(link)]
    is_elsewhere = not scope.is_below(start)
    others = set(map(loose_key, links)) - {loose_key(start), loose_key(home)}
    discovered.is_alone = not (page.skip_reason or is_elsewhere or others)
    if config.llms:
        await lists.read_llms((start,) if start.endswith(".txt") else page.llms)
    if config.sitemap:
        await lists.read_sitemaps(page.sitemaps)
    discovered.is_alone = discovered.is_alone and not discovered.entries
    if (is_html or is_page_url(home)) and (scope.contains(home) if response else scope.path(home)):
        discovered.add(make_page_ref(home) if has_web_scheme(home) else PageRef(home))
    if is_elsewhere:
        for link in links:
            discovered.add(make_page_ref(link))
    return discovered


@dataclass(slots=True)
class _ListReader:
    """Reads the lists that a site publishes."""

    session: Session
    discovered: DiscoveredPages
    texts: dict[str, None] = field(default_factory=dict)
    """URLs of texts that contain several pages."""

    async def read_manifest(self) -> bool:
        """Return whether there is a manifest."""
        discovered = self.discovered
        url = discovered.scope.url + MANIFEST_PATH
        response = await self.session.find(url, kind="json", cap=MAX_MANIFEST_BYTES)
        if response is None:
            return False
        try:
            discovered.manifest = load_manifest(response.body, where=response.url)
        except ManifestError as error:
            discovered.notes.append(f"{error}; the site is crawled without it")
            return False
        discovered.root = urljoin(response.url, "../")
        discovered.ways[url] = None
        return True

    async def read_sitemaps(self, named: Iterable[str]) -> None:
        """Read the sitemaps of robots.txt and a page, and those at the usual addresses."""
        scope = self.discovered.scope
        robots = await self.session.robots(scope.url)
        urls = [*robots.sitemaps, *named]
        if not (urls and self.discovered.is_alone):
            urls += [f"{scope.url}sitemap.xml", "/sitemap.xml"]
        await self._read_lists(map(scope.resolver(scope.url), urls), self._read_sitemap)

    async def read_llms(self, named: Iterable[str]) -> None:
        """Read the first llms.txt that lists pages, the files that it names, and llms-full.txt.

        It is at one of the named URLs, in the folder of the crawl, at the root, or in a common folder.
        """
        scope = self.discovered.scope
        folders = ["", "/", "/docs/", "/.well-known/"]
        if self.discovered.is_alone:
            del folders[1:]
        urls = (*named, *(f"{folder}llms.txt" for folder in folders))
        for url in dict.fromkeys(map(scope.resolver(scope.url), urls)):
            if not self.discovered.entries:
                await self._read_lists([url], self._read_llms_txt)
        if self.discovered.entries:
            await self._read_llms_full()

    async def _read_lists(self, roots: Iterable[str | None], read: Callable[[Response], Iterable[str]]) -> None:
        """Read lists, and those on the same host that they name."""
        queue = [*dict.fromkeys(filter(None, roots))]
        for url in queue:
            response = await self.session.find(url, cap=MAX_SITEMAP_BYTES)
            for nested in read(response) if response else ():
                if url_origin(nested) != url_origin(url):
                    self._report_host(url, nested)
                elif nested not in queue:
                    queue.append(nested)
            if len(queue) > MAX_LISTS:
                self.discovered.notes.append(f"{url}: names more than {MAX_LISTS} lists; the rest is not read")
                del queue[MAX_LISTS:]

    def _read_sitemap(self, response: Response) -> Iterable[str]:
        """Add the pages of a sitemap, and return the URLs of others that it names."""
        if sniff_kind(response) == "html":
            return ()
        try:
            pages, sitemaps = parse_sitemap(response.body)
        except SitemapError as error:
            self.discovered.notes.append(f"{response.url}: {error}")
            return ()
        resolve = self.discovered.scope.resolver(response.url)
        for url in filter(None, map(resolve, pages)):
            self._add(url, response.url)
        return filter(None, map(resolve, sitemaps))

    def _read_llms_txt(self, response: Response) -> Iterable[str]:
        """Add the pages of an llms.txt, and return the URLs of others that it names."""
        discovered = self.discovered
        if sniff_kind(response) != "markdown":
            return ()
        resolve = discovered.scope.resolver(response.url)
        index = LlmsIndex.from_text(response.text, response.url, resolve)
        if discovered.indexes and not index.find_site() and split_full_text(response.text, resolve).dialect:
            self.texts[response.url] = None  # named like a list
            return ()
        discovered.indexes.append(index)
        for link in index.entries.values():
            self._add(link.url, response.url, title=link.title, description=link.description)
        if not (index.entries or index.nested or index.full):
            discovered.notes.append(f"{response.url}: lists no pages")
        return index.nested

    def _add(self, url: str, source: str, *, title: str = "", description: str = "") -> None:
        """Add a listed page if it is in scope."""
        scope = self.discovered.scope
        if url_origin(url) != url_origin(scope.url):
            self._report_host(source, url)
        elif scope.contains(url) and file_suffix(url) is not None:
            self.discovered.add(make_page_ref(url, title=title, description=description))
            self.discovered.ways[source] = None
        else:
            self.discovered.add_sibling(url)

    def _report_host(self, source: str, url: str) -> None:
        note = f"{source}: names pages of {url_origin(url)}; crawl that URL to include them"
        if note not in self.discovered.notes:
            self.discovered.notes.append(note)

    async def _read_llms_full(self) -> None:
        """Use the page texts in llms-full.txt if it contains the pages that llms.txt lists."""
        discovered = self.discovered
        localize = discovered.scope.localize
        named = chain(self.texts, *(index.full for index in discovered.indexes))
        usual = urljoin(discovered.indexes[0].base, "llms-full.txt")
        for url in dict.fromkeys(map(localize, (*named, usual))):
            if url_origin(url) != url_origin(discovered.scope.url):
                continue
            response = await self.session.find(url, kind="markdown", cap=MAX_FULL_BYTES)
            if response is None:
                continue
            full = split_full_text(response.text, discovered.scope.resolver(response.url))
            texts = {loose_key(make_page_ref(page.url).url): page.text for page in full.pages if page.url}
            listed = texts.keys() & discovered.entries.keys()
            if listed and len(listed) >= _MIN_FULL_SHARE * len(discovered.entries):
                for key in listed:
                    discovered.entries[key].text = texts[key]
                discovered.full = url
                discovered.ways[f"{url} ({full.dialect})"] = None
                return
            discovered.notes.append(
                f"{url}: names the URLs of {len(listed)} of the {len(discovered.entries)} pages that llms.txt lists; "
                "not used, every page is fetched"
            )


class SitemapError(RoamingError):
    """A response is not a sitemap, or unsafe to parse."""


def parse_sitemap(data: bytes) -> tuple[list[str], list[str]]:
    """Return the URLs of pages and of other sitemaps in a sitemap: XML, a feed, or a text with a URL a line.

    Raises:
        SitemapError: The data is not a sitemap, or unsafe to parse.
    """
    prolog = data[:_MAX_PROLOG_BYTES].replace(b"\0", b"").upper()
    if b"<!DOCTYPE" in prolog or b"<!ENTITY" in prolog:
        raise SitemapError("declares entities or is a web page; not read")
    if b"<" not in prolog:
        lines = map(str.strip, data.decode("utf-8-sig", "replace").splitlines())
        pages = [*filter(has_web_scheme, lines)]
        sitemaps = []
    else:
        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=True, huge_tree=False)
        try:
            root = etree.fromstring(data, parser)
        except (etree.XMLSyntaxError, ValueError) as error:
            raise SitemapError(f"not XML ({error})") from None
        pages = _find_texts(root, _PAGES)
        sitemaps = _find_texts(root, _SITEMAPS)
    if not pages and not sitemaps:
        raise SitemapError("lists no URLs")
    return pages, sitemaps


def _find_texts(root: etree._Element | None, path: str) -> list[str]:
    texts = cast("list[str]", root.xpath(path, smart_strings=False)) if root is not None else []
    return [text.strip() for text in texts]

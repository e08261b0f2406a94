"""Discovery of a site's pages by its manifest, llms.txt and sitemaps. Links on pages are followed later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from urllib.parse import urljoin

from lxml import etree

from mkdocs_roaming.errors import ManifestError, RoamingError
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from mkdocs_roaming.manifest.models import Manifest, NavItem
from roaming_crawler.config import MEGABYTE, DiscoveryConfig
from roaming_crawler.contents import sniff_kind
from roaming_crawler.llms import LlmsIndex, parse_llms_txt, split_llms_full
from roaming_crawler.page import PageRef, make_page_ref
from roaming_crawler.parser import ParsedPage, parse_page
from roaming_crawler.scope import (
    Scope,
    canonical_url,
    file_suffix,
    has_web_scheme,
    is_page_url,
    loose_key,
    url_origin,
)
from roaming_crawler.session import ACCEPT_HTML, Session

MAX_NESTED_LLMS = 250
"""Maximum number of llms.txt files that are followed from the first one."""
MAX_FULL_BYTES = 50 * MEGABYTE
MAX_MANIFEST_BYTES = 100 * MEGABYTE
MAX_SITEMAPS = 200
MAX_SITEMAP_BYTES = 50 * MEGABYTE
"""Maximum size of a decompressed sitemap, as the protocol says."""

_MIN_FULL_SHARE = 0.9
"""Share of the listed pages that llms-full.txt must contain to be used."""
_MAX_PROLOG_BYTES = 10_000
_LISTS_OF_PAGES = (("url", "loc"), ("item", "link"), ("entry", "link"))
"""Elements of sitemaps, RSS and Atom, and those in them that have the URL of a page."""


@dataclass(slots=True)
class DiscoveredPages:
    """What a site publishes about its pages.

    Attributes:
        scope: Scope of the crawl.
        manifest: The site's manifest; nothing else is discovered then.
        root: URL to which the manifest's paths are relative.
        indexes: The llms.txt files.
        full: URL of the llms-full.txt that texts were taken from.
        entries: Pages by URL.
        is_alone: Whether the start page has text, links to no other page in scope, and no list is known.
        ways: URLs of the lists that name pages; `links on pages` if those lead to more.
        notes: Problems, as messages.
        navs: Navigation of pages that are not published themselves, such as mdBook's frame.
    """

    scope: Scope
    manifest: Manifest | None = None
    root: str = ""
    indexes: list[LlmsIndex] = field(default_factory=list)
    full: str = ""
    entries: dict[str, PageRef] = field(default_factory=dict)
    is_alone: bool = False
    ways: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    navs: list[tuple[NavItem, ...]] = field(default_factory=list)
    _urls_by_loose_key: dict[str, str] = field(default_factory=dict)

    def add(self, ref: PageRef) -> None:
        """Add a page, or merge it with a known reference to the same page. A listed URL wins over a guessed one."""
        key = loose_key(ref.url)
        similar_url = self._urls_by_loose_key.get(key, "")
        known = self.entries.get(ref.url) or self.entries.get(similar_url)
        if known is not None and (known.url == ref.url or known.guessed or ref.guessed):
            del self.entries[known.url]
            preferred = ref if known.guessed else known
            ref = replace(
                known,
                url=preferred.url,
                guessed=preferred.guessed,
                markdown=known.markdown or ref.markdown,
                title=known.title or ref.title,
                description=known.description or ref.description,
            )
        self.entries[ref.url] = ref
        self._urls_by_loose_key.setdefault(key, ref.url)
        if known is not None and known.guessed:
            self._urls_by_loose_key[key] = ref.url


async def discover(session: Session, scope: Scope, start: str, config: DiscoveryConfig) -> DiscoveredPages:
    """Discover the pages of a site.

    Args:
        session: Network access.
        scope: Scope of the crawl.
        start: URL given by the user; it may be outside of the scope.
        config: Which lists are used.
    """
    discovered = DiscoveredPages(scope)
    if config.manifest:
        await _read_manifest(session, discovered)
        if discovered.manifest:
            return discovered
    response = await session.find(start, ACCEPT_HTML)
    home = response.url if response else start
    page = ParsedPage(skip_reason="no page")
    if response and sniff_kind(response) == "html":
        page = parse_page(response, scope.url)
    links = [link for link in map(scope.localize, page.all_links) if is_page_url(link) and scope.contains(link)]
    is_elsewhere = not scope.is_below(start)
    others = set(map(loose_key, links)) - {loose_key(start), loose_key(home)}
    discovered.is_alone = not (page.skip_reason or is_elsewhere or others)
    if config.llms:
        named = (start,) if start.endswith(".txt") else page.llms
        await _LlmsDiscovery(session, discovered).run(map(scope.localize, named))
    if config.sitemap:
        await _read_sitemaps(session, discovered, page.sitemaps)
    discovered.is_alone = discovered.is_alone and not discovered.entries
    if is_page_url(home) and (scope.contains(home) if response else scope.path(home)):
        discovered.add(make_page_ref(home) if has_web_scheme(home) else PageRef(home))
    if is_elsewhere:
        for link in links:
            discovered.add(make_page_ref(link))
    return discovered


async def _read_manifest(session: Session, discovered: DiscoveredPages) -> None:
    url = discovered.scope.url + MANIFEST_PATH
    response = await session.find(url, kind="json", cap=MAX_MANIFEST_BYTES)
    if response is None:
        return
    try:
        discovered.manifest = load_manifest(response.body, where=response.url)
        discovered.root = urljoin(response.url, "../")
        discovered.ways.append(url)
    except ManifestError as error:
        discovered.notes.append(f"{error}; the site is crawled without it")


async def _read_sitemaps(session: Session, discovered: DiscoveredPages, named: Sequence[str]) -> None:
    scope = discovered.scope
    origin = url_origin(scope.url)
    robots = await session.robots(scope.url)
    urls = [*robots.sitemaps, *named]
    if not (urls and discovered.is_alone):
        urls += [scope.url + "sitemap.xml", origin + "/sitemap.xml"]
    roots = filter(None, (canonical_url(url, scope.url) for url in urls))
    listed = await _collect_sitemaps(session, discovered, map(scope.localize, roots))
    pages = [page for page in listed if file_suffix(page) is not None and scope.contains(page)]
    for page in pages:
        discovered.add(PageRef(page, trial=file_suffix(page) or ""))
    discovered.ways += dict.fromkeys(listed[page] for page in pages)
    foreign = next((page for page in listed if url_origin(page) != origin), None)
    if foreign and not pages:  # a copy of the site, or the site has moved
        discovered.notes.append(
            f"{listed[foreign]}: lists nothing below {scope.url}, but pages of {url_origin(foreign)}; "
            "crawl that URL instead"
        )


async def _collect_sitemaps(session: Session, discovered: DiscoveredPages, roots: Iterable[str]) -> dict[str, str]:
    """Return the URLs in sitemaps, and in those that they list on the same host, each with the URL of its sitemap."""
    scope = discovered.scope
    listed: dict[str, str] = {}
    queue = list(dict.fromkeys(roots))
    for url in queue:
        response = await session.find(url, cap=MAX_SITEMAP_BYTES)
        if response is None or sniff_kind(response) == "html":
            continue
        try:
            pages, sitemaps = parse_sitemap(response.body)
        except SitemapError as error:
            discovered.notes.append(f"{url}: {error}")
            continue
        for page in pages:
            if page_url := canonical_url(page, response.url):
                listed[scope.localize(page_url)] = url
        for sitemap in sitemaps:
            nested = scope.localize(canonical_url(sitemap, response.url) or "")
            if nested not in queue and url_origin(nested) == url_origin(url):
                queue.append(nested)
        if len(queue) > MAX_SITEMAPS:
            discovered.notes.append(f"{url}: more than {MAX_SITEMAPS} sitemaps; the rest is not read")
            del queue[MAX_SITEMAPS:]
    return listed


class SitemapError(RoamingError):
    """A response is not a sitemap, or unsafe to parse."""


def parse_sitemap(data: bytes) -> tuple[list[str], list[str]]:
    """Return the URLs of pages and of other sitemaps in a sitemap: XML, a feed, or a text with a URL a line.

    Raises:
        SitemapError: The data is not a sitemap, or unsafe to parse.
    """
    listed: dict[tuple[str, str], list[str]] = {name: [] for name in _LISTS_OF_PAGES}
    sitemaps = listed["sitemap", "loc"] = []
    prolog = data[:_MAX_PROLOG_BYTES].replace(b"\0", b"").upper()
    if b"<!DOCTYPE" in prolog or b"<!ENTITY" in prolog:
        raise SitemapError("declares entities or is a web page; not read")
    if b"<" not in prolog:
        lines = map(str.strip, data.decode("utf-8-sig", "replace").splitlines())
        listed["url", "loc"] += filter(has_web_scheme, lines)
    else:
        for element in _parse_xml(data).iter("{*}loc", "{*}link"):
            parent = element.getparent()
            url = (element.get("href") or element.text or "").strip()
            if parent is not None and url and element.get("rel", "alternate") == "alternate":
                name = etree.QName(parent).localname, etree.QName(element).localname
                listed.setdefault(name, []).append(url)
    pages = [*chain.from_iterable(listed[name] for name in _LISTS_OF_PAGES)]
    if not pages and not sitemaps:
        raise SitemapError("lists no URLs")
    return pages, sitemaps


def _parse_xml(data: bytes) -> etree._Element:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=True, huge_tree=False)
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise SitemapError(f"not XML ({error})") from None
    if root is None:
        raise SitemapError("not XML")
    return root


@dataclass(slots=True)
class _LlmsDiscovery:
    """Discovery by llms.txt and llms-full.txt."""

    session: Session
    discovered: DiscoveredPages
    texts: list[str] = field(default_factory=list)
    """URLs of texts that contain several pages."""
    other_hosts: Counter[str] = field(default_factory=Counter)
    """Number of links by other host."""

    async def run(self, named: Iterable[str]) -> None:
        """Read the first llms.txt that lists pages, and the files that it names.

        It is at one of the named URLs, in the folder of the crawl, at the root, or in a common folder.
        """
        scope = self.discovered.scope.url
        origin = url_origin(scope)
        folders = (scope, f"{origin}/", f"{origin}/docs/", f"{origin}/.well-known/")
        urls = [f"{folder}llms.txt" for folder in folders]
        if self.discovered.is_alone:
            del urls[1:]
        for url in dict.fromkeys((*named, *urls)):
            if not self.discovered.entries:
                await self._read_lists(url)
        if self.discovered.entries:
            self.discovered.ways.append(self.discovered.indexes[0].base)
            await self._read_llms_full()

    async def _read_lists(self, first: str) -> None:
        """Read an llms.txt and those that it names."""
        discovered = self.discovered
        queue = [first]
        for url in queue:
            response = await self.session.find(url, kind="markdown")
            if response is None:
                continue
            text = response.text
            if url != first and len(split_llms_full(text, response.url)) > 1:  # named like a list
                self.texts.append(url)
                continue
            index = self._localize(parse_llms_txt(text, response.url))
            discovered.indexes.append(index)
            self._add_entries(index)
            queue += self._select_nested(index, queue)
        for host, count in self.other_hosts.items():
            links = "1 of its links leads" if count == 1 else f"{count} of its links lead"
            discovered.notes.append(
                f"{first}: {links} out of {discovered.scope.url}, to {host}; crawl that URL to include them"
            )
        self.other_hosts.clear()

    def _localize(self, index: LlmsIndex) -> LlmsIndex:
        """Return a list with the URLs of the crawl's own host, as the crawl spells them."""
        localize = self.discovered.scope.localize
        links = (replace(link, url=localize(link.url)) for link in index.entries.values())
        return replace(
            index,
            entries={link.url: link for link in links},
            nested=dict.fromkeys(map(localize, index.nested)),
            full=dict.fromkeys(map(localize, index.full)),
        )

    def _select_nested(self, index: LlmsIndex, known: Sequence[str]) -> list[str]:
        """Return the other lists on the same host that an llms.txt names."""
        origin = url_origin(known[0])
        room = MAX_NESTED_LLMS + 1 - len(known)
        new: list[str] = []
        for url in index.nested:
            if url_origin(url) != origin:
                self.other_hosts[url_origin(url)] += 1
            elif url not in known:
                new.append(url)
        if len(new) > room:
            problem = f"names more than {MAX_NESTED_LLMS} other llms.txt files; the rest is not read"
            self.discovered.notes.append(f"{index.base}: {problem}")
        return new[:room]

    def _add_entries(self, index: LlmsIndex) -> None:
        scope = self.discovered.scope
        for entry in index.entries.values():
            if not scope.is_below(entry.url):
                self.other_hosts[url_origin(entry.url)] += 1
            elif file_suffix(entry.url) is not None and scope.contains(entry.url):
                self.discovered.add(make_page_ref(entry.url, title=entry.title, description=entry.description))

    async def _read_llms_full(self) -> None:
        """Use the page texts in llms-full.txt if it contains the pages that llms.txt lists."""
        discovered = self.discovered
        urls = list(self.texts)
        for index in discovered.indexes:
            urls += index.full
        urls.append(urljoin(discovered.indexes[0].base, "llms-full.txt"))
        for url in dict.fromkeys(urls):
            if url_origin(url) != url_origin(discovered.scope.url):
                continue
            response = await self.session.find(url, kind="markdown", cap=MAX_FULL_BYTES)
            if response is None:
                continue
            full = split_llms_full(response.text, response.url)
            localize = discovered.scope.localize
            by_key = {loose_key(make_page_ref(localize(page)).url): text for page, text in full.items()}
            listed = [ref for ref in discovered.entries.values() if loose_key(ref.url) in by_key]
            if listed and len(listed) >= _MIN_FULL_SHARE * len(discovered.entries):
                for ref in listed:
                    ref.text = by_key[loose_key(ref.url)]
                discovered.full = url
                discovered.ways.append(url)
                return
            discovered.notes.append(
                f"{url}: names the URLs of {len(listed)} of the {len(discovered.entries)} pages that llms.txt lists; "
                "not used, every page is fetched"
            )

"""Discovery of a site's pages by its manifest, llms.txt and sitemaps. Links on pages are followed later."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urljoin

import httpx2
from lxml import etree

from mkdocs_roaming.errors import ManifestError, RoamingError
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from mkdocs_roaming.manifest.models import Manifest, NavItem
from roaming_crawler.config import MEGABYTE, DiscoveryConfig
from roaming_crawler.contents import sniff_kind
from roaming_crawler.fetch import FetchError, Response, decompress
from roaming_crawler.llms import LlmsIndex, parse_llms_txt, split_llms_full
from roaming_crawler.page import PageRef, make_page_ref, merge_page_refs
from roaming_crawler.parser import parse_page
from roaming_crawler.scope import Scope, canonical_url, is_page_url, loose_key, url_origin
from roaming_crawler.session import ACCEPT_ANY, ACCEPT_HTML, Session

MAX_NESTED_LLMS = 250
"""Maximum number of llms.txt files that are followed from the first one."""
MAX_FULL_BYTES = 50 * MEGABYTE
MAX_MANIFEST_BYTES = 100 * MEGABYTE
MAX_SITEMAPS = 200
MAX_SITEMAP_BYTES = 50 * MEGABYTE
"""Maximum size of a decompressed sitemap, as the protocol says."""


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
        notes: Problems, as messages.
        navs: Navigation of pages that are not published themselves, such as mdBook's frame.
    """

    scope: Scope
    manifest: Manifest | None = None
    root: str = ""
    indexes: list[LlmsIndex] = field(default_factory=list)
    full: str = ""
    entries: dict[str, PageRef] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    navs: list[tuple[NavItem, ...]] = field(default_factory=list)
    _urls_by_loose_key: dict[str, str] = field(default_factory=dict)

    def add(self, ref: PageRef) -> None:
        """Add a page, or merge it with a known reference to the same page."""
        key = loose_key(ref.url)
        known = self.entries.get(ref.url) or self.entries.get(self._urls_by_loose_key.get(key, ""))
        if known is not None and (known.url == ref.url or known.guessed or ref.guessed):
            del self.entries[known.url]
            ref = merge_page_refs(known, ref)
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
    if config.llms:
        await _LlmsDiscovery(session, discovered).run(start)
    if config.sitemap:
        await _read_sitemaps(session, discovered)
    if scope.path(start) and is_page_url(start):
        discovered.add(PageRef(start))
    if not scope.holds(start):
        await _read_start_page(session, discovered, start)
    return discovered


async def _get(session: Session, url: str, cap: int | None = None, accept: str = ACCEPT_ANY) -> Response | None:
    try:
        response = await session.get(url, accept, probe=accept == ACCEPT_ANY, cap=cap)
    except FetchError:
        return None
    return response if response.ok else None


async def _read_manifest(session: Session, discovered: DiscoveredPages) -> None:
    response = await _get(session, discovered.scope.url + MANIFEST_PATH, MAX_MANIFEST_BYTES)
    if response is None or sniff_kind(response) != "json":
        return
    try:
        discovered.manifest = load_manifest(response.body, where=response.url)
        discovered.root = urljoin(response.url, "../")
    except ManifestError as error:
        discovered.notes.append(f"{error}; the site is crawled without it")


async def _read_start_page(session: Session, discovered: DiscoveredPages, start: str) -> None:
    """Add the pages that a start page outside of the scope links to."""
    response = await _get(session, start, accept=ACCEPT_HTML)
    if response is None or sniff_kind(response) != "html":
        return
    page = parse_page(response, discovered.scope.url)
    for link in page.all_links:
        if is_page_url(link) and discovered.scope.contains(link):
            discovered.add(make_page_ref(link))


async def _read_sitemaps(session: Session, discovered: DiscoveredPages) -> None:
    scope = discovered.scope
    robots = await session.robots(scope.url)
    roots = [url for name in robots.sitemaps if (url := canonical_url(name, scope.url))]
    roots += [scope.url + "sitemap.xml", url_origin(scope.url) + "/sitemap.xml"]
    listed = await _collect_sitemaps(session, discovered, roots)
    pages = [page for page in listed if is_page_url(page) and scope.contains(page)]
    for page in pages:
        discovered.add(PageRef(page))
    others = [page for page in listed if url_origin(page) != url_origin(scope.url)]
    if others and not pages:  # a copy of the site, or the site has moved
        discovered.notes.append(
            f"{listed[others[0]]}: lists nothing below {scope.url}, but pages of {url_origin(others[0])}; "
            "crawl that URL instead"
        )


async def _collect_sitemaps(session: Session, discovered: DiscoveredPages, roots: Sequence[str]) -> dict[str, str]:
    """Return the URLs in sitemaps, and in those that they list on the same host, each with the URL of its sitemap."""
    found: dict[str, str] = {}
    queue = list(dict.fromkeys(roots))
    for url in queue:
        response = await _get(session, url, MAX_SITEMAP_BYTES)
        if response is None or sniff_kind(response) == "html":
            continue
        try:
            pages, sitemaps = parse_sitemap(response.body)
        except (SitemapError, FetchError, httpx2.DecodingError) as error:
            discovered.notes.append(f"{url}: {error}")
            continue
        found.update((page, url) for listed in pages if (page := canonical_url(listed, response.url)))
        nested = dict.fromkeys(canonical_url(listed, response.url) or "" for listed in sitemaps)
        queue += [one for one in nested if url_origin(one) == url_origin(response.url) and one not in queue]
        if len(queue) > MAX_SITEMAPS:
            discovered.notes.append(f"{url}: more than {MAX_SITEMAPS} sitemaps; the rest is not read")
            del queue[MAX_SITEMAPS:]
    return found


class SitemapError(RoamingError):
    """A response is not a sitemap, or unsafe to parse."""


def parse_sitemap(data: bytes) -> tuple[list[str], list[str]]:
    """Return the URLs of pages and of other sitemaps in a sitemap or a sitemap index, gzipped or not.

    Raises:
        SitemapError: The data is not a sitemap, or unsafe to parse.
        FetchError: The data is too large.
        httpx2.DecodingError: The gzip data is damaged.
    """
    if data[:2] == b"\x1f\x8b":
        data = decompress(data, MAX_SITEMAP_BYTES)
    if re.search(rb"<!(DOCTYPE|ENTITY)", data[:10_000].replace(b"\0", b""), re.IGNORECASE):
        raise SitemapError("declares entities or is a web page; not read")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=True, huge_tree=False)
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise SitemapError(f"not XML ({error})") from None
    found: dict[str, list[str]] = {"url": [], "sitemap": []}
    for location in root.iter("{*}loc") if root is not None else ():
        parent = location.getparent()
        name = etree.QName(parent).localname if parent is not None else ""
        if name in found and (url := (location.text or "").strip()):
            found[name].append(url)
    if not found["url"] and not found["sitemap"]:
        raise SitemapError("lists no URLs")
    return found["url"], found["sitemap"]


@dataclass(slots=True)
class _LlmsDiscovery:
    """Discovery by llms.txt and llms-full.txt."""

    session: Session
    discovered: DiscoveredPages
    texts: list[str] = field(default_factory=list)
    """URLs of texts that contain several pages."""
    other_hosts: Counter[str] = field(default_factory=Counter)
    """Number of links by other host."""

    async def run(self, start: str) -> None:
        """Read the first llms.txt that lists pages, and the files that it names.

        It is at the given URL, in its folder, at the root, or in a common folder.
        """
        scope = self.discovered.scope.url
        origin = url_origin(scope)
        urls = [f"{folder}llms.txt" for folder in (scope, f"{origin}/", f"{origin}/docs/", f"{origin}/.well-known/")]
        if start.endswith(".txt"):
            urls.insert(0, start)
        for url in dict.fromkeys(urls):
            if not self.discovered.entries:
                await self._read_lists(url)
        if self.discovered.entries:
            await self._read_llms_full()

    async def _read_lists(self, first: str) -> None:
        """Read an llms.txt and those that it names."""
        discovered = self.discovered
        queue = [first]
        for url in queue:
            response = await self._get_markdown(url)
            if response is None:
                continue
            text = response.text
            if url != first and len(split_llms_full(text, response.url)) > 1:  # named like a list
                self.texts.append(url)
                continue
            index = parse_llms_txt(text, response.url)
            discovered.indexes.append(index)
            self._add_entries(index)
            queue += self._select_nested(index, queue)
        for host, count in self.other_hosts.items():
            links = "1 of its links leads" if count == 1 else f"{count} of its links lead"
            discovered.notes.append(
                f"{first}: {links} out of {discovered.scope.url}, to {host}; crawl that URL to include them"
            )
        self.other_hosts.clear()

    def _select_nested(self, index: LlmsIndex, known: Sequence[str]) -> list[str]:
        """Return the other lists on the same host that an llms.txt names."""
        origin = url_origin(known[0])
        room = MAX_NESTED_LLMS + 1 - len(known)
        self.other_hosts.update(other for url in index.nested if (other := url_origin(url)) != origin)
        new = [url for url in index.nested if url_origin(url) == origin and url not in known]
        if len(new) > room:
            problem = f"names more than {MAX_NESTED_LLMS} other llms.txt files; the rest is not read"
            self.discovered.notes.append(f"{index.base}: {problem}")
        return new[:room]

    async def _get_markdown(self, url: str, cap: int | None = None) -> Response | None:
        response = await _get(self.session, url, cap)
        return response if response and sniff_kind(response) == "markdown" else None

    def _add_entries(self, index: LlmsIndex) -> None:
        scope = self.discovered.scope
        for entry in index.entries.values():
            is_page = is_page_url(entry.url) or entry.url.endswith((".md", ".mdx", ".markdown", ".txt"))
            if not scope.holds(entry.url):
                self.other_hosts[url_origin(entry.url)] += 1
            elif is_page and scope.contains(entry.url):
                self.discovered.add(make_page_ref(entry.url, title=entry.title, description=entry.description))

    async def _read_llms_full(self) -> None:
        """Use the page texts in llms-full.txt if it contains the pages that llms.txt lists."""
        discovered = self.discovered
        named = [*self.texts, *(url for index in discovered.indexes for url in index.full)]
        for url in dict.fromkeys([*named, urljoin(discovered.indexes[0].base, "llms-full.txt")]):
            if url_origin(url) != url_origin(discovered.scope.url):
                continue
            response = await self._get_markdown(url, MAX_FULL_BYTES)
            if response is None:
                continue
            full = split_llms_full(response.text, response.url)
            by_key = {loose_key(make_page_ref(page).url): text for page, text in full.items()}
            listed = [ref for ref in discovered.entries.values() if loose_key(ref.url) in by_key]
            if listed and len(listed) >= 0.9 * len(discovered.entries):
                for ref in listed:
                    ref.text = by_key[loose_key(ref.url)]
                discovered.full = url
                return
            discovered.notes.append(
                f"{url}: names the URLs of {len(listed)} of the {len(discovered.entries)} pages that llms.txt lists; "
                "not used, every page is fetched"
            )

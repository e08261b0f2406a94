"""Frontier: visits all pages of a site level by level. Page bodies are stored on disk, because sites are large."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace

import anyio
import anyio.to_thread

from mkdocs_roaming.manifest.models import NavItem
from mkdocs_roaming.sources import site_nav
from roaming_crawler.config import CrawlConfig, EventHandler
from roaming_crawler.discover import DiscoveredPages
from roaming_crawler.duplicates import find_collections, find_copies, find_not_found_pages, summarize_text
from roaming_crawler.page import SOFT_404, FetchedPage, PageBody, PageFetcher, PageRef, SkippedPage, make_page_ref
from roaming_crawler.publish import VisitedPages, read_published_pages
from roaming_crawler.sandbox import ProcessPoolReader
from roaming_crawler.scope import Scope, is_page_url, loose_key, storage_path
from roaming_crawler.session import MAX_PAGES_OPTION, Session
from roaming_crawler.variants import ALL, VariantFilter


async def visit_pages(
    session: Session,
    discovered: DiscoveredPages,
    config: CrawlConfig,
    on_event: EventHandler,
    bodies: MutableMapping[str, PageBody],
    start: str,
) -> VisitedPages:
    """Fetch all pages: first the discovered ones and the home page, then those that they link to.

    Args:
        session: Network access.
        discovered: Discovered pages; its entries are removed one by one to save memory.
        config: Configuration.
        on_event: Progress callback.
        bodies: Receives the bodies of the pages under their keys.
        start: URL of the start page, whose language is crawled.
    """
    limiter = anyio.CapacityLimiter(max(1, config.workers))
    reader = ProcessPoolReader(discovered.scope.url, limiter, bool(config.workers))
    fetcher = PageFetcher(session, discovered.scope, reader, config.source, discovered.full)
    try:
        await fetcher.learn_not_found_page()
        if discovered.scope.url not in discovered.entries:
            discovered.add(PageRef(discovered.scope.url, title=""))
        published = read_published_pages(session.state.folder) if session.state.old else ()
        limit = _PageLimit(
            config.limits.pages or sys.maxsize, discovered.scope, {loose_key(page.path) for page in published}
        )
        language = (await fetcher.read_html(PageRef(start))).language
        variants = VariantFilter(discovered.scope, start, config.scope, language)
        frontier = _Frontier(fetcher, discovered, config, on_event, _PageTable(bodies), limit, variants)
        await frontier.run()
    finally:
        reader.close()
    base = discovered.scope.url if ALL in (config.scope.language, config.scope.version) else ""
    copies = await anyio.to_thread.run_sync(frontier.table.drop_duplicates, base)
    return VisitedPages(list(frontier.table.pages.values()), frontier.table.skipped, variants.summary(), copies)


@dataclass(slots=True)
class _PageLimit:
    """The limit of pages, with room reserved for pages that are published already.

    A page beyond the limit stays as it was; without the reservation, new pages would keep it outdated forever.
    """

    limit: int
    scope: Scope
    reserved: set[str]

    def room(self, count: int) -> int:
        """Return how many pages may follow after `count` pages."""
        return max(0, self.limit - count)

    def choose(
        self, refs: Sequence[PageRef], last_url: Callable[[PageRef], str], count: int, *, known_only: bool
    ) -> set[str]:
        """Return the URLs of the pages that are within the limit.

        Args:
            refs: Candidates.
            last_url: Returns the URL at which the last crawl found a page.
            count: Number of pages so far.
            known_only: Choose no new pages, because others are deferred already.
        """
        room = self.room(count)
        last_urls = {ref.url: last_url(ref) for ref in refs}
        known = [url for url, last in last_urls.items() if last]
        known = sorted(known, key=lambda url: not self._is_reserved(last_urls[url]))[:room]
        free = 0 if known_only else max(0, room - max(len(known), len(self.reserved) - count))
        return {*known, *[url for url, last in last_urls.items() if not last][:free]}

    def release(self) -> bool:
        """End the reservation; return whether there was one."""
        reserved = self.reserved
        self.reserved = set()
        return bool(reserved)

    def _is_reserved(self, url: str) -> bool:
        path = self.scope.path(url)
        return path == "" or (path is not None and loose_key(storage_path(path)) in self.reserved)


@dataclass(slots=True)
class _PageTable:
    """The pages so far, without duplicates."""

    bodies: MutableMapping[str, PageBody]
    pages: dict[str, FetchedPage] = field(default_factory=dict)
    """Pages by path."""
    skipped: list[SkippedPage] = field(default_factory=list)
    _by_loose_key: dict[str, FetchedPage] = field(default_factory=dict)
    _last_nav: tuple[NavItem, ...] = ()
    _nav_paths: set[str] = field(default_factory=set)

    def __contains__(self, url: str) -> bool:
        return loose_key(url) in self._by_loose_key

    def store_body(self, ref: PageRef, page: FetchedPage) -> FetchedPage:
        """Move a page's body to disk."""
        body = page.body
        self.bodies[ref.url] = body
        kind, text = ("a", body.article) if body.markdown is None else ("m", body.markdown)
        digest = kind + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        parsed = replace(page.parsed, article="", words=frozenset())
        return replace(page, body=PageBody(), parsed=parsed, digest=digest, key=ref.url)

    def add(self, ref: PageRef, page: FetchedPage) -> bool:
        """Add a page; return False for a duplicate."""
        twin = self.pages.get(page.path) or self._by_loose_key.get(loose_key(page.url))
        if twin and (twin.path == page.path or twin.digest == page.digest):
            if twin.url != ref.url:  # else another URL redirected here before, and nothing is missing
                self.skipped.append(SkippedPage(ref.url, f"duplicate of {twin.url}"))
            del self.bodies[ref.url]
            return False
        self.pages[page.path] = self._by_loose_key[loose_key(page.url)] = self._without_links(page)
        return True

    def drop_duplicates(self, base: str) -> dict[str, str]:
        """Drop pages for missing pages, and those that repeat others; return the originals' URLs by paths of copies."""
        summaries = {page.path: summarize_text(self.bodies[page.key]) for page in self.pages.values()}
        for path in find_not_found_pages(self.pages.values(), summaries):
            self.skipped.append(SkippedPage(self.pages.pop(path).url, SOFT_404))
        copies = find_copies(self.pages.values(), summaries, base)
        self._drop(copies)
        self._drop(find_collections(self.pages.values(), summaries, self.bodies))
        return copies

    def _drop(self, duplicates: Mapping[str, str]) -> None:
        for path, originals in duplicates.items():
            self.skipped.append(SkippedPage(self.pages.pop(path).url, f"duplicate of {originals}"))

    def _without_links(self, page: FetchedPage) -> FetchedPage:
        """Drop links, and a navigation without new paths: most pages share one."""
        nav: tuple[NavItem, ...] = ()
        if page.parsed.nav is not self._last_nav:
            self._last_nav = page.parsed.nav
            paths = site_nav.collect_paths(page.parsed.nav)
            nav = page.parsed.nav if paths - self._nav_paths else ()
            self._nav_paths |= paths
        return replace(page, parsed=replace(page.parsed, links=(), nav_links=(), nav=nav, alternates=()))


@dataclass(slots=True)
class _Frontier:
    """The pages to visit. Each level contains the pages that the level before links to."""

    fetcher: PageFetcher
    discovered: DiscoveredPages
    config: CrawlConfig
    on_event: EventHandler
    table: _PageTable
    limit: _PageLimit
    variants: VariantFilter
    known: set[str] = field(default_factory=set)
    """URLs that were in a level."""
    deferred: list[PageRef] = field(default_factory=list)
    """Pages beyond the limit."""
    sample: int = 3
    """Number of pages that are still fetched one by one, to learn how the host serves Markdown."""
    _seen_links: set[str] = field(default_factory=set)
    _next_level: dict[str, PageRef] = field(default_factory=dict)

    async def run(self) -> None:
        """Visit all pages."""
        home = self.discovered.scope.url
        self.known = set(self.discovered.entries)
        level = sorted(self.discovered.entries.values(), key=lambda ref: (ref.url != home, ref.url))
        self.discovered.entries.clear()  # texts of llms-full.txt are moved to disk with their pages
        while level or self.deferred:
            self._next_level = {}
            level = await (self._visit_level(level) if level else self._visit_deferred())

    async def _visit_level(self, refs: list[PageRef]) -> list[PageRef]:
        """Visit pages, and return the pages of the next level."""
        refs, later = await self.variants.select(refs, self.fetcher.read_html)
        self._next_level |= {ref.url: ref for ref in later}
        chosen = self.limit.choose(refs, self.fetcher.last_url, len(self.table.pages), known_only=bool(self.deferred))
        self.deferred += [ref for ref in refs if ref.url not in chosen]
        refs = [ref for ref in refs if ref.url in chosen]
        head = refs[: self.sample]
        await _gather_in_order(head, 1, self._fetch, self._add)
        self.sample -= len(head)
        if not self.sample:
            self.fetcher.learning = False
        await _gather_in_order(refs[len(head) :], self.config.politeness.connections * 2, self._fetch, self._add)
        return sorted(self._next_level.values(), key=lambda ref: ref.url)

    async def _visit_deferred(self) -> list[PageRef]:
        """Return the deferred pages if reserved room is left, otherwise add what the last crawl has of them."""
        deferred = self.deferred
        self.deferred = []
        if self.limit.release() and self.limit.room(len(self.table.pages)):
            return deferred
        session = self.fetcher.session
        session.stopped = session.stopped or f"stopped at {self.limit.limit} pages ({MAX_PAGES_OPTION})"
        for ref in deferred:
            is_known = bool(self.fetcher.last_url(ref))
            result = await self.fetcher.get(ref) if is_known else SkippedPage(ref.url, session.stopped)
            self._add(ref, self._store(ref, result))
        return sorted(self._next_level.values(), key=lambda ref: ref.url)

    async def _fetch(self, ref: PageRef) -> FetchedPage | SkippedPage:
        result = self._store(ref, await self.fetcher.get(ref))
        known = len(self.known) - self.variants.count
        if isinstance(result, SkippedPage):
            self.on_event("skipped", {"url": ref.url, "why": result.reason, "known": known})
        else:
            markdown = result.markdown_url or None
            self.on_event("page", {"url": result.url, "path": result.path, "markdown": markdown, "known": known})
        return result

    def _store(self, ref: PageRef, result: FetchedPage | SkippedPage) -> FetchedPage | SkippedPage:
        ref.text = None
        return result if isinstance(result, SkippedPage) else self.table.store_body(ref, result)

    def _add(self, ref: PageRef, result: FetchedPage | SkippedPage) -> None:
        """Add a page in the order of the level, and its links to the next level."""
        if isinstance(result, SkippedPage):
            self.discovered.navs += [result.nav] if result.nav else []
            self.table.skipped.append(replace(result, links=(), nav=()))
        elif self.table.add(ref, result):
            self.known.add(result.url)
        max_depth = self.config.limits.depth
        if not self.config.links or (max_depth is not None and ref.depth >= max_depth):
            return
        links = result.links if isinstance(result, SkippedPage) else result.parsed.all_links
        for link in links:
            if link in self._seen_links:  # most links of the navigation are on every page
                continue
            self._seen_links.add(link)
            linked = make_page_ref(link)
            if linked.url in self.known or not is_page_url(link) or not self.discovered.scope.contains(link):
                continue
            if linked.guessed and linked.url in self.table:
                continue
            self.known.add(linked.url)
            linked.depth = ref.depth + 1
            self._next_level[linked.url] = linked


async def _gather_in_order(
    refs: Sequence[PageRef],
    tasks: int,
    fetch: Callable[[PageRef], Awaitable[FetchedPage | SkippedPage]],
    add: Callable[[PageRef, FetchedPage | SkippedPage], None],
) -> None:
    """Fetch pages concurrently, and add the results in order."""
    results: dict[int, FetchedPage | SkippedPage] = {}
    queue = iter(enumerate(refs))
    added = 0

    async def work() -> None:
        nonlocal added
        for at, ref in queue:
            results[at] = await fetch(ref)
            while added in results:
                add(refs[added], results.pop(added))
                added += 1

    async with anyio.create_task_group() as group:
        for _ in range(min(tasks, len(refs))):
            group.start_soon(work)

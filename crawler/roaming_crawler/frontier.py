"""Frontier: visits all pages of a site level by level.

Page bodies are stored on disk, because sites are large.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urljoin, urlsplit

import anyio
import anyio.to_thread

from mkdocs_roaming.manifest.models import NavItem
from mkdocs_roaming.sources import site_nav
from roaming_crawler.config import CrawlConfig, EventHandler
from roaming_crawler.discover import DiscoveredPages
from roaming_crawler.duplicates import TextSummary, find_copies, find_print_views, summarize_text
from roaming_crawler.page import FetchedPage, PageBody, PageFetcher, PageRef, PageResult, SkippedPage, make_page_ref
from roaming_crawler.sandbox import PageParser
from roaming_crawler.scope import file_suffix, loose_key
from roaming_crawler.session import MAX_PAGES_OPTION, Session
from roaming_crawler.variants import ALL, OtherVariant, VariantFilter, find_variant_folders

_SAMPLE = 3
"""Number of pages that are fetched one by one, to learn how the host serves Markdown."""
_LINKS = "links on pages"
_MAX_COPIES = 5
"""Number of pages with the same text whose deeper links are followed."""
_MAX_REPEATED_FOLDERS = 2
_MAX_MISSES = 3
"""Number of files with one suffix, or of canonical URLs, that turn out to be no pages before others are left out."""
_CANONICAL = "canonical"


@dataclass(frozen=True, slots=True)
class VisitedPages:
    """The pages of a site, those that are not published, and the languages and versions that were left out."""

    pages: list[FetchedPage]
    skipped: list[SkippedPage]
    left_out: tuple[OtherVariant, ...]
    bodies: MutableMapping[str, PageBody]
    """The bodies of the pages by their keys; publishing removes them one by one."""
    copies: Mapping[str, str]
    """URLs of the originals by the paths of copies."""


async def visit_pages(
    session: Session,
    discovered: DiscoveredPages,
    on_event: EventHandler,
    bodies: MutableMapping[str, PageBody],
    start: str,
) -> VisitedPages:
    """Fetch all pages: first the discovered ones and the home page, then those that they link to.

    Args:
        session: Network access.
        discovered: Discovered pages; its entries are removed one by one to save memory.
        on_event: Progress callback.
        bodies: Empty; receives the bodies of the pages.
        start: URL of the start page, whose language is crawled.
    """
    config = session.config
    scope = discovered.scope
    limiter = anyio.CapacityLimiter(max(1, config.workers))
    parser = PageParser(scope.url, limiter, bool(config.workers))
    fetcher = PageFetcher(session, scope, parser, config.source, discovered.full)
    table = _PageTable(bodies)
    if discovered.is_alone:
        fetcher.learning = False
    else:
        await fetcher.learn_not_found_page()
    if loose_key(scope.url) not in discovered.entries:
        discovered.add(PageRef(scope.url))
    language = (await fetcher.read_html(PageRef(start))).language
    variants = VariantFilter(scope, start, config.scope, language, fetcher.read_html)
    limit = config.limits.pages or sys.maxsize
    frontier = _Frontier(fetcher, discovered, config, on_event, table, variants, limit)
    await frontier.run()
    has_variants = ALL in (config.scope.language, config.scope.version)
    base = scope.url if has_variants else ""
    copies = await anyio.to_thread.run_sync(table.drop_duplicates, base)
    left_out = (*variants.summary(), *frontier.summarize_siblings())
    return VisitedPages(list(table.pages.values()), table.skipped, left_out, bodies, copies)


@dataclass(slots=True)
class _PageTable:
    """The pages so far, without duplicates."""

    bodies: MutableMapping[str, PageBody]
    pages: dict[str, FetchedPage] = field(default_factory=dict)
    """Pages by path."""
    skipped: list[SkippedPage] = field(default_factory=list)
    texts: dict[str, TextSummary] = field(default_factory=dict)
    """Summaries of the bodies by the keys of the pages."""
    _by_loose_key: dict[str, FetchedPage] = field(default_factory=dict)
    _last_nav: tuple[NavItem, ...] = ()
    _nav_paths: set[str] = field(default_factory=set)

    def __contains__(self, url: str) -> bool:
        return loose_key(url) in self._by_loose_key

    def add(self, ref: PageRef, page: FetchedPage) -> bool:
        """Add a page; return False for a duplicate.

        Its links are dropped to save memory: `_Frontier` has read them.
        """
        key = loose_key(page.url)
        twin = self.pages.get(page.path) or self._by_loose_key.get(key)
        has_same_text = twin and self.texts[twin.key].digest == self.texts[page.key].digest
        if twin and has_same_text and twin.path != page.path and twin.parsed.canonical == page.url:
            del self.pages[twin.path], self.bodies[twin.key]
        elif twin and (has_same_text or twin.path == page.path):
            if twin.url != ref.url:  # else another URL redirected here before, and nothing is missing
                self.skipped.append(SkippedPage(ref.url, f"duplicate of {twin.url}"))
            del self.bodies[ref.url]
            return False
        nav: tuple[NavItem, ...] = ()
        if page.parsed.nav is not self._last_nav:  # most pages share one, and only new paths are of interest
            self._last_nav = page.parsed.nav
            paths = site_nav.collect_paths(page.parsed.nav)
            if paths - self._nav_paths:
                nav = page.parsed.nav
            self._nav_paths |= paths
        parsed = replace(page.parsed, links=(), nav_links=(), nav=nav, alternates=())
        page = replace(page, parsed=parsed)
        self.pages[page.path] = page
        self._by_loose_key[key] = page
        return True

    def drop_duplicates(self, base: str) -> dict[str, str]:
        """Drop pages that repeat others; return the originals' URLs by paths of copies."""
        summaries = {page.path: self.texts[page.key] for page in self.pages.values()}
        copies = find_copies(self.pages.values(), summaries, base)
        originals = [page for page in self.pages.values() if page.path not in copies]
        print_views = find_print_views(originals, summaries, self.bodies)
        for path, repeated in (copies | print_views).items():
            self.skipped.append(SkippedPage(self.pages.pop(path).url, f"duplicate of {repeated}"))
        return copies


@dataclass(slots=True)
class _Frontier:
    """The pages to visit. Each level contains the pages that the level before links to."""

    fetcher: PageFetcher
    discovered: DiscoveredPages
    config: CrawlConfig
    on_event: EventHandler
    table: _PageTable
    variants: VariantFilter
    limit: int
    known: set[str] = field(default_factory=set)
    """URLs that were in a level."""
    sample: int = _SAMPLE
    """Number of pages that are still fetched one by one."""
    _seen_links: set[str] = field(default_factory=set)
    _next_level: dict[str, PageRef] = field(default_factory=dict)
    _misses: Counter[str] = field(default_factory=Counter)
    """Number of references by kind of trial that were no pages, less those that were."""
    _copies: dict[bytes, list[str]] = field(default_factory=dict)
    """URLs of pages by the digest of their text."""

    async def run(self) -> None:
        """Visit all pages."""
        home = self.discovered.scope.url
        entries = self.discovered.entries
        self.known = {ref.url for ref in entries.values()}
        level = sorted(entries.values(), key=lambda ref: (ref.url != home, ref.url))
        entries.clear()  # texts of llms-full.txt are moved to disk with their pages
        while level:
            self._next_level = {}
            await self._visit_level(level)
            level = sorted(self._next_level.values(), key=lambda ref: ref.url)

    async def _visit_level(self, level: list[PageRef]) -> None:
        """Visit pages, and collect those of the next level."""
        selected, later = await self.variants.select(level)
        self._next_level |= {ref.url: ref for ref in later}
        selected.sort(key=lambda ref: ref.trial != "")
        room = self.limit - len(self.table.pages)
        refs = selected[:room]
        head = refs[: self.sample]
        await self._visit_pages(head, 1)
        self.sample -= len(head)
        if not self.sample:
            self.fetcher.learning = False
        await self._visit_pages(refs[len(head) :], 2 * self.config.politeness.connections)
        for ref in selected[room:]:
            self._skip_beyond_limit(ref)

    async def _visit_pages(self, refs: Sequence[PageRef], tasks: int) -> None:
        """Fetch pages concurrently, and add the results in order."""
        results: dict[int, tuple[PageRef, PageResult]] = {}
        queue = enumerate(filter(self._is_promising, refs))
        added = 0

        async def work() -> None:
            nonlocal added
            for at, ref in queue:
                results[at] = ref, await self._fetch(ref)
                while added in results:
                    self._add(*results.pop(added))
                    added += 1

        async with anyio.create_task_group() as group:
            for _ in range(min(tasks, len(refs))):
                group.start_soon(work)

    def _skip_beyond_limit(self, ref: PageRef) -> None:
        if not ref.trial:
            session = self.fetcher.session
            session.stopped = session.stopped or f"stopped at {self.limit} pages ({MAX_PAGES_OPTION})"
            self.table.skipped.append(SkippedPage(ref.url, session.stopped))

    async def _fetch(self, ref: PageRef) -> PageResult:
        result = self._store(ref, await self.fetcher.get(ref))
        known = len(self.known) - len(self.variants.left_out)
        if isinstance(result, SkippedPage):
            self.on_event("skipped", {"url": ref.url, "why": result.reason, "known": known})
        else:
            markdown = result.markdown_url or None
            self.on_event("page", {"url": result.url, "path": result.path, "markdown": markdown, "known": known})
        return result

    def _store(self, ref: PageRef, result: PageResult) -> PageResult:
        """Move the body of a page to disk."""
        ref.text = None
        if isinstance(result, SkippedPage):
            return result
        body = result.body
        self.table.bodies[ref.url] = body
        self.table.texts[ref.url] = summarize_text(body)
        parsed = replace(result.parsed, article="", words=frozenset())
        return replace(result, body=PageBody(), parsed=parsed, key=ref.url)

    def _add(self, ref: PageRef, result: PageResult) -> None:
        """Add a page in the order of the level, and its links to the next level."""
        if isinstance(result, SkippedPage):
            links = result.links
            if result.nav:
                self.discovered.navs.append(result.nav)
            self.table.skipped.append(replace(result, links=(), nav=()))
            canonical = ""
        else:
            canonical = result.parsed.canonical
            first = self._count_copies(result)
            links = result.parsed.all_links
            if first:
                links = tuple(link for link in links if link.count("/") <= first.count("/"))
            if self.table.add(ref, result):
                if ref.depth:
                    self.discovered.ways[_LINKS] = None
                self.known.add(result.url)
        if ref.trial:
            self._misses[ref.trial] += 1 if isinstance(result, SkippedPage) else -1
        max_depth = self.config.limits.depth
        if not self.config.links or (max_depth is not None and ref.depth >= max_depth):
            return
        for link in links:
            if link not in self._seen_links:  # most links of the navigation are on every page
                self._seen_links.add(link)
                self._follow(link, ref.depth + 1)
        if canonical:
            self._follow(canonical, ref.depth + 1, _CANONICAL)

    def _follow(self, link: str, depth: int, trial: str = "") -> None:
        """Add the page of a link to the next level."""
        scope = self.discovered.scope
        link = scope.localize(link)
        linked = make_page_ref(link)
        if linked.url in self.known or (linked.guessed and linked.url in self.table):
            return
        if file_suffix(link) is not None and scope.contains(link) and not _repeats_itself(link):
            self.known.add(linked.url)
            linked.depth = depth
            linked.trial = linked.trial or trial
            self._next_level[linked.url] = linked
        else:
            self.discovered.add_sibling(link)

    def _is_promising(self, ref: PageRef) -> bool:
        """Return whether a reference is to be fetched: not if others of its kind were no pages."""
        is_promising = self._misses[ref.trial] < _MAX_MISSES
        if not is_promising:
            self.known.discard(ref.url)  # a link may name it later
        return is_promising

    def summarize_siblings(self) -> list[OtherVariant]:
        """Return the folder above the scope, unless the user has set that, if it has other pages."""
        parent = urljoin(self.discovered.scope.url, "../")
        siblings = [url for url in self.discovered.siblings if not find_variant_folders(url, parent)]
        if not siblings or self.config.scope.prefix:
            return []
        return [OtherVariant("prefix", urlsplit(parent).path, len(siblings))]

    def _count_copies(self, page: FetchedPage) -> str:
        """Return the URL of the first page with the same text if many have it: their relative links lead nowhere."""
        copies = self._copies.setdefault(self.table.texts[page.key].digest, [])
        copies.append(page.url)
        return copies[0] if len(copies) > _MAX_COPIES else ""


def _repeats_itself(url: str) -> bool:
    """Return whether the path of a URL repeats its folders, as relative links make them without end."""
    names = [name for name in url.split("/") if name and not name.isdigit()]
    return len(names) - len(set(names)) > _MAX_REPEATED_FOLDERS

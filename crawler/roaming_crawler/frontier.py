"""Visits all pages of a site, level by level; what they hold is put aside on disk as it comes: sites are large."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import anyio

from mkdocs_roaming.errors import ManifestError
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_pages
from mkdocs_roaming.manifest.models import NavItem
from mkdocs_roaming.sources import site_nav
from roaming_crawler.discover import DiscoveredPages, loose_key
from roaming_crawler.page import FetchedPage, PageBody, PageFetcher, PageRef, SkippedPage, make_page_ref
from roaming_crawler.parse_cache import ParseCache
from roaming_crawler.sandbox import ProcessPoolReader
from roaming_crawler.scope import is_page_url
from roaming_crawler.session import MAX_PAGES_OPTION, Session
from roaming_crawler.state import storage_path

if TYPE_CHECKING:
    from roaming_crawler.crawl import CrawlConfig, EventHandler


async def visit_pages(
    session: Session,
    found: DiscoveredPages,
    how: CrawlConfig,
    tell: EventHandler,
    bodies: MutableMapping[str, PageBody],
) -> tuple[list[FetchedPage], list[SkippedPage]]:
    """Get all pages: what sources list and the home page first, then what those link to.

    What the pages hold is put into `bodies`, under their keys.
    """
    kept = ParseCache(session.store.state / "read")
    reader = ProcessPoolReader(found.scope.url, anyio.CapacityLimiter(max(1, how.workers)), bool(how.workers), kept)
    try:
        visited = await _visited(session, found, how, tell, bodies, reader)
    finally:
        reader.close()
    if session.over:
        kept.forget_others()
    return visited


async def _visited(
    session: Session,
    found: DiscoveredPages,
    how: CrawlConfig,
    tell: EventHandler,
    bodies: MutableMapping[str, PageBody],
    reader: ProcessPoolReader,
) -> tuple[list[FetchedPage], list[SkippedPage]]:
    getter = PageFetcher(
        session, found.scope, reader, prefer_markdown=how.prefer_markdown, anchors=how.anchors, full=found.full
    )
    await getter.learn_what_is_missing()
    if found.scope.url not in found.entries:
        found.add(PageRef(found.scope.url, title=""))
    visit = _Visit(getter, found, how, tell, bodies, known=set(found.entries), stand=_standing(session))
    level = sorted(found.entries.values(), key=lambda entry: entry.url)
    level.sort(key=lambda entry: entry.url != found.scope.url)  # the home page first
    found.entries.clear()  # whatever text they bring is put aside with its page
    while level or visit.left:
        level = await (visit.level(level) if level else visit.rest())
    return list(visit.got.values()), visit.skipped


def _standing(session: Session) -> set[str]:
    """Give the paths of the pages that stand there from the last crawl, loosely."""
    try:
        return (
            {loose_key(page.path) for page in load_pages(session.store.folder / MANIFEST_PATH)}
            if session.store.old
            else set()
        )
    except (OSError, ManifestError):
        return set()


@dataclass(slots=True)
class _Visit:
    """A visit while it goes on."""

    getter: PageFetcher
    found: DiscoveredPages
    how: CrawlConfig
    tell: EventHandler
    bodies: MutableMapping[str, PageBody]
    known: set[str]
    stand: set[str]
    """The pages that stand there, for which room is left."""
    left: list[PageRef] = field(default_factory=list)
    """What the limit of pages has left out so far."""
    got: dict[str, FetchedPage] = field(default_factory=dict)
    skipped: list[SkippedPage] = field(default_factory=list)
    sample: int = 3
    """How many more pages are got one by one, while the host's ways of giving Markdown are learned."""
    _loose: dict[str, FetchedPage] = field(default_factory=dict)
    _navs: _NavLinks = field(default_factory=lambda: _NavLinks())
    _fresh: dict[str, PageRef] = field(default_factory=dict)

    async def level(self, entries: list[PageRef]) -> list[PageRef]:
        """Get some pages; give those that they link to and nobody named before."""
        self._fresh = {}
        chosen = self._chosen(entries)
        self.left += [entry for entry in entries if entry.url not in chosen]
        entries = [entry for entry in entries if entry.url in chosen]
        head, entries = entries[: self.sample], entries[self.sample :]
        for entry in head:
            self._take(entry, await self._told(entry))
        self.sample = max(0, self.sample - len(head))
        if not self.sample:
            self.getter.ways.learning = False
        await _together(entries, self.how.manners.connections * 2, self._told, self._take)
        return sorted(self._fresh.values(), key=lambda entry: entry.url)

    async def rest(self) -> list[PageRef]:
        """Turn to what was left out: to so many new pages as there is room for after all, or to what is known of it."""
        left, self.left, self._fresh = self.left, [], {}
        stood, self.stand = self.stand, set()
        if stood and self._room():
            return left
        session = self.getter.session
        session.stopped = session.stopped or f"stopped at {self.how.limits.pages} pages ({MAX_PAGES_OPTION})"
        for entry in left:  # what an earlier crawl knows of them stays
            self._take(entry, self._aside(entry, await self.getter.get(entry)))
        return sorted(self._fresh.values(), key=lambda entry: entry.url)

    def _chosen(self, entries: Sequence[PageRef]) -> set[str]:
        """Give what the limit of pages has room for: what stands there, then new pages, unless others still to come do.

        A page that is left out stands as it was, and would do so for ever where new ones came first.
        """
        if self.how.limits.pages is None:
            return {entry.url for entry in entries}
        room = self._room()
        where = {entry.url: self.getter.knew(entry) for entry in entries}
        known = sorted((url for url, at in where.items() if at), key=lambda url: not self._stands(where[url]))[:room]
        free = 0 if self.left else max(0, room - max(len(known), len(self.stand) - len(self.got)))
        return {*known, *[url for url, at in where.items() if not at][:free]}

    def _stands(self, url: str) -> bool:
        path = self.found.scope.path(url)
        return path == "" or (path is not None and loose_key(storage_path(path)) in self.stand)

    def _room(self) -> int:
        limit = self.how.limits.pages
        return max(0, limit - len(self.got)) if limit is not None else 0

    async def _told(self, entry: PageRef) -> FetchedPage | SkippedPage:
        result = self._aside(entry, await self.getter.get(entry))
        known = len(self.known)
        if isinstance(result, SkippedPage):
            self.tell("skipped", {"url": entry.url, "why": result.why, "known": known})
        else:
            at = result.markdown_url or None
            self.tell("page", {"url": result.url, "path": result.path, "markdown": at, "known": known})
        return result

    def _aside(self, entry: PageRef, result: FetchedPage | SkippedPage) -> FetchedPage | SkippedPage:
        """Put aside what a page holds."""
        entry.text = None
        if isinstance(result, SkippedPage):
            return result
        body = result.body
        self.bodies[entry.url] = body
        kind, text = ("a", body.article) if body.markdown is None else ("m", body.markdown)
        digest = kind + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        seen = replace(result.seen, article="", words=frozenset()) if result.seen else None
        return replace(result, body=PageBody(), seen=seen, digest=digest, key=entry.url)

    def _take(self, entry: PageRef, result: FetchedPage | SkippedPage) -> None:
        """Take a page into the crawl, in the order of the entries, and see where it leads."""
        if isinstance(result, SkippedPage):
            self.found.navs += [result.nav] if result.nav else []
            self.skipped.append(replace(result, links=(), nav=()))
        elif (twin := self.got.get(result.path) or self._loose.get(loose_key(result.url))) and _same(twin, result):
            if twin.url != entry.url:  # else another address has led here before, and nothing is left out
                self.skipped.append(SkippedPage(entry.url, f"is the page at {twin.url}, too"))
            del self.bodies[entry.url]
        else:
            self.got[result.path] = self._loose[loose_key(result.url)] = self._navs.without_what_is_known(result)
            self.known.add(result.url)
        if not self.how.links or (self.how.limits.depth is not None and entry.depth >= self.how.limits.depth):
            return
        for link in self._navs.of(result):
            linked = make_page_ref(link)
            if not self.found.scope.contains(link) or not is_page_url(link) or linked.url in self.known:
                continue
            if linked.guessed and loose_key(linked.url) in self._loose:
                continue
            self.known.add(linked.url)
            linked.depth = entry.depth + 1
            self._fresh[linked.url] = linked


def _same(one: FetchedPage, other: FetchedPage) -> bool:
    """Tell whether two addresses lead to one page: one path, or spellings of it that hold the same."""
    return one.path == other.path or one.digest == other.digest


@dataclass(slots=True)
class _NavLinks:
    """Takes the links of articles from every page, but those of the nav only while pages bring new ones."""

    seen: set[str] = field(default_factory=set)
    paths: set[str] = field(default_factory=set)
    fruitless: int = 0
    last: tuple[NavItem, ...] = ()

    def of(self, result: FetchedPage | SkippedPage) -> Sequence[str]:
        """Give the links of a page that are to be followed."""
        if isinstance(result, SkippedPage):
            return result.links
        if self.fruitless > 30:
            return result.links
        new = [link for link in result.nav_links if link not in self.seen]
        self.seen.update(new)
        self.fruitless = 0 if new else self.fruitless + 1
        return [*result.links, *new]

    def without_what_is_known(self, got: FetchedPage) -> FetchedPage:
        """Give a page as it is kept: without links, and without a nav that brings nothing new."""
        nav: tuple[NavItem, ...] = ()
        if got.nav is not self.last:  # neighbours mostly share one
            self.last = got.nav
            named = site_nav.collect_paths(got.nav)
            nav = got.nav if named - self.paths else ()
            self.paths |= named
        seen = replace(got.seen, article="", links=(), nav_links=(), nav=(), words=frozenset()) if got.seen else None
        return replace(got, links=(), nav_links=(), nav=nav, seen=seen)


async def _together(
    entries: Sequence[PageRef],
    at_once: int,
    get: Callable[[PageRef], Any],
    take: Callable[[PageRef, Any], None],
) -> None:
    """Get several entries at once, and take what comes in their order; nobody runs far ahead of the slowest."""
    results: dict[int, Any] = {}
    todo = iter(enumerate(entries))
    taken = 0
    moved = anyio.Event()

    async def work() -> None:
        nonlocal taken, moved
        for at, entry in todo:
            while at - taken > _AHEAD:
                await moved.wait()
            results[at] = await get(entry)
            while taken in results:
                take(entries[taken], results.pop(taken))
                taken += 1
            moved.set()
            moved = anyio.Event()

    async with anyio.create_task_group() as group:
        for _ in range(min(at_once, len(entries))):
            group.start_soon(work)


_AHEAD = 200

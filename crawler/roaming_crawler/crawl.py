"""Crawls a documentation site into a folder that holds the published contract, as a build would write it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_process
import anyio.to_thread

from mkdocs_roaming import site_nav
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.page import Heading
from mkdocs_roaming.publish.publisher import Options
from roaming_crawler.discover import Found, Sources, discover, loosely
from roaming_crawler.fetch import Answer, Clock, Fetcher, FetchError, Manners, WebFetcher
from roaming_crawler.files import FolderFetcher, folder_site
from roaming_crawler.mirroring import mirrored
from roaming_crawler.pages import Entry, Getter, Got, Skipped, entry_of
from roaming_crawler.publishing import Outcome, published
from roaming_crawler.reading import Seen, headings_of, read_html
from roaming_crawler.scope import Scope, canonical, looks_like_a_page, scope_of
from roaming_crawler.session import HTML, Limits, Session
from roaming_crawler.store import Store, locked

Tell = Callable[[str, dict[str, Any]], None]
"""Is told what happens: the name of an event, and what belongs to it."""


@dataclass(frozen=True, slots=True)
class Crawl:
    """How a site is crawled."""

    name: str | None = None
    description: str | None = None
    limits: Limits = field(default_factory=Limits)
    manners: Manners = field(default_factory=Manners)
    sources: Sources = field(default_factory=Sources)
    links: bool = True
    """Whether links on pages are followed."""
    prefer_markdown: bool = True
    anchors: bool = True
    """Whether the HTML of pages is read for anchors, where there is Markdown."""
    resume: bool = False
    refresh: bool = False
    allow_private: bool = False
    workers: int = 2
    """Processes that read and convert pages; with 0 that happens in this one."""
    options: Options = field(default_factory=Options)


async def crawl(
    url: str,
    folder: Path,
    how: Crawl,
    *,
    fetcher: Fetcher | None = None,
    clock: Clock | None = None,
    tell: Tell = lambda name, data: None,
) -> Outcome:
    """Crawl the site at an address, or in a local folder, and publish it into `folder`.

    A crawl that was interrupted there goes on; a finished one is brought up to date by conditional requests. Raises
    UsageError, StoreError, PublishError or FetchError, where nothing can be done at all.
    """
    clock = clock or Clock()
    local = folder_site(url)
    if fetcher is None and local is None:
        web = WebFetcher(how.manners, clock=clock, allow_private=how.allow_private)
        async with web:
            return await _crawl(url, folder, how, web, clock, tell, web.slow_down)
    if local is not None:
        url, fetcher = local.start, FolderFetcher(local)
    assert fetcher is not None
    return await _crawl(url, folder, how, fetcher, clock, tell, lambda host, delay: None)


async def _crawl(
    url: str,
    folder: Path,
    how: Crawl,
    fetcher: Fetcher,
    clock: Clock,
    tell: Tell,
    slow_down: Callable[[str, float], None],
) -> Outcome:
    given = canonical(url)
    if given is None:
        raise UsageError(f"{url}: not an http(s) address, and no folder; give the address of the documentation")
    with locked(folder):
        store = Store(folder)
        resume = _resumes(store, given, folder, how)
        store.begin({"url": given}, resume=resume)
        session = Session(store, fetcher, how.limits, clock, slow_down)
        began = clock.monotonic()
        scope = await _scope(session, given, store)
        tell("start", {"url": given, "scope": scope.url, "resumed": resume, "known": len(store.old)})
        found = await discover(session, scope, given, how.sources)
        tell("found", {"pages": len(found.entries), "sources": found.sources, "manifest": found.manifest is not None})
        if found.manifest is not None:
            outcome = await mirrored(session, found, folder, how.options, tell)
        else:
            got, skipped = await _visit(session, found, how, tell)
            outcome = published(session, found, got, skipped, folder, how)
        complete = not session.stopped
        if complete:
            store.finish({"url": scope.url, "given": given}, complete=True)
        outcome = outcome.with_costs(
            requests=session.requests,
            unchanged=session.unchanged,
            size=session.bytes,
            seconds=round(clock.monotonic() - began, 1),
            stopped=session.stopped and f"{session.stopped}; go on: roaming crawl {url} -o {folder} --resume",
        )
        tell("done", json.loads(json.dumps(asdict(outcome))))
        return outcome


def _resumes(store: Store, given: str, folder: Path, how: Crawl) -> bool:
    """Tell whether this goes on with an interrupted crawl. Raises UsageError where the folder is another site's."""
    before = store.unfinished.get("url") or store.site.get("given")
    if before and before != given:
        raise UsageError(f"{folder}: holds a crawl of {before}; give another folder, or that address")
    if how.resume and not store.unfinished:
        raise UsageError(f"{folder}: no interrupted crawl in it to go on with; leave --resume out")
    return bool(store.unfinished) and not how.refresh


async def _scope(session: Session, given: str, store: Store) -> Scope:
    """Give what is crawled: as last time, else below the address that was given, where its redirects end."""
    if store.site.get("url"):
        return Scope(store.site["url"])
    scope = scope_of(given)
    try:
        answer = await session.get(given, HTML)
    except FetchError:
        return scope  # the site may do without a home page
    return scope_of(answer.url) if answer.good and not scope.contains(answer.url) else scope


async def _visit(session: Session, found: Found, how: Crawl, tell: Tell) -> tuple[list[Got], list[Skipped]]:
    """Get all pages, level by level: what sources list and the home page first, then what those link to."""
    reader = _Reader(found.scope.url, anyio.CapacityLimiter(max(1, how.workers)), bool(how.workers))
    getter = Getter(session, found.scope, reader, prefer_markdown=how.prefer_markdown, anchors=how.anchors)
    await getter.learn_what_is_missing()
    if found.scope.url not in found.entries:
        found.add(Entry(found.scope.url, title=""))
    known = set(found.entries)
    loose: dict[str, Got] = {}
    level = sorted(found.entries.values(), key=lambda entry: entry.url)
    level.sort(key=lambda entry: entry.url != found.scope.url)  # the home page first
    got: dict[str, Got] = {}
    skipped: list[Skipped] = []
    navs = _NavLinks()
    sample = _SAMPLE
    while level:
        room = _room(level, len(got), how.limits)
        level, beyond = level[:room], level[room:]
        head, level = level[:sample], level[sample:]
        results = [await _told(getter, entry, tell) for entry in head]  # one by one: the host's ways are learned
        sample = max(0, sample - len(head))
        if not sample:
            getter.ways.learning = False
        results += await _together(getter, level, how.manners.connections * 2, tell)
        if beyond:  # what an earlier crawl knows of them stays
            session.stopped = session.stopped or f"stopped at {how.limits.pages} pages (--max-pages)"
            results += [await getter.get(entry) for entry in beyond]
        fresh: dict[str, Entry] = {}
        for entry, result in zip([*head, *level, *beyond], results, strict=True):
            if isinstance(result, Skipped):
                skipped.append(result)
            elif (twin := got.get(result.path) or loose.get(loosely(result.url))) and _same(twin, result):
                skipped.append(Skipped(entry.url, f"is the page at {twin.url}, too"))
            else:
                got[result.path] = loose[loosely(result.url)] = navs.without_what_is_known(result)
                known.add(result.url)
            if how.links and (how.limits.depth is None or entry.depth < how.limits.depth):
                for link in navs.of(result):
                    linked = entry_of(link)
                    if not found.scope.contains(link) or not looks_like_a_page(link) or linked.url in known:
                        continue
                    if linked.guessed and loosely(linked.url) in loose:
                        continue
                    known.add(linked.url)
                    linked.depth = entry.depth + 1
                    fresh[linked.url] = linked
        level = sorted(fresh.values(), key=lambda entry: entry.url)
    return list(got.values()), skipped


def _same(one: Got, other: Got) -> bool:
    """Tell whether two addresses lead to one page: one path, or spellings of it that hold the same."""
    return one.path == other.path or (one.article, one.markdown) == (other.article, other.markdown)


_SAMPLE = 3
"""The pages on which a host's ways of giving Markdown are learned."""


@dataclass(slots=True)
class _NavLinks:
    """Takes the links of articles from every page, but those of the nav only while pages bring new ones."""

    seen: set[str] = field(default_factory=set)
    paths: set[str] = field(default_factory=set)
    fruitless: int = 0

    def of(self, result: Got | Skipped) -> Sequence[str]:
        """Give the links of a page that are to be followed."""
        if isinstance(result, Skipped):
            return result.links
        if self.fruitless > 30:
            return result.links
        new = [link for link in result.nav_links if link not in self.seen]
        self.seen.update(new)
        self.fruitless = 0 if new else self.fruitless + 1
        return [*result.links, *new]

    def without_what_is_known(self, got: Got) -> Got:
        """Give a page as it is kept: without links, and without a nav that brings nothing new. Sites are large."""
        named = site_nav.paths(got.nav)
        nav = got.nav if named - self.paths else ()
        self.paths |= named
        seen = replace(got.seen, article="", links=(), nav_links=(), nav=(), words=frozenset()) if got.seen else None
        return replace(got, links=(), nav_links=(), nav=nav, seen=seen)


def _room(level: Sequence[Entry], count: int, limits: Limits) -> int:
    """Give how many pages of a level the limit leaves room for."""
    return len(level) if limits.pages is None else max(0, min(len(level), limits.pages - count))


async def _together(getter: Getter, entries: Sequence[Entry], at_once: int, tell: Tell) -> list[Got | Skipped]:
    results: dict[int, Got | Skipped] = {}
    todo = iter(enumerate(entries))

    async def work() -> None:
        for at, entry in todo:
            results[at] = await _told(getter, entry, tell)

    async with anyio.create_task_group() as group:
        for _ in range(min(at_once, len(entries))):
            group.start_soon(work)
    return [results[at] for at in range(len(entries))]


async def _told(getter: Getter, entry: Entry, tell: Tell) -> Got | Skipped:
    result = await getter.get(entry)
    if isinstance(result, Skipped):
        tell("skipped", {"url": entry.url, "why": result.why})
    else:
        tell("page", {"url": result.url, "path": result.path, "markdown": result.markdown_url or None})
    return result


_SECONDS_TO_READ = 60.0
T = TypeVar("T")


@dataclass(slots=True)
class _Reader:
    """Reads HTML in worker processes; in a thread of this one with 0 of them, or where none can be started."""

    site_url: str
    limiter: anyio.CapacityLimiter
    apart: bool
    worked: bool = False

    async def page(self, answer: Answer) -> Seen:
        try:
            return await self._run(read_html, answer.body, answer.charset, answer.url, self.site_url)
        except TimeoutError:
            return Seen(left_out=f"not read within {_SECONDS_TO_READ:g} s")
        except anyio.BrokenWorkerProcess:
            return Seen(left_out="breaks the process that reads it")

    async def headings(self, seen: Seen) -> tuple[Heading, ...]:
        try:
            return await self._run(headings_of, seen.article, seen.title)
        except (TimeoutError, anyio.BrokenWorkerProcess):
            return ()

    async def _run(self, function: Callable[..., T], *arguments: str | bytes) -> T:
        if self.apart:
            try:
                with anyio.fail_after(_SECONDS_TO_READ):
                    done = await anyio.to_process.run_sync(function, *arguments, cancellable=True, limiter=self.limiter)
                self.worked = True
                return done
            except anyio.BrokenWorkerProcess:
                if self.worked:
                    raise
                self.apart = False  # a program that cannot be started twice
        return await anyio.to_thread.run_sync(function, *arguments, limiter=self.limiter)

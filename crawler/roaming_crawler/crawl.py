"""Crawls a documentation site into a folder that holds the published contract, as a build would write it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest.io import MANIFEST_PATH
from mkdocs_roaming.publish.writer import PublishOptions
from roaming_crawler.discover import DiscoveryConfig, discover
from roaming_crawler.disk_dict import DiskDict
from roaming_crawler.fetch import Clock, Fetcher, FetchError, Politeness, RefusedError, WebFetcher
from roaming_crawler.files import FolderFetcher, explain_empty_folder, parse_folder_site
from roaming_crawler.frontier import visit_pages
from roaming_crawler.mirror import mirror_site
from roaming_crawler.page import PageBody
from roaming_crawler.parser import find_refresh_target
from roaming_crawler.publish import CrawlResult, NoPagesError, publish_crawl
from roaming_crawler.robots import product_token
from roaming_crawler.scope import Scope, ScopeConfig, canonical_url, version_prefix
from roaming_crawler.session import ACCEPT_HTML, MAX_PAGES_OPTION, Limits, Session
from roaming_crawler.sniff import sniff_kind
from roaming_crawler.state import STATE_DIR, CrawlState, lock_folder

EventHandler = Callable[[str, dict[str, Any]], None]
"""Is told what happens: the name of an event, and what belongs to it."""


@dataclass(frozen=True, slots=True)
class CrawlConfig:
    """How a site is crawled."""

    name: str | None = None
    description: str | None = None
    limits: Limits = field(default_factory=Limits)
    manners: Politeness = field(default_factory=Politeness)
    area: ScopeConfig = field(default_factory=ScopeConfig)
    sources: DiscoveryConfig = field(default_factory=DiscoveryConfig)
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
    options: PublishOptions = field(default_factory=PublishOptions)


async def crawl(
    url: str,
    folder: Path,
    how: CrawlConfig,
    *,
    fetcher: Fetcher | None = None,
    clock: Clock | None = None,
    tell: EventHandler = lambda name, data: None,
) -> CrawlResult:
    """Crawl the site at an address, or in a local folder, and publish it into `folder`.

    A crawl that was interrupted there goes on; a finished one is brought up to date by conditional requests. Raises
    UsageError, StoreError, PublishError or FetchError, where nothing can be done at all.
    """
    clock = clock or Clock()
    local = parse_folder_site(url)
    if fetcher is None and local is None:
        web = WebFetcher(
            how.manners,
            clock=clock,
            allow_private=how.allow_private,
            waits=lambda host, seconds: tell("wait", {"host": host, "seconds": round(seconds, 1)}),
        )
        async with web:
            return await _crawl(url, folder, how, web, clock, tell, web.slow_down)
    if local is not None:
        try:
            return await _crawl(local.start, folder, how, fetcher or FolderFetcher(local), clock, tell, _at_once)
        except NoPagesError as error:
            raise NoPagesError(explain_empty_folder(local) or str(error)) from None
    assert fetcher is not None
    return await _crawl(url, folder, how, fetcher, clock, tell, _at_once)


def _at_once(host: str, delay: float) -> None:
    """Wait for no Crawl-delay: nobody is asked but this disk."""


async def _crawl(
    url: str,
    folder: Path,
    how: CrawlConfig,
    fetcher: Fetcher,
    clock: Clock,
    tell: EventHandler,
    slow_down: Callable[[str, float], None],
) -> CrawlResult:
    given = _address(url)
    _refuse_what_is_not_ours(folder)
    with lock_folder(folder):
        store = CrawlState(folder)
        resume = _resumes(store, given, folder, how)
        store.begin({"url": given}, resume=resume, since=clock.wall() - _JUST_NOW)
        session = Session(store, fetcher, how.limits, clock, slow_down, product_token(how.manners.name))
        began = clock.monotonic()
        try:
            outcome = await _published(session, given, folder, how, tell, resume)
        except (NoPagesError, RefusedError):
            store.give_up()
            raise
        except BaseExceptionGroup as several:  # a full disk, met by one of the tasks that fetch
            raise _first(several) from None
        outcome = outcome.with_costs(
            session,
            seconds=round(clock.monotonic() - began, 1),
            stopped=session.stopped and f"{session.stopped}; {_further(session.stopped)}",
        )
        tell("done", json.loads(json.dumps(asdict(outcome))))
        return outcome


async def _published(
    session: Session, given: str, folder: Path, how: CrawlConfig, tell: EventHandler, resume: bool
) -> CrawlResult:
    store = session.store
    scope, notes = await _scope(session, given, store, how.area)
    tell("start", {"url": given, "scope": scope.url, "resumed": resume, "known": len(store.old)})
    found = await discover(session, scope, given, how.sources)
    found.notes += notes
    tell("found", {"pages": len(found.entries), "sources": found.sources, "manifest": found.manifest is not None})
    if found.manifest is not None:
        outcome = await mirror_site(session, found, folder, how.options, tell)
    else:
        with DiskDict[PageBody](store.state) as bodies:
            got, skipped = await visit_pages(session, found, how, tell, bodies)
            found.notes += _fruitless(scope, [one.path for one in got])
            outcome = publish_crawl(session, found, got, skipped, bodies, folder, how)
    if session.over:
        store.finish({"url": scope.url, "given": given} | ({_ENDED: how.limits.pages} if session.stopped else {}))
    return outcome


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _address(url: str) -> str:
    given = canonical_url(url)
    if given is None and "@" in urlsplit(url).netloc:
        raise UsageError("the address has a user's name in it; leave it out: what asks for a password is not crawled")
    if given is None:
        raise UsageError(f"{url}: not an http(s) address, and no folder; give the address of the documentation")
    return given


def _refuse_what_is_not_ours(folder: Path) -> None:
    """Raise UsageError for a folder with somebody's files: pages would be written over those of the same names."""
    if (folder / STATE_DIR).exists() or (folder / MANIFEST_PATH).exists() or not folder.is_dir():
        return
    if any(not file.name.startswith(".") and not file.is_symlink() for file in folder.iterdir()):
        raise UsageError(f"{folder}: holds files that no crawl has written; give a new folder, or an empty one")


def _further(stopped: str) -> str:
    """Say how to go on: a limit of pages counts those that are there already, the others begin anew."""
    if MAX_PAGES_OPTION in stopped:
        return "go on: the same command with a higher --max-pages"
    return "go on: the same command again"


def _fruitless(scope: Scope, paths: list[str]) -> list[str]:
    """Say which of the patterns that were to let pages in let none in."""
    lone = (replace(scope, include=(glob,), exclude=()) for glob in scope.include)
    return [
        f"--include {one.include[0]}: matches no page; paths are those below {scope.url}"
        for one in lone
        if not any(path and one.takes(path) for path in paths)
    ]


def _resumes(store: CrawlState, given: str, folder: Path, how: CrawlConfig) -> bool:
    """Tell whether this goes on with a crawl that was interrupted, or beyond where a limit of pages has ended it.

    Raises UsageError where the folder is another site's.
    """
    before = store.unfinished.get("url") or store.site.get("given")
    if before and before != given:
        raise UsageError(f"{folder}: holds a crawl of {before}; give another folder, or that address")
    ended = store.site.get(_ENDED)
    if how.resume and not store.unfinished and ended is None:
        raise UsageError(f"{folder}: no interrupted crawl in it to go on with; leave --resume out")
    further = ended is not None and (how.resume or how.limits.pages is None or how.limits.pages > ended)
    return (bool(store.unfinished) or further) and not how.refresh


async def _scope(session: Session, given: str, store: CrawlState, area: ScopeConfig) -> tuple[Scope, list[str]]:
    """Give what is crawled, and what is to be said of it.

    That is what was crawled last time; else what was asked for, where redirects of the given address end.
    """
    scope = area.scope(given)
    if last := store.site.get("url"):
        if (area.prefix or area.same_host) and scope.url != last:
            raise UsageError(f"{scope.url}: this folder holds a crawl of {last}; give another folder")
        return replace(scope, url=last), []
    try:
        end = await _end(session, given)
    except RefusedError:
        raise  # nothing of it can be had
    except FetchError:
        return scope, []  # the site may do without a home page
    if not scope.holds(end):
        return area.scope(end), []
    version = version_prefix(scope.path(end) or "")
    if not version or area.prefix or area.same_host:
        return scope, []
    one = replace(scope, url=scope.url + version)
    whole = urlsplit(scope.url).path
    return one, [f"{scope.url}: leads to {one.url}, so other versions are left out; to have all: --prefix {whole}"]


async def _end(session: Session, given: str) -> str:
    """Give where an address leads in the end, by its host's redirects and by what pages say themselves."""
    end, to = given, given
    for _ in range(_MOST_HOPS):
        answer = await session.get(to, ACCEPT_HTML)
        if not answer.good:
            break
        end = answer.url
        to = find_refresh_target(answer.body, answer.charset, end) if sniff_kind(answer) == "html" else ""
        if not to:
            break
    return end


_MOST_HOPS = 3
_ENDED = "max_pages"
"""What a finished crawl notes where a limit of pages has ended it: that limit."""
_JUST_NOW = 24 * 3600.0
"""The age in seconds of what is not asked for again beyond such a limit."""

"""Publishes what a crawl got, by the same contract and the same hands as a build; tells what became of each page."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, MutableMapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mkdocs_roaming.errors import ManifestError, PublishError
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_pages
from mkdocs_roaming.manifest.models import NavItem, Page, PageEntry, Site, path_to_url
from mkdocs_roaming.publish.cache import ConversionCache
from mkdocs_roaming.publish.pipeline import Batch, convert_pages
from mkdocs_roaming.publish.previous import read_previous
from mkdocs_roaming.publish.writer import PublishReport, publish_batch
from mkdocs_roaming.sources import site_nav
from roaming_crawler.discover import DiscoveredPages
from roaming_crawler.disk_dict import DiskDict
from roaming_crawler.page import FetchedPage, PageBody, SkippedPage
from roaming_crawler.rollback import Rollback
from roaming_crawler.sandbox import conversion_pool
from roaming_crawler.session import Session
from roaming_crawler.state import disambiguate_paths, storage_path

if TYPE_CHECKING:
    from roaming_crawler.crawl import CrawlConfig


class NoPagesError(PublishError):
    """A site has no page that could be had."""


@dataclass(frozen=True, slots=True)
class CrawlResult:
    """What a crawl came to: pages by what became of them, and what it cost."""

    new: tuple[str, ...]
    changed: tuple[str, ...]
    same: int
    gone: tuple[str, ...]
    kept: tuple[str, ...]
    """Addresses of pages that failed this time, or that a limit left out, and that stand as they were."""
    skipped: tuple[tuple[str, str], ...]
    """Addresses that are not published, and why."""
    notes: tuple[str, ...]
    pages: int
    markdown: int
    """How many pages came as Markdown."""
    sections: int
    written: int
    requests: int = 0
    unchanged: int = 0
    """Requests answered by “not modified”."""
    had: int = 0
    """Good answers, robots.txt aside; where there is none, all that is published stands as it was."""
    trouble: str = ""
    """What the first of those came to that something from before stands in for."""
    bytes: int = 0
    seconds: float = 0.0
    stopped: str = ""
    """Which limit ended the crawl early, and how to go on."""

    def with_costs(self, session: Session, *, seconds: float, stopped: str) -> CrawlResult:
        """Give the outcome with what the crawl cost."""
        return replace(
            self,
            requests=session.requests,
            unchanged=session.unchanged,
            had=session.had,
            trouble=session.trouble,
            bytes=session.bytes,
            seconds=seconds,
            stopped=stopped,
        )


def publish_crawl(
    session: Session,
    found: DiscoveredPages,
    got: Sequence[FetchedPage],
    skipped: Sequence[SkippedPage],
    bodies: MutableMapping[str, PageBody],
    folder: Path,
    how: CrawlConfig,
) -> CrawlResult:
    """Publish the pages of a crawl into a folder. Only what is said of pages is in memory, not what they hold."""
    notes = list(found.notes)
    if not got:
        first = skipped[0] if skipped else SkippedPage(found.scope.url, "nothing there")
        where = "" if first.url == found.scope.url else f"{first.url}: "
        raise NoPagesError(f"{found.scope.url}: no page to publish; {where}{first.why}{_cure(first.why)}")
    pages = _pages(got, found.scope.url)
    site = _site(found, got, list(pages.values()), how)
    state = session.store.state
    old, before = read_published_pages(folder), Rollback(folder, state)
    previous = read_previous(str(folder), Path.cwd(), notes.append) if old else None
    with ExitStack() as stack:
        with conversion_pool(how.workers) as apply:
            batch = convert_pages(
                site,
                (_whole(page, bodies.pop(key)) for key, page in pages.items()),
                cache=ConversionCache(state / "cache", write_through=True),
                warn=notes.append,
                map_fn=apply,
                mapping_factory=lambda: stack.enter_context(DiskDict(state)),
            )
        before.keep(old, batch.pages, lambda page: page.digest != _digest(batch, page.path))
        report = publish_batch(batch, folder, how.options, previous=before.previous(previous) if previous else None)
    kept = [one.url for one in got if one.kept]
    return compare_with_previous(old, before, folder, report, skipped, [*notes, *report.notes], kept)


def _cure(why: str) -> str:
    """Say what to do where nothing of a site could be had, and the reason does not."""
    if "forbids" in why:
        return "; ask its owner"
    if "password" in why or why.endswith(("401", "403")):
        return "; only what everybody may read can be crawled"
    if re.search(r"429|answers 5\d\d|within", why):
        return "; try again later"
    return "" if "; " in why else "; check the address"  # some bring their own


def _digest(batch: Batch, path: str) -> str:
    if path not in batch.converted:
        return ""
    text = batch.converted[path].markdown
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read_published_pages(folder: Path) -> tuple[PageEntry, ...]:
    """Give the pages that stand in a folder, without their sections."""
    try:
        return load_pages(folder / MANIFEST_PATH)
    except (OSError, ManifestError):
        return ()


def compare_with_previous(
    old: Sequence[PageEntry],
    before: Rollback,
    folder: Path,
    report: PublishReport,
    skipped: Sequence[SkippedPage],
    notes: Sequence[str],
    kept: Sequence[str],
) -> CrawlResult:
    """Give what became of each page that stood in the folder; what was kept of them is forgotten."""
    pages = read_published_pages(folder)
    before.forget(pages)
    was = {page.path: page.digest for page in old}
    now = {page.path: page.digest for page in pages}
    return CrawlResult(
        new=tuple(path for path in now if path not in was),
        changed=tuple(path for path in now if path in was and was[path] != now[path]),
        same=sum(1 for path in now if was.get(path) == now[path]),
        gone=tuple(path for path in was if path not in now),
        kept=tuple(sorted(kept)),
        skipped=tuple((one.url, one.why) for one in skipped),
        notes=tuple(dict.fromkeys(notes)),
        pages=len(now),
        markdown=report.markdown,
        sections=report.sections,
        written=report.written,
    )


def _pages(got: Sequence[FetchedPage], site_url: str) -> dict[str, Page]:
    """Give the pages to publish, without what they hold, by what that is found by.

    Each stands under a path that a folder can hold, with its own address where that differs.
    """
    shared = Counter(one.description for one in got)
    places = disambiguate_paths(storage_path(one.path) for one in got)
    pages = {}
    for one in sorted(got, key=lambda one: one.path):
        path = places[storage_path(one.path)]
        pages[one.key] = Page(
            path=path,
            title=one.title,
            description=one.description if shared[one.description] == 1 else "",
            url=one.url if one.url != path_to_url(site_url, path) else None,
        )
    return pages


def _whole(page: Page, body: PageBody) -> Page:
    return replace(page, article=body.article, markdown=body.markdown, headings=body.headings)


def _site(found: DiscoveredPages, got: Sequence[FetchedPage], pages: Sequence[Page], how: CrawlConfig) -> Site:
    url = found.scope.url
    home = next((one for one in got if one.path == ""), None)
    seen = [one.seen for one in ([home] if home else []) + list(got) if one and one.seen is not None]
    index = found.indexes[0][1] if found.indexes else None
    nav, source = _nav(found, got, pages)
    return Site(
        name=how.name
        or (index.title if index else "")
        or next((one.site_name for one in seen if one.site_name), "")
        or urlsplit(url).netloc
        or urlsplit(url).path.rstrip("/").rpartition("/")[2],
        url=url,
        description=how.description
        or (index.summary if index else "")
        or (home.seen.site_description if home and home.seen else ""),
        language=next((one.language for one in seen if one.language), "en"),
        nav=nav,
        nav_source=source,
    )


def _nav(found: DiscoveredPages, got: Sequence[FetchedPage], pages: Sequence[Page]) -> tuple[tuple[NavItem, ...], str]:
    """Give the nav and what it was taken from: llms.txt, the theme's sidebar, or the folders."""
    url = found.scope.url
    titles = {page.path: page.title for page in pages}
    at = {one.markdown_url: one.path for one in got if one.markdown_url}

    def resolve(href: str) -> str | None:
        if href in at:
            return at[href]
        return site_nav.make_resolver(url, url, titles)(href)

    groups: dict[str, list[NavItem]] = {}
    taken: set[str] = set()
    for _, index in found.indexes:
        for entry in index.entries:
            path = resolve(entry.url)
            if path is None:
                path = resolve(_of_markdown(entry.url))
            if path is not None and path in titles and path not in taken:
                taken.add(path)
                groups.setdefault(entry.group, []).append(NavItem(entry.title, path))
    if len(taken) > 1 and len(taken) >= len(pages) // 2:
        nav = [
            item
            for group, items in groups.items()
            for item in ([NavItem(group, children=tuple(items))] if group else items)
        ]
        return tuple(nav), "llms.txt"
    bars = [_known(one.nav, titles) for one in sorted(got, key=lambda one: one.path)]
    bars = bars if any(bars) else [_known(nav, titles) for nav in found.navs]
    nav_of = {one.path: one.nav for one in got}
    bar = site_nav.merge_navs(bars, sorted(titles), lambda path: _known(nav_of.get(path, ()), titles))
    if len(site_nav.collect_paths(bar)) > 1:
        home = [NavItem(titles[""], "")] if "" in titles and "" not in site_nav.collect_paths(bar) else []
        return (*home, *bar), "sidebar"
    return site_nav.from_folders(titles), "folders"


def _of_markdown(url: str) -> str:
    stem = url.removesuffix(".md")
    return stem.removesuffix("index") if stem.endswith("/index") else stem


def _known(items: Iterable[NavItem], titles: dict[str, str]) -> tuple[NavItem, ...]:
    """Give a nav's items with the paths that are published, in their spelling."""
    found = []
    for item in items:
        path = item.path
        if path is not None:
            forms = (path, path + "/", path.rstrip("/"), path.rstrip("/") + ".html", path.removesuffix(".html"))
            path = next((form for form in forms if form in titles), None)
        found.append(NavItem(item.title, path, item.url, _known(item.children, titles)))
    return tuple(found)

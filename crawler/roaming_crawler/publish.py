"""Publishes the pages of a crawl with the same code as a build, and reports what changed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import structs

from mkdocs_roaming.errors import PublishError, RoamingError
from mkdocs_roaming.html.boilerplate import SAMPLE_SIZE, learn_boilerplate, remove_boilerplate
from mkdocs_roaming.html.titles import CommonPart, find_common_part
from mkdocs_roaming.manifest.descriptions import Descriptions
from mkdocs_roaming.manifest.models import NavItem, Page, PageEntry, Site, path_to_url, url_to_path
from mkdocs_roaming.publish.cache import ConversionCache, ConvertedPage
from mkdocs_roaming.publish.ownership import PublishedFiles
from mkdocs_roaming.publish.pipeline import Batch, convert_pages
from mkdocs_roaming.publish.previous import read_previous
from mkdocs_roaming.publish.writer import PublishReport, publish_batch
from mkdocs_roaming.sources import site_nav
from mkdocs_roaming.text.llms_index import LlmsIndex
from roaming_crawler.contents import Coverage, measure_coverage
from roaming_crawler.discover import DiscoveredPages
from roaming_crawler.flags import FlaggedText, flag_pages
from roaming_crawler.frontier import VisitedPages
from roaming_crawler.page import FetchedPage, SkippedPage, make_page_ref
from roaming_crawler.parser import ParsedPage, describe_failure
from roaming_crawler.scope import disambiguate_paths, loose_key, storage_path
from roaming_crawler.session import Session
from roaming_crawler.state import DiskDict, read_published_pages
from roaming_crawler.variants import OtherVariant

_MIN_REPEATED = 3
"""Number of pages with the same text outside of their articles; it is no part of any of them then."""
_MIN_LOST_WORDS = 10
_MIN_COVERAGE = 0.9
_SHARE_DIGITS = 4
_NO_NAME = re.compile(r"\A(?:home|index|main page|overview|welcome(?: to(?: the)?\b)?)\b\W*|\(\d\w*\)\Z", re.IGNORECASE)
"""What the title of a home page has beside the name of its site, as in `Welcome to the Kettle`."""


class NoPagesError(PublishError):
    """No page of a site could be fetched."""


@dataclass(frozen=True, slots=True)
class CrawlResult:
    """Result of a crawl. The field names are those of the JSON event `done`."""

    new: tuple[str, ...]
    """Paths of new pages."""
    changed: tuple[str, ...]
    same: int
    gone: tuple[str, ...]
    kept: tuple[str, ...]
    """URLs of pages that could not be updated, because a request failed or a limit was reached."""
    skipped: tuple[tuple[str, str], ...]
    """URLs that are not published, and the reasons."""
    flagged: tuple[FlaggedText, ...]
    """Texts that seem to be written for language models, on published and on skipped pages."""
    notes: tuple[str, ...]
    pages: int
    markdown: int
    """Number of pages that the site publishes as Markdown."""
    sections: int
    written: int
    """Number of files."""
    coverage: Coverage = field(default_factory=Coverage)
    """What the Markdown has kept of pages that were converted from HTML."""
    page_coverage: Mapping[str, float] = field(default_factory=dict)
    """The share of the words of each of these pages that was kept, by path."""
    incomplete: tuple[str, ...] = ()
    """Paths of the pages that lost more than a tenth of their words."""
    left_out: tuple[OtherVariant, ...] = ()
    """Languages and versions that were not crawled, and the folder above the scope if pages link to others there."""
    found_by: tuple[str, ...] = ()
    """How pages were found: the paths of lists, or URLs on other hosts, and links on pages."""
    requests: int = 0
    unchanged: int = 0
    """Number of responses with status 304."""
    fetched: int = 0
    """Number of successful requests without robots.txt; if it is 0, nothing could be updated."""
    trouble: str = ""
    """Reason for the first failed request that was replaced by the last crawl's response."""
    bytes: int = 0
    seconds: float = 0.0
    stopped: str = ""
    """Message about the limit that was reached, and how to continue."""


def publish_crawl(
    session: Session,
    discovered: DiscoveredPages,
    visited: VisitedPages,
    descriptions: Descriptions | None,
) -> CrawlResult:
    """Publish the fetched pages into the folder of a session. Bodies are read from disk one by one.

    Raises:
        NoPagesError: There are no pages.
    """
    config = session.config
    notes = list(discovered.notes)
    pages = visited.pages
    skipped = list(visited.skipped)
    url = discovered.scope.url
    if not pages:
        raise _make_no_pages_error(url, skipped, notes)
    common = find_common_part(page.parsed.title for page in pages)
    outputs = _make_outputs(pages, url, common)
    folder = session.state.folder
    cache_folder = session.state.path
    site = _make_site(session, discovered, visited, outputs, common.name)
    before = read_published_pages(folder)
    previous = read_previous(str(folder), Path.cwd(), notes.append) if before else None
    with ExitStack() as stack:
        batch = convert_pages(
            site,
            _iter_pages(session, visited, outputs),
            cache=ConversionCache(cache_folder / "cache", write_through=True),
            warn=notes.append,
            map_fn=_convert_safely,
            mapping_factory=lambda: stack.enter_context(DiskDict(cache_folder)),
        )
        by_path = {outputs[page.key].path: page for page in pages}
        skipped += (SkippedPage(by_path[page.path].url, page.reason) for page in batch.left_out)
        if not batch.pages:
            raise _make_no_pages_error(url, skipped[-1:], notes)
        hidden = {path: page.parsed.hidden for path, page in by_path.items()}
        flagged, unwanted = flag_pages(batch, hidden, skip=config.skip_flagged)
        if not batch.pages:
            reason = unwanted[-1].reason
            raise NoPagesError(f"{url}: all pages {reason}; to look at them, leave out --skip-flagged")
        skipped += unwanted
        coverage = _measure_pages(batch, {path: page.parsed.outside for path, page in by_path.items()})
        # A skill would name addresses of the original site, and instruct agents with texts of others.
        options = structs.replace(config.options, agent_skill=False)
        report = publish_batch(
            batch,
            folder,
            options,
            embeddings=config.embeddings,
            previous=previous,
            descriptions=descriptions,
            page_copies=config.page_copies,
        )
    stale = [page.url for page in pages if page.is_stale]
    result = compare_with_previous(session, before, report, skipped, notes, stale)
    result = _with_coverage(result, coverage)
    return replace(result, flagged=tuple(flagged), left_out=visited.left_out)


def _iter_pages(session: Session, visited: VisitedPages, outputs: Mapping[str, Page]) -> Iterator[Page]:
    """Yield the pages with their bodies, without what most articles repeat. The bodies are removed."""
    state = session.state
    bodies = visited.bodies
    if state.boilerplate is None or session.config.refresh:
        articles = (body.article for body in map(bodies.__getitem__, outputs) if body.markdown is None)
        state.boilerplate = learn_boilerplate(islice(articles, SAMPLE_SIZE))
    for key, page in outputs.items():
        body = bodies.pop(key)
        article = remove_boilerplate(body.article, state.boilerplate)
        yield replace(page, article=article, markdown=body.markdown, headings=body.headings)


def _convert_safely(
    convert: Callable[[Page], ConvertedPage | str], pages: Iterable[Page]
) -> Iterator[ConvertedPage | str]:
    """Yield the converted pages, and a message for each one that our own code fails on."""
    for page in pages:
        try:
            yield convert(page)
        except RoamingError:  # of the setup
            raise
        except Exception as error:
            yield describe_failure("converted", error)


def _with_coverage(result: CrawlResult, pages: Mapping[str, Coverage]) -> CrawlResult:
    shares = {path: page.share for path, page in pages.items()}
    lost = {path: page.visible_words - page.words for path, page in pages.items()}
    incomplete = [path for path in shares if shares[path] < _MIN_COVERAGE and lost[path] >= _MIN_LOST_WORDS]
    incomplete.sort(key=shares.__getitem__)
    words = sum(page.words for page in pages.values())
    return replace(
        result,
        coverage=Coverage(words + sum(lost.values()), words),
        page_coverage={path: round(share, _SHARE_DIGITS) for path, share in shares.items()},
        incomplete=tuple(incomplete),
    )


def compare_with_previous(
    session: Session,
    before: Iterable[PageEntry],
    report: PublishReport,
    skipped: Sequence[SkippedPage],
    notes: Sequence[str],
    stale: Sequence[str],
) -> CrawlResult:
    """Compare a folder with its pages before the crawl.

    Args:
        session: The session of the crawl.
        before: The pages before the crawl.
        report: What was published.
        skipped: Pages that were not published.
        notes: Messages.
        stale: URLs of pages that could not be updated.
    """
    pages = read_published_pages(session.state.folder)
    old = {page.path: page.digest for page in before}
    after = {page.path: page.digest for page in pages}
    new = tuple(path for path in after if path not in old)
    changed = tuple(path for path in after if path in old and old[path] != after[path])
    gone = tuple(path for path in old if path not in after)
    reasons = tuple((page.url, page.reason) for page in skipped)
    return CrawlResult(
        new=new,
        changed=changed,
        same=len(after) - len(new) - len(changed),
        gone=gone,
        kept=tuple(sorted(stale)),
        skipped=reasons,
        flagged=(),
        notes=tuple(dict.fromkeys((*notes, *report.notes))),
        pages=len(after),
        markdown=report.markdown,
        sections=report.sections,
        written=report.written,
        requests=session.requests,
        unchanged=session.unchanged,
        fetched=session.fetched,
        trouble=session.first_failure,
        bytes=session.bytes,
    )


def _make_no_pages_error(url: str, skipped: Sequence[SkippedPage], notes: Sequence[str]) -> NoPagesError:
    first = skipped[0] if skipped else SkippedPage(url, "not found")
    reason = first.reason if first.url == url else f"{first.url}: {first.reason}"
    if "forbids" in first.reason:
        hint = "; ask its owner"
    elif "password" in first.reason or first.reason.endswith(("401", "403")):
        hint = "; only public pages can be crawled"
    elif "429" in first.reason or "status 5" in first.reason or "within" in first.reason:
        hint = "; try again later"
    else:
        hint = "" if "; " in first.reason else "; check the URL"
    return NoPagesError(f"{url}: no page to publish; {'; '.join([reason + hint, *notes])}")


def _measure_pages(batch: Batch, outside: Mapping[str, Sequence[tuple[int, int]]]) -> dict[str, Coverage]:
    """Return what the converted pages have kept of their HTML.

    Text outside of the articles counts, too, unless several pages have it.

    Args:
        batch: The converted pages.
        outside: Checksum and number of words of each text outside of a page's article, by path.
    """
    repeated = Counter(checksum for texts in outside.values() for checksum, _ in texts)
    coverage = {}
    for path, page in batch.pages.items():
        if page.markdown is None:
            lost = sum(words for checksum, words in outside[path] if repeated[checksum] < _MIN_REPEATED)
            coverage[path] = measure_coverage(page.article, batch.converted[path].markdown, lost)
    return coverage


def _make_outputs(pages: Sequence[FetchedPage], site_url: str, common: CommonPart) -> dict[str, Page]:
    """Return the pages to publish, without bodies, by the keys of the bodies.

    Each page has a path that is safe in a folder, and its URL if that differs.
    """
    # Generators write the description of the site on pages that have none.
    descriptions = Counter(page.description for page in pages)
    descriptions.update(page.parsed.description for page in pages if page.path == "")
    titles: dict[str, str] = {}
    for page in pages:
        is_own_title = page.title != page.parsed.title
        titles[page.key] = page.title if is_own_title else common.remove_from(page.title)
    counts = Counter(titles.values())
    paths = disambiguate_paths(storage_path(page.path) for page in pages)
    outputs = {}
    for page in sorted(pages, key=lambda page: page.path):
        path = paths[storage_path(page.path)]
        title = titles[page.key]
        if counts[title] > 1 or not title:
            title = page.parsed.heading or title
        description = page.description
        if descriptions[description] > 1 or description == page.parsed.title:
            description = ""
        url = page.url if page.url != path_to_url(site_url, path) else None
        outputs[page.key] = Page(path, title or page.title, description=description, url=url)
    return outputs


def _make_site(
    session: Session,
    discovered: DiscoveredPages,
    visited: VisitedPages,
    outputs: Mapping[str, Page],
    common_name: str,
) -> Site:
    config = session.config
    folder = session.state.folder
    url = discovered.scope.url
    address = urlsplit(url)
    home = next((page.parsed for page in visited.pages if page.path == ""), ParsedPage())
    parsed = [page.parsed for page in sorted(visited.pages, key=lambda page: page.path != "")]
    index = discovered.indexes[0] if discovered.indexes else LlmsIndex("", str)
    site_names = Counter(page.site_name for page in parsed if page.site_name)
    names = [config.name, index.title, common_name]
    names += [name for name, _ in site_names.most_common(1)]
    names += [_NO_NAME.sub("", home.title), address.netloc]
    languages = (page.language for page in parsed)
    titles = {page.path: page.title for page in outputs.values()}
    nav, source = _make_nav(discovered, visited.pages, titles)
    has_llms_txt = config.options.llms_txt is not False or bool(PublishedFiles(folder).author_text.strip())
    return Site(
        name=next(filter(None, names), Path(address.path).name),
        url=url,
        description=config.description or index.summary or home.description,
        language=next(filter(None, languages), "en"),
        nav=nav,
        nav_source=source,
        crawled_from=address.netloc,
        has_llms_txt=has_llms_txt,
        redirects=visited.copies,
    )


def _make_nav(
    discovered: DiscoveredPages, pages: Sequence[FetchedPage], titles: Mapping[str, str]
) -> tuple[tuple[NavItem, ...], str]:
    """Return the navigation and its source: llms.txt, the theme's sidebar, or the folders."""
    paths = {loose_key(path): path for path in titles} | {path: path for path in titles}
    if nav := _nav_from_llms_txt(discovered, pages, paths):
        return nav, "llms.txt"
    navs: dict[str, tuple[NavItem, ...]] = {}
    for page in sorted(pages, key=lambda page: page.path):
        navs[page.path] = _resolve_paths(page.parsed.nav, paths)
    sidebars = list(navs.values())
    if not any(sidebars):
        sidebars = [_resolve_paths(nav, paths) for nav in discovered.navs]
    sidebar = site_nav.merge_navs(sidebars, sorted(titles), lambda path: navs.get(path, ()))
    return site_nav.complete_sidebar(sidebar, titles)


def _nav_from_llms_txt(
    discovered: DiscoveredPages, pages: Sequence[FetchedPage], paths: Mapping[str, str]
) -> tuple[NavItem, ...]:
    """Return the groups of llms.txt if they contain at least half of the pages."""
    by_markdown = {page.markdown_url: page.path for page in pages}
    groups: dict[tuple[str, ...], list[NavItem]] = {}
    taken: set[str] = set()
    for entry in chain.from_iterable(index.entries.values() for index in discovered.indexes):
        page_url = make_page_ref(entry.url).url
        path = by_markdown.get(entry.url, url_to_path(discovered.scope.url, page_url))
        path = _find_path(path, paths)
        if path is not None and path not in taken:
            taken.add(path)
            groups.setdefault(entry.group, []).append(NavItem(entry.title, path))
    half = len(set(paths.values())) // 2
    return _nest_groups(groups) if len(taken) > 1 and len(taken) >= half else ()


def _nest_groups(groups: Mapping[tuple[str, ...], Sequence[NavItem]]) -> tuple[NavItem, ...]:
    """Return the navigation with the items of groups, each of which is named by its path of titles."""
    nested: dict[str, dict[tuple[str, ...], Sequence[NavItem]]] = {}
    for path, items in groups.items():
        nested.setdefault("".join(path[:1]), {})[path[1:]] = items
    nav: list[NavItem] = []
    for title, inner in nested.items():
        nav += [NavItem(title, children=_nest_groups(inner))] if title else inner[()]
    return tuple(nav)


def _resolve_paths(items: Iterable[NavItem], paths: Mapping[str, str]) -> tuple[NavItem, ...]:
    """Replace the paths of a navigation by their published spellings."""
    resolved: list[NavItem] = []
    for item in items:
        path = _find_path(item.path, paths)
        children = _resolve_paths(item.children, paths)
        resolved.append(NavItem(item.title, path, item.url, children))
    return tuple(resolved)


def _find_path(path: str | None, paths: Mapping[str, str]) -> str | None:
    return None if path is None else paths.get(path, paths.get(loose_key(path)))

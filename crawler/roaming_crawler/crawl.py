"""Crawls a documentation site and publishes it into a folder, as a build would."""

from __future__ import annotations

from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urljoin

import msgspec
from msgspec import structs

from mkdocs_roaming.errors import ManifestError, UsageError
from mkdocs_roaming.locks import STATE_DIR
from mkdocs_roaming.manifest.descriptions import Descriptions, read_descriptions
from mkdocs_roaming.manifest.io import MANIFEST_PATH, iter_pages
from roaming_crawler.config import CrawlConfig, EventHandler
from roaming_crawler.discover import discover
from roaming_crawler.fetch import Clock, Fetcher, FetchError, RefusedError, Response, WebFetcher
from roaming_crawler.files import explain_empty_folder, parse_folder_site
from roaming_crawler.frontier import visit_pages
from roaming_crawler.mirror import mirror_site
from roaming_crawler.page import PageBody
from roaming_crawler.parser import parse_page
from roaming_crawler.publish import (
    CrawlResult,
    NoPagesError,
    publish_crawl,
)
from roaming_crawler.scope import Scope, canonical_url, has_web_scheme, is_page_url, scope_url, url_origin
from roaming_crawler.session import MAX_PAGES_OPTION, Session
from roaming_crawler.state import CrawlRecord, CrawlState, DiskDict, lock_folder
from roaming_crawler.variants import (
    ALL,
    find_language_start,
    find_version_folder,
    match_language,
)
from roaming_crawler.versions import find_version

_RECENT_SECONDS = 24 * 3600.0
"""Maximum age of responses that are not requested again when a crawl continues beyond a page limit."""
_UNUSABLE_MANIFEST = (
    "more than 5 % of its Markdown is missing or does not match its manifest; its HTML is crawled instead"
)


async def crawl(
    url: str,
    folder: Path,
    config: CrawlConfig,
    *,
    fetcher: Fetcher | None = None,
    clock: Clock | None = None,
    on_event: EventHandler = lambda name, data: None,
) -> CrawlResult:
    """Crawl a site and publish it into a folder.

    An interrupted crawl of the folder is resumed; a finished one is updated with conditional requests.

    Args:
        url: URL of the site, or a local folder.
        folder: Output folder.
        config: Configuration.
        fetcher: Replacement for the HTTP client.
        clock: Time source.
        on_event: Progress callback.

    Raises:
        UsageError: The URL, the folder or the file of descriptions is not suitable.
        FolderBusyError: Another command writes into the folder.
        FetchError: The site cannot be fetched.
        PublishError: There is nothing to publish, or it cannot be written.
    """
    clock = clock or Clock()
    local = None if has_web_scheme(url) else parse_folder_site(url)
    if local:
        url = local.start
        fetcher = fetcher or local
    start = canonical_url(url)
    if start is None and "@" in url.partition("://")[2].partition("/")[0]:
        raise UsageError("the URL contains a user name; leave it out: sites with a login are not crawled")
    if start is None:
        raise UsageError(f"{url}: not an http(s) URL and not a folder; give the URL of the documentation")

    def report_wait(host: str, seconds: float) -> None:
        on_event("wait", {"host": host, "seconds": round(seconds, 1)})

    async with AsyncExitStack() as stack:
        if fetcher is None:
            private_urls = [start] if config.allow_private else ()
            web = WebFetcher(config.politeness, clock=clock, private_urls=private_urls, on_wait=report_wait)
            fetcher = await stack.enter_async_context(web)
        try:
            return await _crawl_into_folder(folder, start, config, fetcher, clock, on_event)
        except NoPagesError as error:
            hint = explain_empty_folder(local) if local else ""
            raise NoPagesError(hint or str(error)) from None


async def _crawl_into_folder(
    folder: Path, start: str, config: CrawlConfig, fetcher: Fetcher, clock: Clock, on_event: EventHandler
) -> CrawlResult:
    """Lock the folder, crawl, and publish."""
    file = config.options.descriptions
    descriptions = read_descriptions(Path(file)) if file else None
    _check_output_folder(folder)
    with lock_folder(folder):
        state = CrawlState(folder)
        record = CrawlRecord(start, language=config.scope.language, version=config.scope.version)
        resume = _can_resume(state, record, config)
        state.start(record, resume=resume, since=clock.wall() - _RECENT_SECONDS)
        session = Session(state, fetcher, config, clock)
        try:
            result = await _Crawl(session, start, descriptions, on_event).run(record, resume=resume)
        except (NoPagesError, RefusedError, UsageError):
            state.discard_first_crawl()
            raise
        except BaseExceptionGroup as group:  # for example a full disk in one of the tasks
            raise first_exception(group) from None
        stopped = session.stopped
        if stopped:
            # The page limit counts existing pages, other limits start from zero.
            higher = " with a higher --max-pages" if MAX_PAGES_OPTION in stopped else ""
            stopped = f"{stopped}; to continue, give the same command{higher}"
        result = replace(result, stopped=stopped, seconds=round(clock.monotonic() - session.started, 1))
        on_event("done", msgspec.to_builtins(result))
        return result


def _can_resume(state: CrawlState, record: CrawlRecord, config: CrawlConfig) -> bool:
    """Return whether an interrupted crawl, or one that reached a lower page limit, is resumed.

    Raises:
        UsageError: The folder contains a crawl of another URL.
    """
    last = state.unfinished or state.site
    if last and last.given != record.given:
        raise UsageError(f"{state.folder}: contains a crawl of {last.given}; give another folder, or that URL")
    if last and (last.language, last.version) != (record.language, record.version):
        options = f"--language {last.language or '(none)'} and --version {last.version or '(none)'}"
        raise UsageError(f"{state.folder}: contains a crawl with {options}; give another folder, or the same options")
    limit = state.site.max_pages if state.site else None
    if config.refresh:
        return False
    if state.unfinished or limit is None:
        return state.unfinished is not None
    return config.limits.pages is None or config.limits.pages > limit


@dataclass(slots=True)
class _Crawl:
    """A running crawl of one site.

    Attributes:
        session: Network access.
        start: URL of the start page; that of another language or version once the user's choice is found.
        descriptions: Descriptions of the user.
        on_event: Progress callback.
        notes: Messages about the choice of the scope.
    """

    session: Session
    start: str
    descriptions: Descriptions | None
    on_event: EventHandler
    notes: list[str] = field(default_factory=list)

    async def run(self, record: CrawlRecord, *, resume: bool) -> CrawlResult:
        """Crawl, publish, and store the record of the crawl."""
        session = self.session
        state = session.state
        config = session.config
        scope = await self._find_variant() or await self._find_scope()
        self.on_event("start", {"url": self.start, "scope": scope.url, "resumed": resume, "known": len(state.old)})
        discovered = await discover(session, scope, self.start, config.discovery)
        discovered.notes += self.notes
        manifest = discovered.manifest
        self.on_event("found", {"pages": len(discovered.entries), "manifest": manifest is not None})
        with suppress(OSError, ManifestError):  # such as a copy of a folder without its state
            published = iter_pages(state.folder / MANIFEST_PATH)[0].site.url
            is_own = published == (manifest.site.url if manifest else scope.url)
            if not is_own and not (state.path / "state.json").exists():
                raise UsageError(f"{state.folder}: contains the files of {published}; give a new or empty folder")
        result = None
        if manifest:
            result = await mirror_site(session, discovered, manifest, self.descriptions, self.on_event)
            if result is None:
                self.notes.append(f"{discovered.root}: {_UNUSABLE_MANIFEST}")
                discovered = await discover(session, scope, self.start, replace(config.discovery, manifest=False))
                discovered.notes += self.notes
        if result is None:
            with DiskDict[PageBody](state.path) as bodies:
                visited = await visit_pages(session, discovered, self.on_event, bodies, self.start)
                self.on_event("publish", {"pages": len(visited.pages)})
                discovered.notes += scope.check_patterns(strict=config.scope.strict)
                result = publish_crawl(session, discovered, visited, self.descriptions)
        ways = discovered.ways or (self.start,)
        result = replace(result, found_by=tuple(way.removeprefix(url_origin(scope.url)) for way in ways))
        # A crawl that has reached its page limit is complete; with another limit, the next one resumes it.
        if not session.stopped or MAX_PAGES_OPTION in session.stopped:
            limit = config.limits.pages if session.stopped else None
            state.finish(structs.replace(record, url=scope.url, max_pages=limit, boilerplate=state.boilerplate))
        return result

    async def _find_variant(self) -> Scope | None:
        """Make the language and the version that the user selected the start, and return their scope.

        Raises:
            UsageError: The start page leads to none.
        """
        session = self.session
        config = session.config.scope
        base = config.make_scope(self.start)
        scope = None
        if config.language not in ("", ALL):
            response = await session.follow_redirects(self.start)
            page = parse_page(response, base.url)
            if not match_language(page.language, config.language):
                start, folder = find_language_start(config.language, page, base.url)
                if not start:
                    problem = f": {page.skip_reason}" if page.skip_reason else " has no link to it"
                    raise UsageError(
                        f"--language {config.language}: {response.url}{problem}; give the URL of that language"
                    )
                self.start = start
                scope = replace(base, url=folder)
        if config.version not in ("", ALL):
            version = await find_version(session, self.start, config.version)
            if not version.exact:
                near = f"the nearest is {version.url}" if version.kind != "latest" else "it names no such version"
                raise UsageError(f"--version {config.version}: {self.start}: {near}; give the URL of that version")
            self.start = version.page
            scope = replace(base, url=version.url)
        return scope

    async def _find_start(self, home: str) -> Response | None:
        """Return the response for the start URL as given, or else with or without the final slash."""
        other = home if self.start != home else canonical_url(home.rstrip("/"))
        try:
            response = await self.session.follow_redirects(self.start)
            if response.is_missing and other:
                self.start = other
                response = await self.session.follow_redirects(other)
        except RefusedError:
            raise
        except FetchError:
            return None
        return response if response.ok else None

    async def _find_scope(self) -> Scope:
        """Return the scope of the last crawl, or else that of the URL to which the start URL redirects."""
        session = self.session
        config = session.config.scope
        scope = config.make_scope(self.start)
        response = await self._find_start(scope.url)
        if last := session.state.site:
            if not config.selects_version and scope.url != last.url:
                raise UsageError(f"{scope.url}: this folder contains a crawl of {last.url}; give another folder")
            return replace(scope, url=last.url)
        if response is None:
            return scope  # the site may have no home page
        target = response.url.partition("?")[0]
        if not scope.is_below(target):
            return config.make_scope(target)
        folder = _find_folder(target, response) if config.selects_version else ""
        if folder:
            self.notes.append(f"{target}: links to no page below it, so the crawl covers {folder}")
            return replace(scope, url=folder)
        version = find_version_folder(target, scope.url)
        if not version or not config.selects_version or config.version == ALL:
            return scope
        self.notes.append(
            f"{scope.url}: redirects to {version}, so other versions are left out; to include them: --version all"
        )
        return replace(scope, url=version)


def _find_folder(url: str, response: Response) -> str:
    """Return the folder of a page at a URL without a slash that links to pages there, but to none below itself."""
    folder = urljoin(url, ".")
    if scope_url(url) != f"{url}/":
        return ""
    links = [link for link in parse_page(response, folder).all_links if is_page_url(link)]
    is_folder = any(link.startswith(f"{url}/") for link in links)
    has_siblings = any(link.startswith(folder) and link not in (folder, url) for link in links)
    return folder if has_siblings and not is_folder else ""


def first_exception(error: BaseException) -> BaseException:
    """Return the first exception of nested exception groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _check_output_folder(folder: Path) -> None:
    """Raise UsageError for a folder with other files, because pages could overwrite them."""
    if (folder / STATE_DIR).exists() or not folder.is_dir():
        return
    if (folder / MANIFEST_PATH).exists():
        is_foreign = next(folder.rglob("*.html"), None) is not None  # a build has published its site
    else:
        is_foreign = any(not file.name.startswith(".") and not file.is_symlink() for file in folder.iterdir())
    if is_foreign:
        raise UsageError(f"{folder}: contains files that no crawl has written; give a new or empty folder")

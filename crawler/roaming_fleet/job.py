"""Job: the crawl of one site into a store, and the record of its result."""

from __future__ import annotations

import errno
import shutil
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from msgspec.structs import replace

from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from roaming_crawler.config import CrawlConfig
from roaming_crawler.crawl import crawl, first_exception
from roaming_crawler.fetch import is_temporary
from roaming_crawler.files import parse_folder_site
from roaming_crawler.publish import CrawlResult
from roaming_crawler.scope import canonical_url, has_web_scheme
from roaming_crawler.session import MAX_PAGES_OPTION
from roaming_crawler.state import CrawlState
from roaming_fleet.folder import StoreError, StoreFolder
from roaming_fleet.records import (
    CatalogEntry,
    SiteRecord,
    make_catalog_entry,
    read_record,
    shorten,
    without_terms,
    write_record,
)

FIRST_PAUSE = 3_600.0
"""Pause in seconds after a first failure. Each further failure makes it four times as long."""
MAX_PAUSE = 7 * 24 * 3_600.0


@dataclass(frozen=True, slots=True)
class SiteSpec:
    """A site to crawl: its URL or folder, and its key in the store."""

    url: str
    key: str


@dataclass(frozen=True, slots=True)
class RunPlan:
    """Parameters of a run for all its jobs.

    Attributes:
        store: The store.
        config: Configuration of the crawls.
        run: Id of the run.
        digest: Digest of the configuration.
        stop: Set when the jobs must stop.
    """

    store: StoreFolder
    config: CrawlConfig
    run: str
    digest: str
    stop: threading.Event = field(default_factory=threading.Event)


class RunStoppedError(RoamingError):
    """The run of a job was stopped."""


class _NothingFetchedError(RoamingError):
    """None of a site's pages could be fetched."""


def crawl_site(site: SiteSpec, plan: RunPlan) -> SiteRecord:
    """Crawl a site into the store, and return its record without search terms.

    A failure is recorded, and the last good copy stays.

    Raises:
        StoreError: The store cannot be used.
        RunStoppedError: The run was stopped.
    """
    started = time.monotonic()
    last = read_record(plan.store, site.key) or SiteRecord(site.key, site.url, "", "", "", 0.0)
    record = replace(_crawl_or_fail(site, plan, last), seconds=round(time.monotonic() - started, 2))
    write_record(plan.store, record)
    return without_terms(record)


def _crawl_or_fail(site: SiteSpec, plan: RunPlan, last: SiteRecord) -> SiteRecord:
    """Return the record of the crawl, or of its failure. Problems that affect all sites are raised."""
    folder = plan.store.root / site.key
    try:
        if last.entry is None:
            _remove_other_site(folder, site)
        return _crawl_into(folder, site, plan, last)
    except (StoreError, RunStoppedError):
        raise
    except OSError as error:
        if error.errno in _DISK_ERRORS:
            where = error.filename2 or error.filename or folder
            raise StoreError(
                f"{where}: cannot be written to ({error.strerror}); fix that, and repeat the command"
            ) from None
        return make_failed_record(site, plan, last, f"{type(error).__name__}: {error}")
    except RoamingError as error:
        return make_failed_record(site, plan, last, str(error))
    except Exception as error:  # a bug that one site triggers must not stop the run
        return make_failed_record(site, plan, last, f"{type(error).__name__}: {error}")


def _remove_other_site(folder: Path, site: SiteSpec) -> None:
    """Remove what was crawled from another URL: it may have been corrected, or the site dropped."""
    state = CrawlState(folder)
    crawled = state.unfinished or state.site
    start = site.url if has_web_scheme(site.url) else parse_folder_site(site.url).start
    if crawled and crawled.given != canonical_url(start):
        shutil.rmtree(folder, ignore_errors=True)


def _crawl_into(folder: Path, site: SiteSpec, plan: RunPlan, last: SiteRecord) -> SiteRecord:
    result, home = anyio.run(_crawl_until_stopped, site.url, folder, plan)
    if not result.fetched and not result.gone:
        raise _NothingFetchedError(f"{site.url}: none of its pages could be fetched; {result.trouble}")
    missed = [f"{url}: {reason}" for url, reason in result.skipped if is_temporary(reason)]
    now = time.time()
    kept = len(result.kept) + len(missed)
    stopped = result.stopped.partition(";")[0]
    trouble = result.trouble or next(iter(missed), "")
    previous = last.entry if kept else None
    tries = last.tries + (not is_unfinished(stopped)) if kept else 0
    manifest = load_manifest((folder / MANIFEST_PATH).read_bytes())
    entry = make_catalog_entry(site.key, manifest, previous.crawled if previous else now)
    return SiteRecord(
        site.key,
        site.url,
        "done",
        plan.digest,
        plan.run,
        now,
        result=_classify(result, last, entry),
        home=home,
        new=len(result.new),
        changed=len(result.changed),
        same=result.same,
        gone=len(result.gone),
        kept=kept,
        requests=result.requests,
        bytes=result.bytes,
        stopped=stopped,
        error=shorten(trouble, _MAX_ERROR_CHARS) if kept and trouble != stopped else "",
        tries=tries,
        next_try=now + _pause(tries) if kept and not is_unfinished(stopped) else 0.0,
        entry=entry,
    )


def make_failed_record(site: SiteSpec, plan: RunPlan, last: SiteRecord, error: str) -> SiteRecord:
    """Return the record of a site that could not be crawled."""
    tries = last.tries + 1
    now = time.time()
    return SiteRecord(
        site.key,
        site.url,
        "failed",
        plan.digest,
        plan.run,
        now,
        result="failed",
        home=last.home,
        error=shorten(error, _MAX_ERROR_CHARS),
        tries=tries,
        next_try=now + _pause(tries),
        entry=last.entry,
    )


def _classify(result: CrawlResult, last: SiteRecord, entry: CatalogEntry) -> str:
    """Return `new`, `changed` or `same`. Changes that a failed run has published count with the next crawl."""
    if last.entry is None:
        return "new"
    is_changed = result.new or result.changed or result.gone or entry.digest != last.entry.digest
    return "changed" if is_changed else "same"


async def _crawl_until_stopped(url: str, folder: Path, plan: RunPlan) -> tuple[CrawlResult, str]:
    """Crawl, and check regularly whether the run must stop. Return the result and the URL of the scope."""
    results: list[CrawlResult] = []
    homes = [url]

    def on_event(name: str, data: dict[str, Any]) -> None:
        if name == "start":
            homes.append(data["scope"])

    async def work() -> None:
        results.append(await crawl(url, folder, plan.config, on_event=on_event))
        group.cancel_scope.cancel()

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(work)
            while not plan.stop.is_set():
                await anyio.sleep(_STOP_CHECK_SECONDS)
            group.cancel_scope.cancel()
    except BaseExceptionGroup as error:
        raise first_exception(error) from None
    if not results:
        raise RunStoppedError(f"{url}: the run was stopped")
    return results[0], homes[-1]


def is_unfinished(stopped: str) -> bool:
    """Return whether a crawl that reached a limit is continued by the next one."""
    return bool(stopped) and MAX_PAGES_OPTION not in stopped


def _pause(tries: int) -> float:
    exponent = min(tries - 1, _MAX_EXPONENT)
    return min(FIRST_PAUSE * _PAUSE_FACTOR**exponent, MAX_PAUSE)


_STOP_CHECK_SECONDS = 0.3
_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)
_MAX_ERROR_CHARS = 500
_PAUSE_FACTOR = 4.0
_MAX_EXPONENT = 5
"""Limits the pause before it overflows; `MAX_PAUSE` is reached with it."""

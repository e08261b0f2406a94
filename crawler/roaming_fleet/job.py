"""Job: the crawl of one site into a store, and the record of its result."""

from __future__ import annotations

import errno
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from msgspec.structs import replace

from mkdocs_roaming._version import __version__
from mkdocs_roaming.errors import RoamingError, UsageError
from mkdocs_roaming.locks import FolderBusyError
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from roaming_crawler.config import CrawlConfig
from roaming_crawler.crawl import crawl, first_exception
from roaming_crawler.fetch import is_temporary
from roaming_crawler.files import parse_folder_site
from roaming_crawler.publish import CrawlResult
from roaming_crawler.scope import canonical_url, has_web_scheme
from roaming_crawler.session import MAX_PAGES_OPTION
from roaming_crawler.state import CrawlState
from roaming_fleet.buckets import BlobNotFoundError, BucketError, FolderBucket
from roaming_fleet.lock import LOCK_SECONDS, LockLostError, LockWatch, lock_watch
from roaming_fleet.objects import Bucket, open_bucket
from roaming_fleet.records import (
    STORE_MARKER,
    CatalogEntry,
    SiteRecord,
    make_catalog_entry,
    read_record,
    shorten,
    without_terms,
    write_record,
)
from roaming_fleet.sync import download_site, staging_folder, upload_site

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
    """Parameters of a run for all workers.

    Attributes:
        store: URL or folder of the store.
        config: Configuration of the crawls.
        run: Id of the run.
        digest: Digest of the configuration.
        scratch: Folder for crawls before the upload to a bucket.
        version: Version of mkdocs-roaming, which must be the same on all machines.
    """

    store: str
    config: CrawlConfig
    run: str
    digest: str
    scratch: str
    version: str = __version__


class _NothingFetchedError(RoamingError):
    """None of a site's pages could be fetched."""


def run_job(site: SiteSpec, plan: RunPlan) -> SiteRecord:
    """Crawl a site on any machine, and return its record without search terms.

    Raises:
        UsageError: This machine has another version of mkdocs-roaming.
        BucketError: The store or the scratch folder cannot be used.
        LockLostError: The run was stopped.
    """
    if plan.version != __version__:
        raise UsageError(
            f"this worker has mkdocs-roaming {__version__}, the run was started with {plan.version}; "
            "install the same version on both"
        )
    bucket = open_bucket(plan.store)
    try:
        bucket.get(STORE_MARKER)
    except BlobNotFoundError:
        raise BucketError(
            f"{plan.store}: not found on this machine; give a store that all workers can access", lasting=True
        ) from None
    return crawl_site(bucket, site, plan, lock_watch(plan.store, plan.run))


def crawl_site(bucket: Bucket, site: SiteSpec, plan: RunPlan, lock: LockWatch) -> SiteRecord:
    """Crawl a site into the store, and return its record without search terms.

    A failure is recorded, and the last good copy stays. A site that the run has finished is not crawled again.

    Raises:
        BucketError: The store or the scratch folder cannot be used at all.
        LockLostError: The run was stopped.
    """
    return without_terms(_Job(bucket, site, plan, lock).run())


@dataclass(frozen=True, slots=True)
class _Job:
    bucket: Bucket
    site: SiteSpec
    plan: RunPlan
    lock: LockWatch

    def run(self) -> SiteRecord:
        """Crawl, unless another worker of the run has done it."""
        started = time.monotonic()
        self.lock.check()
        last = read_last_record(self.bucket, self.site)
        if last.run == self.plan.run:
            return last  # its worker died afterwards, or was thought to be dead
        record = replace(self._crawl_or_fail(last), seconds=round(time.monotonic() - started, 2))
        self.lock.confirm()
        write_record(self.bucket, record)
        return record

    def _crawl_or_fail(self, last: SiteRecord) -> SiteRecord:
        """Return the record of the crawl, or of its failure. Problems that affect all sites are raised."""
        site = self.site
        plan = self.plan
        try:
            return self._crawl(last)
        except LockLostError:
            raise
        except OSError as error:
            if error.errno in _DISK_ERRORS:
                folder = self.bucket.root / site.key if isinstance(self.bucket, FolderBucket) else plan.scratch
                where = error.filename2 or error.filename or folder
                raise BucketError(
                    f"{where}: cannot be written to ({error.strerror}); fix that, and repeat the command", lasting=True
                ) from None
            return make_failed_record(site, plan, last, f"{type(error).__name__}: {error}")
        except BucketError as error:
            if error.lasting:
                raise
            record = make_failed_record(site, plan, last, str(error))
            return replace(record, tries=last.tries, next_try=record.at)  # not the site's failure
        except RoamingError as error:
            return make_failed_record(site, plan, last, str(error))
        except Exception as error:  # a bug that one site triggers must not stop the run
            return make_failed_record(site, plan, last, f"{type(error).__name__}: {error}")

    def _crawl(self, last: SiteRecord) -> SiteRecord:
        bucket = self.bucket
        site = self.site
        plan = self.plan
        if isinstance(bucket, FolderBucket):
            folder = bucket.root / site.key
            if last.entry is None:  # the URL may have been corrected, or the site dropped
                state = CrawlState(folder)
                crawled = state.unfinished or state.site
                start = site.url if has_web_scheme(site.url) else parse_folder_site(site.url).start
                if crawled and crawled.given != canonical_url(start):
                    shutil.rmtree(folder, ignore_errors=True)
            return self._crawl_into(folder, last)
        with staging_folder(Path(plan.scratch)) as folder:
            if last.published:
                download_site(bucket, site.key, folder)
            record = self._crawl_into(folder, last)
            upload_site(bucket, site.key, folder, self.lock)
            return record

    def _crawl_into(self, folder: Path, last: SiteRecord) -> SiteRecord:
        site = self.site
        plan = self.plan
        result, home = self._crawl_when_free(folder)
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
            published=plan.run,
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

    def _crawl_when_free(self, folder: Path) -> tuple[CrawlResult, str]:
        """Crawl; wait for a stopped run, or for a worker that the scheduler has given up, to leave the folder."""
        end = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                return anyio.run(_crawl_until_stopped, self.site.url, folder, self.plan, self.lock)
            except FolderBusyError:
                self.lock.check()
                if time.monotonic() > end:
                    raise
                time.sleep(_STOP_CHECK_SECONDS)


def read_last_record(bucket: Bucket, site: SiteSpec) -> SiteRecord:
    """Return the record of a site's last crawl, or an empty one."""
    return read_record(bucket, site.key) or SiteRecord(site.key, site.url, "", "", "", 0.0)


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
        published=last.published,
        home=last.home,
        error=shorten(error, _MAX_ERROR_CHARS),
        tries=tries,
        next_try=now + _pause(tries),
        entry=last.entry,
    )


def _classify(result: CrawlResult, last: SiteRecord, entry: CatalogEntry) -> str:
    """Return `new`, `changed` or `same`. Changes whose upload failed before count with the next crawl."""
    if last.entry is None:
        return "new"
    is_changed = result.new or result.changed or result.gone or entry.digest != last.entry.digest
    return "changed" if is_changed else "same"


async def _crawl_until_stopped(url: str, folder: Path, plan: RunPlan, lock: LockWatch) -> tuple[CrawlResult, str]:
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
            while not await anyio.to_thread.run_sync(lock.is_set, abandon_on_cancel=True):
                await anyio.sleep(_STOP_CHECK_SECONDS)
            group.cancel_scope.cancel()
    except BaseExceptionGroup as error:
        raise first_exception(error) from None
    if not results:
        lock.check()
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

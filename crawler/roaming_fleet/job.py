"""Job: the crawl of one site into a store, and the record of its result."""

from __future__ import annotations

import errno
import shutil
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio

from mkdocs_roaming._version import __version__
from mkdocs_roaming.errors import RoamingError, UsageError
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from roaming_crawler.config import CrawlConfig
from roaming_crawler.crawl import crawl, first_exception
from roaming_crawler.files import parse_folder_site
from roaming_crawler.publish import CrawlResult
from roaming_crawler.scope import canonical_url
from roaming_crawler.state import CrawlState
from roaming_fleet.buckets import BlobNotFoundError, Bucket, BucketError, FolderBucket, open_bucket
from roaming_fleet.leases import (
    LEASE_SECONDS,
    Lease,
    LeaseHeldError,
    LeaseLostError,
    RunStoppedError,
    StopSignal,
    hold_lease,
)
from roaming_fleet.records import CatalogEntry, SiteRecord, make_catalog_entry, read_record, write_record
from roaming_fleet.schedule import is_unfinished
from roaming_fleet.sites_file import SiteSpec
from roaming_fleet.staging import remove_stale_staging, staging_folder
from roaming_fleet.store import STORE_MARKER
from roaming_fleet.sync import download_site, upload_site

FIRST_PAUSE = 3_600.0
"""Pause in seconds after a first failure. Each further failure makes it four times as long."""
MAX_PAUSE = 7 * 24 * 3_600.0


@dataclass(frozen=True, slots=True)
class RunPlan:
    """Parameters of a run for all workers.

    Attributes:
        store: URL or folder of the store.
        config: Configuration of the crawls.
        run: Id of the run.
        digest: Digest of the configuration.
        scratch: Folder for crawls before the upload to a bucket.
        started: Start of the run in Unix seconds.
        version: Version of mkdocs-roaming, which must be the same on all machines.
        lease_seconds: Duration of a lease in a bucket between renewals.
        patience: Seconds to wait for a site that another process crawls; longer than the lease of a dead process.
    """

    store: str
    config: CrawlConfig
    run: str
    digest: str
    scratch: str
    started: float = field(default_factory=time.time)
    version: str = __version__
    lease_seconds: float = LEASE_SECONDS
    patience: float = 2 * LEASE_SECONDS


class _NothingFetchedError(RoamingError):
    """None of a site's pages could be fetched."""


def run_job(site: SiteSpec, plan: RunPlan, stop: StopSignal | None = None) -> SiteRecord:
    """Crawl a site on any machine, and return its record without search terms.

    Raises:
        UsageError: This machine has another version of mkdocs-roaming.
        BucketError: The store or the scratch folder cannot be used.
        RunStoppedError: The run was stopped.
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
    if bucket.is_remote:
        remove_stale_staging(Path(plan.scratch))
    try:
        return crawl_site(bucket, site, plan, stop)
    except LeaseHeldError as error:  # the process that holds the lease writes the record
        return replace(make_failed_record(site, plan, None, str(error)), result="busy", tries=0, next_try=0.0)


def crawl_site(bucket: Bucket, site: SiteSpec, plan: RunPlan, stop: StopSignal | None = None) -> SiteRecord:
    """Crawl a site into the store, and return its record without search terms.

    A failure is recorded, and the last good copy stays.

    Raises:
        LeaseHeldError: Another process crawls the site.
        BucketError: The store or the scratch folder cannot be used at all.
        RunStoppedError: The run was stopped.
    """
    job = _Job(bucket, site, plan, stop)
    try:
        record = job.run(retry=False)
    except LeaseLostError:  # a pending write may have overwritten the other process's files: compare everything again
        record = job.run(retry=True)
    return replace(record, entry=record.entry and replace(record.entry, terms={}, names=()))


@dataclass(frozen=True, slots=True)
class _Job:
    bucket: Bucket
    site: SiteSpec
    plan: RunPlan
    stop: StopSignal | None

    def run(self, *, retry: bool) -> SiteRecord:
        """Crawl under the lease of the site, unless another worker has done it."""
        site, plan = self.site, self.plan
        if self.stop and self.stop.is_set():
            raise RunStoppedError
        started = time.monotonic()
        with hold_lease(
            self.bucket, site.key, patience=plan.patience, seconds=plan.lease_seconds, stop=self.stop
        ) as lease:
            last = read_record(self.bucket, site.key)
            if last is not None and last.url != site.url:  # a concurrent run with another list
                raise LeaseHeldError(f"{plan.store}: {site.key} is {last.url} now; give {site.url} another name")
            if last is not None and not retry:
                if last.run == plan.run:
                    return last  # a worker that died had finished the site
                if last.config == plan.digest and last.at >= plan.started:  # done by a concurrent run
                    return replace(last, result="waiting" if last.state == "failed" else "fresh")
            record = replace(self._crawl_or_fail(last, lease), seconds=round(time.monotonic() - started, 2))
            lease.confirm()
            write_record(self.bucket, record)
            lease.confirm()
        return record

    def _crawl_or_fail(self, last: SiteRecord | None, lease: Lease) -> SiteRecord:
        """Return the record of the crawl, or of its failure. Problems that affect all sites are raised."""
        site, plan = self.site, self.plan
        try:
            return self._crawl(last, lease)
        except LeaseLostError:
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
            return replace(record, tries=last.tries if last else 0, next_try=record.at)  # not the site's failure
        except RoamingError as error:
            return make_failed_record(site, plan, last, str(error))
        except Exception as error:  # a bug that one site triggers must not stop the run
            return make_failed_record(site, plan, last, f"{type(error).__name__}: {error}")

    def _crawl(self, last: SiteRecord | None, lease: Lease) -> SiteRecord:
        bucket, site, plan = self.bucket, self.site, self.plan
        if isinstance(bucket, FolderBucket):
            _remove_other_crawl(bucket.root / site.key, site.url, last)
            return self._crawl_into(bucket.root / site.key, last)
        with staging_folder(Path(plan.scratch), plan.store, site.key) as folder:
            download_site(bucket, site.key, folder, last)
            _remove_other_crawl(folder, site.url, last)
            record = self._crawl_into(folder, last)
            upload_site(bucket, site.key, folder, plan.run, lease, self.stop)
            return record

    def _crawl_into(self, folder: Path, last: SiteRecord | None) -> SiteRecord:
        site, plan = self.site, self.plan
        result, home = anyio.run(_crawl_until_stopped, site.url, folder, plan, self.stop)
        if not result.had and not result.gone:
            raise _NothingFetchedError(f"{site.url}: none of its pages could be fetched; {result.trouble}")
        now, kept, stopped = time.time(), len(result.kept), result.stopped.partition(";")[0]
        previous = last.entry if last and kept else None
        tries = (last.tries if last else 0) + (not is_unfinished(stopped)) if kept else 0
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
            error=_shorten(result.trouble) if kept and result.trouble != stopped else "",
            tries=tries,
            next_try=now + _pause(tries) if kept and not is_unfinished(stopped) else 0.0,
            entry=entry,
        )


def make_failed_record(site: SiteSpec, plan: RunPlan, last: SiteRecord | None, error: str) -> SiteRecord:
    """Return the record of a site that could not be crawled."""
    tries = (last.tries if last else 0) + 1
    now = time.time()
    return SiteRecord(
        site.key,
        site.url,
        "failed",
        plan.digest,
        plan.run,
        now,
        result="failed",
        published=last.published if last else "",
        home=last.home if last else "",
        error=_shorten(error),
        tries=tries,
        next_try=now + _pause(tries),
        entry=last.entry if last else None,
    )


def _remove_other_crawl(folder: Path, url: str, last: SiteRecord | None) -> None:
    """Remove a crawl of another URL if there is no good copy: the list was corrected, or the site was dropped."""
    if last is not None and last.entry is not None:
        return
    state, local = CrawlState(folder), parse_folder_site(url)
    other = state.unfinished.get("url") or state.site.get("given")
    if other and other != canonical_url(local.start if local else url):
        shutil.rmtree(folder, ignore_errors=True)


def _classify(result: CrawlResult, last: SiteRecord | None, entry: CatalogEntry) -> str:
    """Return `new`, `changed` or `same`. Changes whose upload failed before count with the next crawl."""
    if last is None or last.entry is None:
        return "new"
    is_changed = result.new or result.changed or result.gone or entry.digest != last.entry.digest
    return "changed" if is_changed else "same"


async def _crawl_until_stopped(
    url: str, folder: Path, plan: RunPlan, stop: StopSignal | None
) -> tuple[CrawlResult, str]:
    """Crawl, and check regularly whether the run is to stop. Return the result and the URL of the scope."""
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
            while stop is None or not stop.is_set():
                await anyio.sleep(_STOP_CHECK_SECONDS)
            group.cancel_scope.cancel()
    except BaseExceptionGroup as error:
        raise first_exception(error) from None
    if not results:
        raise RunStoppedError
    return results[0], homes[-1]


def _pause(tries: int) -> float:
    return min(FIRST_PAUSE * 4.0 ** min(tries - 1, 5), MAX_PAUSE)  # the exponent is limited to prevent an overflow


def _shorten(error: str) -> str:
    return " ".join(error.split())[:_MAX_ERROR_CHARS]


_STOP_CHECK_SECONDS = 0.3
_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)
_MAX_ERROR_CHARS = 500

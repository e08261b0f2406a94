"""One site of many: crawled into a store unless that was done, and what became of it written down."""

from __future__ import annotations

import errno
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from roaming_crawler.crawl import crawl
from roaming_crawler.files import parse_folder_site
from roaming_crawler.publish import CrawlResult
from roaming_crawler.scope import canonical_url
from roaming_crawler.state import CrawlState

from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from roaming_fleet.buckets.base import Bucket, BucketError
from roaming_fleet.buckets.folder import FolderBucket
from roaming_fleet.leases import Lease, LeaseHeldError, LeaseLostError, RunStoppedError, StopSignal, hold_lease
from roaming_fleet.records import CatalogEntry, SiteRecord, make_catalog_entry, read_record, write_record
from roaming_fleet.schedule import is_unfinished
from roaming_fleet.sites_file import SiteSpec
from roaming_fleet.staging import staging_folder
from roaming_fleet.sync import download_site, upload_site

if TYPE_CHECKING:
    from roaming_fleet.runner import RunPlan

FIRST_PAUSE = 3_600.0
"""The pause in seconds after a first failure; each further one makes it four times as long."""
MAX_PAUSE = 7 * 24 * 3_600.0


class _FailedError(RoamingError):
    """Nothing of a site could be had."""


def crawl_site(bucket: Bucket, site: SiteSpec, plan: RunPlan, stop: StopSignal | None = None) -> SiteRecord:
    """Crawl a site into the store, and give its record without the words that it is found by.

    What fails is written down, and the last good copy stays. Raises ClaimedError where somebody else has the site, and
    BucketError where the store, or this machine's disk, cannot be used at all.
    """
    try:
        return _small(_claimed(bucket, site, plan, stop, again=False))
    except (
        LeaseLostError
    ):  # what was under way then may have come after what the other one wrote: all is looked at again
        return _small(_claimed(bucket, site, plan, stop, again=True))


def _claimed(bucket: Bucket, site: SiteSpec, plan: RunPlan, stop: StopSignal | None, *, again: bool) -> SiteRecord:
    if stop and stop.is_set():
        raise RunStoppedError
    began = time.monotonic()
    with hold_lease(bucket, site.key, patience=plan.patience, seconds=plan.lease, stop=stop) as claim:
        last = read_record(bucket, site.key)
        if last is not None and last.url != site.url:  # a run at the same time, by a list that differs
            raise LeaseHeldError(f"{plan.store}: {site.key} is {last.url} by now; give {site.url} another name")
        if last is not None and not again:
            if last.run == plan.run:
                return last  # whoever had this task before came to its end
            if last.config == plan.config and last.at >= plan.began:  # another run, at the same time as this one
                return replace(last, result="waiting" if last.state == "failed" else "fresh")
        try:
            record = _crawled(bucket, site, plan, last, claim, stop)
        except LeaseLostError:
            raise
        except OSError as error:
            if error.errno in _NO_ROOM:  # the next site will fare no better
                place = bucket.root / site.key if isinstance(bucket, FolderBucket) else plan.scratch
                where = error.filename2 or error.filename or place
                raise BucketError(
                    f"{where}: cannot be written to ({error.strerror}); see to that, and give the command again",
                    lasting=True,
                ) from None
            record = make_failed_record(site, plan, last, f"{type(error).__name__}: {error}")
        except RoamingError as error:
            if isinstance(error, BucketError) and error.lasting:
                raise
            record = make_failed_record(site, plan, last, str(error))
            if isinstance(error, BucketError):  # the store's failure, not the site's
                record = replace(record, tries=last.tries if last else 0, next_try=record.at)
        except Exception as error:  # one site that breaks the crawler is no reason to leave the others
            record = make_failed_record(site, plan, last, f"{type(error).__name__}: {error}")
        record = replace(record, seconds=round(time.monotonic() - began, 2))
        claim.confirm()
        write_record(bucket, record)
        claim.confirm()
    return record


def _crawled(
    bucket: Bucket, site: SiteSpec, plan: RunPlan, last: SiteRecord | None, claim: Lease, stop: StopSignal | None
) -> SiteRecord:
    if isinstance(bucket, FolderBucket):
        _leave_no_other(bucket.root / site.key, site.url, last)
        return _crawled_into(bucket.root / site.key, site, plan, last, stop)
    with staging_folder(Path(plan.scratch), plan.store, site.key) as folder:
        download_site(bucket, site.key, folder, last)
        _leave_no_other(folder, site.url, last)
        record = _crawled_into(folder, site, plan, last, stop)
        upload_site(bucket, site.key, folder, plan.run, claim, stop)
        return record


def _leave_no_other(folder: Path, url: str, last: SiteRecord | None) -> None:
    """Remove what a crawl of another address left where no good copy is: the list was corrected, or it was dropped."""
    if last is not None and last.entry is not None:
        return
    store, local = CrawlState(folder), parse_folder_site(url)
    left = store.unfinished.get("url") or store.site.get("given")
    if left and left != canonical_url(local.start if local else url):
        shutil.rmtree(folder, ignore_errors=True)


def _crawled_into(
    folder: Path, site: SiteSpec, plan: RunPlan, last: SiteRecord | None, stop: StopSignal | None
) -> SiteRecord:
    outcome, home = anyio.run(_unless_stopped, site.url, folder, plan, stop)
    if not outcome.had and not outcome.gone:
        raise _FailedError(f"{site.url}: none of its pages could be had; {outcome.trouble}")
    now, kept, stopped = time.time(), len(outcome.kept), outcome.stopped.partition(";")[0]
    before = last.entry if last and kept else None
    tries = (last.tries if last else 0) + (not is_unfinished(stopped)) if kept else 0
    entry = make_catalog_entry(
        site.key, load_manifest((folder / MANIFEST_PATH).read_bytes()), before.crawled if before else now
    )
    return SiteRecord(
        site.key,
        site.url,
        "done",
        plan.config,
        plan.run,
        now,
        result=_result(outcome, last, entry),
        published=plan.run,
        home=home,
        new=len(outcome.new),
        changed=len(outcome.changed),
        same=outcome.same,
        gone=len(outcome.gone),
        kept=kept,
        requests=outcome.requests,
        bytes=outcome.bytes,
        stopped=stopped,
        error=_cut(outcome.trouble) if kept and outcome.trouble != stopped else "",
        tries=tries,
        next_try=now + _pause(tries) if kept and not is_unfinished(stopped) else 0.0,
        entry=entry,
    )


def _result(outcome: CrawlResult, last: SiteRecord | None, entry: CatalogEntry) -> str:
    """Tell what became of a site. What a crawl had that could not be uploaded is news for the store with the next."""
    if last is None or last.entry is None:
        return "new"
    news = outcome.new or outcome.changed or outcome.gone or entry.digest != last.entry.digest
    return "changed" if news else "same"


async def _unless_stopped(url: str, folder: Path, plan: RunPlan, stop: StopSignal | None) -> tuple[CrawlResult, str]:
    """Crawl, and look now and then whether that is to end; give what it came to, and where the site really is."""
    found: list[CrawlResult] = []
    homes = [url]

    def tell(name: str, data: dict[str, Any]) -> None:
        if name == "start":
            homes.append(data["scope"])

    async def work() -> None:
        found.append(await crawl(url, folder, plan.how, tell=tell))
        group.cancel_scope.cancel()

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(work)
            while stop is None or not stop.is_set():
                await anyio.sleep(_LOOKED)
            group.cancel_scope.cancel()
    except BaseExceptionGroup as several:
        raise _first(several) from None
    if not found:
        raise RunStoppedError
    return found[0], homes[-1]


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def make_failed_record(site: SiteSpec, plan: RunPlan, last: SiteRecord | None, error: str) -> SiteRecord:
    """Give the record of a site that could not be crawled."""
    tries = (last.tries if last else 0) + 1
    now = time.time()
    return SiteRecord(
        site.key,
        site.url,
        "failed",
        plan.config,
        plan.run,
        now,
        result="failed",
        published=last.published if last else "",
        home=last.home if last else "",
        error=_cut(error),
        tries=tries,
        next_try=now + _pause(tries),
        entry=last.entry if last else None,
    )


def _pause(tries: int) -> float:
    return min(FIRST_PAUSE * 4.0 ** min(tries - 1, 5), MAX_PAUSE)  # 4 ** 512 is no float any more


def _cut(error: str) -> str:
    return " ".join(error.split())[:_LONGEST]


def _small(record: SiteRecord) -> SiteRecord:
    return replace(record, entry=record.entry and replace(record.entry, terms={}, names=()))


_LOOKED = 0.3
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)
_LONGEST = 500

"""One site of many: crawled into a store unless that was done, and what became of it written down."""

from __future__ import annotations

import json
import shutil
import threading
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from mkdocs_roaming.buckets import Bucket, BucketError, FolderBucket
from mkdocs_roaming.catalogue import Record, entry_of, read_record, write_record
from mkdocs_roaming.catalogue.records import FLEET
from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.manifest import PATH, load
from roaming_crawler.claims import Claim, claimed
from roaming_crawler.crawl import crawl
from roaming_crawler.listing import Listed
from roaming_crawler.publishing import Outcome
from roaming_crawler.uploading import bring_down, bring_up

if TYPE_CHECKING:
    from roaming_crawler.fleet import Plan

PAUSE = 3_600.0
"""The pause in seconds after a first failure; each further one makes it four times as long."""
LONGEST_PAUSE = 7 * 24 * 3_600.0


class Stopped(BaseException):
    """The crawl of many sites is to end."""


class _FailedError(RoamingError):
    """Nothing of a site could be had."""


def crawl_site(bucket: Bucket, site: Listed, plan: Plan, stop: threading.Event | None = None) -> Record:
    """Crawl a site into the store, and give its record without the words that it is found by.

    What fails is written down, and the last good copy stays. Raises BucketError where the store cannot be used at all.
    """
    if stop and stop.is_set():
        raise Stopped
    began = time.monotonic()
    with claimed(bucket, site.key, patience=plan.patience) as claim:
        last = read_record(bucket, site.key)
        if last is not None and last.run == plan.run:
            return _small(last)  # whoever had this task before came to its end
        try:
            record = _crawled(bucket, site, plan, last, claim, stop)
        except BucketError as error:
            if error.lasting:
                raise
            record = failed_record(site, plan, last, str(error))
        except RoamingError as error:
            record = failed_record(site, plan, last, str(error))
        except Exception as error:  # one site that breaks the crawler is no reason to leave the others
            record = failed_record(site, plan, last, f"{type(error).__name__}: {error}")
        record = replace(record, seconds=round(time.monotonic() - began, 2))
        claim.check()
        write_record(bucket, record)
        told = json.dumps(asdict(_small(record)), ensure_ascii=False).encode("utf-8", "surrogatepass")
        bucket.create(f"{FLEET}/runs/{plan.run}/{site.key}.json", told)
    return _small(record)


def _crawled(
    bucket: Bucket, site: Listed, plan: Plan, last: Record | None, claim: Claim, stop: threading.Event | None
) -> Record:
    if isinstance(bucket, FolderBucket):
        folder = bucket.root / site.key
    else:
        folder = Path(plan.scratch) / site.key
        bring_down(bucket, site.key, folder, last)
    outcome = anyio.run(_unless_stopped, site.url, folder, plan, stop)
    if outcome.kept and len(outcome.kept) >= outcome.pages:
        raise _FailedError(f"{site.url}: none of its pages could be had; {outcome.kept[0]}")
    if not isinstance(bucket, FolderBucket):
        bring_up(bucket, site.key, folder, plan.run, claim)
    now = time.time()
    entry = entry_of(site.key, load((folder / PATH).read_bytes()), now)
    changed = len(outcome.new) + len(outcome.changed) + len(outcome.gone)
    record = Record(
        site.key,
        site.url,
        "done",
        plan.config,
        plan.run,
        now,
        result="new" if last is None or last.entry is None else "changed" if changed else "same",
        published=plan.run,
        new=len(outcome.new),
        changed=len(outcome.changed),
        same=outcome.same,
        gone=len(outcome.gone),
        requests=outcome.requests,
        bytes=outcome.bytes,
        stopped=outcome.stopped.partition(";")[0],
        entry=entry,
    )
    if not isinstance(bucket, FolderBucket):
        shutil.rmtree(folder, ignore_errors=True)  # the store has it all
    return record


async def _unless_stopped(url: str, folder: Path, plan: Plan, stop: threading.Event | None) -> Outcome:
    """Crawl, and look now and then whether that is to end."""
    found: list[Outcome] = []

    async def work() -> None:
        found.append(await crawl(url, folder, plan.how))
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
        raise Stopped
    return found[0]


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def failed_record(site: Listed, plan: Plan, last: Record | None, error: str) -> Record:
    """Give the record of a site that could not be crawled."""
    tries = (last.tries if last and last.state == "failed" else 0) + 1
    now = time.time()
    return Record(
        site.key,
        site.url,
        "failed",
        plan.config,
        plan.run,
        now,
        result="failed",
        published=last.published if last else "",
        error=" ".join(error.split())[:_LONGEST],
        tries=tries,
        next_try=now + min(PAUSE * 4 ** (tries - 1), LONGEST_PAUSE),
        entry=last.entry if last else None,
    )


def _small(record: Record) -> Record:
    return replace(record, entry=record.entry and replace(record.entry, terms={}, names=()))


_LOOKED = 0.3
_LONGEST = 500

"""Runner: crawls many sites into one store. Repeated and concurrent runs do no work twice.

The key of a site is its place in the store; the result of its last crawl is in `.fleet/sites/<key>.json`.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

from mkdocs_roaming.errors import RoamingError, UsageError
from roaming_crawler.config import CrawlConfig, EventHandler
from roaming_fleet.buckets import BucketError, open_bucket
from roaming_fleet.job import RunPlan, run_job
from roaming_fleet.records import SiteRecord
from roaming_fleet.report import RunReport, write_missing_reports, write_report
from roaming_fleet.schedule import config_digest, site_status
from roaming_fleet.sites_file import SiteSpec, group_by_host
from roaming_fleet.store import check_names, load_records, prepare_store, update_catalog

Engine = Callable[[RunPlan, Sequence[tuple[SiteSpec, ...]]], Generator[SiteRecord]]
"""Crawls groups of sites, the sites of a group one after the other, and yields their records. Stops when closed."""


def crawl_many(
    sites: Sequence[SiteSpec],
    store: str,
    config: CrawlConfig,
    engine: Engine,
    *,
    scratch: Path,
    older_than: float | None = None,
    on_event: EventHandler = lambda name, data: None,
) -> RunReport:
    """Crawl the sites that are due into a store.

    Args:
        sites: All listed sites.
        store: URL or folder of the store.
        config: Configuration of the crawls.
        engine: Runs the jobs.
        scratch: Folder for crawls before the upload to a bucket.
        older_than: Age in seconds after which a site is crawled again.
        on_event: Progress callback.

    Returns:
        The report; if the run was stopped early, it contains the reason.

    Raises:
        UsageError: The store contains other files, or the names of the sites are in conflict with it.
        BucketError: The store cannot be accessed.
        CrawlFolderError: The store cannot be locked.
    """
    bucket = open_bucket(store)
    prepare_store(bucket)
    started = time.monotonic()
    records = load_records(bucket)
    check_names(bucket, sites, records)
    write_missing_reports(bucket, records.values())
    now = time.time()
    run = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now)) + "-" + secrets.token_hex(3)
    plan = RunPlan(store, config, run, config_digest(config), str(scratch), started=now)
    report = RunReport(run, len(sites))
    due = []
    for site in sites:
        match site_status(records.get(site.key), plan.digest, now, older_than, refresh=config.refresh):
            case "due":
                due.append(site)
            case "fresh":
                report.fresh += 1
            case _:
                report.waiting += 1
    counts = {"sites": len(sites), "due": len(due), "fresh": report.fresh, "waiting": report.waiting}
    on_event("start", {"run": run, **counts})
    homes = {key: record.home for key, record in records.items() if record.home}
    records.clear()
    store_failed = False
    try:
        with closing(engine(plan, group_by_host(due, homes))) as results:
            for record in results:
                report.add(record)
                on_event("site", _event_data(record))
    except KeyboardInterrupt:
        report.stopped = "interrupted; to continue, give the same command"
    except BucketError as error:
        report.stopped, store_failed = str(error), True
    except RoamingError as error:
        report.stopped = str(error)
    report.seconds = round(time.monotonic() - started, 1)
    try:
        if not store_failed:  # else the next run writes the report, from the records of the sites
            write_report(bucket, report)
            if due:
                update_catalog(bucket)
    except RoamingError as error:
        report.stopped = report.stopped or str(error)
    on_event("done", asdict(report))
    return report


def thread_engine(at_once: int) -> Engine:
    """Return the engine that crawls several hosts at once in threads of this process.

    Raises:
        UsageError: The process may not open enough files.
    """
    raise_file_limit(at_once)

    def engine(plan: RunPlan, groups: Sequence[tuple[SiteSpec, ...]]) -> Generator[SiteRecord]:
        queue, stop = HostQueue(groups), threading.Event()
        with ThreadPoolExecutor(at_once, "site") as threads:
            running: dict[Future[SiteRecord], Iterator[SiteSpec]] = {}

            def start(group: Iterator[SiteSpec] | None = None) -> None:
                if turn := queue.next(group):
                    running[threads.submit(run_job, turn[0], plan, stop)] = turn[1]

            try:
                for _ in range(at_once):
                    start()
                while running:
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        start(running.pop(future))
                        yield future.result()
            finally:
                stop.set()

    return engine


def raise_file_limit(at_once: int) -> None:
    """Raise this process's limit of open files for a number of concurrent crawls.

    Raises:
        UsageError: The hard limit is too low.
    """
    count = _FILES_PER_SITE * (at_once + 6)
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= count:
        return
    if hard != resource.RLIM_INFINITY and hard < count:
        hosts = max(1, hard // _FILES_PER_SITE - 6)
        raise UsageError(
            f"--at-once: this process may open {hard} files (`ulimit -n`); give --at-once {hosts}, or raise the limit"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))


class HostQueue:
    """Queue of sites in which each group has one site at a time in progress."""

    def __init__(self, groups: Iterable[Iterable[SiteSpec]]) -> None:
        """Create the queue; each group contains the sites of a host."""
        self._groups = map(iter, groups)

    def next(self, group: Iterator[SiteSpec] | None = None) -> tuple[SiteSpec, Iterator[SiteSpec]] | None:
        """Return the next site and the rest of its group, or None if the queue is empty.

        Args:
            group: Rest of a group whose site is done; its next site comes first.
        """
        for rest in chain([group or iter(())], self._groups):
            if (site := next(rest, None)) is not None:
                return site, rest
        return None


def _event_data(record: SiteRecord) -> dict[str, Any]:
    data = asdict(record)
    entry = data.pop("entry") or {}
    return {**data, "pages": entry.get("pages", 0), "sections": entry.get("sections", 0)}


_FILES_PER_SITE = 12
"""Maximum number of files and connections that the crawl of a site has open."""

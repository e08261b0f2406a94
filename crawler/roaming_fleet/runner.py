"""Many sites, crawled into one store: each once, whoever dies, and again when it is due.

A site's place in the store is its key. What was done about it stands in `.fleet/sites/<key>.json`, so a crawl of many
sites that is repeated, or that runs twice, does nothing twice.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from roaming_crawler.crawl import CrawlConfig

from mkdocs_roaming._version import __version__
from mkdocs_roaming.errors import RoamingError, UsageError
from mkdocs_roaming.manifest.io import MANIFEST_PATH
from roaming_fleet.buckets import open_bucket
from roaming_fleet.buckets.base import BlobNotFoundError, Bucket, BucketError
from roaming_fleet.buckets.folder import FolderBucket
from roaming_fleet.catalog import read_records, rebuild_catalog
from roaming_fleet.job import crawl_site, make_failed_record
from roaming_fleet.leases import LEASE_SECONDS, LeaseHeldError, StopSignal, hold_lease
from roaming_fleet.records import FLEET_DIR, SiteRecord
from roaming_fleet.report import RunReport, write_missing_reports, write_report
from roaming_fleet.schedule import config_digest, site_status
from roaming_fleet.sites_file import SiteSpec, group_by_host
from roaming_fleet.staging import remove_stale_staging

STORE_MARKER = f"{FLEET_DIR}/store.json"
CATALOG_LEASE = "_catalogue"
"""What is claimed by whoever brings the catalogue up to date; no site has such a name."""

EventHandler = Callable[[str, dict[str, Any]], None]
Engine = Callable[["RunPlan", Sequence[tuple[SiteSpec, ...]]], Generator[SiteRecord]]
"""Crawls groups of sites, each group one site after the other, and gives what became of each. Ends when closed."""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What everyone who works on a crawl of many sites is told. `scratch` is where sites are crawled for a bucket."""

    store: str
    how: CrawlConfig
    run: str
    config: str
    scratch: str
    began: float = field(default_factory=time.time)
    version: str = __version__
    lease: float = LEASE_SECONDS
    """How long a claim in a bucket lasts where nobody renews it."""
    patience: float = 2 * LEASE_SECONDS
    """How long a site is waited for that another process is at: longer than a claim of one that died lasts."""


def crawl_many(
    sites: Sequence[SiteSpec],
    store: str,
    how: CrawlConfig,
    engine: Engine,
    *,
    scratch: Path,
    older_than: float | None = None,
    tell: EventHandler = lambda name, data: None,
    wall: Callable[[], float] = time.time,
) -> RunReport:
    """Crawl those sites that are due into a store; `older_than` is the age in seconds at which one is, again.

    Raises UsageError, BucketError, or StoreError where the store cannot be used. What ends it later is in the report.
    """
    bucket = open_bucket(store)
    _ready(bucket)
    began = time.monotonic()
    known = _catalogued(bucket)
    _check_names(bucket, sites, known)
    write_missing_reports(bucket, known.values())
    run = time.strftime("%Y%m%dT%H%M%S", time.gmtime(wall())) + "-" + secrets.token_hex(3)
    plan = RunPlan(store, how, run, config_digest(how), str(scratch), began=wall())
    report = RunReport(run, len(sites))
    due = []
    for site in sites:
        match site_status(known.get(site.key), plan.config, wall(), older_than, refresh=how.refresh):
            case "due":
                due.append(site)
            case "fresh":
                report.fresh += 1
            case _:
                report.waiting += 1
    tell("start", {"run": run, "sites": len(sites), "due": len(due), "fresh": report.fresh, "waiting": report.waiting})
    homes = {key: record.home for key, record in known.items() if record.home}
    known.clear()
    away = False
    try:
        with closing(engine(plan, group_by_host(due, homes))) as records:
            for record in records:
                report.add(record)
                tell("site", _told(record))
    except KeyboardInterrupt:
        report.stopped = "interrupted; the same command goes on"
    except BucketError as error:
        report.stopped, away = str(error), True
    except RoamingError as error:
        report.stopped = str(error)
    report.seconds = round(time.monotonic() - began, 1)
    try:
        if not away:  # it was tried for minutes; the next run writes the report from what each site's record says
            _close(bucket, report, changed=bool(due))
    except RoamingError as error:
        report.stopped = report.stopped or str(error)
    tell("done", asdict(report))
    return report


def run_job(site: SiteSpec, plan: RunPlan, stop: StopSignal | None = None) -> SiteRecord:
    """Crawl a site; give what became of it, without the words it is found by. Whatever it runs on needs no more."""
    if plan.version != __version__:
        raise UsageError(
            f"this worker has mkdocs-roaming {__version__}, whoever started the crawl has {plan.version}; "
            "install the same version on both"
        )
    bucket = open_bucket(plan.store)
    try:
        bucket.get(STORE_MARKER)
    except BlobNotFoundError:
        raise BucketError(
            f"{plan.store}: not seen from this machine; give a store that all workers reach", lasting=True
        ) from None
    if bucket.is_remote:
        remove_stale_staging(Path(plan.scratch))
    try:
        return crawl_site(bucket, site, plan, stop)
    except LeaseHeldError as error:  # whoever has it writes down what becomes of it
        return replace(make_failed_record(site, plan, None, str(error)), result="busy", tries=0, next_try=0.0)


def thread_engine(at_once: int) -> Engine:
    """Give the engine that crawls so many hosts at once, each in a thread of this process.

    Raises UsageError where this process may not open files enough for that.
    """
    raise_file_limit(at_once)

    def engine(plan: RunPlan, groups: Sequence[tuple[SiteSpec, ...]]) -> Generator[SiteRecord]:
        turns, stop = HostQueue(groups), threading.Event()
        with ThreadPoolExecutor(at_once, "site") as threads:
            running: dict[Future[SiteRecord], Iterator[SiteSpec]] = {}

            def begin(group: Iterator[SiteSpec] | None = None) -> None:
                if turn := turns.next(group):
                    running[threads.submit(run_job, turn[0], plan, stop)] = turn[1]

            try:
                for _ in range(at_once):
                    begin()
                while running:
                    for done in wait(running, return_when=FIRST_COMPLETED).done:
                        begin(running.pop(done))
                        yield done.result()
            finally:
                stop.set()  # whoever is at a site still, since this is given up, leaves it

    return engine


def raise_file_limit(at_once: int) -> None:
    """Let this process open the files that so many sites take. Raises UsageError where it may not."""
    count = _FILES * (at_once + 6)
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= count:
        return
    if most != resource.RLIM_INFINITY and most < count:
        hosts = max(1, most // _FILES - 6)
        raise UsageError(
            f"--at-once: this process may open {most} files (`ulimit -n`); give --at-once {hosts}, or raise that"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, most))


class HostQueue:
    """Whose turn it is: of each group one site at a time."""

    def __init__(self, groups: Iterable[Iterable[SiteSpec]]) -> None:
        self._groups = map(iter, groups)

    def next(self, group: Iterator[SiteSpec] | None = None) -> tuple[SiteSpec, Iterator[SiteSpec]] | None:
        """Give a site, and the rest of its group to come back with: that of the group given, where there is one."""
        for rest in chain([group or iter(())], self._groups):
            if (site := next(rest, None)) is not None:
                return site, rest
        return None


def _ready(bucket: Bucket) -> None:
    """Make a place a store, unless it is one. Raises UsageError where it holds something else."""
    try:
        bucket.get(STORE_MARKER)
        return
    except BlobNotFoundError:
        pass
    for path, cure in ((MANIFEST_PATH, "a published site"), (".roaming/state.json", "a crawl of one site")):
        with suppress(BlobNotFoundError):
            bucket.get(path)
            raise UsageError(f"{bucket.where}: holds {cure}; give a place of its own for many sites")
    if isinstance(bucket, FolderBucket) and bucket.root.is_dir() and any(bucket.root.iterdir()):
        raise UsageError(f"{bucket.where}: is not empty, and no store of sites; give another folder")
    bucket.create(STORE_MARKER, json.dumps({"version": 1}).encode())


def _catalogued(bucket: Bucket) -> dict[str, SiteRecord]:
    with hold_lease(bucket, CATALOG_LEASE):
        rebuild_catalog(bucket)
    return {record.key: record for record in read_records(bucket)}


def _check_names(bucket: Bucket, sites: Sequence[SiteSpec], known: Mapping[str, SiteRecord]) -> None:
    """Raise UsageError where the store has another site by a name, or a site by another name."""
    names = {record.url: record.key for record in known.values()}
    for site in sites:
        last, name = known.get(site.key), names.get(site.url, site.key)
        if last and last.url != site.url:
            said, key = f"{site.key} is {last.url} there, not {site.url}; give that another name in the list", site.key
        elif last is None and name != site.key:
            said, key = f"{site.url} is there by the name {name}; list it by that", name
        else:
            continue
        raise UsageError(f"{bucket.where}: {said}, or drop it first: roaming sites {bucket.where} --drop {key}")


def _close(bucket: Bucket, report: RunReport, *, changed: bool) -> None:
    """Write what came of the run, and bring the catalogue up to date."""
    write_report(bucket, report)
    if changed:
        with hold_lease(bucket, CATALOG_LEASE):
            rebuild_catalog(bucket)


def _told(record: SiteRecord) -> dict[str, Any]:
    """Give what is told of a site while it goes on."""
    told = asdict(record)
    entry = told.pop("entry") or {}
    return {**told, "pages": entry.get("pages", 0), "sections": entry.get("sections", 0)}


_FILES = 12
"""Files and connections that a site under way may have open."""

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

from mkdocs_roaming import __version__
from mkdocs_roaming.buckets import Bucket, BucketError, FolderBucket, Nothing, open_bucket
from mkdocs_roaming.catalogue import Record, rebuild, records_in
from mkdocs_roaming.catalogue.records import FLEET
from mkdocs_roaming.errors import RoamingError, UsageError
from mkdocs_roaming.manifest import PATH
from roaming_crawler.claims import SECONDS, ClaimedError, Stop, claimed
from roaming_crawler.crawl import Crawl
from roaming_crawler.due import config_of, standing
from roaming_crawler.listing import Listed, by_host
from roaming_crawler.report import Report, report_killed, write_report
from roaming_crawler.scratch import sweep
from roaming_crawler.single import crawl_site, failed_record

STORE = f"{FLEET}/store.json"
CATALOGUE = "_catalogue"
"""What is claimed by whoever brings the catalogue up to date; no site has such a name."""

Tell = Callable[[str, dict[str, Any]], None]
Engine = Callable[["Plan", Sequence[tuple[Listed, ...]]], Generator[Record]]
"""Crawls groups of sites, each group one site after the other, and gives what became of each. Ends when closed."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What everyone who works on a crawl of many sites is told. `scratch` is where sites are crawled for a bucket."""

    store: str
    how: Crawl
    run: str
    config: str
    scratch: str
    began: float = field(default_factory=time.time)
    version: str = __version__
    lease: float = SECONDS
    """How long a claim in a bucket lasts where nobody renews it."""
    patience: float = 2 * SECONDS
    """How long a site is waited for that another process is at: longer than a claim of one that died lasts."""


def crawl_many(
    sites: Sequence[Listed],
    store: str,
    how: Crawl,
    engine: Engine,
    *,
    scratch: Path,
    older_than: float | None = None,
    tell: Tell = lambda name, data: None,
    wall: Callable[[], float] = time.time,
) -> Report:
    """Crawl those sites that are due into a store; `older_than` is the age in seconds at which one is, again.

    Raises UsageError, BucketError, or StoreError where the store cannot be used. What ends it later is in the report.
    """
    bucket = open_bucket(store)
    _ready(bucket)
    began = time.monotonic()
    known = _catalogued(bucket)
    _check_names(bucket, sites, known)
    report_killed(bucket, known.values())
    run = time.strftime("%Y%m%dT%H%M%S", time.gmtime(wall())) + "-" + secrets.token_hex(3)
    plan = Plan(store, how, run, config_of(how), str(scratch), began=wall())
    report = Report(run, len(sites))
    due = []
    for site in sites:
        match standing(known.get(site.key), plan.config, wall(), older_than, refresh=how.refresh):
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
        with closing(engine(plan, by_host(due, homes))) as records:
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


def crawl_listed(site: Listed, plan: Plan, stop: Stop | None = None) -> Record:
    """Crawl a site; give what became of it, without the words it is found by. Whatever it runs on needs no more."""
    if plan.version != __version__:
        raise UsageError(
            f"this worker has mkdocs-roaming {__version__}, whoever started the crawl has {plan.version}; "
            "install the same version on both"
        )
    bucket = open_bucket(plan.store)
    try:
        bucket.get(STORE)
    except Nothing:
        raise BucketError(
            f"{plan.store}: not seen from this machine; give a store that all workers reach", lasting=True
        ) from None
    if bucket.distant:
        sweep(Path(plan.scratch))
    try:
        return crawl_site(bucket, site, plan, stop)
    except ClaimedError as error:  # whoever has it writes down what becomes of it
        return replace(failed_record(site, plan, None, str(error)), result="busy", tries=0, next_try=0.0)


def in_threads(at_once: int) -> Engine:
    """Give the engine that crawls so many hosts at once, each in a thread of this process.

    Raises UsageError where this process may not open files enough for that.
    """
    allow_files(at_once)

    def engine(plan: Plan, groups: Sequence[tuple[Listed, ...]]) -> Generator[Record]:
        turns, stop = Turns(groups), threading.Event()
        with ThreadPoolExecutor(at_once, "site") as threads:
            running: dict[Future[Record], Iterator[Listed]] = {}

            def begin(group: Iterator[Listed] | None = None) -> None:
                if turn := turns.next(group):
                    running[threads.submit(crawl_listed, turn[0], plan, stop)] = turn[1]

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


def allow_files(at_once: int) -> None:
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


class Turns:
    """Whose turn it is: of each group one site at a time."""

    def __init__(self, groups: Iterable[Iterable[Listed]]) -> None:
        self._groups = map(iter, groups)

    def next(self, group: Iterator[Listed] | None = None) -> tuple[Listed, Iterator[Listed]] | None:
        """Give a site, and the rest of its group to come back with: that of the group given, where there is one."""
        for rest in chain([group or iter(())], self._groups):
            if (site := next(rest, None)) is not None:
                return site, rest
        return None


def _ready(bucket: Bucket) -> None:
    """Make a place a store, unless it is one. Raises UsageError where it holds something else."""
    try:
        bucket.get(STORE)
        return
    except Nothing:
        pass
    for path, cure in ((PATH, "a published site"), (".roaming/state.json", "a crawl of one site")):
        with suppress(Nothing):
            bucket.get(path)
            raise UsageError(f"{bucket.where}: holds {cure}; give a place of its own for many sites")
    if isinstance(bucket, FolderBucket) and bucket.root.is_dir() and any(bucket.root.iterdir()):
        raise UsageError(f"{bucket.where}: is not empty, and no store of sites; give another folder")
    bucket.create(STORE, json.dumps({"version": 1}).encode())


def _catalogued(bucket: Bucket) -> dict[str, Record]:
    with claimed(bucket, CATALOGUE):
        rebuild(bucket)
    return {record.key: record for record in records_in(bucket)}


def _check_names(bucket: Bucket, sites: Sequence[Listed], known: Mapping[str, Record]) -> None:
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


def _close(bucket: Bucket, report: Report, *, changed: bool) -> None:
    """Write what came of the run, and bring the catalogue up to date."""
    write_report(bucket, report)
    if changed:
        with claimed(bucket, CATALOGUE):
            rebuild(bucket)


def _told(record: Record) -> dict[str, Any]:
    """Give what is told of a site while it goes on."""
    told = asdict(record)
    entry = told.pop("entry") or {}
    return {**told, "pages": entry.get("pages", 0), "sections": entry.get("sections", 0)}


_FILES = 12
"""Files and connections that a site under way may have open."""

"""Many sites, crawled into one store: each once, whoever dies, and again when it is due.

A site's place in the store is its key. What was done about it stands in `.fleet/sites/<key>.json`, so a crawl of many
sites that is repeated, or that runs twice, does nothing twice.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from mkdocs_roaming.buckets import Bucket, BucketError, FolderBucket, Nothing, open_bucket
from mkdocs_roaming.catalogue import Record, rebuild, records_in
from mkdocs_roaming.catalogue.records import FLEET
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest import PATH
from mkdocs_roaming.publish.cache import CONVERTER_VERSION
from roaming_crawler.claims import SECONDS, ClaimedError, claimed
from roaming_crawler.crawl import Crawl
from roaming_crawler.listing import Listed, by_host
from roaming_crawler.single import Stopped, crawl_site, failed_record

STORE = f"{FLEET}/store.json"

Tell = Callable[[str, dict[str, Any]], None]
Engine = Callable[["Plan", Sequence[tuple[Listed, ...]], threading.Event], Iterator[Record]]
"""Crawls groups of sites, each group one site after the other, and gives what became of each."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What everyone who works on a crawl of many sites is told. `scratch` is where sites are crawled for a bucket."""

    store: str
    how: Crawl
    run: str
    config: str
    scratch: str
    patience: float = 2 * SECONDS
    """How long a site is waited for that another process is at: longer than a claim of one that died lasts."""


@dataclass(slots=True)
class Report:
    """What a crawl of many sites came to."""

    run: str
    sites: int
    fresh: int = 0
    """Sites that were not asked: done before, and not old enough."""
    waiting: int = 0
    """Sites that failed before, whose next try is not due."""
    new: int = 0
    changed: int = 0
    same: int = 0
    failed: int = 0
    pages_new: int = 0
    pages_changed: int = 0
    pages_gone: int = 0
    requests: int = 0
    bytes: int = 0
    seconds: float = 0.0
    failures: list[dict[str, Any]] = field(default_factory=list)
    changes: list[dict[str, Any]] = field(default_factory=list)
    stopped: str = ""

    def add(self, record: Record) -> None:
        """Count a site."""
        setattr(self, record.result, getattr(self, record.result) + 1)
        self.requests += record.requests
        self.bytes += record.bytes
        if record.result == "failed":
            told = {"site": record.key, "url": record.url, "error": record.error, "tries": record.tries}
            self.failures.append({**told, "next_try": record.next_try, "kept": record.entry is not None})
            return
        self.pages_new += record.new
        self.pages_changed += record.changed
        self.pages_gone += record.gone
        if record.result == "changed":
            told = {"site": record.key, "new": record.new, "changed": record.changed, "gone": record.gone}
            self.changes.append(told)


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

    Raises UsageError, BucketError, or ClaimedError where the store cannot be used.
    """
    bucket = open_bucket(store)
    _ready(bucket)
    began = time.monotonic()
    known = {record.key: record for record in _catalogued(bucket)}
    for site in sites:
        if (last := known.get(site.key)) and last.url != site.url:
            raise UsageError(f"{store}: {site.key} is {last.url} there; give {site.url} another name")
    config = config_of(how)
    run = time.strftime("%Y%m%dT%H%M%S", time.gmtime(wall())) + "-" + secrets.token_hex(3)
    report = Report(run, len(sites))
    due = []
    for site in sites:
        match standing(known.get(site.key), config, wall(), older_than, refresh=how.refresh):
            case "due":
                due.append(site)
            case "fresh":
                report.fresh += 1
            case _:
                report.waiting += 1
    tell("start", {"run": run, "sites": len(sites), "due": len(due), "fresh": report.fresh, "waiting": report.waiting})
    plan = Plan(store, how, run, config, str(scratch))
    stop = threading.Event()
    try:
        for record in engine(plan, by_host(due), stop):
            report.add(record)
            tell("site", _told(record))
    except KeyboardInterrupt:
        stop.set()
        report.stopped = "interrupted; the same command goes on"
    except BucketError as error:
        stop.set()
        report.stopped = str(error)
    report.seconds = round(time.monotonic() - began, 1)
    with suppress(BucketError):
        _close(bucket, report)
    tell("done", asdict(report))
    return report


def standing(record: Record | None, config: str, now: float, older_than: float | None, *, refresh: bool) -> str:
    """Tell whether a site is `due`, `fresh`, or `waiting` for its next try."""
    if record is None or refresh or record.config != config:
        return "due"
    if record.state == "failed":
        return "due" if now >= record.next_try else "waiting"
    crawled = record.entry.crawled if record.entry else 0.0
    return "due" if older_than is not None and now - crawled >= older_than else "fresh"


def config_of(how: Crawl) -> str:
    """Give the digest of what decides what is published of a site; pace and processes do not."""
    said = asdict(replace(how, options=replace(how.options, meaning=None)))
    for name in ("manners", "resume", "refresh", "allow_private", "workers"):
        del said[name]
    text = json.dumps([CONVERTER_VERSION, said], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def crawl_group(group: Iterable[Listed], plan: Plan, stop: threading.Event | None = None) -> list[Record]:
    """Crawl sites of one host, one after the other; give what became of each, without the words it is found by."""
    bucket = open_bucket(plan.store)
    try:
        bucket.get(STORE)
    except Nothing:
        raise BucketError(
            f"{plan.store}: not seen from this machine; give a store that all workers reach", lasting=True
        ) from None
    records = []
    for site in group:
        try:
            records.append(crawl_site(bucket, site, plan, stop))
        except ClaimedError as error:  # whoever has it writes down what becomes of it
            records.append(failed_record(site, plan, None, str(error)))
    return records


def in_threads(at_once: int) -> Engine:
    """Give the engine that crawls so many hosts at once, each in a thread of this process."""

    def engine(plan: Plan, groups: Sequence[tuple[Listed, ...]], stop: threading.Event) -> Iterator[Record]:
        todo = iter(groups)
        with ThreadPoolExecutor(at_once, "site") as threads:
            running: set[Future[list[Record]]] = set()
            try:
                while True:
                    while len(running) < at_once and (group := next(todo, None)):
                        running.add(threads.submit(crawl_group, group, plan, stop))
                    if not running:
                        return
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    for each in done:
                        yield from each.result()
            except BaseException:
                stop.set()
                for each in running:
                    each.cancel()
                    with suppress(Exception, Stopped):
                        each.result()
                raise

    return engine


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


def _catalogued(bucket: Bucket) -> Iterator[Record]:
    with claimed(bucket, "catalogue"):
        rebuild(bucket)
    return records_in(bucket)


def _close(bucket: Bucket, report: Report) -> None:
    """Bring the catalogue up to date, and turn what was kept of each site in this run into one report."""
    with claimed(bucket, "catalogue"):
        rebuild(bucket)
    bucket.put(f"{FLEET}/runs/{report.run}.json", json.dumps(asdict(report), ensure_ascii=False).encode())
    bucket.delete([kept.path for kept in bucket.list(f"{FLEET}/runs/{report.run}")])


def _told(record: Record) -> dict[str, Any]:
    """Give what is told of a site while it goes on."""
    told = asdict(record)
    entry = told.pop("entry") or {}
    return {**told, "pages": entry.get("pages", 0), "sections": entry.get("sections", 0)}

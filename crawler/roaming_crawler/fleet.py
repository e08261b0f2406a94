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
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs_roaming import __version__
from mkdocs_roaming.buckets import Bucket, BucketError, FolderBucket, Nothing, open_bucket
from mkdocs_roaming.catalogue import Record, rebuild, records_in
from mkdocs_roaming.catalogue.records import FLEET, RECORDS
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest import PATH
from mkdocs_roaming.publish.cache import CONVERTER_VERSION
from roaming_crawler.claims import SECONDS, ClaimedError, Stop, claimed
from roaming_crawler.crawl import Crawl
from roaming_crawler.listing import Listed, by_host
from roaming_crawler.readings import READER_VERSION
from roaming_crawler.scratch import sweep
from roaming_crawler.single import crawl_site, failed_record

STORE = f"{FLEET}/store.json"
RUNS = f"{FLEET}/runs"
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


@dataclass(slots=True)
class Report:
    """What a crawl of many sites came to."""

    run: str
    sites: int
    fresh: int = 0
    """Sites that were not asked: done before, and not old enough."""
    waiting: int = 0
    """Sites that failed before, whose next try is not due."""
    busy: int = 0
    """Sites that another process was at, for longer than they were waited for."""
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
        if record.result not in _RESULTS:
            return
        setattr(self, record.result, getattr(self, record.result) + 1)
        if record.result in ("fresh", "waiting", "busy"):
            return  # whoever crawled it tells of it
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
    known = _catalogued(bucket)
    _check_names(bucket, sites, known)
    _report_killed(bucket, known.values())
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
    try:
        with closing(engine(plan, by_host(due, homes))) as records:
            for record in records:
                report.add(record)
                tell("site", _told(record))
    except KeyboardInterrupt:
        report.stopped = "interrupted; the same command goes on"
    except BucketError as error:
        report.stopped = str(error)
    report.seconds = round(time.monotonic() - began, 1)
    try:
        _close(bucket, report, changed=bool(due))
    except (BucketError, ClaimedError) as error:
        report.stopped = report.stopped or str(error)
    tell("done", asdict(report))
    return report


def standing(record: Record | None, config: str, now: float, older_than: float | None, *, refresh: bool) -> str:
    """Tell whether a site is `due`, `fresh`, or `waiting` for its next try."""
    if record is None or refresh or not _made_so(record.config, config):
        return "due"
    if record.stopped and "--max-pages" not in record.stopped:
        return "due"  # another crawl goes on from there
    if record.state == "failed":
        return "due" if now >= record.next_try else "waiting"
    crawled = record.entry.crawled if record.entry else 0.0
    return "due" if older_than is not None and now - crawled >= older_than else "fresh"


def config_of(how: Crawl) -> str:
    """Give what decides what is published of a site: who reads and converts it, and a digest of what was asked for.

    Pace and processes decide nothing. Neither does what stands as it does by default: so an option that comes with a
    later version changes nothing for whoever does not use it.
    """
    said = _said(how)
    for name in ("manners", "resume", "refresh", "allow_private", "workers"):
        said = {key: value for key, value in said.items() if key.partition(".")[0] != name}
    text = json.dumps(said, sort_keys=True, default=str)
    return f"{CONVERTER_VERSION}.{READER_VERSION}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _said(how: Crawl) -> dict[str, Any]:
    plain = replace(how, options=replace(how.options, meaning=None))
    default = _leaves(asdict(Crawl()))
    said = {name: value for name, value in _leaves(asdict(plain)).items() if default.get(name) != value}
    return said | ({"meaning": how.options.meaning.model} if how.options.meaning else {})


def _leaves(data: dict[str, Any], above: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in data.items():
        found |= _leaves(value, f"{above}{name}.") if isinstance(value, dict) else {above + name: value}
    return found


def _made_so(made: str, config: str) -> bool:
    """Tell whether what was published is what is asked for now. What a newer version has made is: else two versions
    that crawl one store would crawl it all in turns.
    """
    (theirs, _, said), (ours, _, asked) = made.partition("-"), config.partition("-")
    try:
        return said == asked and [int(one) for one in theirs.split(".")] >= [int(one) for one in ours.split(".")]
    except ValueError:
        return False


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
            free: list[Iterator[Listed] | None] = [None] * at_once
            try:
                while True:
                    while free and (turn := turns.next(free.pop())):
                        site, host = turn
                        running[threads.submit(crawl_listed, site, plan, stop)] = host
                    if not running:
                        return
                    for done in wait(running, return_when=FIRST_COMPLETED).done:
                        free.append(running.pop(done))
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
            said, other = (
                f"{site.key} is {last.url} there, not {site.url}; give that another name in the list",
                site.key,
            )
        elif last is None and name != site.key:
            said, other = f"{site.url} is there by the name {name}; list it by that", name
        else:
            continue
        both = f"{bucket.where}/{other} and {bucket.where}/{RECORDS}/{other}.json"
        raise UsageError(f"{bucket.where}: {said}, or remove {both} to have it crawled anew")


def _report_killed(bucket: Bucket, known: Iterable[Record]) -> None:
    """Write the reports of runs that were killed before they wrote one, from what they wrote down of each site.

    A run that is still going on elsewhere writes its own over it.
    """
    written = {PurePosixPath(kept.path).stem for kept in bucket.list(RUNS)}
    killed: dict[str, Report] = {}
    for record in known:
        if record.run not in written:
            report = killed.setdefault(
                record.run, Report(record.run, 0, stopped="no report came of it: its sites tell")
            )
            report.sites += 1
            report.add(record)
    for report in killed.values():
        _write_report(bucket, report)


def _close(bucket: Bucket, report: Report, *, changed: bool) -> None:
    """Write what came of the run, and bring the catalogue up to date."""
    _write_report(bucket, report)
    if changed:
        with claimed(bucket, CATALOGUE):
            rebuild(bucket)


def _write_report(bucket: Bucket, report: Report) -> None:
    told = json.dumps(asdict(report), ensure_ascii=False).encode("utf-8", "surrogatepass")
    bucket.put(f"{RUNS}/{report.run}.json", told)


def _told(record: Record) -> dict[str, Any]:
    """Give what is told of a site while it goes on."""
    told = asdict(record)
    entry = told.pop("entry") or {}
    return {**told, "pages": entry.get("pages", 0), "sections": entry.get("sections", 0)}


_FILES = 12
"""Files and connections that a site under way may have open."""
_RESULTS = ("fresh", "waiting", "busy", "new", "changed", "same", "failed")

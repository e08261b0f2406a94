"""Runs over a store: crawl the sites of a list that are due, write a report, and remove sites.

The key of a site is its place in the store; the result of its last crawl is in `.fleet/sites/<key>.json`,
the report of a run in `.fleet/runs/<run>.json`.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import shutil
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, replace
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import msgspec

from mkdocs_roaming.errors import RoamingError, UsageError
from mkdocs_roaming.html.themes import load_themes
from mkdocs_roaming.manifest.io import MANIFEST_PATH
from mkdocs_roaming.publish.cache import CONVERTER_VERSION
from mkdocs_roaming.text.markdown import to_single_line
from roaming_crawler.config import CrawlConfig, EventHandler
from roaming_crawler.parser import PARSER_VERSION
from roaming_fleet.buckets import BlobNotFoundError, Bucket, BucketError, FolderBucket
from roaming_fleet.catalog import read_records, update_catalog
from roaming_fleet.job import RunPlan, is_unfinished
from roaming_fleet.lock import StoreLock, hold_lock
from roaming_fleet.objects import open_bucket
from roaming_fleet.records import (
    FLEET_DIR,
    HEAD_PATH,
    SITE_KEY,
    STORE_MARKER,
    SiteNotFoundError,
    SiteRecord,
    read_record,
    record_path,
)
from roaming_fleet.sites_file import SiteSpec, group_by_host

RUNS_DIR = f"{FLEET_DIR}/runs"

Engine = Callable[[RunPlan, Sequence[tuple[SiteSpec, ...]], Callable[[], None]], Generator[SiteRecord]]
"""Crawls groups of sites, the sites of a group one after the other, and yields their records.

The third argument stops all jobs of the run; the engine calls it if it ends early or is closed.
"""


class RunReport(msgspec.Struct):
    """Result of a run over many sites. The field names are those of the JSON file."""

    run: str
    sites: int
    fresh: int = 0
    """Sites that are crawled and recent enough."""
    waiting: int = 0
    """Sites that failed before and whose next try is not due."""
    new: int = 0
    changed: int = 0
    same: int = 0
    failed: int = 0
    pages_new: int = 0
    pages_changed: int = 0
    pages_gone: int = 0
    pages_kept: int = 0
    """Pages that could not be updated, without those of failed sites."""
    requests: int = 0
    bytes: int = 0
    seconds: float = 0.0
    failures: list[dict[str, Any]] = []
    changes: list[dict[str, Any]] = []
    stopped: str = ""

    def add(self, record: SiteRecord) -> None:
        """Count a site."""
        if record.result not in ("new", "changed", "same", "failed"):
            return
        setattr(self, record.result, getattr(self, record.result) + 1)
        self.requests += record.requests
        self.bytes += record.bytes
        if record.result == "failed":
            failure = {"site": record.key, "url": record.url, "error": record.error, "tries": record.tries}
            is_whole = record.next_try > record.at  # else the upload failed, and some pages may be of the new copy
            self.failures.append(
                {**failure, "next_try": record.next_try, "kept": record.entry is not None and is_whole}
            )
            return
        self.pages_new += record.new
        self.pages_changed += record.changed
        self.pages_gone += record.gone
        self.pages_kept += record.kept
        if record.result == "changed":
            self.changes.append({"site": record.key, "new": record.new, "changed": record.changed, "gone": record.gone})


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
        StoreLockedError: Another run uses the store.
        UsageError: The store contains other files, or the names of the sites are in conflict with it.
        BucketError: The store cannot be accessed.
    """
    bucket = open_bucket(store)
    prepare_store(bucket)
    started = time.monotonic()
    run = time.strftime("%Y%m%dT%H%M%S", time.gmtime()) + "-" + secrets.token_hex(3)
    with hold_lock(bucket, run) as lock:
        records = load_records(bucket, lock)
        check_names(bucket, sites, records)
        write_missing_reports(bucket, records.values())
        plan = RunPlan(bucket.where, config, run, config_digest(config), str(scratch))
        report = RunReport(run, len(sites))
        due = _select_due(sites, records, plan, report, older_than)
        counts = {"sites": len(sites), "due": len(due), "fresh": report.fresh, "waiting": report.waiting}
        on_event("start", {"run": run, **counts})
        groups = group_by_host(due, {key: record.home for key, record in records.items() if record.home})
        records.clear()
        store_failed = _crawl_groups(engine, plan, groups, lock, report, on_event)
        report.seconds = round(time.monotonic() - started, 1)
        try:
            if not store_failed:  # else the next run writes the report, from the records of the sites
                lock.confirm()
                write_report(bucket, report)
                if due:
                    update_catalog(bucket, lock.confirm)
        except RoamingError as error:
            report.stopped = report.stopped or to_single_line(str(error))
    on_event("done", msgspec.to_builtins(report))
    return report


def _select_due(
    sites: Iterable[SiteSpec],
    records: dict[str, SiteRecord],
    plan: RunPlan,
    report: RunReport,
    older_than: float | None,
) -> list[SiteSpec]:
    """Return the sites that are due, and count the others in the report."""
    due, now = [], time.time()
    for site in sites:
        match site_status(records.get(site.key), plan.digest, now, older_than, refresh=plan.config.refresh):
            case "due":
                due.append(site)
            case "fresh":
                report.fresh += 1
            case _:
                report.waiting += 1
    return due


def _crawl_groups(
    engine: Engine,
    plan: RunPlan,
    groups: Sequence[tuple[SiteSpec, ...]],
    lock: StoreLock,
    report: RunReport,
    on_event: EventHandler,
) -> bool:
    """Crawl, add the results to the report, and return whether the store failed."""
    try:
        with closing(engine(plan, groups, lock.stop_jobs)) as results:
            for record in results:
                report.add(record)
                on_event("site", _event_data(record))
    except KeyboardInterrupt:
        report.stopped = "interrupted; to continue, give the same command"
    except BucketError as error:
        report.stopped = to_single_line(str(error))
        return True
    except RoamingError as error:
        report.stopped = to_single_line(str(error))
    return False


def _event_data(record: SiteRecord) -> dict[str, Any]:
    data, entry = msgspec.structs.asdict(record), record.entry
    del data["entry"]
    return {**data, "pages": entry.pages if entry else 0, "sections": entry.sections if entry else 0}


def write_report(bucket: Bucket, report: RunReport) -> None:
    """Write the report of a run."""
    bucket.put(f"{RUNS_DIR}/{report.run}.json", msgspec.json.encode(report))


def write_missing_reports(bucket: Bucket, records: Iterable[SiteRecord]) -> None:
    """Write the reports of killed runs, from the records of their sites."""
    written = {PurePosixPath(blob.path).stem for blob in bucket.list(RUNS_DIR)}
    missing: dict[str, RunReport] = {}
    for record in records:
        if record.run not in written:
            report = missing.setdefault(record.run, RunReport(record.run, 0, stopped=_KILLED))
            report.sites += 1
            report.add(record)
    for report in missing.values():
        write_report(bucket, report)


def site_status(
    record: SiteRecord | None, digest: str, now: float, older_than: float | None, *, refresh: bool
) -> Literal["due", "fresh", "waiting"]:
    """Return whether a site is due, fresh, or waiting for its next try.

    Args:
        record: Last crawl of the site.
        digest: Digest of the configuration.
        now: Unix time in seconds.
        older_than: Age in seconds after which a site is due again; None means never.
        refresh: Crawl all sites.
    """
    if record is None or refresh or not _is_current(record.config, digest):
        return "due"
    if is_unfinished(record.stopped):
        return "due"
    if record.state == "failed" or record.kept:
        return "due" if now >= record.next_try else "waiting"
    crawled = record.entry.crawled if record.entry else 0.0
    return "due" if older_than is not None and now - crawled >= older_than else "fresh"


def config_digest(config: CrawlConfig) -> str:
    """Return a digest of what determines the published files: the versions of parser and converter, and the options.

    Options that do not affect the output, and options with their default values, are left out. So a new option in a
    later version does not cause all sites to be crawled again.
    """
    options = _non_default_options(config)
    for name in ("politeness", "resume", "refresh", "allow_private", "workers"):
        options = {key: value for key, value in options.items() if key.partition(".")[0] != name}
    text = json.dumps({_stored_name(key): value for key, value in options.items()}, sort_keys=True, default=str)
    text += load_themes().fingerprint
    return f"{CONVERTER_VERSION}.{PARSER_VERSION}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _non_default_options(config: CrawlConfig) -> dict[str, Any]:
    options, default = (
        _flatten(asdict(replace(one, embeddings=None)) | {"options": msgspec.structs.asdict(one.options)})
        for one in (config, CrawlConfig())
    )
    changed = {name: value for name, value in options.items() if default.get(name) != value}
    changed |= {"meaning": config.embeddings.model} if config.embeddings else {}
    return changed | ({"patterns": "gitignore"} if config.scope.include or config.scope.exclude else {})


def _flatten(data: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in data.items():
        found |= _flatten(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return found


def _stored_name(key: str) -> str:
    """Return the name of an option in the digest, which stays the same when a field is renamed."""
    first, dot, rest = key.partition(".")
    return _STORED_NAMES.get(first, first) + dot + rest


def _is_current(recorded: str, digest: str) -> bool:
    """Return whether a site was published with these options, by these or newer versions.

    With newer ones, because two versions that crawl one store would otherwise crawl every site in turns.
    """
    (their_versions, _, their_options), (versions, _, options) = recorded.partition("-"), digest.partition("-")
    try:
        theirs, ours = (list(map(int, text.split("."))) for text in (their_versions, versions))
    except ValueError:
        return False
    return their_options == options and theirs >= ours


def prepare_store(bucket: Bucket) -> None:
    """Make a bucket or folder a store unless it is one.

    Raises:
        UsageError: It contains something else.
    """
    with suppress(BlobNotFoundError):
        bucket.get(STORE_MARKER)
        return
    for path, content in ((MANIFEST_PATH, "a published site"), (".roaming/state.json", "a crawl of one site")):
        with suppress(BlobNotFoundError):
            bucket.get(path)
            raise UsageError(f"{bucket.where}: contains {content}; give another place for many sites")
    if isinstance(bucket, FolderBucket) and bucket.root.is_dir() and any(bucket.root.iterdir()):
        raise UsageError(f"{bucket.where}: neither empty nor a store of sites; give another folder")
    bucket.create(STORE_MARKER, json.dumps({"version": 1}).encode())


def load_records(bucket: Bucket, lock: StoreLock) -> dict[str, SiteRecord]:
    """Update the catalog, and return the records of all sites by key."""
    update_catalog(bucket, lock.confirm)
    return {record.key: record for record in read_records(bucket)}


def check_names(bucket: Bucket, sites: Sequence[SiteSpec], records: Mapping[str, SiteRecord]) -> None:
    """Check that each listed site has the same name in the store.

    Raises:
        UsageError: A name belongs to another site in the store, or a site has another name there.
    """
    names = {record.url: record.key for record in records.values()}
    for site in sites:
        record, name = records.get(site.key), names.get(site.url, site.key)
        if record and record.url != site.url:
            key = site.key
            problem = f"{key} is {record.url} there, not {site.url}; give that another name in the list"
        elif record is None and name != site.key:
            key = name
            problem = f"{site.url} has the name {name} there; list it with that name"
        else:
            continue
        raise UsageError(f"{bucket.where}: {problem}, or drop it first: roaming sites {bucket.where} --drop {key}")


def drop_sites(store: str, keys: Iterable[str]) -> list[str]:
    """Remove sites from a store, and return their keys in order.

    Args:
        store: URL or folder of the store.
        keys: Keys of the sites.

    Raises:
        SiteNotFoundError: One of the sites is not in the store; none is removed then.
        BucketError: The store cannot be accessed.
        StoreLockedError: A run uses the store.
    """
    bucket = open_bucket(store)
    bucket.get(HEAD_PATH)  # fails unless this is a store
    wanted = list(dict.fromkeys(keys))
    for key in wanted:
        if not re.fullmatch(SITE_KEY, key) or read_record(bucket, key) is None:
            raise SiteNotFoundError(store, key)
    with hold_lock(bucket, f"drop-{secrets.token_hex(3)}") as lock:
        for key in wanted:
            lock.confirm()
            _remove(bucket, key)
        update_catalog(bucket, lock.confirm)
    return wanted


def _remove(bucket: Bucket, key: str) -> None:
    """Remove a site. Its record is last, so that a partly removed site can still be named."""
    for folder in (key, f"{FLEET_DIR}/state/{key}"):
        bucket.delete([blob.path for blob in bucket.list(folder)])
    if isinstance(bucket, FolderBucket):
        shutil.rmtree(bucket.root / key, ignore_errors=True)
    bucket.delete([record_path(key)])


_STORED_NAMES = {"scope": "area", "discovery": "sources"}
_KILLED = "killed before it wrote a report; this one was made from the records of its sites"

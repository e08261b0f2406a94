"""Runs over a store: crawl the sites of a list that are due, and write a report.

The key of a site is its place in the store; the result of its last crawl is in `.fleet/sites/<key>.json`,
the report of a run in `.fleet/runs/<run>.json`. A file of sites has a URL or folder per line, optionally with a name:

    # documentation that our teams use
    https://docs.astral.sh/ruff/ ruff
    /srv/built/handbook handbook
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import shlex
import time
from collections import Counter, deque
from collections.abc import Generator, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.html.themes import digest_themes
from mkdocs_roaming.publish.cache import CONVERTER_VERSION
from mkdocs_roaming.text.markdown import to_single_line
from roaming_crawler.config import CrawlConfig, EventHandler
from roaming_crawler.files import parse_folder_site
from roaming_crawler.parser import PARSER_VERSION
from roaming_crawler.scope import canonical_url, has_web_scheme
from roaming_fleet.catalog import read_records, update_catalog
from roaming_fleet.folder import FLEET_DIR, StoreError, StoreFileNotFoundError, StoreFolder
from roaming_fleet.job import RunPlan, SiteSpec, crawl_site, is_unfinished
from roaming_fleet.records import (
    STORE_MARKER,
    SiteRecord,
    is_site_key,
    record_as_json,
)

RUNS_DIR = f"{FLEET_DIR}/runs"

Status = Literal["due", "fresh", "waiting"]


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
            self.failures.append({**failure, "next_try": record.next_try, "kept": record.entry is not None})
            return
        self.pages_new += record.new
        self.pages_changed += record.changed
        self.pages_gone += record.gone
        self.pages_kept += record.kept
        if record.result == "changed":
            self.changes.append({"site": record.key, "new": record.new, "changed": record.changed, "gone": record.gone})


def crawl_many(
    sites: Sequence[SiteSpec],
    store: StoreFolder,
    config: CrawlConfig,
    *,
    at_once: int = 4,
    older_than: float | None = None,
    on_event: EventHandler = lambda name, data: None,
) -> RunReport:
    """Crawl the sites that are due into a store.

    Args:
        sites: All listed sites.
        store: The store.
        config: Configuration of the crawls.
        at_once: Number of concurrent hosts.
        older_than: Age in seconds after which a site is crawled again.
        on_event: Progress callback.

    Returns:
        The report; if the run was stopped early, it contains the reason.

    Raises:
        FolderBusyError: Another run uses the store.
        UsageError: The store contains other files, or the name of a site belongs to another one in it.
        StoreError: The store cannot be accessed.
    """
    prepare_store(store)
    started = time.monotonic()
    run = time.strftime("%Y%m%dT%H%M%S", time.gmtime()) + "-" + secrets.token_hex(3)
    with store.hold():
        update_catalog(store)
        records = {record.key: record for record in read_records(store)}
        check_names(store, sites, records)
        plan = RunPlan(store, config, run, config_digest(config))
        states = {site: site_status(records.get(site.key), plan, older_than) for site in sites}
        due = [site for site, state in states.items() if state == "due"]
        counts = Counter(states.values())
        report = RunReport(run, len(sites), counts["fresh"], counts["waiting"])
        on_event(
            "start",
            {"run": run, "sites": len(sites), "due": len(due), "fresh": report.fresh, "waiting": report.waiting},
        )
        groups = group_by_host(due, {key: record.home for key, record in records.items()})
        records.clear()
        _crawl_due(groups, plan, at_once, report, on_event)
        report.seconds = round(time.monotonic() - started, 1)
        try:
            store.put(f"{RUNS_DIR}/{report.run}.json", msgspec.json.encode(report))
            if due:
                update_catalog(store)
        except StoreError as error:
            report.stopped = report.stopped or to_single_line(str(error))
    on_event("done", msgspec.to_builtins(report))
    return report


def _crawl_due(
    groups: Iterable[tuple[SiteSpec, ...]], plan: RunPlan, at_once: int, report: RunReport, on_event: EventHandler
) -> None:
    """Crawl the sites that are due, and add the results to the report."""
    try:
        with closing(crawl_groups(groups, plan, at_once)) as records:
            for record in records:
                report.add(record)
                on_event("site", record_as_json(record))
    except KeyboardInterrupt:
        report.stopped = "interrupted; to continue, give the same command"
    except StoreError as error:
        report.stopped = to_single_line(str(error))


def crawl_groups(groups: Iterable[tuple[SiteSpec, ...]], plan: RunPlan, at_once: int) -> Generator[SiteRecord]:
    """Crawl groups of sites in threads, the sites of a group one after the other, and yield their records.

    If it ends early or is closed, all jobs stop.

    Args:
        groups: The sites by host.
        plan: Parameters of the run.
        at_once: Number of concurrent hosts.
    """
    _raise_file_limit()
    waiting = deque(groups)
    running: dict[Future[SiteRecord], tuple[SiteSpec, ...]] = {}
    with ThreadPoolExecutor(at_once, "site") as pool:
        try:
            while waiting or running:
                while waiting and len(running) < at_once:
                    group = waiting.popleft()
                    running[pool.submit(crawl_site, group[0], plan)] = group[1:]
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    if rest := running.pop(future):
                        waiting.appendleft(rest)
                    yield future.result()
        finally:
            plan.stop.set()


def _raise_file_limit() -> None:
    """Raise the limit of open files as far as it may be: the usual one is too low for a hundred sites."""
    with suppress(ImportError, OSError, ValueError):  # Windows has no such limit
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if 0 <= soft < _MAX_FILES:
            resource.setrlimit(resource.RLIMIT_NOFILE, (_MAX_FILES if hard < 0 else min(hard, _MAX_FILES), hard))


def site_status(record: SiteRecord | None, plan: RunPlan, older_than: float | None) -> Status:
    """Return whether a site is due, fresh, or waiting for its next try.

    Args:
        record: Last crawl of the site.
        plan: Parameters of the run.
        older_than: Age in seconds after which a site is due again; None means never.
    """
    if record is None or plan.config.refresh or record.config != plan.digest or is_unfinished(record.stopped):
        return "due"
    if record.state == "failed" or record.kept:
        return "due" if time.time() >= record.next_try else "waiting"
    crawled = record.entry.crawled if record.entry else 0.0
    return "due" if older_than is not None and time.time() - crawled >= older_than else "fresh"


def config_digest(config: CrawlConfig) -> str:
    """Return a digest of what determines the published files: versions, themes and options.

    Options that do not affect the output are left out.
    """
    default = CrawlConfig()
    names = ("politeness", "refresh", "allow_private", "workers")
    neutral = replace(config, embeddings=None, **{name: getattr(default, name) for name in names})
    model = config.embeddings.config.model if config.embeddings else ""
    options = msgspec.json.encode([neutral, model, digest_themes({})], order="sorted")
    return f"{CONVERTER_VERSION}.{PARSER_VERSION}-{hashlib.sha256(options).hexdigest()[:16]}"


def prepare_store(store: StoreFolder) -> None:
    """Make a folder a store unless it is one.

    Raises:
        UsageError: It contains something else.
    """
    with suppress(StoreFileNotFoundError):
        store.get(STORE_MARKER)
        return
    if store.root.is_dir() and any(store.root.iterdir()):
        raise UsageError(f"{store.where}: neither empty nor a store of sites; give another place for many sites")
    store.put(STORE_MARKER, json.dumps({"version": 1}).encode())


def check_names(store: StoreFolder, sites: Sequence[SiteSpec], records: Mapping[str, SiteRecord]) -> None:
    """Raise UsageError if the name of a listed site belongs to another URL in the store.

    Args:
        store: The store.
        sites: The listed sites.
        records: Records of the store by name.
    """
    for site in sites:
        record = records.get(site.key)
        if record and record.url != site.url:
            where = store.where
            raise UsageError(
                f"{where}: {site.key} is {record.url} there, not {site.url}; give that another name in the list, or "
                f"drop it first: roaming sites {where} --drop {site.key}"
            )


# The file of sites


def read_sites_file(file: Path) -> tuple[SiteSpec, ...]:
    """Read a file of sites.

    Raises:
        UsageError: A line is invalid or a duplicate; the message contains its number.
    """
    try:
        lines = file.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    sites: list[SiteSpec] = []
    listed: dict[str, int] = {}  # lines by URL and by key
    for number, line in enumerate(lines, 1):
        where = f"{file}:{number}"
        try:
            words = shlex.split(_COMMENT.sub("", line))
        except ValueError as error:
            raise UsageError(f"{where}: {str(error).lower()}; put a path with spaces in quotes") from None
        if not words:
            continue
        site = _parse_site(words, where)
        for text in (site.url, site.key):
            if text in listed:
                raise UsageError(f"{where}: {text} is in line {listed[text]} already; remove one, or give another name")
            listed[text] = number
        sites.append(site)
    if not sites:
        raise UsageError(f"{file}: lists no sites; give one URL per line")
    return tuple(sites)


def group_by_host(sites: Iterable[SiteSpec], homes: Mapping[str, str] = {}) -> tuple[tuple[SiteSpec, ...], ...]:
    """Group sites that share a host, because a host is crawled for one site at a time.

    Args:
        sites: The sites.
        homes: URL to which a site's URL redirected in its last crawl, by key; it may be on another host.
    """
    groups: dict[str, list[SiteSpec]] = {}
    for site in sites:
        home = homes.get(site.key, "")
        host = url = home if has_web_scheme(home) else site.url
        if has_web_scheme(url):
            host = urlsplit(canonical_url(url) or url).netloc.removeprefix("www.")
        groups.setdefault(host, []).append(site)
    return tuple(map(tuple, groups.values()))


def _parse_site(words: Sequence[str], where: str) -> SiteSpec:
    if len(words) > 2:
        raise UsageError(f"{where}: {len(words)} words; give a URL, and optionally a name")
    target = words[0]
    if _LOGIN.match(target):
        raise UsageError(f"{where}: contains a password; sites with a login are not crawled")
    if has_web_scheme(target):
        url = canonical_url(target)
        if url is None:
            raise UsageError(f"{where}: {target}: not an http(s) URL")
        parts = urlsplit(url)
        key = parts.netloc.removeprefix("www.") + parts.path
    else:
        try:
            local = parse_folder_site(target)
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from None
        url = str(local.folder / local.start.removeprefix(local.url))
        key = local.folder.name
    name = _NOT_IN_KEYS.sub("-", key.lower()).strip("-._")[:_MAX_KEY_CHARS]
    if len(words) > 1:
        name = words[1]
    if not is_site_key(name):
        raise UsageError(
            f"{where}: invalid name {name!r}; give letters a-z, digits, dots and dashes, {_MAX_KEY_CHARS} at most"
        )
    return SiteSpec(url, name)


_MAX_KEY_CHARS = 100
_MAX_FILES = 65_536
_LOGIN = re.compile(r"([\w+.-]+:)?//[^/?#]*@")
"""The beginning of an address with a user: `https://ann:secret@docs.example/`."""
_COMMENT = re.compile(r"(^|\s)#.*$")
"""A comment; an anchor in a URL begins with `#`, too, but after other characters."""
_NOT_IN_KEYS = re.compile(r"[^a-z0-9._]+")
"""What becomes a dash in names: the slashes of `docs.example/guide/`."""

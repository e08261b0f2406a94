"""What a crawl of many sites came to: `.fleet/runs/<run>.json`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import PurePosixPath
from typing import Any

from roaming_fleet.buckets.base import Bucket
from roaming_fleet.records import FLEET_DIR, SiteRecord

RUNS_DIR = f"{FLEET_DIR}/runs"


@dataclass(slots=True)
class RunReport:
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
    pages_kept: int = 0
    """Pages that failed, or that a limit left out, and that stand as they were; those of sites that failed aside."""
    requests: int = 0
    bytes: int = 0
    seconds: float = 0.0
    failures: list[dict[str, Any]] = field(default_factory=list)
    changes: list[dict[str, Any]] = field(default_factory=list)
    stopped: str = ""

    def add(self, record: SiteRecord) -> None:
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
            whole = record.next_try > record.at  # else the store failed, and may hold some pages of the new copy
            self.failures.append({**told, "next_try": record.next_try, "kept": record.entry is not None and whole})
            return
        self.pages_new += record.new
        self.pages_changed += record.changed
        self.pages_gone += record.gone
        self.pages_kept += record.kept
        if record.result == "changed":
            told = {"site": record.key, "new": record.new, "changed": record.changed, "gone": record.gone}
            self.changes.append(told)


def write_report(bucket: Bucket, report: RunReport) -> None:
    """Write what came of a run."""
    told = json.dumps(asdict(report), ensure_ascii=False).encode("utf-8", "surrogatepass")
    bucket.put(f"{RUNS_DIR}/{report.run}.json", told)


def write_missing_reports(bucket: Bucket, known: Iterable[SiteRecord]) -> None:
    """Write the reports of runs that were killed before they wrote one, from what they wrote down of each site.

    A run that is still going on elsewhere writes its own over it.
    """
    written = {PurePosixPath(kept.path).stem for kept in bucket.list(RUNS_DIR)}
    killed: dict[str, RunReport] = {}
    for record in known:
        if record.run not in written:
            report = killed.setdefault(record.run, RunReport(record.run, 0, stopped=_KILLED))
            report.sites += 1
            report.add(record)
    for report in killed.values():
        write_report(bucket, report)


_RESULTS = ("fresh", "waiting", "busy", "new", "changed", "same", "failed")
_KILLED = "ended without a report; told by the records of its sites"

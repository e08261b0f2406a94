"""Report of a run: `.fleet/runs/<run>.json`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import PurePosixPath
from typing import Any

from roaming_fleet.buckets import Bucket
from roaming_fleet.records import FLEET_DIR, SiteRecord

RUNS_DIR = f"{FLEET_DIR}/runs"


@dataclass(slots=True)
class RunReport:
    """Result of a run over many sites. The field names are those of the JSON file."""

    run: str
    sites: int
    fresh: int = 0
    """Sites that are crawled and recent enough."""
    waiting: int = 0
    """Sites that failed before and whose next try is not due."""
    busy: int = 0
    """Sites that another process was crawling."""
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
    failures: list[dict[str, Any]] = field(default_factory=list)
    changes: list[dict[str, Any]] = field(default_factory=list)
    stopped: str = ""

    def add(self, record: SiteRecord) -> None:
        """Count a site."""
        if record.result not in _RESULTS:
            return
        setattr(self, record.result, getattr(self, record.result) + 1)
        if record.result in ("fresh", "waiting", "busy"):
            return  # the process that crawled it reports it
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


def write_report(bucket: Bucket, report: RunReport) -> None:
    """Write the report of a run."""
    data = json.dumps(asdict(report), ensure_ascii=False).encode("utf-8", "surrogatepass")
    bucket.put(f"{RUNS_DIR}/{report.run}.json", data)


def write_missing_reports(bucket: Bucket, records: Iterable[SiteRecord]) -> None:
    """Write the reports of killed runs, from the records of their sites.

    A run that is still active elsewhere overwrites its report at its end.
    """
    written = {PurePosixPath(blob.path).stem for blob in bucket.list(RUNS_DIR)}
    missing: dict[str, RunReport] = {}
    for record in records:
        if record.run not in written:
            report = missing.setdefault(record.run, RunReport(record.run, 0, stopped=_KILLED))
            report.sites += 1
            report.add(record)
    for report in missing.values():
        write_report(bucket, report)


_RESULTS = ("fresh", "waiting", "busy", "new", "changed", "same", "failed")
_KILLED = "killed before it wrote a report; this one was made from the records of its sites"

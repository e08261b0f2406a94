"""Runs in the workers of Dask, some of which are killed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from fleet_servers.workers import Cluster, cluster

from roaming_crawler.config import CrawlConfig, Politeness
from roaming_fleet.engines import dask_engine
from roaming_fleet.run import crawl_many, read_sites_file


@pytest.fixture
def command(sites: Any, tmp_path: Path, fast_options: tuple[str, ...]) -> list[str]:
    """Return the command that crawls twelve slow sites into a folder."""
    sites.pages, sites.delay = 20, 0.02
    listing, store = sites.listing(tmp_path / "sites.txt", 12), tmp_path / "store"
    crawl = [sys.executable, "-m", "mkdocs_roaming", "crawl", "--many", str(listing)]
    return [*crawl, "-o", str(store), *fast_options, "--json"]


def _run(
    command: list[str], dask: Cluster, at: Mapping[int, Callable[[], object]]
) -> tuple[dict[str, Any], list[str], str]:
    """Crawl, call functions after numbers of sites, and return the report, the finished sites and the errors."""
    done, event = [], {}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*command, "--engine", f"dask={dask.address}"], text=True, **streams) as process:
        for line in process.stdout:
            event = json.loads(line)
            if event["event"] == "site":
                done.append(event["key"])
                at.get(len(done), int)()
        errors = process.stderr.read()
    assert bool(process.returncode) == bool(errors), errors
    return event, done, errors


def _repeat(command: list[str], *more: str) -> dict[str, Any]:
    """Run the command without a cluster, and return its report."""
    done = subprocess.run([*command, *more], capture_output=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.slow
def test_run_continues_after_site_that_kills_its_workers(command: list[str], sites: Any, tmp_path: Path) -> None:
    with cluster(tmp_path, 2, {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}) as dask:
        report, done, _ = _run(command, dask, {3: dask.workers[0].kill})
    assert sorted(done) == [f"site-{at:03}" for at in range(12)]
    assert report["failed"] > 0
    assert report["new"] + report["failed"] == 12
    assert {failure["error"] for failure in report["failures"]} == {"the worker that crawled it died, several times"}
    sites.delay = 0
    assert _repeat(command, "--refresh")["failed"] == 0


@pytest.mark.slow
def test_lost_scheduler_stops_run(command: list[str], sites: Any, tmp_path: Path) -> None:
    with cluster(tmp_path, 1) as dask:
        report, done, errors = _run(command, dask, {1: dask.scheduler.kill})
    message = f"--engine dask: lost the scheduler at {dask.address}; start it and repeat the command"
    assert (report["stopped"], errors) == (message, f"roaming: {message}\n")
    assert len(done) < 12
    assert [found["stopped"] for found in _reports(tmp_path / "store")] == [message]
    sites.delay = 0
    last = _repeat(command)
    assert (last["new"] + last["fresh"], last["failed"]) == (12, 0)
    assert last["fresh"] >= len(done)


@pytest.mark.slow
def test_scheduler_without_workers_is_reported(sites: Any, tmp_path: Path) -> None:
    listed = read_sites_file(sites.listing(tmp_path / "sites.txt", 8))
    options = CrawlConfig(politeness=Politeness(delay=0), allow_private=True, workers=0)
    store = tmp_path / "store"
    with cluster(tmp_path, 0) as dask:
        report = crawl_many(listed, str(store), options, dask_engine(dask.address, patience=3), scratch=tmp_path)
    assert report.stopped == (
        f"--engine dask: no worker at {dask.address} for 3 s; start one, dask worker {dask.address}, "
        "and repeat the command"
    )
    assert [each["new"] for each in _reports(store)] == [0]


def _reports(store: Path) -> list[dict[str, Any]]:
    return [json.loads(file.read_text("utf-8")) for file in (store / ".fleet" / "runs").iterdir()]


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ("ray", "--engine ray: give threads, or dask=tcp://HOST:PORT of a scheduler"),
        ("dask", "--engine dask: give threads, or dask=tcp://HOST:PORT of a scheduler"),
        ("dask=localhost", "--engine dask=localhost: give threads, or dask=tcp://"),
        pytest.param("dask=tcp://127.0.0.1:1", "no scheduler at this address; start one", marks=pytest.mark.slow),
    ],
)
def test_invalid_engine_is_refused(engine: str, message: str, sites: Any, tmp_path: Path, roaming: Any) -> None:
    listing = sites.listing(tmp_path / "sites.txt", 2)
    result = roaming("crawl", "--many", listing, "-o", tmp_path / "store", "--engine", engine)
    assert (result.exit_code, message in result.stderr) == (1, True), result.stderr
    assert not sites.requests

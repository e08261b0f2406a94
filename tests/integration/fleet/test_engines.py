"""Runs in the workers of Dask."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fleet_servers.workers import cluster

from roaming_crawler.config import CrawlConfig, Politeness
from roaming_fleet.engines import dask_engine
from roaming_fleet.run import crawl_many, read_sites_file

pytestmark = pytest.mark.slow

Published = Callable[[Path], dict[str, bytes]]


def _command(listing: Path, store: Path, fast_options: tuple[str, ...], *more: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "mkdocs_roaming",
        "crawl",
        "--many",
        str(listing),
        "-o",
        str(store),
        *fast_options,
        *more,
    ]


def test_killed_worker_loses_nothing(
    sites: Any, tmp_path: Path, fast_options: tuple[str, ...], published: Published
) -> None:
    count = 200
    listing = sites.listing(tmp_path / "sites.txt", count)
    one = subprocess.run(_command(listing, tmp_path / "one", fast_options, "--json"), capture_output=True, check=True)
    assert json.loads(one.stdout.splitlines()[-1])["new"] == count
    requests = sites.requests.copy()
    sites.requests.clear()
    sites.max_open.clear()
    result: Counter[str] = Counter()
    memory = []
    with cluster(tmp_path, 2) as dask:
        command = _command(listing, tmp_path / "many", fast_options, "--json", "--engine", f"dask={dask.address}")
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                event = json.loads(line)
                if event["event"] == "site":
                    result[event["key"]] += 1
                    memory.append(dask.memory())
                    if len(result) == count // 3:
                        dask.workers[0].kill()
        assert process.returncode == 0
    assert set(result.values()) == {1}
    assert (event["new"], event["failed"], len(result)) == (count, 0, count)
    assert published(tmp_path / "many") == published(tmp_path / "one")
    assert max(sites.max_open.values()) == 1
    repeated = sites.requests - requests
    assert len({path.split("/")[0] for path in repeated}) <= 2, repeated  # hosts that the killed worker was crawling
    assert all(count <= requests[path] for path, count in repeated.items()), repeated  # at most twice
    early, late = memory[count // 4], max(memory)
    print(f"scheduler: {memory[0]:.0f} MB, {early:.0f} MB after {count // 4} sites, at most {late:.0f} MB")
    assert late - early < 20


def test_run_continues_after_site_that_kills_its_workers(
    sites: Any, tmp_path: Path, fast_options: tuple[str, ...], roaming: Any
) -> None:
    sites.pages, sites.delay = 12, 0.02
    listing, store = sites.listing(tmp_path / "sites.txt", 12), tmp_path / "store"
    with cluster(tmp_path, 2, {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}) as dask:
        command = _command(listing, store, fast_options, "--json", "--engine", f"dask={dask.address}")
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            done = []
            for line in process.stdout:
                event = json.loads(line)
                if event["event"] == "site":
                    done.append(event["key"])
                    if len(done) == 3:
                        dask.workers[0].kill()
        assert process.returncode == 0
    assert sorted(done) == [f"site-{at:03}" for at in range(12)]
    assert event["failed"] > 0
    assert event["new"] + event["failed"] == 12
    assert {failure["error"] for failure in event["failures"]} == {"the worker that crawled it died, several times"}
    assert (
        json.loads(
            roaming("crawl", "--many", listing, "-o", store, *fast_options, "--json", "--refresh").stdout.splitlines()[
                -1
            ]
        )["failed"]
        == 0
    )


def test_lost_scheduler_stops_run(sites: Any, tmp_path: Path, fast_options: tuple[str, ...], roaming: Any) -> None:
    sites.pages, sites.delay = 20, 0.02
    listing, store = sites.listing(tmp_path / "sites.txt", 12), tmp_path / "store"
    with cluster(tmp_path, 1) as dask:
        command = _command(listing, store, fast_options, "--engine", f"dask={dask.address}")
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            while "new" not in (line := process.stderr.readline()):
                assert line, "it ended"
            dask.scheduler.kill()
            said = [line for line in process.stderr.read().splitlines() if not line.startswith("  new ")]
    assert process.returncode == 1
    message = f"roaming: --engine dask: lost the scheduler at {dask.address}; start it and repeat the command"
    assert said == [message]
    listed = json.loads(roaming("sites", store, "--json").stdout)
    assert 0 < len(listed) < 12
    assert [report["stopped"] for report in _reports(store)] == [message.removeprefix("roaming: ")]
    sites.delay = 0
    result = roaming("crawl", "--many", listing, "-o", store, *fast_options, "--json")
    last = json.loads(result.stdout.splitlines()[-1])
    assert (last["new"] + last["fresh"], last["failed"]) == (12, 0)
    assert last["fresh"] >= len(listed)


@pytest.mark.parametrize("workers", [0, 1])
def test_scheduler_without_workers_is_reported(workers: int, sites: Any, tmp_path: Path) -> None:
    sites.delay = 0.02
    listed = read_sites_file(sites.listing(tmp_path / "sites.txt", 8))
    options = CrawlConfig(politeness=Politeness(delay=0), allow_private=True, workers=0)
    store, patience = tmp_path / "store", 10 if workers else 3  # a worker starts within ten seconds
    with cluster(tmp_path, workers) as dask:

        def kill_worker(name: str, data: dict[str, Any]) -> None:
            if name == "site":
                dask.workers[0].kill()

        engine = dask_engine(dask.address, patience=patience)
        report = crawl_many(listed, str(store), options, engine, scratch=tmp_path, on_event=kill_worker)
    assert report.stopped == (
        f"--engine dask: no worker at {dask.address} for {patience} s; start one, dask worker {dask.address}, "
        "and repeat the command"
    )
    assert [each["new"] for each in _reports(store)] == [report.new]
    assert bool(report.new) == bool(workers)
    assert report.new < 8


def _reports(store: Path) -> list[dict[str, Any]]:
    return [json.loads(file.read_text("utf-8")) for file in (store / ".fleet" / "runs").iterdir()]


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ("ray", "--engine ray: give threads, or dask=tcp://HOST:PORT of a scheduler"),
        ("dask", "--engine dask: give threads, or dask=tcp://HOST:PORT of a scheduler"),
        ("dask=localhost", "--engine dask=localhost: give threads, or dask=tcp://"),
        pytest.param(  # takes five seconds
            "dask=tcp://127.0.0.1:1",
            "no scheduler at this address; start one: dask scheduler",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_invalid_engine_is_refused(engine: str, message: str, sites: Any, tmp_path: Path, roaming: Any) -> None:
    listing = sites.listing(tmp_path / "sites.txt", 2)
    result = roaming("crawl", "--many", listing, "-o", tmp_path / "store", "--engine", engine)
    assert (result.exit_code, message in result.stderr) == (1, True), result.stderr
    assert not sites.requests

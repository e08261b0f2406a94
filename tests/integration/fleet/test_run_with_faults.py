"""A large run with a killed worker, a busy and slow store, and expired credentials."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fleet_servers.workers import Cluster, cluster

from roaming_fleet.objects import open_bucket
from roaming_fleet.records import read_record

pytestmark = pytest.mark.slow

COUNT = 200


@dataclass
class Output:
    """Output of a run."""

    done: list[str] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    report: dict[str, Any] = field(default_factory=dict)
    code: int = 0
    stderr: str = ""
    seconds: float = 0.0


def _crawl(
    command: list[str], dask: Cluster, environ: Mapping[str, str], at: Mapping[int, Callable[[], object]]
) -> Output:
    """Crawl, and call a function after a number of sites."""
    started, output = time.monotonic(), Output()
    with subprocess.Popen(
        [*command, "--engine", f"dask={dask.address}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**environ},
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        for line in process.stdout:
            event = json.loads(line)
            if event["event"] == "site":
                output.done.append(event["key"])
                output.memory.append(dask.memory())
                at.get(len(output.done), int)()
            elif event["event"] == "done":
                output.report = event
        output.stderr = process.stderr.read()
    output.code, output.seconds = process.returncode, time.monotonic() - started
    return output


def test_run_with_all_faults_loses_nothing(
    s3: Any, sites: Any, tmp_path: Path, fast_options: tuple[str, ...], published: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing = sites.listing(tmp_path / "sites.txt", COUNT)
    command = [sys.executable, "-m", "mkdocs_roaming", "crawl", "--many", str(listing), *fast_options, "--json"]
    subprocess.run([*command, "-o", str(tmp_path / "folder")], capture_output=True, check=True)
    command += ["-o", s3.where, "--scratch", str(tmp_path / "scratch")]
    fault_settings = {"every": 20, "delay": 0.01}
    s3.set_faults(**fault_settings)
    tmp_path.joinpath("first").mkdir()
    with cluster(tmp_path / "first", 2, s3.environ) as dask:
        first = _crawl(
            command,
            dask,
            _environ(s3.environ),
            {
                COUNT // 4: dask.workers[0].kill,
                COUNT // 2: lambda: s3.set_faults(**fault_settings, after=0, stale=s3.environ["AWS_SESSION_TOKEN"]),
            },
        )
    message = f"{s3.where}: the credentials have expired; renew them and try again"
    assert (first.code, first.report["stopped"]) == (1, message)
    assert [line for line in first.stderr.splitlines() if line.strip()] == [f"roaming: {message}"]
    assert len(first.done) < COUNT

    renewed = {**s3.environ, "AWS_SESSION_TOKEN": "renewed-token-of-the-shelf"}
    tmp_path.joinpath("second").mkdir()
    with cluster(tmp_path / "second", 2, renewed) as dask:
        second = _crawl(command, dask, _environ(renewed), {})
    failed = s3.set_faults()
    assert (second.code, second.stderr) == (0, "")
    report = second.report
    assert (report["failed"], report["new"] + report["fresh"]) == (0, COUNT), report["failures"]

    monkeypatch.setenv("AWS_SESSION_TOKEN", renewed["AWS_SESSION_TOKEN"])
    bucket = open_bucket(s3.where)
    uploaded = {blob.path: bucket.get(blob.path) for blob in bucket.list("") if not blob.path.startswith(".fleet/")}
    assert uploaded == published(tmp_path / "folder")
    keys = {path.partition("/")[0] for path in uploaded}
    assert len(keys) == COUNT
    assert all((record := read_record(bucket, key)) and (record.state, record.tries) == ("done", 0) for key in keys)
    writes = {path: count for path, count in s3.written().items() if "/.fleet/sites/" in path}
    assert set(writes.values()) == {1}
    assert len(writes) == COUNT
    _assert_flat(first.memory)
    _assert_flat(second.memory)
    print(
        f"first {len(first.done)} sites, {first.seconds:.0f} s; second {len(second.done)}, {second.seconds:.0f} s; "
        f"{failed['requests']} requests since, {failed['failed']} failed"
    )


def test_run_without_cluster_loses_nothing(
    s3: Any, sites: Any, tmp_path: Path, fast_options: tuple[str, ...], published: Any
) -> None:
    listing = sites.listing(tmp_path / "sites.txt", COUNT)
    command = [sys.executable, "-m", "mkdocs_roaming", "crawl", "--many", str(listing), *fast_options, "--json"]
    subprocess.run([*command, "-o", str(tmp_path / "folder")], capture_output=True, check=True)
    s3.set_faults(every=20, delay=0.01)
    command += ["-o", s3.where, "--scratch", str(tmp_path / "scratch")]
    result = subprocess.run(command, capture_output=True, text=True)
    s3.set_faults()
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout.splitlines()[-1])
    assert (report["new"], report["failed"], report["stopped"]) == (COUNT, 0, "")
    bucket = open_bucket(s3.where)
    uploaded = {blob.path: bucket.get(blob.path) for blob in bucket.list("") if not blob.path.startswith(".fleet/")}
    assert uploaded == published(tmp_path / "folder")
    writes = [count for path, count in s3.written().items() if "/.fleet/sites/" in path]
    assert writes == [1] * COUNT


def _environ(renewed: Mapping[str, str]) -> dict[str, str]:
    return {**os.environ, **renewed}


def _assert_flat(memory: list[float]) -> None:
    early, late = memory[len(memory) // 4], max(memory)
    print(f"scheduler: {memory[0]:.0f} MB, {early:.0f} MB after a quarter of {len(memory)}, at most {late:.0f} MB")
    assert late - early < 20

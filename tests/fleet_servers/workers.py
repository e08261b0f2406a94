"""A Dask scheduler and its workers as processes that can be killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Cluster:
    """A scheduler, its address, and its workers."""

    address: str
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]]


@contextmanager
def cluster(folder: Path, workers: int, environ: Mapping[str, str] | None = None) -> Iterator[Cluster]:
    """Start a scheduler and workers that are not restarted."""
    file = folder / "scheduler.json"
    env = {**os.environ, **(environ or {})}
    streams = {"stdout": subprocess.DEVNULL, "stderr": (folder / "dask.log").open("wb"), "env": env, "cwd": folder}
    dask = [sys.executable, "-m", "dask"]
    loopback_options = ["--no-dashboard", "--interface", "lo"]
    processes = [
        subprocess.Popen([*dask, "scheduler", "--port", "0", "--scheduler-file", file, *loopback_options], **streams)
    ]
    try:
        _wait_until(lambda: file.exists() and file.stat().st_size > 0)  # the scheduler creates it before it writes
        for at in range(workers):
            worker_options = [
                "--name",
                str(at),
                "--nthreads",
                "2",
                "--no-nanny",
                "--local-directory",
                folder / f"worker{at}",
            ]
            processes.append(
                subprocess.Popen(
                    [*dask, "worker", "--scheduler-file", file, *worker_options, *loopback_options], **streams
                )
            )
        yield Cluster(json.loads(file.read_text("utf-8"))["address"], processes[0], processes[1:])
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()
        streams["stderr"].close()


def _wait_until(condition: object, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)

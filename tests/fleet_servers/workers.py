"""A Dask scheduler and its workers as processes that can be killed."""

from __future__ import annotations

import json
import os
import re
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

    def memory(self) -> float:
        """Return the scheduler's resident memory in MB."""
        status = Path(f"/proc/{self.scheduler.pid}/status").read_text("utf-8")
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found
        return int(found[1]) / 1024


@contextmanager
def cluster(folder: Path, workers: int, environ: Mapping[str, str] | None = None) -> Iterator[Cluster]:
    """Start a scheduler and workers that are not restarted."""
    file = folder / "scheduler.json"
    env = {**os.environ, **(environ or {})}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": (folder / "dask.log").open("wb"), "env": env, "cwd": folder}
    dask = [sys.executable, "-m", "dask"]
    local = ["--no-dashboard", "--interface", "lo"]
    running = [subprocess.Popen([*dask, "scheduler", "--port", "0", "--scheduler-file", file, *local], **quiet)]
    try:
        _wait_until(file.exists)
        for at in range(workers):
            own = ["--name", str(at), "--nthreads", "2", "--no-nanny", "--local-directory", folder / f"worker{at}"]
            running.append(subprocess.Popen([*dask, "worker", "--scheduler-file", file, *own, *local], **quiet))
        yield Cluster(json.loads(file.read_text("utf-8"))["address"], running[0], running[1:])
    finally:
        for process in reversed(running):
            process.kill()
            process.wait()
        quiet["stderr"].close()


def _wait_until(condition: object, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)

"""Compare the CPU time of the command `roaming search` with that of other processes.

    python benchmarks/search_speed.py SITE_DIR [--rounds 9]

The command runs with and without a stored index, alternately with a Python process that does nothing and with one that
only imports click and msgspec. Prints medians of user and system time, also as a multiple of that of the imports, and of
wall-clock time.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from msgspec import Struct

QUERY = "how do I set the timeout"
IMPORTS = "import click, msgspec"
"""What every command imports."""
BYTECODE = {"PYTHONDONTWRITEBYTECODE": ""}
"""Compiled modules are stored in the first round, as they are when a package is installed."""


class Duration(Struct, frozen=True):
    """The CPU and wall-clock seconds of a process."""

    cpu: float
    wall: float


def compare_commands(site: Path, rounds: int) -> str:
    """Return the times of the command, one line for each kind of process."""
    roaming = [sys.executable, "-m", "mkdocs_roaming"]
    search = [*roaming, "search", str(site), QUERY]
    with tempfile.TemporaryDirectory() as cache:
        processes = {
            "python -c pass": ([sys.executable, "-c", "pass"], ""),
            IMPORTS: ([sys.executable, "-c", IMPORTS], ""),
            "roaming --version": ([*roaming, "--version"], ""),
            "roaming search": (search, cache),
            "without a stored index": (search, ""),
        }
        durations: dict[str, list[Duration]] = {name: [] for name in processes}
        for _ in range(rounds + 1):
            for name, (command, cache_dir) in processes.items():
                environment = {**os.environ, "ROAMING_CACHE_DIR": cache_dir, **BYTECODE}
                durations[name].append(measure_process(command, environment))
    medians = {name: median_duration(measured[1:]) for name, measured in durations.items()}
    imports = medians[IMPORTS].cpu
    lines = [
        f"{name:24} {1000 * duration.cpu:6.0f} ms CPU ({duration.cpu / imports:.2f}) {1000 * duration.wall:6.0f} ms"
        for name, duration in medians.items()
    ]
    return "\n".join(lines)


def median_duration(durations: Sequence[Duration]) -> Duration:
    """Return the medians of CPU and of wall-clock time."""
    return Duration(median(each.cpu for each in durations), median(each.wall for each in durations))


def measure_process(command: Sequence[str], environment: Mapping[str, str]) -> Duration:
    """Return the time of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Duration(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=Path, help="Folder of a published site.")
    parser.add_argument("--rounds", type=int, default=9, help="Number of processes of each kind (default: 9).")
    options = parser.parse_args()
    print(compare_commands(options.site, options.rounds))


if __name__ == "__main__":
    main()

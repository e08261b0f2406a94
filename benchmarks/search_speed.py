"""Compare the CPU time of the command `roaming search` with that of other processes.

    python benchmarks/search_speed.py SITE_DIR

The command runs with and without a stored index, alternately with a Python process that does nothing. Prints medians of
user and system time, also as a multiple of that of the process that does nothing.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

QUERY = "how do I set the timeout"
ROUNDS = 7
BASE = "python -c pass"
BYTECODE = {"PYTHONDONTWRITEBYTECODE": ""}
"""Compiled modules are stored in the first round, as they are when a package is installed."""


def compare_commands(site: Path) -> Iterator[str]:
    """Yield a line with the time of each kind of process."""
    roaming = [sys.executable, "-m", "mkdocs_roaming"]
    search = [*roaming, "search", str(site), QUERY]
    with tempfile.TemporaryDirectory() as cache:
        processes = {
            BASE: ([sys.executable, "-c", "pass"], ""),
            "roaming --version": ([*roaming, "--version"], ""),
            "roaming search": (search, cache),
            "without a stored index": (search, ""),
        }
        seconds: dict[str, list[float]] = {name: [] for name in processes}
        for _ in range(ROUNDS + 1):
            for name, (command, cache_dir) in processes.items():
                environment = {**os.environ, "ROAMING_CACHE_DIR": cache_dir, **BYTECODE}
                seconds[name].append(measure_process(command, environment))
    base = median(seconds[BASE][1:])
    for name, measured in seconds.items():
        yield f"{name:24} {1000 * median(measured[1:]):6.0f} ms ({median(measured[1:]) / base:.0f})"


def measure_process(command: Sequence[str], environment: Mapping[str, str]) -> float:
    """Return the CPU seconds of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=Path, help="Folder of a published site.")
    print("\n".join(compare_commands(parser.parse_args().site)))


if __name__ == "__main__":
    main()

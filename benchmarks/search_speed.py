"""Compare the time of a search with that of one FTS5 query over the same sections.

    python benchmarks/search_speed.py [SITE_DIR] [--rounds 600]
    python benchmarks/search_speed.py SITE_DIR --command [--rounds 9]

Without SITE_DIR the generated site of `serve.py` is used: 834 pages and 5,004 sections. The FTS5 table has porter
stemming and returns ids, snippets and bm25 of the five best sections. Both get the same queries alternately, and the
first twentieth is ignored. Queries are random words with a Zipf-like distribution, or the texts of the site's links.
`index` is the CPU time to build the search index and to fill the FTS5 table, with the growth of the resident size.

`--command` measures the whole command `roaming search`, with and without a stored index, alternately with a Python
process that does nothing and with one that only imports click and msgspec: medians of user and system time, also as a
multiple of the latter, and of wall-clock time.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from statistics import median
from typing import Any

from endpoint.clients import percentile
from endpoint.servers import SearchTable
from endpoint.site import build_site, open_built_library, random_word
from search_quality import make_link_questions

from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Search

LIMIT = 5

_IMPORTS = "import click, msgspec"
"""What every command imports."""

_BYTECODE = {"PYTHONDONTWRITEBYTECODE": ""}
"""Compiled modules are stored in the first round, as they are when a package is installed."""


def compare(folder: Path, make_queries: Callable[[Library], Sequence[str]]) -> str:
    """Return the times of both as ratios."""
    library = open_built_library(folder)
    queries = make_queries(library)
    for section in library.sections:
        library.text(section)
    search = Search(library)
    search_seconds, search_size = _measure_cost(lambda: search.find("warm"))
    tables: list[SearchTable] = []
    table_seconds, table_size = _measure_cost(lambda: tables.append(SearchTable(folder)))
    seconds: dict[int, list[float]] = {0: [], 1: []}
    finders: tuple[Callable[[str], Any], ...] = (lambda query: search.find(query, limit=LIMIT), tables[0].find)
    for number, query in enumerate(queries):
        for which in (0, 1) if number % 2 else (1, 0):
            started = time.perf_counter()
            finders[which](query)
            if number >= len(queries) // 20:
                seconds[which].append(time.perf_counter() - started)
    search_times, table_times = sorted(seconds[0]), sorted(seconds[1])
    p50, p99 = (percentile(search_times, share) / percentile(table_times, share) for share in (0.5, 0.99))
    return (
        f"{len(library.sections)} sections, {len(search_times)} queries: p50 {p50:.2f}, p99 {p99:.2f} times the FTS5 query "
        f"({percentile(search_times, 0.5) * 1000:.2f} and {percentile(table_times, 0.5) * 1000:.2f} ms, "
        f"{percentile(search_times, 0.99) * 1000:.2f} and {percentile(table_times, 0.99) * 1000:.2f} ms); "
        f"index {search_seconds:.2f} s and {search_size:.0f} MB, FTS5 table {table_seconds:.2f} s and {table_size:.0f} MB"
    )


def compare_commands(folder: Path, rounds: int) -> str:
    """Return the times of the command, one line for each kind of process."""
    search = [sys.executable, "-m", "mkdocs_roaming", "search", str(folder), "how do I set the timeout"]
    with tempfile.TemporaryDirectory() as cache:
        processes = {
            "python -c pass": ([sys.executable, "-c", "pass"], ""),
            _IMPORTS: ([sys.executable, "-c", _IMPORTS], ""),
            "roaming --version": ([*search[:3], "--version"], ""),
            "roaming search": (search, cache),
            "without a stored index": (search, ""),
        }
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in processes}
        for _ in range(rounds + 1):
            for name, (command, folder_of_indexes) in processes.items():
                times[name].append(
                    _measure_process(command, {**os.environ, "ROAMING_CACHE_DIR": folder_of_indexes, **_BYTECODE})
                )
    medians = {name: [median(column) for column in zip(*found[1:], strict=True)] for name, found in times.items()}
    imports, _ = medians[_IMPORTS]
    return "\n".join(
        f"{name:24} {1000 * cpu:6.0f} ms CPU ({cpu / imports:.2f}) {1000 * wall:6.0f} ms"
        for name, (cpu, wall) in medians.items()
    )


def _measure_process(command: Sequence[str], environment: dict[str, str]) -> tuple[float, float]:
    """Return the CPU and wall-clock seconds of a process."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, seconds


def _measure_cost(work: Callable[[], Any]) -> tuple[float, float]:
    """Return the CPU seconds of a call and the growth of the resident size in MB."""
    size, started = _get_resident_megabytes(), time.process_time()
    work()
    return time.process_time() - started, _get_resident_megabytes() - size


def _get_resident_megabytes() -> float:
    return int(Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0]) / 1024


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", nargs="?", type=Path, help="Folder of a published site (default: a generated site).")
    parser.add_argument("--rounds", type=int, help="Number of queries (default: 600) or of processes (default: 9).")
    parser.add_argument("--command", action="store_true", help="Measure the whole command.")
    options = parser.parse_args(arguments)
    if options.command:
        if options.site is None:
            parser.error("--command needs a site")
        print(compare_commands(options.site, options.rounds or 9))
        return 0
    options.rounds = options.rounds or 600
    rng = random.Random(5)
    random_queries = [
        " ".join(random_word(rng, most_common=common) for common in (0, 20, 200)) for _ in range(options.rounds)
    ]
    with nullcontext(options.site) if options.site else build_site() as folder:
        print(
            compare(
                folder,
                lambda library: (
                    [question.text for question in make_link_questions(library, options.rounds)]
                    if options.site
                    else random_queries
                ),
            )
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())

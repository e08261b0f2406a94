"""Measure the CPU time of catalog updates, from one changed site to a full build.

    python benchmarks/fleet_catalog.py [--sites 20000] [--terms 300] [--updates 100] [--folder DIR]

Each generated site has words with a Zipf-like distribution. The rows are: the full build, an update without changes, a
number of updates that each change one site, an update that changes one site in a hundred, and one that changes half.
Queries are measured after the full build and after the small updates, when the catalog has several segments.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from itertools import accumulate
from pathlib import Path

from roaming_fleet.buckets import FolderBucket
from roaming_fleet.catalog import load_head, update_catalog
from roaming_fleet.ranking import Ranking
from roaming_fleet.records import CatalogEntry, SiteRecord, write_record

SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "or", "il")]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sites", type=int, default=20_000, help="Number of sites (default: 20000).")
    parser.add_argument("--terms", type=int, default=300, help="Words per site (default: 300).")
    parser.add_argument("--updates", type=int, default=100, help="Updates that change one site (default: 100).")
    parser.add_argument("--folder", type=Path, help="Folder of the store (default: temporary).")
    options = parser.parse_args()
    rng = random.Random(7)
    words = list(dict.fromkeys("".join(rng.choices(SYLLABLES, k=3)) for _ in range(30_000)))[:20_000]
    weights = list(accumulate(1 / (rank + 10) for rank in range(len(words))))

    def change(numbers: Iterable[int]) -> None:
        for number in numbers:
            chosen = dict.fromkeys(rng.choices(words, cum_weights=weights, k=options.terms), 2.0)
            write_record(bucket, make_record(number, chosen))

    with tempfile.TemporaryDirectory() as temporary:
        bucket = FolderBucket(options.folder or Path(temporary))
        change(range(options.sites))
        print("| catalog | CPU seconds | segments |\n| --- | ---: | ---: |")
        report(f"full build of {options.sites:,} sites", [measure(lambda: update_catalog(bucket))], bucket)
        queries = [" ".join(rng.choices(words, cum_weights=weights, k=5)) for _ in range(100)]
        print_queries("query after the full build", bucket, queries)
        report("nothing changed", [measure(lambda: update_catalog(bucket))], bucket)
        times = []
        for _ in range(options.updates):
            change([rng.randrange(options.sites)])
            times.append(measure(lambda: update_catalog(bucket)))
        report(f"one site changed, {options.updates} times", times, bucket)
        print_queries("query after the small updates", bucket, queries)
        change(rng.sample(range(options.sites), options.sites // 100))
        report("one site in a hundred changed", [measure(lambda: update_catalog(bucket))], bucket)
        change(rng.sample(range(options.sites), options.sites // 2))
        report("every second site changed", [measure(lambda: update_catalog(bucket))], bucket)


def make_record(number: int, terms: dict[str, float]) -> SiteRecord:
    """Return the record of a generated site."""
    key, url = f"site-{number:06}", f"https://site-{number:06}.example/"
    entry = CatalogEntry(
        f"Site {number}",
        "What it is about. " * 8,
        url,
        "en",
        20,
        100,
        "",
        time.time(),
        (key,),
        dict(sorted(terms.items())),
    )
    return SiteRecord(key, url, "done", "1.1-0", "run", time.time(), result="new", entry=entry)


def measure(action: Callable[[], object]) -> float:
    """Return the CPU time of a call."""
    started = time.process_time()
    action()
    return time.process_time() - started


def report(name: str, times: list[float], bucket: FolderBucket) -> None:
    """Print a row."""
    shown = f"{statistics.median(times):.2f}" + (f", at most {max(times):.2f}" if len(times) > 1 else "")
    print(f"| {name} | {shown} | {len(load_head(bucket).segments)} |")


def print_queries(name: str, bucket: FolderBucket, queries: list[str]) -> None:
    """Print the CPU time of queries, each with a newly opened catalog, as in a command."""
    times = [measure(lambda query=query: Ranking(bucket).best(query, 5)) for query in queries]
    print(f"| {name}, catalog opened | {statistics.median(times):.3f} | {len(load_head(bucket).segments)} |")


if __name__ == "__main__":
    main()

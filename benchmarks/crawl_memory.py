"""Measure the memory of a crawl as a site grows: the crawl process and the largest of its workers.

    python benchmarks/crawl_memory.py [300 1000 3000 10000] [--again]

Sites of N generated pages (crawl_hosts.py) are served locally and crawled without a delay. Peaks are those of the kernel
(`VmHWM` of each process, read until it exits). `--again` crawls each unchanged site a second time.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from crawl_hosts import host_site, write_site


@dataclass(frozen=True, slots=True)
class CrawlCost:
    """Peak memory of one crawl in MB and its duration."""

    crawl_process: float
    largest_worker: float
    seconds: float


def run_crawl(url: str, out: Path) -> CrawlCost:
    """Crawl a site and sample the memory of its processes."""
    command = [sys.executable, "-m", "mkdocs_roaming", "crawl", url, "-o", str(out), "--allow-private", "--delay", "0"]
    limits = ["--max-pages", "100000", "--max-bytes", "10000000000"]
    started = time.monotonic()
    process = subprocess.Popen([*command, *limits], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    crawl_process = largest_worker = 0.0
    while process.poll() is None:
        crawl_process = max(crawl_process, _get_peak(process.pid))
        largest_worker = max([largest_worker, *(_get_peak(child) for child in _find_children(process.pid))])
        time.sleep(0.05)
    if process.returncode:
        raise SystemExit(process.stderr.read() if process.stderr else "")
    return CrawlCost(crawl_process, largest_worker, time.monotonic() - started)


def _get_peak(pid: int) -> float:
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text("utf-8"))
    except OSError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0


def _find_children(pid: int) -> list[int]:
    children: list[int] = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children += map(int, file.read_text("utf-8").split())
        except OSError:
            continue
    return children + [descendant for child in children for descendant in _find_children(child)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", type=int, nargs="*", default=[300, 1000, 3000, 10_000], help="Numbers of pages.")
    parser.add_argument("--again", action="store_true", help="Crawl each site a second time.")
    options = parser.parse_args()
    print("| pages | crawl | sections | manifest | crawl process | largest worker | seconds | pages per second |")
    print("| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for pages in options.pages:
        with tempfile.TemporaryDirectory(prefix="crawl-") as name:
            site, out = Path(name, "site"), Path(name, "out")
            write_site(site, pages)
            with host_site(site) as host:
                for kind in ("first", "again")[: 1 + options.again]:
                    cost = run_crawl(host.url, out)
                    text = (out / "roaming" / "manifest.json").read_text("utf-8")
                    sections = sum(len(page["sections"]) for page in json.loads(text)["pages"])
                    worker = f"{cost.largest_worker:.0f} MB" if cost.largest_worker else "none"
                    print(
                        f"| {pages:,} | {kind} | {sections:,} | {len(text) / 1e6:.1f} MB | {cost.crawl_process:.0f} MB "
                        f"| {worker} | {cost.seconds:.1f} | {pages / cost.seconds:.0f} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()

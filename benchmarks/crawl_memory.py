"""How much memory a crawl takes as a site grows: the crawl's own process, and the largest of its workers.

    python benchmarks/crawl_memory.py [300 1000 3000 10000] [--again]

Sites of N made-up pages (crawl_hosts.py) are served on this machine and crawled without a pause. Peaks are the
kernel's (`VmHWM` of each process, read until it ends). `--again` crawls each of them a second time, unchanged.
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

from crawl_hosts import hosted, make


@dataclass(frozen=True, slots=True)
class Peak:
    """What one crawl took: megabytes, and seconds."""

    own: float
    worker: float
    seconds: float


def crawled(url: str, out: Path, *more: str) -> Peak:
    """Crawl a site, and watch."""
    command = [sys.executable, "-m", "mkdocs_roaming", "crawl", url, "-o", str(out), "--allow-private", "--delay", "0"]
    limits = ["--max-pages", "100000", "--max-bytes", "10000000000"]
    began = time.monotonic()
    running = subprocess.Popen([*command, *limits, *more], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    own = worker = 0.0
    while running.poll() is None:
        own = max(own, _peak(running.pid))
        worker = max([worker, *(_peak(child) for child in _children(running.pid))])
        time.sleep(0.05)
    if running.returncode:
        raise SystemExit(running.stderr.read() if running.stderr else "")
    return Peak(own, worker, time.monotonic() - began)


def _peak(pid: int) -> float:
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text("utf-8"))
    except OSError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += map(int, file.read_text("utf-8").split())
        except OSError:
            continue
    return found + [below for child in found for below in _children(child)]


def main() -> None:
    """Measure, and print a table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("pages", type=int, nargs="*", default=[300, 1000, 3000, 10_000])
    options.add_argument("--again", action="store_true")
    given = options.parse_args()
    print("| pages | crawl | sections | manifest | the crawl's process | largest worker | seconds | pages a second |")
    print("| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for pages in given.pages:
        with tempfile.TemporaryDirectory(prefix="crawl-") as name:
            site, out = Path(name, "site"), Path(name, "out")
            make(site, pages)
            with hosted(site) as host:
                for kind in ("first", "again")[: 1 + given.again]:
                    peak = crawled(host.url, out)
                    text = (out / "roaming" / "manifest.json").read_text("utf-8")
                    sections = sum(len(page["sections"]) for page in json.loads(text)["pages"])
                    print(
                        f"| {pages:,} | {kind} | {sections:,} | {len(text) / 1e6:.1f} MB | {peak.own:.0f} MB "
                        f"| {peak.worker:.0f} MB | {peak.seconds:.1f} | {pages / peak.seconds:.0f} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()

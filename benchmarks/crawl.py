"""Compare the cost of a crawl with programs that only download: curl, and Scrapy if installed.

    python benchmarks/crawl.py [SITE_DIR | PAGES] [--group 50] [--runs 3] [--scrapy /path/to/scrapy]

A built site, or a generated one of PAGES pages (crawl_hosts.py), is served locally by nginx with ETags and without
delay. Each program gets two connections, no delay between requests, and a new folder; curl is given the URLs. Runs alternate,
and the one with the least CPU time counts. CPU is user and system time of the program and its children, memory the peak
resident size of one process (`wait4`).
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from crawl_hosts import GROUP, Host, host_site, write_site

from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_pages

SPIDER = """
import scrapy
class Spider(scrapy.Spider):
    name = "site"
    start_urls = ["{url}"]
    custom_settings = dict(
        CONCURRENT_REQUESTS_PER_DOMAIN=2, DOWNLOAD_DELAY=0, ROBOTSTXT_OBEY=True,
        LOG_LEVEL="ERROR", TELNETCONSOLE_ENABLED=False
    )
    def parse(self, response):
        if "html" not in response.headers.get("Content-Type", b"").decode():
            return
        yield {{"url": response.url, "html": response.text}}
        for href in response.css("a::attr(href)").getall():
            target = response.urljoin(href).partition("#")[0]
            if target.startswith("{url}"):
                yield scrapy.Request(target, self.parse)
"""


@dataclass(frozen=True, slots=True)
class Run:
    """Measurements of one run."""

    seconds: float
    cpu: float
    megabytes: float
    requests: int
    pages: int
    published: float
    """MB of the published files of a crawl."""
    state: float
    """MB of its state."""


def run_program(host: Host, command: list[str], folder: Path) -> Run:
    """Run a command and measure it; programs that publish no manifest have a page for each request."""
    before = host.count_requests()
    started = time.monotonic()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - started
    requests = host.count_requests() - before
    pages = requests
    out = folder / "out"
    if (out / MANIFEST_PATH).exists():
        pages = len(load_pages(out / MANIFEST_PATH))
    cpu, state = usage.ru_utime + usage.ru_stime, measure_size(out / ".roaming")
    published = measure_size(out) - state
    return Run(seconds, cpu, usage.ru_maxrss / 1024, requests, pages, published, state)


def measure_size(folder: Path) -> float:
    """Return the size of all files in a folder, in MB."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def make_commands(url: str, scrapy: str | None) -> dict[str, list[str]]:
    """Return the command of each available program by label."""
    crawl = [sys.executable, "-m", "mkdocs_roaming", "crawl", url, "-o", "out", "--allow-private", "--delay", "0"]
    html = [*crawl, "--no-manifest", "--no-llms", "--source", "html"]
    commands = {
        "curl": ["curl", "-s", "-Z", "--parallel-max", "2", "-K", "urls.txt"],
        "scrapy": [scrapy or "", "runspider", "spider.py", "-O", "out.jsonl"],
        "roaming crawl": crawl,
        "roaming crawl, HTML alone": html,
        "roaming crawl, HTML alone, again": html,
    }
    return {label: command for label, command in commands.items() if shutil.which(command[0])}


def compare(site: Path, runs: int, scrapy: str | None) -> dict[str, Run]:
    """Run every program on a site and return the best run of each."""
    best: dict[str, Run] = {}
    urls = [file.relative_to(site).as_posix().removesuffix("index.html") for file in sorted(site.rglob("*.html"))]
    with host_site(site) as host, tempfile.TemporaryDirectory() as name:
        for number in range(runs):
            for label, command in make_commands(host.url, scrapy).items():
                folder = Path(name, str(number), label.removesuffix(", again"))
                folder.mkdir(parents=True, exist_ok=True)
                (folder / "spider.py").write_text(SPIDER.format(url=host.url), "utf-8")
                (folder / "urls.txt").write_text(
                    "".join(f'url = "{host.url}{url}"\noutput = "{at}.html"\n' for at, url in enumerate(urls)), "utf-8"
                )
                run = run_program(host, command, folder)
                if label not in best or run.cpu < best[label].cpu:
                    best[label] = run
    return best


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", help="Folder of a built site, or number of pages to generate.")
    parser.add_argument("--group", type=int, default=GROUP, help=f"Pages to which each nav links (default: {GROUP}).")
    parser.add_argument("--runs", type=int, default=3, help="Number of runs, of which the best counts (default: 3).")
    parser.add_argument("--scrapy", default=shutil.which("scrapy"), help="Scrapy executable (default: from PATH).")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        site = Path(options.site)
        if options.site.isdigit():
            site = Path(name)
            write_site(site, int(options.site), group=options.group)
        best = compare(site, options.runs, options.scrapy)
    print("| program | pages per second | CPU ms a page | MB | requests | pages | MB published | MB of state |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for label, run in best.items():
        print(
            f"| {label} | {run.pages / run.seconds:.0f} | {1000 * run.cpu / max(run.pages, 1):.1f} | {run.megabytes:.0f} "
            f"| {run.requests} | {run.pages} | {run.published:.0f} | {run.state:.0f} |"
        )


if __name__ == "__main__":
    main()

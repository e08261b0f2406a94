"""Compare the cost of a crawl with programs that only download: `wget -r`, and Scrapy if installed.

    python benchmarks/crawl.py [SITE_DIR | PAGES] [--group 50] [--runs 3] [--scrapy /path/to/scrapy]

A built site, or a generated one of PAGES pages (crawl_hosts.py), is served locally by nginx with ETags and without
delay. Each program gets two connections (wget has one; curl is given the URLs), no delay between requests, and a new folder. Runs alternate,
and the one with the least CPU time counts. Ratios are relative to `wget -r`, which downloads pages, images and scripts
and converts nothing, so the table also contains requests and bytes. CPU is user and system time of the program and its
children, memory the peak resident size of one process (`wait4`).

The bare client requests the URLs of the HTML crawl with the same HTTP client, number of connections and headers, and
discards the responses. The crawler's fetching of them includes rate control, robots.txt, redirects and limits.
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

FETCH_PROGRAM = """
import anyio, json, sys
from pathlib import Path
from roaming_crawler.config import Politeness
from roaming_crawler.fetch import Request, WebFetcher

urls, bare = json.loads(Path(sys.argv[1]).read_text()), sys.argv[2] == "bare"

async def main():
    async with WebFetcher(Politeness(delay=0, connections=2), private_urls=urls[:1]) as fetcher:
        remaining = iter(urls)
        async def work():
            for url in remaining:
                if bare:
                    async with fetcher._client.stream("GET", url, headers={"Accept": "text/html"}) as response:
                        await response.aread()
                else:
                    await fetcher.get(Request(url, "text/html"))
        async with anyio.create_task_group() as group:
            group.start_soon(work)
            group.start_soon(work)

anyio.run(main)
"""


@dataclass(frozen=True, slots=True)
class Run:
    """Measurements of one run."""

    seconds: float
    cpu: float
    megabytes: float
    requests: int
    received: int
    pages: int
    published: float = 0.0
    """MB of the published files of a crawl."""
    state: float = 0.0
    """MB of its state."""


def run_program(host: Host, command: list[str], folder: Path, page_pattern: str) -> Run:
    """Run a command and measure it. `page_pattern` matches the files of pages; without it requests are counted."""
    requests, received = host.count_requests()
    started = time.monotonic()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - started
    after = host.count_requests()
    pages = sum(1 for _ in folder.rglob(page_pattern)) if page_pattern else after[0] - requests
    out = folder / "out"
    if (out / MANIFEST_PATH).exists():
        pages = len(load_pages(out / MANIFEST_PATH))
    cpu, state = usage.ru_utime + usage.ru_stime, measure_size(out / ".roaming")
    published = measure_size(out) - state
    return Run(seconds, cpu, usage.ru_maxrss / 1024, after[0] - requests, after[1] - received, pages, published, state)


def measure_size(folder: Path) -> float:
    """Return the size of all files in a folder, in MB."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def make_commands(url: str, addresses: Path, scrapy: str | None) -> dict[str, tuple[list[str], str]]:
    """Return the command and the page pattern of each available program by label."""
    crawl = [sys.executable, "-m", "mkdocs_roaming", "crawl", url, "-o", "out", "--allow-private", "--delay", "0"]
    html = [*crawl, "--no-manifest", "--no-llms", "--source", "html"]
    fetch = [sys.executable, "fetch.py", str(addresses)]
    commands = {
        "wget -r": (["wget", "-q", "-r", "-np", "-e", "robots=on", url], "*.html"),
        "curl, the URLs of the site": (["curl", "-s", "-Z", "--parallel-max", "2", "-K", "urls.txt"], ""),
        "scrapy": ([scrapy or "", "runspider", "spider.py", "-O", "out.jsonl"], ""),
        "bare client, the URLs of “HTML alone”": ([*fetch, "bare"], ""),
        "the crawler's fetching of them": ([*fetch, "crawler"], ""),
        "roaming crawl, with manifest": (crawl, ""),
        "roaming crawl, Markdown and HTML": ([*crawl, "--no-manifest"], ""),
        "roaming crawl, HTML alone": (html, ""),
        "roaming crawl, HTML alone, one worker": ([*html, "--workers", "1"], ""),
        "roaming crawl, HTML alone, again": (html, ""),
    }
    return {name: pair for name, pair in commands.items() if shutil.which(pair[0][0])}


def compare(site: Path, runs: int, scrapy: str | None) -> dict[str, Run]:
    """Run every program on a site and return the best run of each."""
    best: dict[str, Run] = {}
    urls = [file.relative_to(site).as_posix().removesuffix("index.html") for file in sorted(site.rglob("*.html"))]
    with host_site(site) as host, tempfile.TemporaryDirectory() as name:
        addresses = Path(name, "addresses.json")
        addresses.write_text(str([host.url + url for url in urls]).replace("'", '"'), "utf-8")
        for number in range(runs):
            for label, (command, page_pattern) in make_commands(host.url, addresses, scrapy).items():
                folder = Path(name, str(number), label.removesuffix(", again"))
                folder.mkdir(parents=True, exist_ok=True)
                (folder / "spider.py").write_text(SPIDER.format(url=host.url), "utf-8")
                (folder / "fetch.py").write_text(FETCH_PROGRAM, "utf-8")
                (folder / "urls.txt").write_text(
                    "".join(f'url = "{host.url}{url}"\noutput = "{at}.html"\n' for at, url in enumerate(urls)), "utf-8"
                )
                run = run_program(host, command, folder, page_pattern)
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
    base = best.get("wget -r") or next(iter(best.values()))
    print(
        "| program | seconds | ratio | pages per second | CPU ms a page | MB | requests | MB received | pages "
        "| MB published | MB of state |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for label, run in best.items():
        print(
            f"| {label} | {run.seconds:.1f} | {run.seconds / base.seconds:.1f} | {run.pages / run.seconds:.0f} "
            f"| {1000 * run.cpu / max(run.pages, 1):.1f} | {run.megabytes:.0f} | {run.requests} "
            f"| {run.received / 1e6:.1f} | {run.pages} | {run.published:.0f} | {run.state:.0f} |"
        )


if __name__ == "__main__":
    main()

"""What a crawl costs, beside programs that only download: `wget -r`, and Scrapy where it is at hand.

    python benchmarks/crawl.py [SITE_DIR | PAGES] [--runs 3] [--scrapy /path/to/scrapy]

A built site, or a made-up one of PAGES pages (crawl_hosts.py), is served on this machine by nginx, without delay and
with ETags. Each program gets two connections or what comes nearest (wget has one), no pause between requests, and a new
folder. Runs go in turn; of several the one with the least CPU time counts. Ratios are to `wget -r`, which takes pages,
pictures and scripts alike and converts nothing: what it downloads and what a crawl publishes are different things, so
requests and bytes stand beside the seconds. CPU is user and system time of the program and its children, memory the
largest resident size of one process (`wait4`).

`bare client` asks for the very addresses that the crawl of HTML asked for, with the same HTTP client, as many
connections and the same headers, and throws the answers away. `its way of fetching` does so by the crawl's own fetcher:
pace, robots, redirects, limits and all. So their ratio is what politeness costs a request.
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

from crawl_hosts import Host, hosted, make

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
            to = response.urljoin(href).partition("#")[0]
            if to.startswith("{url}"):
                yield scrapy.Request(to, self.parse)
"""

FETCHING = """
import anyio, json, sys
from pathlib import Path
from roaming_crawler.fetch import Manners, Request, WebFetcher

urls, bare = json.loads(Path(sys.argv[1]).read_text()), sys.argv[2] == "bare"

async def main():
    async with WebFetcher(Manners(delay=0, connections=2), allow_private=True) as fetcher:
        todo = iter(urls)
        async def work():
            for url in todo:
                if bare:
                    async with fetcher._client.stream("GET", url, headers={"Accept": "text/html"}) as answer:
                        await answer.aread()
                else:
                    await fetcher.get(Request(url, "text/html"))
        async with anyio.create_task_group() as group:
            group.start_soon(work)
            group.start_soon(work)

anyio.run(main)
"""


@dataclass(frozen=True, slots=True)
class Run:
    """What one run took."""

    seconds: float
    cpu: float
    megabytes: float
    requests: int
    received: int
    pages: int


def measured(host: Host, command: list[str], folder: Path, counted: str) -> Run:
    """Run a command and measure it; `counted` is the pattern of files that are pages."""
    requests, received = host.asked()
    began = time.monotonic()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - began
    asked = host.asked()
    pages = sum(1 for _ in folder.rglob(counted)) if counted else asked[0] - requests
    cpu = usage.ru_utime + usage.ru_stime
    return Run(seconds, cpu, usage.ru_maxrss / 1024, asked[0] - requests, asked[1] - received, pages)


def commands(url: str, addresses: Path, scrapy: str | None) -> dict[str, tuple[list[str], str]]:
    """Give what is compared: a command and the pattern of its pages, by name."""
    crawl = [sys.executable, "-m", "mkdocs_roaming", "crawl", url, "-o", "out", "--allow-private", "--delay", "0"]
    html = [*crawl, "--no-manifest", "--no-llms", "--no-markdown"]
    fetching = [sys.executable, "fetching.py", str(addresses)]
    found = {
        "wget -r": (["wget", "-q", "-r", "-np", "-e", "robots=on", url], "*.html"),
        "scrapy": ([scrapy or "", "runspider", "spider.py", "-O", "out.jsonl"], ""),
        "bare client": ([*fetching, "bare"], ""),
        "its way of fetching": ([*fetching, "own"], ""),
        "roaming crawl, its manifest": (crawl, "index.md"),
        "roaming crawl, Markdown and HTML": ([*crawl, "--no-manifest"], "index.md"),
        "roaming crawl, HTML alone": (html, "index.md"),
        "roaming crawl, HTML alone, 1 worker": ([*html, "--workers", "1"], "index.md"),
        "roaming crawl, HTML alone, again": (html, "index.md"),
    }
    return {name: pair for name, pair in found.items() if shutil.which(pair[0][0])}


def compare(site: Path, runs: int, scrapy: str | None) -> dict[str, Run]:
    """Measure every program on a site; give the best run of each."""
    best: dict[str, Run] = {}
    urls = [file.relative_to(site).as_posix().removesuffix("index.html") for file in sorted(site.rglob("*.html"))]
    with hosted(site) as host, tempfile.TemporaryDirectory() as name:
        addresses = Path(name, "addresses.json")
        addresses.write_text(str([host.url + url for url in urls]).replace("'", '"'), "utf-8")
        for turn in range(runs):
            for what, (command, counted) in commands(host.url, addresses, scrapy).items():
                folder = Path(name, str(turn), what.removesuffix(", again"))
                folder.mkdir(parents=True, exist_ok=True)
                (folder / "spider.py").write_text(SPIDER.format(url=host.url), "utf-8")
                (folder / "fetching.py").write_text(FETCHING, "utf-8")
                run = measured(host, command, folder, counted)
                if what not in best or run.cpu < best[what].cpu:
                    best[what] = run
    return best


def main() -> None:
    """Measure, and print a table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("site", help="a built site's folder, or a number of pages to make up")
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--scrapy", default=shutil.which("scrapy"))
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        site = Path(given.site)
        if given.site.isdigit():
            site = Path(name)
            make(site, int(given.site))
        best = compare(site, given.runs, given.scrapy)
    base = best.get("wget -r") or next(iter(best.values()))
    print(
        "| program | seconds | ratio | pages a second | CPU s for 1,000 pages | MB | requests | MB received | pages |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for what, run in best.items():
        print(
            f"| {what} | {run.seconds:.1f} | {run.seconds / base.seconds:.1f} | {run.pages / run.seconds:.0f} "
            f"| {1000 * run.cpu / max(run.pages, 1):.1f} | {run.megabytes:.0f} | {run.requests} "
            f"| {run.received / 1e6:.1f} | {run.pages} |"
        )


if __name__ == "__main__":
    main()

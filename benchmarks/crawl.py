"""What a crawl costs, beside programs that only download: `wget -r`, and Scrapy where it is at hand.

    python benchmarks/crawl.py SITE_DIR [--runs 3] [--scrapy /path/to/scrapy]

The built site is served on this machine, without delay, with ETags. Each program gets
two connections or what comes nearest, no pause between requests, and a new folder. Of several runs the fastest counts.
Ratios are to `wget -r`, which takes pages, pictures and scripts alike and converts nothing: what it downloads and what
a crawl publishes are different things, so requests and bytes stand beside the seconds. CPU is user time of the program
and its children, memory the largest resident size of one process (`wait4`).
"""

from __future__ import annotations

import argparse
import hashlib
import mimetypes
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

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


@dataclass(frozen=True, slots=True)
class Run:
    """What one run took."""

    seconds: float
    cpu: float
    megabytes: float
    requests: int
    received: int
    pages: int


class Site(ThreadingHTTPServer):
    """A static host that counts."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder = folder.resolve()
        self.requests = self.sent = 0
        self.url = f"http://127.0.0.1:{self.server_address[1]}/"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Site

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        file = self.server.folder / unquote(urlsplit(self.path).path).lstrip("/")
        file = file / "index.html" if file.is_dir() else file
        status, data = (200, file.read_bytes()) if file.is_file() else (404, b"")
        etag = f'"{hashlib.sha256(data).hexdigest()[:16]}"'
        if status == 200 and self.headers.get("If-None-Match") == etag:
            status, data = 304, b""
        self.server.requests += 1
        self.server.sent += len(data)
        self.send_response(status)
        self.send_header("Content-Type", mimetypes.guess_type(file.name)[0] or "text/markdown")
        self.send_header("ETag", etag)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def measured(site: Site, command: list[str], folder: Path, counted: str) -> Run:
    """Run a command and measure it; `counted` is the pattern of files that are pages."""
    requests, sent, began = site.requests, site.sent, time.monotonic()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - began
    pages = sum(1 for _ in folder.rglob(counted))
    return Run(seconds, usage.ru_utime, usage.ru_maxrss / 1024, site.requests - requests, site.sent - sent, pages)


def main() -> None:
    """Measure, and print a table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("site", type=Path)
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--scrapy", default=shutil.which("scrapy"))
    given = options.parse_args()
    site = Site(given.site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    crawl = [sys.executable, "-m", "mkdocs_roaming", "crawl", site.url, "-o", "out", "--allow-private", "--delay", "0"]
    html = [*crawl, "--no-manifest", "--no-llms", "--no-markdown"]
    commands = {
        "wget -r": (["wget", "-q", "-r", "-np", "-e", "robots=on", site.url], "*.html"),
        "roaming crawl, its manifest": (crawl, "index.md"),
        "roaming crawl, Markdown and HTML": ([*crawl, "--no-manifest"], "index.md"),
        "roaming crawl, HTML alone": (html, "index.md"),
        "roaming crawl, HTML alone, again": (html, "index.md"),
    }
    if given.scrapy:
        commands["scrapy"] = ([given.scrapy, "runspider", "spider.py", "-O", "out.jsonl"], "out.jsonl")
    if not shutil.which("wget"):
        del commands["wget -r"]
    best: dict[str, Run] = {}
    for _ in range(given.runs):
        with tempfile.TemporaryDirectory() as below:
            for at, (name, (command, counted)) in enumerate(commands.items()):
                folder = Path(below, str(at - 1 if name.endswith("again") else at))
                folder.mkdir(exist_ok=True)
                (folder / "spider.py").write_text(SPIDER.format(url=site.url), "utf-8")
                run = measured(site, command, folder, counted)
                if name not in best or run.seconds < best[name].seconds:
                    best[name] = run
    base = best.get("wget -r") or next(iter(best.values()))
    print("| program | seconds | ratio | CPU s | MB | requests | MB received | pages |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, run in best.items():
        pages = "" if name == "scrapy" else str(run.pages)
        print(
            f"| {name} | {run.seconds:.1f} | {run.seconds / base.seconds:.1f} | {run.cpu:.1f} | {run.megabytes:.0f} "
            f"| {run.requests} | {run.received / 1e6:.1f} | {pages} |"
        )


if __name__ == "__main__":
    main()

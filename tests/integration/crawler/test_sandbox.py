"""Worker processes: what they return, and how they die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from roaming_crawler.fetch import Response
from roaming_crawler.parser import ParsedPage
from roaming_crawler.sandbox import PageParser

URL = "https://docs.ebbkeeper.example/"
PAGE = """<!doctype html><html lang="en"><head><title>Gauges - Ebbkeeper</title><link rel="canonical" href="/gauges/">
</head><body><ul class="navbar-nav"><li><a href="/">Home</a></li><li>Guide<ul><li><a href="/gauges/">Gauges</a></li>
<li><a href="/tides/">Tides \U0001f30a</a></li></ul></li></ul><main><h1 id="gauges">Gauges</h1>
<p>Read <a href="/tides/">the tides</a>, \u00e4\u00f6\u00fc.</p></main></body></html>"""


def _break(*_: str) -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return b""


def test_pages_with_the_same_navigation_share_one() -> None:
    moved = PAGE.replace('href="/', 'href="../../').replace("the tides", "all tides")

    async def parse() -> list[ParsedPage]:
        parser = PageParser(URL, anyio.CapacityLimiter(1), use_processes=False)
        return [
            await parser.parse(Response(URL + "gauges/", 200, PAGE.encode())),
            await parser.parse(Response(URL + "guide/tides/", 200, moved.encode())),
        ]

    first, second = anyio.run(parse)
    assert second.article != first.article
    assert second.nav is first.nav


def test_killed_worker_costs_its_page_alone() -> None:
    async def parse() -> list[str]:
        parser = PageParser(URL, anyio.CapacityLimiter(1), use_processes=True)
        with pytest.raises(anyio.BrokenWorkerProcess):
            await parser._run(_break)
        return [(await parser.parse(Response(URL, 200, PAGE.encode()))).title]

    assert anyio.run(parse) == ["Gauges - Ebbkeeper"]


@pytest.mark.slow
def test_crawl_with_workers_writes_nothing_to_stderr(site: Any, tmp_path: Path) -> None:
    site.page("/", "Home", links=tuple(f"/p{at}/" for at in range(8)))
    for at in range(8):
        site.page(f"/p{at}/", f"Page {at}")
    command = ["crawl", site.url, "-o", str(tmp_path / "out"), "--allow-private", "--delay", "0", "--workers", "2"]
    result = subprocess.run([sys.executable, "-m", "mkdocs_roaming", *command], capture_output=True, text=True)
    lines = [line for line in result.stderr.splitlines() if not line.startswith("Crawling: ")]  # of slow machines
    assert (result.returncode, lines) == (0, [])

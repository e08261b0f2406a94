"""The cache of parsed pages, and worker processes that die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mkdocs_roaming.manifest.models import Heading
from roaming_crawler.parse_cache import extract_headings_to_json, load_headings, load_page, parse_page_to_json
from roaming_crawler.parser import parse_page
from roaming_crawler.sandbox import WorkerError, WorkerProcess

ReadFiles = Callable[[Path], dict[str, bytes]]
URL = "https://docs.ebbkeeper.example/"
PAGE = """<!doctype html><html lang="en"><head><title>Gauges - Ebbkeeper</title><link rel="canonical" href="/gauges/">
</head><body><ul class="navbar-nav"><li><a href="/">Home</a></li><li>Guide<ul><li><a href="/gauges/">Gauges</a></li>
<li><a href="/tides/">Tides \U0001f30a</a></li></ul></li></ul><main><h1 id="gauges">Gauges</h1>
<p>Read <a href="/tides/">the tides</a>, \u00e4\u00f6\u00fc.</p></main></body></html>"""


def _break(*_: str) -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return b""


def _say(text: str) -> bytes:
    return text.encode()


def _readings(folder: Path) -> dict[str, int]:
    return {file.name: file.stat().st_mtime_ns for file in (folder / ".roaming" / "read").iterdir()}


def test_parsed_page_survives_serialization() -> None:
    seen = parse_page(PAGE.encode(), "utf-8", URL + "gauges/", URL)
    assert (len(seen.nav), seen.title) == (2, "Gauges")
    assert load_page(parse_page_to_json(PAGE.encode(), "utf-8", URL + "gauges/", URL)) == seen
    assert load_headings(extract_headings_to_json(seen.article, seen.title)) == (Heading(1, "Gauges", "gauges"),)


@pytest.mark.parametrize("data", [b"", b"{", b"{}", b"[]", b'{"title": "Gauges"}', b"\xff\xfe", b"[[1]]", b"3"])
def test_load_page_returns_none_for_damaged_data(data: bytes) -> None:
    assert load_page(data) is None


@pytest.mark.parametrize("data", [b"", b"[", b"[[1]]", b"\xff\xfe", b"3"])
def test_load_headings_returns_none_for_damaged_data(data: bytes) -> None:
    assert load_headings(data) is None


def test_unchanged_page_is_not_parsed_again(site: Any, run_crawl: Any) -> None:
    site.page("/", "Home", links=("/a/", "/b/"))
    site.page("/a/", "A")
    site.page("/b/", "B")
    before = _readings(run_crawl(site.url).folder)
    assert _readings(run_crawl(site.url).folder) == before

    site.page("/b/", "B", "Nothing is as it was. " * 20)
    after = _readings(run_crawl(site.url).folder)
    assert len(after) == len(before)
    assert len(before.items() & after.items()) == len(before) - 1


def test_damaged_cache_does_not_change_output(site: Any, run_crawl: Any, read_files: ReadFiles) -> None:
    site.page("/", "Home", links=("/a/",))
    site.page("/a/", "A")
    first = run_crawl(site.url)
    published = read_files(first.folder)
    readings = sorted((first.folder / ".roaming" / "read").iterdir())
    readings[0].write_bytes(b'{"title": "Something else"}')
    readings[1].write_bytes(readings[1].read_bytes()[:40])
    assert run_crawl(site.url).result.changed == ()
    assert read_files(first.folder) == published


def test_killed_worker_raises_worker_error() -> None:
    process = WorkerProcess()
    assert process.call(_say, "here") == b"here"
    with pytest.raises(WorkerError):
        process.call(_break)
    with pytest.raises(WorkerError):
        process.call(_say, "gone")
    process.kill()


def test_crawl_with_workers_writes_nothing_to_stderr(site: Any, tmp_path: Path) -> None:
    site.page("/", "Home", links=tuple(f"/p{at}/" for at in range(8)))
    for at in range(8):
        site.page(f"/p{at}/", f"Page {at}")
    for turn in range(2):  # the warning did not appear each time
        command = ["crawl", site.url, "-o", str(tmp_path / str(turn)), "--allow-private", "--delay", "0"]
        result = subprocess.run(
            [sys.executable, "-m", "mkdocs_roaming", *command, "--workers", "2"],
            capture_output=True,
            text=True,
            check=False,
        )
        lines = [
            line for line in result.stderr.splitlines() if not line.startswith("Crawling: ")
        ]  # printed on slow machines
    assert (result.returncode, lines) == (0, [])

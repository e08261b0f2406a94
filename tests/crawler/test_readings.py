"""What was read of a page is kept until the page changes; what reads it may break, and only that page is left out."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from roaming_crawler.parse_cache import extract_headings_to_json, load_headings, load_page, parse_page_to_json
from roaming_crawler.parser import parse_page
from roaming_crawler.sandbox import WorkerError, WorkerProcess

from mkdocs_roaming.manifest.models import Heading

FilesOf = Callable[[Path], dict[str, bytes]]
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


def test_a_reading_comes_back_as_it_was() -> None:
    """What is kept of a page, or told by another process, is all that was read."""
    seen = parse_page(PAGE.encode(), "utf-8", URL + "gauges/", URL)
    assert (len(seen.nav), seen.title) == (2, "Gauges")
    assert load_page(parse_page_to_json(PAGE.encode(), "utf-8", URL + "gauges/", URL)) == seen
    assert load_headings(extract_headings_to_json(seen.article, seen.title)) == (Heading(1, "Gauges", "gauges"),)


@pytest.mark.parametrize("data", [b"", b"{", b"{}", b"[]", b'{"title": "Gauges"}', b"\xff\xfe", b"[[1]]", b"3"])
def test_a_torn_reading_is_none(data: bytes) -> None:
    """Bytes that tell of no reading are not taken for one."""
    assert load_page(data) is None


@pytest.mark.parametrize("data", [b"", b"[", b"[[1]]", b"\xff\xfe", b"3"])
def test_torn_headings_are_none(data: bytes) -> None:
    """The same of headings."""
    assert load_headings(data) is None


def test_an_unchanged_page_is_not_read_again(site: Any, crawled: Any) -> None:
    """Of a page that was changed a new reading is kept, and its old one removed; those of all others stay."""
    site.page("/", "Home", links=("/a/", "/b/"))
    site.page("/a/", "A")
    site.page("/b/", "B")
    before = _readings(crawled(site.url).folder)
    assert _readings(crawled(site.url).folder) == before

    site.page("/b/", "B", "Nothing is as it was. " * 20)
    after = _readings(crawled(site.url).folder)
    assert len(after) == len(before)
    assert len(before.items() & after.items()) == len(before) - 1


def test_torn_readings_are_made_anew(site: Any, crawled: Any, files_of: FilesOf) -> None:
    """Whatever stands in the folder of readings, what is published is the same."""
    site.page("/", "Home", links=("/a/",))
    site.page("/a/", "A")
    first = crawled(site.url)
    published = files_of(first.folder)
    readings = sorted((first.folder / ".roaming" / "read").iterdir())
    readings[0].write_bytes(b'{"title": "Something else"}')
    readings[1].write_bytes(readings[1].read_bytes()[:40])
    assert crawled(site.url).outcome.changed == ()
    assert files_of(first.folder) == published


def test_a_process_that_breaks_says_so() -> None:
    """Who asks a process that is killed meanwhile is told, and so is who asks it afterwards."""
    process = WorkerProcess()
    assert process.call(_say, "here") == b"here"
    with pytest.raises(WorkerError):
        process.call(_break)
    with pytest.raises(WorkerError):
        process.call(_say, "gone")
    process.kill()


def test_a_crawl_ends_in_silence(site: Any, tmp_path: Path) -> None:
    """With processes of its own, a crawl has nothing to tell on standard error when all went well."""
    site.page("/", "Home", links=tuple(f"/p{at}/" for at in range(8)))
    for at in range(8):
        site.page(f"/p{at}/", f"Page {at}")
    for turn in range(2):  # what complained did so now and then
        command = ["crawl", site.url, "-o", str(tmp_path / str(turn)), "--allow-private", "--delay", "0"]
        done = subprocess.run(
            [sys.executable, "-m", "mkdocs_roaming", *command, "--workers", "2"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")

"""Killed and resumed crawls."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

ReadFiles = Callable[[Path], dict[str, bytes]]


def _command(url: str, folder: Path, *more: str) -> list[str]:
    options = ["--allow-private", "--delay", "0", "--workers", "0", *more]
    return [sys.executable, "-m", "mkdocs_roaming", "crawl", url, "-o", str(folder), *options]


def _add_pages(site: Any, pages: int) -> None:
    """Add linked pages, every third with Markdown."""
    site.page("/", "Home", links=tuple(f"/p{at}/" for at in range(0, pages, 10)))
    for at in range(pages):
        start = at - at % 10
        links = tuple(f"/p{to}/" for to in range(start, min(start + 10, pages)))
        site.page(f"/p{at}/", f"Page {at}", f"Number {at} of them. " * 20, links)
        if at % 3 == 0:
            site.put(f"/p{at}/index.md", f"# Page {at}\n\nAs *Markdown*, number {at}.\n", kind="text/markdown")


def _crawl_with_kills(site: Any, folder: Path, seed: int) -> int:
    """Kill each crawl after a number of requests, until one finishes."""
    rng = random.Random(seed)
    for kills in range(200):
        kill_at = len(site.requests) + rng.uniform(1, 60 * 1.1**kills)
        command = _command(site.url, folder)
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        while process.poll() is None and len(site.requests) < kill_at:
            time.sleep(0.002)
        with suppress(subprocess.TimeoutExpired):
            process.wait(rng.choice((0.0, 0.05, 0.3)))  # also while it publishes
        finished = process.poll() is not None
        process.kill()
        shown, _ = process.communicate()
        if finished:
            assert process.returncode == 0, shown
            return kills
    raise AssertionError("no crawl finished")


@pytest.mark.parametrize("seed", range(3))
def test_resumed_crawl_publishes_same_files(seed: int, site: Any, tmp_path: Path, read_files: ReadFiles) -> None:
    _add_pages(site, 60)
    undisturbed = subprocess.run(_command(site.url, tmp_path / "whole"), capture_output=True, text=True, check=False)
    assert undisturbed.returncode == 0, undisturbed.stderr
    undisturbed_requests = len(site.requests)
    site.requests.clear()
    kills = _crawl_with_kills(site, tmp_path / "killed", seed)
    print(f"killed {kills} times, {len(site.requests)} requests where {undisturbed_requests} were needed")
    assert kills
    assert read_files(tmp_path / "killed") == read_files(tmp_path / "whole")
    assert len(read_files(tmp_path / "killed")) > 60
    # Stored responses are not requested again; a crawl that was killed right after its end revalidates.
    assert len([request for request in site.requests if not request.conditional]) < undisturbed_requests + 30 * kills
    assert not list((tmp_path / "killed").rglob(".roaming-*"))


def test_published_files_stay_complete_during_crawl(site: Any, tmp_path: Path, html: Any, reply: Any) -> None:
    from mkdocs_roaming.library.targets import open_library
    from mkdocs_roaming.library.validate import validate_site

    _add_pages(site, 30)
    folder = tmp_path / "out"
    assert subprocess.run(_command(site.url, folder), capture_output=True, check=False).returncode == 0
    for at in range(30):
        site.page(f"/p{at}/", f"Page {at} is new", f"Now {at}. " * 20)
    with _hold_response(site, "/p20/", reply(html("Page 20"))) as is_requested:
        process = subprocess.Popen(_command(site.url, folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert is_requested.wait(30)
        assert validate_site(open_library(folder)).faults == ()
        process.kill()
        process.wait()
    library = open_library(folder)
    assert validate_site(library).faults == ()
    assert library.manifest.pages[1].title == "Page 0"


def test_second_crawl_of_folder_is_refused(site: Any, tmp_path: Path, html: Any, reply: Any) -> None:
    folder = tmp_path / "out"
    with _hold_response(site, "/", reply(html("Home"))) as is_requested:
        first = subprocess.Popen(_command(site.url, folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert is_requested.wait(30)
        second = subprocess.run(_command(site.url, folder), capture_output=True, text=True, timeout=50, check=False)
        first.kill()
        first.wait()
    assert second.returncode == 1
    assert "another command is in progress there" in second.stderr
    site.page("/", "Home")
    assert subprocess.run(_command(site.url, folder), capture_output=True, check=False).returncode == 0


@contextmanager
def _hold_response(site: Any, path: str, reply_after: Any) -> Iterator[threading.Event]:
    """Hold the response at a path until the block ends."""
    is_requested, finished = threading.Event(), threading.Event()

    def respond(handler: Any) -> Any:
        is_requested.set()
        finished.wait(60)
        return reply_after

    site.responses[path] = respond
    try:
        yield is_requested
    finally:
        finished.set()


def test_truncated_journal_is_read_up_to_last_line(site: Any, run_crawl: Any) -> None:
    site.page("/", "Home", links=("/a", "/b"))
    site.page("/a", "A")
    site.page("/b", "B")
    first = run_crawl(site.url)
    state = first.folder / ".roaming"
    from roaming_crawler.state import CrawlRecord, CrawlState

    store = CrawlState(first.folder)
    store.start(CrawlRecord(site.url), resume=False)
    with (state / "journal.jsonl").open("ab") as journal:
        journal.write(b'{"key": "*/* http://127')
    second = run_crawl(site.url)
    assert second.paths == ["", "a", "b"]

"""A crawl that is killed loses nothing: gone on with, it ends in the bytes of one that never was interrupted."""

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

FilesOf = Callable[[Path], dict[str, bytes]]


def _command(url: str, folder: Path, *more: str) -> list[str]:
    options = ["--allow-private", "--delay", "0", "--workers", "0", *more]
    return [sys.executable, "-m", "mkdocs_roaming", "crawl", url, "-o", str(folder), *options]


def _play(site: Any, pages: int) -> None:
    """A site of pages that lead to one another, every third with a Markdown twin."""
    site.page("/", "Home", links=tuple(f"/p{at}/" for at in range(0, pages, 10)))
    for at in range(pages):
        start = at - at % 10
        links = tuple(f"/p{to}/" for to in range(start, min(start + 10, pages)))
        site.page(f"/p{at}/", f"Page {at}", f"Number {at} of them. " * 20, links)
        if at % 3 == 0:
            site.put(f"/p{at}/index.md", f"# Page {at}\n\nAs *Markdown*, number {at}.\n", kind="text/markdown")


def _killed_until_done(site: Any, folder: Path, seed: int, most: int) -> int:
    """Kill each crawl a little after it made so many requests: how long it takes to begin is the machine's affair."""
    draw = random.Random(seed)
    for kills in range(200):
        left = len(site.asked) + draw.uniform(1, most * 1.1**kills)
        command = _command(site.url, folder)
        running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        while running.poll() is None and len(site.asked) < left:
            time.sleep(0.002)
        with suppress(subprocess.TimeoutExpired):
            running.wait(draw.uniform(0, 0.05))
        over = running.poll() is not None
        running.kill()
        shown, _ = running.communicate()
        if over:
            assert running.returncode == 0, shown
            return kills
    raise AssertionError("never came to its end")


@pytest.mark.parametrize(
    ("pages", "seed", "most"),
    [(60, 1, 60), *(pytest.param(500, seed, 300, marks=pytest.mark.slow) for seed in range(4))],
)
def test_a_killed_crawl_goes_on(pages: int, seed: int, most: int, site: Any, tmp_path: Path, files_of: FilesOf) -> None:
    """SIGKILL at random moments, again and again; what stands there in the end is what one crawl would have written."""
    _play(site, pages)
    whole = subprocess.run(_command(site.url, tmp_path / "whole"), capture_output=True, text=True, check=False)
    assert whole.returncode == 0, whole.stderr
    once = len(site.asked)
    site.asked.clear()
    kills = _killed_until_done(site, tmp_path / "killed", seed, most)
    print(f"killed {kills} times, {len(site.asked)} requests where {once} were needed")  # noqa: T201 -- with -s
    assert kills
    assert files_of(tmp_path / "killed") == files_of(tmp_path / "whole")
    assert len(files_of(tmp_path / "killed")) > pages
    # What was there is not asked for again; one that was killed right after its end asks for news.
    assert len([asked for asked in site.asked if not asked.conditional]) < once + 30 * kills
    assert not list((tmp_path / "killed").rglob(".roaming-*"))


def test_a_reader_never_sees_half_a_crawl(site: Any, tmp_path: Path, html: Any, reply: Any) -> None:
    """While a crawl runs, and after it is killed, what was published before is there whole."""
    from mkdocs_roaming.library.library import open_library
    from mkdocs_roaming.library.validate import validate_site

    _play(site, 30)
    folder = tmp_path / "out"
    assert subprocess.run(_command(site.url, folder), capture_output=True, check=False).returncode == 0
    for at in range(30):
        site.page(f"/p{at}/", f"Page {at} is new", f"Now {at}. " * 20)
    with _held(site, "/p20/", reply(html("Page 20"))) as asked:
        running = subprocess.Popen(_command(site.url, folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert asked.wait(30)
        assert validate_site(open_library(folder)).faults == ()
        running.kill()
        running.wait()
    library = open_library(folder)
    assert validate_site(library).faults == ()
    assert library.manifest.pages[1].title == "Page 0"


def test_two_crawls_do_not_share_a_folder(site: Any, tmp_path: Path, html: Any, reply: Any) -> None:
    """The second one says so at once; the first one's end frees the folder, however it ends."""
    folder = tmp_path / "out"
    with _held(site, "/", reply(html("Home"))) as asked:
        first = subprocess.Popen(_command(site.url, folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert asked.wait(30)
        second = subprocess.run(_command(site.url, folder), capture_output=True, text=True, timeout=50, check=False)
        first.kill()
        first.wait()
    assert second.returncode == 1
    assert "another crawl is writing to it" in second.stderr
    site.page("/", "Home")
    assert subprocess.run(_command(site.url, folder), capture_output=True, check=False).returncode == 0


@contextmanager
def _held(site: Any, path: str, answer: Any) -> Iterator[threading.Event]:
    """Hold the answer at a path until the block ends; gives what tells that it was asked for."""
    asked, over = threading.Event(), threading.Event()

    def play(handler: Any) -> Any:
        asked.set()
        over.wait(60)
        return answer

    site.plays[path] = play
    try:
        yield asked
    finally:
        over.set()


def test_a_journal_cut_off_in_mid_line_is_read_up_to_there(site: Any, crawled: Any) -> None:
    """What the last line would have said is asked for again."""
    site.page("/", "Home", links=("/a", "/b"))
    site.page("/a", "A")
    site.page("/b", "B")
    first = crawled(site.url)
    state = first.folder / ".roaming"
    from roaming_crawler.state import CrawlState

    store = CrawlState(first.folder)
    store.start({"url": site.url}, resume=False)
    with (state / "journal.jsonl").open("ab") as journal:
        journal.write(b'{"key": "*/* http://127')
    again = crawled(site.url, resume=True)
    assert again.paths == ["", "a", "b"]


def test_bombs_and_workers_on_the_command_line(site: Any, tmp_path: Path, bomb: Any) -> None:
    """Pages are read in other processes; bombs among them cost no memory to speak of."""
    _play(site, 70)
    site.page("/p5/", "Page 5", links=tuple(f"/bomb{at}" for at in range(6)))
    for at in range(6):
        site.put(f"/bomb{at}", bomb(400), headers={"Content-Encoding": "gzip"}, etag=False)
    # A process of its own measures: ours is large by now, and a child begins with its parent's size.
    measure = (
        "import resource, subprocess, sys; status = subprocess.run(sys.argv[1:]).returncode;"
        "print('peak', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(status)"
    )
    command = [sys.executable, "-c", measure, *_command(site.url, tmp_path / "out"), "--workers", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "71 pages" in done.stdout
    assert "6  more than 10 MB decompressed" in done.stdout
    assert int(done.stdout.rpartition("peak")[2]) < 200 * 1024

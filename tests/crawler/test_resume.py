"""A crawl that is killed loses nothing: gone on with, it ends in the bytes of one that never was interrupted."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable
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


def _killed_until_done(url: str, folder: Path, seed: int, longest: float) -> int:
    draw = random.Random(seed)
    for kills in range(200):
        running = subprocess.Popen(_command(url, folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            shown, _ = running.communicate(timeout=draw.uniform(0.3, longest * 1.1**kills))
        except subprocess.TimeoutExpired:
            running.kill()
            running.communicate()
            continue
        assert running.returncode == 0, shown
        return kills
    raise AssertionError("never came to its end")


@pytest.mark.parametrize(
    ("pages", "seed", "longest"),
    [(60, 1, 1.2), *(pytest.param(500, seed, 1.5, marks=pytest.mark.slow) for seed in range(4))],
)
def test_a_killed_crawl_goes_on(
    pages: int, seed: int, longest: float, site: Any, tmp_path: Path, files_of: FilesOf
) -> None:
    """SIGKILL at random moments, again and again; what stands there in the end is what one crawl would have written."""
    _play(site, pages)
    whole = subprocess.run(_command(site.url, tmp_path / "whole"), capture_output=True, text=True, check=False)
    assert whole.returncode == 0, whole.stderr
    once = len(site.asked)
    site.asked.clear()
    kills = _killed_until_done(site.url, tmp_path / "killed", seed, longest)
    print(f"killed {kills} times, {len(site.asked)} requests where {once} were needed")  # noqa: T201 -- with -s
    assert kills
    assert files_of(tmp_path / "killed") == files_of(tmp_path / "whole")
    assert len(files_of(tmp_path / "killed")) > pages
    # What was there is not asked for again; one that was killed right after its end asks for news.
    assert len([asked for asked in site.asked if not asked.conditional]) < once + 30 * kills
    assert not list((tmp_path / "killed").rglob(".roaming-*"))


def test_a_reader_never_sees_half_a_crawl(site: Any, tmp_path: Path) -> None:
    """While a crawl runs, and after it is killed, what was published before is there whole."""
    from mkdocs_roaming.roam.check import check
    from mkdocs_roaming.roam.library import open_library

    _play(site, 30)
    folder = tmp_path / "out"
    assert subprocess.run(_command(site.url, folder), capture_output=True, check=False).returncode == 0
    for at in range(30):
        site.page(f"/p{at}/", f"Page {at} is new", f"Now {at}. " * 20)
    running = subprocess.Popen(_command(site.url, folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.8)
    running.kill()
    running.wait()
    assert check(open_library(folder)).faults == ()


def test_two_crawls_do_not_share_a_folder(site: Any, tmp_path: Path, html: Any, reply: Any) -> None:
    """The second one says so at once; the first one's end frees the folder, however it ends."""

    def slow(handler: Any) -> Any:
        time.sleep(1.5)
        return reply(html("Home"))

    site.plays["/"] = slow
    folder = tmp_path / "out"
    first = subprocess.Popen(_command(site.url, folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(100):
        if (folder / ".roaming" / "journal.jsonl").exists():
            break
        time.sleep(0.05)
    second = subprocess.run(_command(site.url, folder), capture_output=True, text=True, check=False)
    assert second.returncode == 1
    assert "another crawl is writing to it" in second.stderr
    first.kill()
    first.wait()
    site.page("/", "Home")
    assert subprocess.run(_command(site.url, folder), capture_output=True, check=False).returncode == 0


def test_a_journal_cut_off_in_mid_line_is_read_up_to_there(site: Any, crawled: Any) -> None:
    """What the last line would have said is asked for again."""
    site.page("/", "Home", links=("/a", "/b"))
    site.page("/a", "A")
    site.page("/b", "B")
    first = crawled(site.url)
    state = first.folder / ".roaming"
    from roaming_crawler.store import Store

    store = Store(first.folder)
    store.begin({"url": site.url}, resume=False)
    with (state / "journal.jsonl").open("ab") as journal:
        journal.write(b'{"key": "*/* http://127')
    again = crawled(site.url, resume=True)
    assert again.paths == ["", "a", "b"]


def test_bombs_and_workers_on_the_command_line(site: Any, tmp_path: Path) -> None:
    """Pages are read in other processes; bombs among them cost no memory to speak of."""
    import zlib

    _play(site, 70)
    packing = zlib.compressobj(9, wbits=31)
    bomb = b"".join([packing.compress(b"\0" * 1_000_000) for _ in range(300)]) + packing.flush()
    site.page("/p5/", "Page 5", links=tuple(f"/bomb{at}" for at in range(6)))
    for at in range(6):
        site.put(f"/bomb{at}", bomb, headers={"Content-Encoding": "gzip"}, etag=False)
    # A process of its own measures: ours is large by now, and a child begins with its parent's size.
    measure = (
        "import resource, subprocess, sys; status = subprocess.run(sys.argv[1:]).returncode;"
        "print('peak', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(status)"
    )
    command = [sys.executable, "-c", measure, *_command(site.url, tmp_path / "out"), "--workers", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "71 pages" in done.stdout
    assert "6  more than 10 MB unpacked" in done.stdout
    assert int(done.stdout.rpartition("peak")[2]) < 200 * 1024

"""Twenty kills in all phases of a crawl, while a reader checks the folder."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mkdocs_roaming.library.targets import open_library

pytestmark = pytest.mark.slow

ReadFiles = Callable[[Path], dict[str, bytes]]
PAGES = 500
KILLS = 20


@dataclass(frozen=True)
class Timeline:
    """An undisturbed crawl: its pages, and the seconds after the last of them."""

    pages: int
    seconds_after_last: float


def _command(url: str, folder: Path) -> list[str]:
    options = ["--allow-private", "--delay", "0", "--workers", "0", "--json"]
    return [sys.executable, "-m", "mkdocs_roaming", "crawl", url, "-o", str(folder), *options]


def _crawl_undisturbed(url: str, folder: Path) -> Timeline:
    pages, last = 0, time.monotonic()
    with subprocess.Popen(_command(url, folder), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if json.loads(line)["event"] == "page":
                pages, last = pages + 1, time.monotonic()
    assert process.returncode == 0
    return Timeline(pages, time.monotonic() - last)


def _crawl_with_kills(url: str, folder: Path, timeline: Timeline, rng: random.Random) -> dict[str, int]:
    """Crawl, kill and resume a number of times, then crawl to the end."""
    kills = {"fetching": 0, "publishing": 0}
    max_delay = timeline.seconds_after_last
    for _ in range(10 * KILLS):
        if sum(kills.values()) == KILLS:
            break
        phase = rng.choice(sorted(phase for phase in kills if kills[phase] < KILLS * 0.6))
        process = subprocess.Popen(_command(url, folder), stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        pages_left = rng.randrange(timeline.pages) if phase == "fetching" else timeline.pages
        for line in process.stdout:
            pages_left -= json.loads(line)["event"] == "page"
            if pages_left <= 0:
                break
        time.sleep(rng.uniform(0, max_delay) if phase == "publishing" else 0)
        finished = process.poll() is not None  # then the next crawl revalidates all pages
        max_delay *= 0.8 if finished else 1
        process.kill()
        process.communicate()
        kills[phase] += not finished
    assert sum(kills.values()) == KILLS
    assert min(kills.values()) >= KILLS * 0.4
    ended = subprocess.run(_command(url, folder), capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return kills


_READER = """
import json, random, sys, time
from pathlib import Path
from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.manifest.expand import expand_section
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.manifest.sections import slice_digest

folder, stop = Path(sys.argv[1]), Path(sys.argv[2])
seen = {"right": 0, "again": 0, "newer": [], "wrong": [], "digests": []}
draw = random.Random(1)
digests = set()
while not stop.exists():
    try:
        library = open_library(folder)
    except RoamingError:
        seen["again"] += 1
        time.sleep(0.05)
        continue
    time.sleep(0.02)
    digests.add(library.manifest.digest)
    places = list(library.sections)
    for place in draw.sample(places, min(40, len(places))):
        try:
            text = library.text(place)
            shown = expand_section(library.sections, place, library.text, cap=10**7).shown
        except RoamingError:
            seen["again"] += 1
            continue
        digest = slice_digest(text.encode())
        if digest != place.section.digest:  # the manifest was replaced meanwhile, and the library read it again
            seen["newer"].append([place.id, digest])
        if not shown or slice_digest(shown[0].text.encode()) not in (digest, place.section.digest):
            seen["wrong"].append([place.id, text[:60]])
        seen["right"] += 1
seen["digests"] = sorted(digests)
print(json.dumps(seen))
"""


class _Reader:
    """A process that opens the folder repeatedly and checks its texts."""

    def __init__(self, folder: Path, stop: Path) -> None:
        self._stop = stop
        stop.unlink(missing_ok=True)
        self._running = subprocess.Popen(
            [sys.executable, "-c", _READER, str(folder), str(stop)], stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> _Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self._running.kill()
        self._running.communicate()

    def read_result(self) -> dict[str, Any]:
        self._stop.touch()
        shown, _ = self._running.communicate(timeout=60)
        result: dict[str, Any] = json.loads(shown)
        return result


def _add_pages(site: Any) -> None:
    """Add linked pages, every third with Markdown."""
    site.page("/", "Home", links=tuple(f"/p{at}/" for at in range(0, PAGES, 10)))
    for at in range(PAGES):
        start = at - at % 10
        links = tuple(f"/p{to}/" for to in range(start, min(start + 10, PAGES)))
        site.page(f"/p{at}/", f"Page {at}", f"Number {at} of them. " * 20, links)
        if at % 3 == 0:
            site.put(f"/p{at}/index.md", f"# Page {at}\n\nAs *Markdown*, number {at}.\n", kind="text/markdown")


def _change_pages(site: Any, html: Any, reply: Any) -> None:
    """Change every fifth page, rename sections, remove and add pages."""
    for at in range(0, PAGES, 5):
        site.page(f"/p{at}/", f"Page {at}", f"Number {at}, rewritten. " * 20, (f"/new{at}/",))
        site.responses.pop(f"/p{at}/index.md", None)
        if at % 3:
            text = html(f"Page {at}", f"Number {at} of them. " * 20, (f"/p{at + 1}/", f"/new{at}/"))
            text = text.replace('<h2 id="more-of-it">More</h2>', f'<h2 id="renamed-{at}">Other</h2>')
            site.responses[f"/p{at}/"] = reply(text.replace("every minute", "every hour"))
        site.page(f"/new{at}/", f"New {at}", "Nobody saw it before. " * 10)
    for at in range(7, PAGES, 100):
        del site.responses[f"/p{at}/"]
        site.responses.pop(f"/p{at}/index.md", None)


@pytest.mark.parametrize("seed", range(3))
def test_killed_crawls_publish_same_files_as_undisturbed_ones(
    seed: int, site: Any, tmp_path: Path, read_files: ReadFiles, html: Any, reply: Any
) -> None:
    rng = random.Random(seed)
    undisturbed, out = tmp_path / "whole", tmp_path / "out"
    _add_pages(site)
    timeline = _crawl_undisturbed(site.url, undisturbed)
    assert timeline.pages == PAGES + 1
    with _Reader(out, tmp_path / "stop") as reader:
        kills = [_crawl_with_kills(site.url, out, timeline, rng)]
        first = reader.read_result()
    assert read_files(out) == read_files(undisturbed)

    _change_pages(site, html, reply)
    timeline = _crawl_undisturbed(site.url, undisturbed)
    with _Reader(out, tmp_path / "stop") as reader:
        kills.append(_crawl_with_kills(site.url, out, timeline, rng))
        second = reader.read_result()
    print(f"killed {kills}; read {first['right']} + {second['right']}, again {first['again']} + {second['again']}")
    assert read_files(out) == read_files(undisturbed)
    assert '"aliases":["' in (undisturbed / "roaming" / "manifest.json").read_text("utf-8")
    assert first["wrong"] == second["wrong"] == first["newer"] == []
    places = open_library(undisturbed).sections
    assert all(place.section.digest == digest for id_, digest in second["newer"] if (place := places.get(id_)))
    assert all(places.get(id_) for id_, _ in second["newer"])
    assert second["right"] > 1000
    assert len(second["digests"]) == 2  # the old site and the new one, nothing in between
    assert {file.name for file in (out / ".roaming").iterdir()} == {
        file.name for file in (undisturbed / ".roaming").iterdir()
    }
    assert not [*out.rglob(".roaming-*")]
    shutil.rmtree(out)

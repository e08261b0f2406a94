"""How fast the right one of many sites is found, beside a search of one site.

    python benchmarks/fleet.py [--sites 10000] [--sections 50] [--questions 300] [--folder DIR]

Each site is made of words of its own draw: twelve topics of 3,000, so that a topic belongs to forty of 10,000, and
400 of 20,000 that are common or rare as words are. A question holds two topics of one section; every fourth names its
site, too. Sites are put into a store as a crawl puts them there, and the catalogue is built by another process, as each
question is asked by one that does nothing else: memory is that process's largest resident size. *cold* opens the
catalogue for each question, as a command does; *warm* has asked before. *looked into* goes on to search the few sites
that the catalogue names, opening each, and to order them by what it finds. `one library` is the search of one site of
as many sections, its index at hand, or *cold*, made anew. A second build, with one site in a hundred changed, tells
what bringing a catalogue up to date costs.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from roaming_fleet.buckets.folder import FolderBucket
from roaming_fleet.catalog import rebuild_catalog
from roaming_fleet.collection import Collection
from roaming_fleet.ranking import Ranking
from roaming_fleet.records import SiteRecord, make_catalog_entry, read_record, write_record

from mkdocs_roaming.library.library import Library, library_from_markdown
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.manifest.io import MANIFEST_PATH

SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "or", "il")]
GENERAL = (
    *("install", "configure", "start", "stop", "upgrade", "limits", "errors", "network", "storage", "backup", "users"),
    *("permissions", "logging", "metrics", "plugins", "templates", "import", "export", "schedule", "cache", "queue"),
)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sites", type=int, default=10_000)
    parser.add_argument("--sections", type=int, default=50)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        began = time.perf_counter()
        asked, texts = make(folder, given.sites, given.sections, given.questions)
        print(f"{given.sites} sites of {given.sections} sections made in {time.perf_counter() - began:.0f} s")
        built = apart(build, folder)
        write_again(folder, given.sites)
        updated = apart(build, folder)
        size = sum(file.stat().st_size for file in (folder / ".fleet" / "catalogue").iterdir()) / 2**20
        records = sum(file.stat().st_size for file in (folder / ".fleet" / "sites").iterdir()) / 2**20
        cold, warm = apart(ask, folder, asked[:40], True), apart(ask, folder, asked, False)
        into, into_cold = apart(look_into, folder, asked, False), apart(look_into, folder, asked[:40], True)
        one = apart(search_one, texts, [question for question, _ in asked], False)
        fresh = apart(search_one, texts, [question for question, _ in asked[:2]], True)
    print(
        f"catalogue built: {built['seconds']:.1f} s, {built['megabytes']:.0f} MB of memory; "
        f"one in a hundred changed: {updated['seconds']:.1f} s, {updated['megabytes']:.0f} MB"
    )
    print(f"on disk: records {records:.0f} MB, catalogue with the one before {size:.0f} MB")
    print(
        "\n| | ms, median | 95 % | times one library | MB of memory | first | among three |\n| --- "
        + "| ---: " * 6
        + "|"
    )
    for name, row in (
        ("one library", one),
        ("one library, cold", fresh),
        ("the right site, warm", warm),
        ("the right site, cold", cold),
        ("looked into, warm", into),
        ("looked into, cold", into_cold),
    ):
        ratio = row["median"] / one["median"]
        found = f"{row['first']:.0%} | {row['three']:.0%}" if "first" in row else "| "
        print(f"| {name} | {row['median']:.2f} | {row['most']:.2f} | {ratio:.1f} | {row['megabytes']:.0f} | {found} |")


def make(folder: Path, sites: int, sections: int, questions: int) -> tuple[list[tuple[str, str]], list[str]]:
    """Put sites into a store; give questions with the keys of their sites, and a few sites' texts."""
    draw = random.Random(7)
    words = list(dict.fromkeys("".join(draw.choices(SYLLABLES, k=3)) for _ in range(4_000)))[:3_000]
    bucket = FolderBucket(folder)
    common = ["".join(draw.choices(SYLLABLES, k=2)) + draw.choice("nrstx") for _ in range(20_000)]
    often = [1 / (at + 10) for at in range(len(common))]
    wanted = set(draw.sample(range(sites), min(questions, sites)))
    asked: list[tuple[str, str]] = []
    texts: list[str] = []
    for at in range(sites):
        name = "".join(draw.choices(SYLLABLES, k=4)).title()
        topics = draw.sample(words, 12)
        own = draw.choices(common, often, k=400)
        titles = [f"{draw.choice(GENERAL)} {' '.join(draw.sample(topics, 2))}" for _ in range(sections - 1)]
        text = f"# {name} documentation\n\n{name} is about {topics[0]} and {topics[1]}.\n\n" + "".join(
            f"## {title} {' '.join(draw.sample(own, 3))}\n\n{' '.join(draw.choices([*own, *topics], k=60))}.\n\n"
            for title in titles
        )
        key = f"site-{at:06}"
        library = library_from_markdown(text, name=name, url=f"https://{name.lower()}.example/")
        write_record(bucket, _record(key, library, 1e9))
        for path in (MANIFEST_PATH, library.manifest.pages[0].markdown):
            bucket.put(f"{key}/{path}", library.file(path))
        if at in wanted:
            general, *two = draw.choice(titles).split()[:3]
            named = f" in {name}" if len(asked) % 4 == 0 else ""
            asked.append((f"How do I {general} the {' for the '.join(two)}{named}?", key))
            texts.append(text)
    return asked, texts[:20]


def write_again(folder: Path, sites: int) -> None:
    """Change one site in a hundred."""
    bucket = FolderBucket(folder)
    for at in range(0, sites, 100):
        record = read_record(bucket, f"site-{at:06}")
        assert record is not None
        write_record(bucket, record)


def build(folder: Path) -> dict[str, float]:
    """Bring the catalogue up to date."""
    began = time.perf_counter()
    rebuild_catalog(FolderBucket(folder))
    return {"seconds": time.perf_counter() - began}


def ask(folder: Path, asked: Sequence[tuple[str, str]], anew: bool) -> dict[str, float]:
    """Find the site of each question."""
    bucket = FolderBucket(folder)
    ranking = Ranking(bucket)
    seconds, first, three = [], 0, 0
    for question, _ in asked if not anew else ():
        ranking.best(question, 3)
    for question, key in asked:
        began = time.perf_counter()
        found = [key for key, _ in (Ranking(bucket) if anew else ranking).best(question, 3)]
        seconds.append(time.perf_counter() - began)
        first += found[:1] == [key]
        three += key in found
    return {**_spread(seconds), "first": first / len(asked), "three": three / len(asked)}


def look_into(folder: Path, asked: Sequence[tuple[str, str]], anew: bool) -> dict[str, float]:
    """Find the site of each question, and look into those that come into question."""
    collection = Collection(folder)
    seconds, first, three = [], 0, 0
    for question, _ in asked if not anew else ():
        collection.rank(question)
    for question, key in asked:
        began = time.perf_counter()
        found = [site.key for site in (Collection(folder) if anew else collection).choose(question)]
        seconds.append(time.perf_counter() - began)
        first += found[:1] == [key]
        three += key in found
    return {**_spread(seconds), "first": first / len(asked), "three": three / len(asked)}


def search_one(texts: Sequence[str], questions: Sequence[str], anew: bool) -> dict[str, float]:
    """Search single sites."""
    seconds = []
    for text in texts:
        library = library_from_markdown(text)
        search = Search(library)
        search.find("words", limit=10)
        for question in questions[:40]:
            began = time.perf_counter()
            (Search(library) if anew else search).find(question, limit=10)
            seconds.append(time.perf_counter() - began)
    return _spread(seconds)


def apart(do: Callable[..., dict[str, float]], *arguments: Any) -> dict[str, float]:
    """Do something in a process of its own; give what it gives, and how much memory that took."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_told, args=(theirs, do, arguments))
    process.start()
    found: dict[str, float] = json.loads(ours.recv())
    process.join()
    return found


def _told(pipe: Any, do: Callable[..., dict[str, float]], arguments: Sequence[Any]) -> None:
    found = do(*arguments)
    status = Path("/proc/self/status").read_text("utf-8")  # getrusage tells what the starting process had, too
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    pipe.send(json.dumps({**found, "megabytes": peak / 1024}))


def _spread(seconds: Sequence[float]) -> dict[str, float]:
    inorder = sorted(seconds)
    return {"median": 1000 * statistics.median(inorder), "most": 1000 * inorder[int(0.95 * len(inorder))]}


def _record(key: str, library: Library, at: float) -> SiteRecord:
    entry = make_catalog_entry(key, library.manifest, at)
    return SiteRecord(key, entry.url, "done", "", "", at, result="new", entry=entry)


if __name__ == "__main__":
    main()

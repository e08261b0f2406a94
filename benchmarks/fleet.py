"""Measure how fast the right one of many sites is selected, relative to a search of one site.

    python benchmarks/fleet.py [--sites 10000] [--sections 50] [--questions 300] [--folder DIR]

Each generated site has twelve of 3,000 topics, so that about forty of 10,000 sites share a topic, and 400 of 20,000
words with a Zipf-like distribution. A question contains two topics of one section; every fourth also names its site.
The sites are written to a store in the format of a crawl. The catalog is built, and the questions are processed, in
separate processes whose peak resident size is the memory. Rows with loading open the catalog for each question, like a
command; warm rows reuse it. A search of the best sites also searches the sites that the catalog selects. The catalog is
rebuilt after a change of one site in a hundred to measure an update.
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

from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.targets import library_from_markdown
from mkdocs_roaming.manifest.io import MANIFEST_PATH
from roaming_fleet.buckets import FolderBucket
from roaming_fleet.catalog import update_catalog
from roaming_fleet.collection import Collection
from roaming_fleet.ranking import Ranking
from roaming_fleet.records import SiteRecord, make_catalog_entry, read_record, write_record

SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "or", "il")]
GENERAL = (
    *("install", "configure", "start", "stop", "upgrade", "limits", "errors", "network", "storage", "backup", "users"),
    *("permissions", "logging", "metrics", "plugins", "templates", "import", "export", "schedule", "cache", "queue"),
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sites", type=int, default=10_000, help="Number of sites (default: 10000).")
    parser.add_argument("--sections", type=int, default=50, help="Sections per site (default: 50).")
    parser.add_argument("--questions", type=int, default=300, help="Number of questions (default: 300).")
    parser.add_argument("--folder", type=Path, help="Folder of the store (default: temporary).")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        started = time.perf_counter()
        questions, texts = write_store(folder, options.sites, options.sections, options.questions)
        print(f"{options.sites} sites of {options.sections} sections written in {time.perf_counter() - started:.0f} s")
        built = run_in_process(build_catalog, folder)
        change_sites(folder, options.sites)
        updated = run_in_process(build_catalog, folder)
        size = sum(file.stat().st_size for file in (folder / ".fleet" / "catalogue").iterdir()) / 2**20
        records = sum(file.stat().st_size for file in (folder / ".fleet" / "sites").iterdir()) / 2**20
        loading = run_in_process(select_by_catalog, folder, questions[:40], True)
        warm = run_in_process(select_by_catalog, folder, questions, False)
        searched = run_in_process(select_by_search, folder, questions, False)
        searched_loading = run_in_process(select_by_search, folder, questions[:40], True)
        single = run_in_process(search_single_sites, texts, [question for question, _ in questions], False)
        single_indexing = run_in_process(search_single_sites, texts, [question for question, _ in questions[:2]], True)
    print(
        f"catalog built: {built['seconds']:.1f} s, {built['megabytes']:.0f} MB of memory; "
        f"one in a hundred changed: {updated['seconds']:.1f} s, {updated['megabytes']:.0f} MB"
    )
    print(f"on disk: records {records:.0f} MB, catalog including the previous one {size:.0f} MB")
    print(
        "\n| | ms, median | 95 % | relative to one library | MB of memory | right site first | among three |\n| --- "
        + "| ---: " * 6
        + "|"
    )
    for name, row in (
        (f"search of one library of {options.sections} sections", single),
        ("the same, including building the index", single_indexing),
        (f"site selection among {options.sites:,} by catalog, warm", warm),
        ("the same, including loading the catalog", loading),
        ("the same with a search of the best sites, warm", searched),
        ("the same, including loading everything", searched_loading),
    ):
        ratio = row["median"] / single["median"]
        found = f"{row['first']:.0%} | {row['three']:.0%}" if "first" in row else "| "
        print(f"| {name} | {row['median']:.2f} | {row['p95']:.2f} | {ratio:.1f} | {row['megabytes']:.0f} | {found} |")


def write_store(folder: Path, sites: int, sections: int, count: int) -> tuple[list[tuple[str, str]], list[str]]:
    """Write generated sites to a store; return questions with site keys, and the texts of some sites."""
    rng = random.Random(7)
    words = list(dict.fromkeys("".join(rng.choices(SYLLABLES, k=3)) for _ in range(4_000)))[:3_000]
    bucket = FolderBucket(folder)
    common = ["".join(rng.choices(SYLLABLES, k=2)) + rng.choice("nrstx") for _ in range(20_000)]
    weights = [1 / (rank + 10) for rank in range(len(common))]
    with_question = set(rng.sample(range(sites), min(count, sites)))
    questions: list[tuple[str, str]] = []
    texts: list[str] = []
    for number in range(sites):
        name = "".join(rng.choices(SYLLABLES, k=4)).title()
        topics = rng.sample(words, 12)
        site_words = rng.choices(common, weights, k=400)
        titles = [f"{rng.choice(GENERAL)} {' '.join(rng.sample(topics, 2))}" for _ in range(sections - 1)]
        text = f"# {name} documentation\n\n{name} is about {topics[0]} and {topics[1]}.\n\n" + "".join(
            f"## {title} {' '.join(rng.sample(site_words, 3))}\n\n{' '.join(rng.choices([*site_words, *topics], k=60))}.\n\n"
            for title in titles
        )
        key = f"site-{number:06}"
        library = library_from_markdown(text, name=name, url=f"https://{name.lower()}.example/")
        write_record(bucket, _make_record(key, library, 1e9))
        for path in (MANIFEST_PATH, library.manifest.pages[0].markdown):
            bucket.put(f"{key}/{path}", library.file(path))
        if number in with_question:
            general, *topic_pair = rng.choice(titles).split()[:3]
            suffix = f" in {name}" if len(questions) % 4 == 0 else ""
            questions.append((f"How do I {general} the {' for the '.join(topic_pair)}{suffix}?", key))
            texts.append(text)
    return questions, texts[:20]


def change_sites(folder: Path, sites: int) -> None:
    """Rewrite the record of one site in a hundred."""
    bucket = FolderBucket(folder)
    for number in range(0, sites, 100):
        record = read_record(bucket, f"site-{number:06}")
        assert record is not None
        write_record(bucket, record)


def build_catalog(folder: Path) -> dict[str, float]:
    """Build or update the catalog."""
    started = time.perf_counter()
    update_catalog(FolderBucket(folder))
    return {"seconds": time.perf_counter() - started}


def select_by_catalog(folder: Path, questions: Sequence[tuple[str, str]], reload: bool) -> dict[str, float]:
    """Select the site of each question by the catalog."""
    bucket = FolderBucket(folder)
    ranking = Ranking(bucket)
    seconds, first, three = [], 0, 0
    for question, _ in questions if not reload else ():
        ranking.best(question, 3)
    for question, key in questions:
        started = time.perf_counter()
        found = [key for key, _ in (Ranking(bucket) if reload else ranking).best(question, 3)]
        seconds.append(time.perf_counter() - started)
        first += found[:1] == [key]
        three += key in found
    return {**_summarize(seconds), "first": first / len(questions), "three": three / len(questions)}


def select_by_search(folder: Path, questions: Sequence[tuple[str, str]], reload: bool) -> dict[str, float]:
    """Select the site of each question by the catalog and a search of the best sites."""
    collection = Collection(folder)
    seconds, first, three = [], 0, 0
    for question, _ in questions if not reload else ():
        collection.rank(question)
    for question, key in questions:
        started = time.perf_counter()
        found = [site.key for site in (Collection(folder) if reload else collection).choose(question)]
        seconds.append(time.perf_counter() - started)
        first += found[:1] == [key]
        three += key in found
    return {**_summarize(seconds), "first": first / len(questions), "three": three / len(questions)}


def search_single_sites(texts: Sequence[str], questions: Sequence[str], rebuild: bool) -> dict[str, float]:
    """Search single sites for the questions."""
    seconds = []
    for text in texts:
        library = library_from_markdown(text)
        search = Search(library)
        search.find("words", limit=10)
        for question in questions[:40]:
            started = time.perf_counter()
            (Search(library) if rebuild else search).find(question, limit=10)
            seconds.append(time.perf_counter() - started)
    return _summarize(seconds)


def run_in_process(function: Callable[..., dict[str, float]], *arguments: Any) -> dict[str, float]:
    """Call a function in a new process; return its figures and the peak memory of the process."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send_figures, args=(sender, function, arguments))
    process.start()
    figures: dict[str, float] = json.loads(receiver.recv())
    process.join()
    return figures


def _send_figures(pipe: Any, function: Callable[..., dict[str, float]], arguments: Sequence[Any]) -> None:
    figures = function(*arguments)
    status = Path("/proc/self/status").read_text("utf-8")  # getrusage includes the peak of the parent
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    pipe.send(json.dumps({**figures, "megabytes": peak / 1024}))


def _summarize(seconds: Sequence[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    return {"median": 1000 * statistics.median(ordered), "p95": 1000 * ordered[int(0.95 * len(ordered))]}


def _make_record(key: str, library: Library, time: float) -> SiteRecord:
    entry = make_catalog_entry(key, library.manifest, time)
    return SiteRecord(key, entry.url, "done", "", "", time, result="new", entry=entry)


if __name__ == "__main__":
    main()

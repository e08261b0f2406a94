"""Measure what a file of descriptions changes in search and in the first request to a model.

    python benchmarks/descriptions.py SITE_DIR=QUESTIONS.jsonl=DESCRIPTIONS.json … [--among SITE_DIR …]
    python benchmarks/descriptions.py --cost SITE_DIR [--runs 9]

A line of the questions is a JSON object with `ask` and `sections`, the ids of the sections that answer it. Printed are
the shares of questions with the right section or page among the first results, and with the right section opened before
the first request, without the file and with it; then with worse files: one question a section, half of the sections, and
questions that are shuffled among the sections of their page. The last lines are the differences to search without the
file, with 95 % intervals by paired bootstrap over all questions. With --among the catalog of a store of all sites is measured, too:
the share of questions for which their site is first. --cost measures the CPU time that a file with 2,000 entries adds to
`roaming index`.

--finder measures the finder of the widget instead, with Node: the size of its index, and the shares of questions with
the right section among the first 1, 5 and 8 results; 8 are shown. “titles” are the titles of sections as queries.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from descriptions_cost import measure_cost
from msgspec.structs import replace

from mkdocs_roaming.evals.questions import Question
from mkdocs_roaming.evals.runner import Ranking, replace_descriptions
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.manifest.descriptions import Descriptions, PageTexts, describe_manifest, read_descriptions
from mkdocs_roaming.publish.elements.finder_index import iter_finder_files
from roaming_fleet.buckets import FolderBucket
from roaming_fleet.catalog import update_catalog
from roaming_fleet.ranking import Ranking as SiteRanking
from roaming_fleet.ranking import coverage_factor
from roaming_fleet.records import SiteRecord, make_catalog_entry, write_record

ROOT = Path(__file__).parents[1]
SEARCHED_SITES, CHECKED_HITS = 5, 3
MEASURES = ("section @1", "section @5", "section @12", "page @5", "1 / rank", "opened")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", metavar="SITE_DIR=QUESTIONS=DESCRIPTIONS")
    parser.add_argument("--finder", action="store_true", help="Measure the finder of the widget.")
    parser.add_argument("--among", nargs="+", default=[], metavar="SITE_DIR", help="Other sites of a store.")
    parser.add_argument("--cost", type=Path, metavar="SITE_DIR", help="Measure CPU time with this built site.")
    parser.add_argument("--runs", type=int, default=9, help="Number of rounds that --cost counts (default: 9).")
    options = parser.parse_args()
    if options.finder:
        measure_finder(options.sets)
        return
    if options.cost:
        measure_cost(options.cost, options.runs)
    rows: dict[str, list[tuple[float, ...]]] = {}
    described: dict[str, tuple[Library, list[dict[str, Any]]]] = {}
    for item in options.sets:
        folder, questions_file, file = item.split("=")
        library, descriptions = open_library(folder), read_descriptions(Path(file))
        questions = [json.loads(line) for line in Path(questions_file).read_text("utf-8").splitlines() if line.strip()]
        described[Path(folder).name.lower()] = replace_descriptions(library, descriptions), questions
        for name, change in VARIANTS.items():
            found = measure(library, change(library, descriptions), questions)
            rows.setdefault(name, []).extend(found)
            print_row(f"{Path(folder).name}: {name}", found)
    for name, found in rows.items():
        print_row(f"all: {name}", found)
    for name, found in rows.items():
        if name != "without":
            print_difference(f"{name} − without", rows["without"], found)
    if options.among:
        others = {f"other{number}": open_library(folder) for number, folder in enumerate(options.among)}
        measure_catalog(others, described)


def measure(
    library: Library, descriptions: Descriptions, questions: Sequence[dict[str, Any]]
) -> list[tuple[float, ...]]:
    """Return the measures of each question."""
    described = replace_descriptions(library, descriptions)
    ranking = Ranking(described, Search(described))
    return [measure_question(ranking, Question(one["ask"], gold=tuple(one["sections"]))) for one in questions]


def measure_question(ranking: Ranking, question: Question) -> tuple[float, ...]:
    pages = {section.page.path for id_ in question.gold if (section := ranking.library.sections.get(id_))}
    rank = ranking.rank(question) or 0
    seen_pages = list(dict.fromkeys(section.page.path for section in ranking.hits(question)))
    return (
        *(float(0 < rank <= at) for at in (1, 5, 12)),
        float(bool(pages & set(seen_pages[:5]))),
        1 / rank if rank else 0.0,
        float(ranking.prefetches(question)),
    )


def measure_catalog(others: dict[str, Library], described: dict[str, tuple[Library, list[dict[str, Any]]]]) -> None:
    """Print how often a site is the first of a store for its questions: all without files, one with, and all with."""
    plain = {key: replace_descriptions(library, Descriptions()) for key, (library, _) in described.items()}
    with_files = {key: library for key, (library, _) in described.items()}
    for key, (library, questions) in described.items():
        stores = {"without": plain, "with": plain | {key: library}, "all with": with_files}
        for name, libraries in stores.items():
            ranks = rank_site(key, others | libraries, [question["ask"] for question in questions])
            catalog, checked = (100 * sum(one) / len(questions) for one in zip(*ranks, strict=True))
            print(
                f"{key} among {len(others) + len(libraries)} sites, {name}: catalog {catalog:.1f}  searched {checked:.1f}"
            )


def rank_site(key: str, libraries: dict[str, Library], asks: Sequence[str]) -> Iterator[tuple[bool, bool]]:
    """Yield for each question whether a site is first in the catalog, and after the best sites were searched."""
    searches = {name: Search(library) for name, library in libraries.items()}
    with tempfile.TemporaryDirectory() as folder:
        bucket = FolderBucket(Path(folder))
        for name, library in libraries.items():
            entry = make_catalog_entry(name, library.manifest, 1.0)
            write_record(bucket, SiteRecord(name, entry.url, "done", "", "", 1.0, result="new", entry=entry))
        update_catalog(bucket)
        ranking = SiteRanking(bucket)
        for ask in asks:
            best, terms = dict(ranking.best(ask, SEARCHED_SITES)), ranking.query_terms(ask)
            scores = {
                name: score * coverage_factor(libraries[name], searches[name].find(ask, limit=CHECKED_HITS), terms)
                for name, score in best.items()
            }
            yield next(iter(best), "") == key, max(scores, key=scores.__getitem__, default="") == key


def with_one_ask(library: Library, descriptions: Descriptions) -> Descriptions:
    return change_sections(
        descriptions, lambda page: {id_: replace(one, asks=one.asks[:1]) for id_, one in page.sections.items()}
    )


def with_half(library: Library, descriptions: Descriptions) -> Descriptions:
    return change_sections(
        descriptions, lambda page: {id_: one for id_, one in page.sections.items() if int(id_, 16) % 2}
    )


def with_shuffled_asks(library: Library, descriptions: Descriptions) -> Descriptions:
    def shuffle(page: PageTexts) -> dict[str, Any]:
        asks = [one.asks for one in page.sections.values()]
        random.Random(page.title).shuffle(asks)
        return {id_: replace(one, asks=given) for (id_, one), given in zip(page.sections.items(), asks, strict=True)}

    return change_sections(descriptions, shuffle)


def change_sections(descriptions: Descriptions, change: Callable[[PageTexts], dict[str, Any]]) -> Descriptions:
    return Descriptions(pages={path: replace(page, sections=change(page)) for path, page in descriptions.pages.items()})


VARIANTS: dict[str, Callable[[Library, Descriptions], Descriptions]] = {
    "without": lambda library, descriptions: Descriptions(),
    "with": lambda library, descriptions: descriptions,
    "one question a section": with_one_ask,
    "half of the sections": with_half,
    "shuffled within pages": with_shuffled_asks,
}


def print_row(name: str, rows: Sequence[tuple[float, ...]]) -> None:
    means = (sum(row[at] for row in rows) / len(rows) for at in range(len(MEASURES)))
    cells = "  ".join(f"{measure} {100 * mean:.1f}" for measure, mean in zip(MEASURES, means, strict=True))
    print(f"{name} ({len(rows)}): {cells}")


def print_difference(name: str, before: Sequence[tuple[float, ...]], after: Sequence[tuple[float, ...]]) -> None:
    generator = random.Random(7)
    cells = []
    for at, measure in enumerate(MEASURES):
        gains = [new[at] - old[at] for old, new in zip(before, after, strict=True)]
        means = sorted(sum(generator.choices(gains, k=len(gains))) / len(gains) for _ in range(2000))
        cells.append(
            f"{measure} {100 * sum(gains) / len(gains):+.1f} ({100 * means[50]:+.1f} to {100 * means[1949]:+.1f})"
        )
    print(f"{name}: {'  '.join(cells)}")


# The finder of the widget

FIND = """
const { Finder } = await import(process.argv[1]);
const { files, queries } = JSON.parse(await new Response(process.stdin).text());
const load = (name) => JSON.parse(files[`roaming/finder${name}.json`]);
const finder = new Finder(load(""), () => true, async (name) => load(`/${name}`));
const ranks = [];
for (const [text, ids] of queries)
  ranks.push((await finder.find(text + " ")).findIndex((section) => ids.includes(section.id)) + 1);
console.log(JSON.stringify(ranks));
"""
CUTOFFS = (1, 5, 8)


def measure_finder(sets: Sequence[str]) -> None:
    ranks: dict[str, list[int]] = {}
    for item in sets:
        folder, questions_file, file = item.split("=")
        library = open_library(folder)
        manifest = library.manifest
        described, _ = describe_manifest(manifest, read_descriptions(Path(file)))
        lines = [json.loads(line) for line in Path(questions_file).read_text("utf-8").splitlines() if line.strip()]
        titles = Counter(section.title for section in manifest.sections())
        queries = {
            "questions": [(line["ask"], line["sections"]) for line in lines],
            "titles": [(one.title, [one.id]) for one in manifest.sections() if titles[one.title] == 1],
        }
        for name, each in (("without", manifest), ("with", described)):
            files = dict(iter_finder_files(each, library.text))
            compressed = sum(len(gzip.compress(data, 9)) for data in files.values()) / 1000
            print(f"{Path(folder).name}: {name}: {sum(titles.values())} sections, {compressed:.1f} KB compressed")
            for kind, asked in queries.items():
                ranks.setdefault(f"{kind} {name}", []).extend(find_ranks(files, asked))
    for name, found in ranks.items():
        shares = (f"@{at} {100 * sum(0 < rank <= at for rank in found) / len(found):.1f}" for at in CUTOFFS)
        print(f"{name} ({len(found)}): {'  '.join(shares)}")


def find_ranks(files: Mapping[str, bytes], queries: Sequence[tuple[str, Sequence[str]]]) -> list[int]:
    """Return the rank of the first right section for each query, 0 for none."""
    with tempfile.TemporaryDirectory() as folder:
        module = shutil.copy(ROOT / "widget" / "roaming-finder.js", Path(folder) / "finder.mjs")
        done = subprocess.run(
            ["node", "--input-type=module", "-e", FIND, Path(module).as_uri()],
            input=json.dumps({"files": {path: data.decode() for path, data in files.items()}, "queries": queries}),
            capture_output=True,
            text=True,
            check=True,
        )
    ranks: list[int] = json.loads(done.stdout)
    return ranks


if __name__ == "__main__":
    main()

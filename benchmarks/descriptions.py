"""Measure what a file of descriptions changes in search and in the first request to a model.

    python benchmarks/descriptions.py SITE_DIR=QUESTIONS.jsonl=DESCRIPTIONS.json …

A line of the questions is a JSON object with `ask` and `sections`, the ids of the sections that answer it. Printed are
the shares of questions with the right section or page among the first results, and with the right section opened before
the first request, without the file and with it; then with worse files: one question a section, half of the sections,
and questions that are shuffled among the sections of their page. The last lines are the differences to search without
the file, with 95 % intervals by paired bootstrap over all questions.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import PREFETCH_TOKENS, Navigator
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.manifest.descriptions import Descriptions, PageTexts, describe_manifest, read_descriptions

MEASURES = ("section @1", "section @5", "section @12", "page @5", "1 / rank", "opened")
DEPTH = 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", metavar="SITE_DIR=QUESTIONS=DESCRIPTIONS")
    rows: dict[str, list[tuple[float, ...]]] = {}
    for item in parser.parse_args().sets:
        folder, questions_file, file = item.split("=")
        library, descriptions = open_library(folder), read_descriptions(Path(file))
        questions = [json.loads(line) for line in Path(questions_file).read_text("utf-8").splitlines() if line.strip()]
        for name, change in VARIANTS.items():
            found = measure(library, change(descriptions), questions)
            rows.setdefault(name, []).extend(found)
            print_row(f"{Path(folder).name}: {name}", found)
    for name, found in rows.items():
        print_row(f"all: {name}", found)
    for name, found in rows.items():
        if name != "without":
            print_difference(name, rows["without"], found)


def measure(
    library: Library, descriptions: Descriptions, questions: Sequence[dict[str, Any]]
) -> list[tuple[float, ...]]:
    """Return the measures of each question."""
    described = library.rename_ids(lambda manifest: describe_manifest(manifest, descriptions)[0])
    search = Search(described)
    return [measure_question(described, search, question["ask"], question["sections"]) for question in questions]


def measure_question(library: Library, search: Search, ask: str, gold: Sequence[str]) -> tuple[float, ...]:
    hits, sections = [hit.section for hit in search.find(ask, limit=DEPTH)], library.sections
    pages = {section.page.path for id_ in gold if (section := sections.get(id_))}
    rank = next((at for at, section in enumerate(hits, 1) if section.id in gold), 0)
    seen_pages = list(dict.fromkeys(section.page.path for section in hits))
    opened = Navigator(library, search=search).prefetch(ask, "", max_tokens=PREFETCH_TOKENS)
    return (
        *(float(0 < rank <= at) for at in (1, 5, 12)),
        float(bool(pages & set(seen_pages[:5]))),
        1 / rank if rank else 0.0,
        float(any(section.id in gold for section in opened.sections)),
    )


def with_one_ask(descriptions: Descriptions) -> Descriptions:
    return change_sections(
        descriptions, lambda page: {id_: replace(one, asks=one.asks[:1]) for id_, one in page.sections.items()}
    )


def with_half(descriptions: Descriptions) -> Descriptions:
    return change_sections(
        descriptions, lambda page: {id_: one for id_, one in page.sections.items() if int(id_, 16) % 2}
    )


def with_shuffled_asks(descriptions: Descriptions) -> Descriptions:
    def shuffle(page: PageTexts) -> dict[str, Any]:
        asks = [one.asks for one in page.sections.values()]
        random.Random(page.title).shuffle(asks)
        return {id_: replace(one, asks=given) for (id_, one), given in zip(page.sections.items(), asks, strict=True)}

    return change_sections(descriptions, shuffle)


def change_sections(descriptions: Descriptions, change: Callable[[PageTexts], dict[str, Any]]) -> Descriptions:
    return Descriptions(pages={path: replace(page, sections=change(page)) for path, page in descriptions.pages.items()})


VARIANTS: dict[str, Callable[[Descriptions], Descriptions]] = {
    "without": lambda descriptions: Descriptions(),
    "with": lambda descriptions: descriptions,
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
    print(f"{name} − without: {'  '.join(cells)}")


if __name__ == "__main__":
    main()

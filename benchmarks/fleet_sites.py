"""Measure whether the right site of a store is selected for a query.

    python benchmarks/fleet_sites.py STORE [--each 25] [--seed 3] [--questions benchmarks/fleet_questions.tsv]

STORE is a folder written by `roaming crawl --many`. Queries are titles of three to nine words, the first fourteen words
of sections, and link texts of three or more words, the same number from each site; and the questions of a file with
the key of a site and a question per line. Prints how often the right site is first by the catalog alone and after a
search of the best sites, how often it is among three sites, and for titles how often the section is among five results.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from search_quality import make_link_questions

from mkdocs_roaming.manifest.lookup import SectionRef
from roaming_fleet.collection import Collection

T = TypeVar("T")
Query = tuple[str, str, SectionRef | None]
"""Key of a site, a query, and the right section if known."""


def main() -> None:
    """Print a row for each kind of query."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", help="Folder of the store.")
    parser.add_argument("--each", type=int, default=25, help="Queries of each kind per site (default: 25).")
    parser.add_argument("--seed", type=int, default=3, help="Seed of the random selection (default: 3).")
    parser.add_argument("--questions", type=Path, help="File with tab-separated site keys and questions.")
    options = parser.parse_args()
    collection, rng = Collection(options.store), random.Random(options.seed)
    kinds: dict[str, list[Query]] = {"titles of sections": [], "first words of sections": [], "link texts": []}
    for key in collection.keys:
        sections = list(collection.open(key).library.sections)
        with_title = [section for section in sections if 3 <= len(section.section.title.split()) <= 9]
        with_opening = [section for section in sections if len(section.section.opening.split()) >= _MIN_OPENING_WORDS]
        link_texts = [
            question.text
            for question in make_link_questions(collection.open_plain(key), 4_000)
            if len(question.text.split()) >= _MIN_LINK_WORDS
        ]
        kinds["titles of sections"] += [
            (key, section.section.title, section) for section in _sample(rng, with_title, options.each)
        ]
        kinds["first words of sections"] += [
            (key, " ".join(section.section.opening.split()[:_OPENING_WORDS]), None)
            for section in _sample(rng, with_opening, options.each)
        ]
        kinds["link texts"] += [(key, words, None) for words in _sample(rng, link_texts, options.each)]
    if options.questions:
        lines = [line.split("\t", 1) for line in options.questions.read_text("utf-8").splitlines()]
        kinds["questions"] = [(key, question, None) for key, question in lines if key in collection.keys]
    print(
        f"{len(collection.keys)} sites\n\n| queries | N | right site first, alone | looked into | among three | section among five results |"
    )
    print("| --- " + "| ---: " * 5 + "|")
    for kind, queries in kinds.items():
        if queries:
            _print_row(collection, kind, queries)


def _print_row(collection: Collection, kind: str, queries: Sequence[Query]) -> None:
    alone = first = three = found = 0
    for key, question, section in queries:
        alone += [site.key for site in collection.rank(question, 1)] == [key]
        chosen = [site.key for site in collection.choose(question)]
        first += chosen[:1] == [key]
        three += key in chosen
        if section is not None:
            found += any(hit.hit.section.id == section.id for hit in collection.find(question, limit=5))
    count = len(queries)
    share = f"{found / count:.0%}" if queries[0][2] else ""
    print(f"| {kind} | {count} | {alone / count:.0%} | {first / count:.0%} | {three / count:.0%} | {share} |")


def _sample(rng: random.Random, items: Sequence[T], count: int) -> list[T]:
    return rng.sample(list(items), min(count, len(items)))


_MIN_OPENING_WORDS = 8
_OPENING_WORDS = 14
_MIN_LINK_WORDS = 3


if __name__ == "__main__":
    main()

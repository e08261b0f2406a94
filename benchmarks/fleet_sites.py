"""Is the right site found among real ones?

    python benchmarks/fleet_sites.py STORE [--each 25] [--seed 3] [--questions benchmarks/fleet_questions.tsv]

STORE is what `roaming crawl --many` filled. It is asked by what its sites say themselves: titles of three to nine
words, the first fourteen words of sections, the words of links between pages (three at least), each drawn evenly from
the sites; and by a file of questions, a site's key and a question a line. Prints how often the right site came first by
the catalogue alone, and after looking into the few that it names; how often it was among the three that are asked then;
and for titles how often the section was among five hits.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from roaming_fleet.collection import Collection
from search_quality import link_questions

from mkdocs_roaming.manifest.lookup import SectionRef

T = TypeVar("T")
Asked = tuple[str, str, SectionRef | None]
"""A site, a question about it, and the section that answers it where that is known."""


def main() -> None:
    """Ask, and print a line for each kind of question."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store")
    parser.add_argument("--each", type=int, default=25, help="questions of each kind about a site")
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--questions", type=Path)
    options = parser.parse_args()
    collection, draw = Collection(options.store), random.Random(options.seed)
    kinds: dict[str, list[Asked]] = {"titles": [], "first words": [], "links": []}
    for key in collection.keys:
        places = list(collection.open(key).library.sections)
        titled = [place for place in places if 3 <= len(place.section.title.split()) <= 9]
        said = [place for place in places if len(place.section.opening.split()) >= _FEW_WORDS]
        linked = [
            one.ask for one in link_questions(collection.open_plain(key), 4_000) if len(one.ask.split()) >= _FEWEST
        ]
        kinds["titles"] += [(key, place.section.title, place) for place in _some(draw, titled, options.each)]
        kinds["first words"] += [
            (key, " ".join(place.section.opening.split()[:_FIRST]), None) for place in _some(draw, said, options.each)
        ]
        kinds["links"] += [(key, words, None) for words in _some(draw, linked, options.each)]
    if options.questions:
        lines = [line.split("\t", 1) for line in options.questions.read_text("utf-8").splitlines()]
        kinds["questions"] = [(key, question, None) for key, question in lines if key in collection.keys]
    print(f"{len(collection.keys)} sites\n\n| asked by | | catalogue alone | looked into | among three | section |")
    print("| --- " + "| ---: " * 5 + "|")
    for kind, asked in kinds.items():
        _show(collection, kind, asked)


def _show(collection: Collection, kind: str, asked: Sequence[Asked]) -> None:
    alone = first = three = found = 0
    for key, question, place in asked:
        alone += [site.key for site in collection.rank(question, 1)] == [key]
        chosen = [site.key for site in collection.choose(question)]
        first += chosen[:1] == [key]
        three += key in chosen
        if place is not None:
            found += any(hit.hit.place.id == place.id for hit in collection.find(question, limit=5))
    count = len(asked)
    section = f"{found / count:.0%}" if asked[0][2] else ""
    print(f"| {kind} | {count} | {alone / count:.0%} | {first / count:.0%} | {three / count:.0%} | {section} |")


def _some(draw: random.Random, given: Sequence[T], count: int) -> list[T]:
    return draw.sample(list(given), min(count, len(given)))


_FEW_WORDS = 8
_FIRST = 14
_FEWEST = 3


if __name__ == "__main__":
    main()

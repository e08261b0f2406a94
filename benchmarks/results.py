"""Measure the results that readers get without a model, and which questions are declined.

    python benchmarks/results.py SITE_DIR=QUESTIONS [SITE_DIR=QUESTIONS …]

A question file is YAML, as in `benchmarks/questions`, or has one JSON object with `question` and `gold_sections` in each
line. The answerable questions about the other sites are the negatives of a site. Prints for each file:

- the share of questions about other sites, and of unanswerable ones about the site, that are declined;
- the share of answerable questions that are wrongly declined;
- the share of answerable questions with a right section, and a right page, among the results, of at most three.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
import yaml

from mkdocs_roaming.answer.events import Answer, collect_answer
from mkdocs_roaming.answer.loop import answer
from mkdocs_roaming.answer.results import Offline
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.targets import open_library


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the addresses or ids of the sections each of which answers it; none if the site does not."""

    ask: str
    gold: tuple[str, ...]


class Site:
    """A site that answers questions without a model."""

    def __init__(self, folder: str) -> None:
        self.name = Path(folder).name
        self.library: Library = open_library(folder)
        self._search = Search(self.library)

    def ask(self, question: str) -> Answer:
        """Return the results for a question."""
        navigator = Navigator(self.library, search=self._search)
        return anyio.run(partial(collect_answer, answer(question, navigator, Offline())))

    def resolve(self, addresses: Iterable[str]) -> set[str]:
        """Return the ids of sections."""
        found = [self.library.sections.resolve(address) for address in addresses]
        return {section.id for section in found if section}

    def pages(self, ids: Iterable[str]) -> list[str]:
        """Return the paths of the pages of sections."""
        found = [self.library.sections.get(id_) for id_ in ids]
        return [section.page.path for section in found if section]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "sets", nargs="+", metavar="SITE_DIR=QUESTIONS", help="A site and a file of questions about it."
    )
    options = parser.parse_args()
    sets = [(folder, Path(file)) for folder, _, file in (each.rpartition("=") for each in options.sets)]
    sites = {folder: Site(folder) for folder, _ in sets}
    print(f"{'':28}{'others':>12}{'own':>12}{'wrongly':>12}{'section':>12}{'page':>12}{'first':>12}")
    print(f"{'':28}{'declined':>12}{'declined':>12}{'declined':>12}{'shown':>12}{'shown':>12}{'section':>12}")
    for folder, file in sets:
        others = [question for other, path in sets if other != folder for question in read_questions(path)]
        print_row(sites[folder], file, [question.ask for question in others if question.gold])


def print_row(site: Site, file: Path, others: Sequence[str]) -> None:
    """Print the figures of a question file."""
    questions = read_questions(file)
    cited = {question: [section.id for section in site.ask(question.ask).citations] for question in questions}
    golds = {question: site.resolve(question.gold) for question in questions if question.gold}
    shares = [
        [site.ask(ask).state != "results" for ask in others],
        [not cited[question] for question in questions if not question.gold],
        [not cited[question] for question in golds],
        [not gold.isdisjoint(cited[question]) for question, gold in golds.items()],
        [not set(site.pages(gold)).isdisjoint(site.pages(cited[question])) for question, gold in golds.items()],
        [not gold.isdisjoint(cited[question][:1]) for question, gold in golds.items()],
    ]
    print(f"{f'{site.name} {file.name}':28}" + "".join(f"{format_share(share):>12}" for share in shares), flush=True)


def read_questions(file: Path) -> list[Question]:
    """Read a question file."""
    return list(_iter_questions(file))


def _iter_questions(file: Path) -> Iterator[Question]:
    text = file.read_text("utf-8")
    if file.suffix == ".jsonl":
        for entry in map(json.loads, text.splitlines()):
            sections = [] if entry.get("kind") == "unanswerable" else entry["gold_sections"]
            ids = (section["id"] if isinstance(section, dict) else section for section in sections)
            yield Question(entry["question"], tuple(ids))
    else:
        for entry in yaml.safe_load(text)["questions"]:
            yield Question(entry["ask"], tuple(entry.get("sections", ())))


def format_share(values: Sequence[bool]) -> str:
    """Return a share as percentage with the number of values."""
    return f"{100 * sum(values) / len(values):.0f}% of {len(values)}" if values else "–"


if __name__ == "__main__":
    main()

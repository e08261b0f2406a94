"""Measure the results that readers get without a model, and which questions are declined.

    python benchmarks/results.py SITE_DIR=QUESTIONS [SITE_DIR=QUESTIONS …]

`question_files.py` describes the files. The answerable questions about the other sites are the negatives of a site. Prints
for each file:

- the share of questions about other sites, and of unanswerable ones about the site, that are declined;
- the share of answerable questions that are wrongly declined;
- the share of answerable questions with a right section, and a right page, among the results, of at most three.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import anyio
from question_files import Question, read_questions

from mkdocs_roaming.answer.events import Answer, collect_answer
from mkdocs_roaming.answer.loop import answer
from mkdocs_roaming.answer.results import Offline
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.targets import open_library


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
    files = [(folder, Path(file)) for folder, _, file in (each.rpartition("=") for each in options.sets)]
    sites = {folder: Site(folder) for folder, _ in files}
    sets = [(folder, file.name, read_questions(file, sites[folder].library)) for folder, file in files]
    print(f"{'':28}{'others':>12}{'own':>12}{'wrongly':>12}{'section':>12}{'page':>12}{'first':>12}")
    print(f"{'':28}{'declined':>12}{'declined':>12}{'declined':>12}{'shown':>12}{'shown':>12}{'section':>12}")
    for folder, name, questions in sets:
        others = [question for other, _, about_other in sets if other != folder for question in about_other]
        print_row(sites[folder], name, questions, [question.text for question in others if question.gold])


def print_row(site: Site, name: str, questions: Sequence[Question], others: Sequence[str]) -> None:
    """Print the figures of a question file."""
    cited = {question: [section.id for section in site.ask(question.text).citations] for question in questions}
    golds = {question: question.gold for question in questions if question.gold}
    shares = [
        [site.ask(text).state != "results" for text in others],
        [not cited[question] for question in questions if not question.gold],
        [not cited[question] for question in golds],
        [not gold.isdisjoint(cited[question]) for question, gold in golds.items()],
        [not set(site.pages(gold)).isdisjoint(site.pages(cited[question])) for question, gold in golds.items()],
        [not gold.isdisjoint(cited[question][:1]) for question, gold in golds.items()],
    ]
    print(f"{f'{site.name} {name}':28}" + "".join(f"{format_share(share):>12}" for share in shares), flush=True)


def format_share(values: Sequence[bool]) -> str:
    """Return a share as percentage with the number of values."""
    return f"{100 * sum(values) / len(values):.0f}% of {len(values)}" if values else "–"


if __name__ == "__main__":
    main()

"""Measure what the first request to a model contains of the sections that answer a question.

    python benchmarks/first_prompt.py NAME=SITE_DIR … --questions FOLDER [FOLDER …] [--pairs PAIRS.jsonl]

The questions of a site are in `NAME.yml` in one of the folders. Printed are, for each site and in the mean over all
questions: the share with a right section shown (its text, or a line with its id), the share with its text, and the
estimated tokens of the sections that search opens. `--pairs` reads two-turn questions (`site`, `question`, `follow_up`,
`gold_sections`) and compares what follow-ups are searched with. The last line is a JSON object with the means.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import yaml

from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.prefetch import PREFETCH_TOKENS
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.library.tools import render
from mkdocs_roaming.text.tokenizer import estimate_tokens


@dataclass(frozen=True, slots=True)
class Measured:
    """What the prefetch for one question contains."""

    shown: bool
    text: bool
    tokens: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", nargs="+", help="Names and folders of published sites, NAME=SITE_DIR.")
    parser.add_argument("--questions", nargs="+", type=Path, default=[], help="Folders of question files.")
    parser.add_argument("--pairs", type=Path, help="Two-turn questions.")
    parser.add_argument("--tokens", type=int, default=PREFETCH_TOKENS, help="Maximum size of the opened sections.")
    options = parser.parse_args()
    searches = {
        name: Search(open_library(folder)) for name, _, folder in (site.partition("=") for site in options.sites)
    }
    everything: list[Measured] = []
    for name, search in searches.items():
        files = [file for folder in options.questions if (file := folder / f"{name}.yml").exists()]
        rows = [
            measure(search, question, "", gold, options.tokens)
            for file in files
            for question, gold in read_questions(file, search.library)
        ]
        if rows:
            print_row(name, rows)
            everything += rows
    if everything:
        print_row("all", everything)
    if options.pairs:
        pairs = [
            pair for pair in map(json.loads, options.pairs.read_text("utf-8").splitlines()) if pair["site"] in searches
        ]
        for name in ("alone", "with the question before"):
            print_row(
                f"follow-ups {name}", [measure_pair(searches, pair, name != "alone", options.tokens) for pair in pairs]
            )
    print(json.dumps(summarize(everything)))


def measure(search: Search, question: str, earlier: str, gold: frozenset[str], tokens: int) -> Measured:
    """Return what the prefetch for a question contains of the right sections."""
    found = Navigator(search.library, search=search).prefetch(question, earlier, max_tokens=tokens)
    opened = {section.id for section in found.sections}
    return Measured(bool(gold & {hit.id for hit in found.hits}), bool(gold & opened), estimate_tokens(render(found)))


def measure_pair(searches: dict[str, Search], pair: dict[str, Any], combined: bool, tokens: int) -> Measured:
    earlier = pair["question"] if combined else ""
    gold = frozenset(pair["gold_sections"])
    return measure(searches[pair["site"]], pair["follow_up"], earlier, gold, tokens)


def read_questions(file: Path, library: Library) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the answerable questions of a file with the ids of their right sections."""
    for entry in yaml.safe_load(file.read_text("utf-8"))["questions"]:
        sections = filter(None, map(library.sections.resolve, entry.get("sections", ())))
        if gold := frozenset(section.id for section in sections):
            yield entry["ask"], gold


def print_row(name: str, rows: Sequence[Measured]) -> None:
    figures = summarize(rows)
    print(
        f"{name:36}{len(rows):5}  shown {figures['shown']:5.1%}  text {figures['text']:5.1%}  tokens {figures['tokens']:.0f}"
    )


def summarize(rows: Sequence[Measured]) -> dict[str, float]:
    """Return the means of some questions."""
    names = ("shown", "text", "tokens")
    return {name: round(mean(getattr(row, name) for row in rows), 4) if rows else 0.0 for name in names}


if __name__ == "__main__":
    main()

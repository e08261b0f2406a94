"""Question files: YAML as in `benchmarks/questions`, or one JSON object in each line."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

from mkdocs_roaming.library.library import Library


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the ids of the sections each of which answers it; none if the site does not.

    `excluded_page` is the path of a page that is no result.
    """

    text: str
    gold: frozenset[str]
    kind: str = ""
    excluded_page: str | None = None


def read_questions(file: Path, library: Library) -> list[Question]:
    """Read a question file; a section that the library does not have is reported, and is not found."""
    text = file.read_text("utf-8")
    entries = map(json.loads, text.splitlines()) if file.suffix == ".jsonl" else yaml.safe_load(text)["questions"]
    questions = []
    for number, entry in enumerate(entries, 1):
        addresses = entry.get("sections", ())
        kind = entry.get("kind", "")
        if "gold_sections" in entry and kind != "unanswerable":
            addresses = [section["id"] for section in entry["gold_sections"]]
        gold = set()
        for address in addresses:
            section = library.sections.resolve(address)
            gold.add(section.id if section else address)
            if section is None:
                print(f"{file}: question {number}: unknown section {address!r}", file=sys.stderr)
        questions.append(Question(entry.get("ask") or entry["question"], frozenset(gold), kind))
    return questions

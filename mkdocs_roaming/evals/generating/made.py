"""Questions that were made, and the file that they go into."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import yaml

from mkdocs_roaming.errors import LibraryError, UsageError
from mkdocs_roaming.evals.metrics import find_missing_literals
from mkdocs_roaming.evals.questions import (
    MAX_QUESTION_LENGTH,
    Address,
    Question,
    parse_questions,
    resolve_sections,
    section_address,
)
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.manifest.lookup import SectionRef


@dataclass(frozen=True, slots=True)
class Made:
    """Questions in the order of the site, on how many pages their sections stand, what was dropped and why.

    `error` says what stopped it before there were enough, `by` what made them.
    """

    site: str
    by: str
    questions: tuple[Question, ...]
    pages: int
    dropped: tuple[tuple[str, int], ...] = ()
    cost: float | None = None
    error: str = ""


def question_for(library: Library, place: SectionRef, ask: str, contains: Sequence[str]) -> Question:
    """Give a question that a section answers."""
    address = Address(section_address(place, library.sections))
    return Question(ask=ask, sections=(address,), contains=tuple(dict.fromkeys(contains)), synthetic=True)


def made(
    library: Library,
    by: str,
    questions: Iterable[Question],
    dropped: Iterable[str] = (),
    *,
    cost: float | None = None,
    error: str = "",
) -> Made:
    """Give questions as a set, each read back: its section is found by its address, its literals stand in there."""
    reasons = Counter(dropped)
    kept: list[Question] = []
    for question in questions:
        why = fault(library, question)
        if why:
            reasons[why] += 1
        else:
            kept.append(question)
    found = {address.text: library.sections.resolve(address.text) for one in kept for address in one.sections}
    order = {place.id: at for at, place in enumerate(library.sections)}

    def position(question: Question) -> int:
        place = found[question.sections[0].text]
        return order[place.id] if place else 0

    kept.sort(key=position)
    pages = {place.page.path for place in found.values() if place}
    return Made(library.manifest.site.name, by, tuple(kept), len(pages), tuple(sorted(reasons.items())), cost, error)


def fault(library: Library, question: Question) -> str:
    """Say why a question would mislead whoever measures with it; nothing where all is well."""
    if not 0 < len(question.ask) <= MAX_QUESTION_LENGTH:
        return "no question, or too long"
    try:
        read = parse_questions(_file([question]), "made")
        (back,) = resolve_sections(read, library.sections).questions
        texts = [library.text(place) for id_ in back.gold if (place := library.sections.get(id_))]
    except (UsageError, LibraryError):
        return "its section is not found by its address"
    if not texts or any(find_missing_literals(text, back.contains) for text in texts):
        return "its literals do not stand in its section"
    return ""


def written(questions: Made) -> str:
    """Give the file: YAML as docs/guides/evaluate.md tells it."""
    head = (
        f"# Questions to {' '.join(questions.site.split())}, {questions.by}.\n"
        "# They follow the docs' own words, which readers do not: figures on them are too good. Reword them, drop\n"
        "# what nobody would ask, add what readers did ask, and some that the docs do not answer.\n"
    )
    return head + _file(questions.questions)


def _file(questions: Sequence[Question]) -> str:
    entries = [
        {
            "ask": question.ask,
            "sections": [address.text for address in question.sections],
            **({"contains": list(question.contains)} if question.contains else {}),
            "answerable": True,
            **({"synthetic": True} if question.synthetic else {}),
        }
        for question in questions
    ]
    return "questions:\n" + "\n".join(map(_entry, entries))


def _entry(entry: dict[str, object]) -> str:
    first, *rest = yaml.safe_dump(entry, allow_unicode=True, sort_keys=False, width=10_000).splitlines()
    return "".join([f"  - {first}\n", *(f"    {line}\n" for line in rest)])

"""Which questions of a set a change of the site touches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.evals.questions import Question, QuestionSet
from mkdocs_roaming.roam.library import Library
from mkdocs_roaming.versions import Change, Comparison


@dataclass(frozen=True, slots=True)
class Touched:
    """A question and what became of the sections that answer it."""

    question: Question
    changes: tuple[Change, ...]


def touched(questions: QuestionSet, comparison: Comparison, before: Library, after: Library) -> tuple[Touched, ...]:
    """Give the questions whose gold sections changed, moved or are gone, in the order of the file.

    The file may have been written for either version. Raises UsageError with the line of an address that neither has.
    """
    return tuple(_touched(questions, comparison, before, after))


def _touched(questions: QuestionSet, comparison: Comparison, before: Library, after: Library) -> Iterator[Touched]:
    by_new = {change.after.id: change for change in comparison.sections if change.after is not None}
    for question in questions.questions:
        changes: dict[str, Change] = {}
        for address in question.sections:
            old = before.places.address(address.text)
            new = after.places.address(address.text)
            if old is None and new is None:
                raise UsageError(
                    f"{questions.where}:{address.line}: neither version has a section {address.text!r}; "
                    "`roaming outline` gives ids"
                )
            change = comparison.became(old.id) if old is not None else by_new.get(new.id) if new is not None else None
            if change is not None:
                changes[address.text] = change
        if changes:
            yield Touched(question, tuple(changes.values()))

"""The questions that are asked about the libraries of a set, with reference answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path

from msgspec import Struct

from mkdocs_roaming.library.library import Library

from .cookbook import open_cookbook
from .corpus import Checkout, find_checkout, read_checkout
from .newcomers import SITES, Question, open_site, read_questions
from .report import choose_half


class Asked(Struct, frozen=True):
    """A question of a set.

    Attributes:
        number: Its number in the set, from 1.
        question: The question.
        reference: The reference answer.
        right: The addresses that answer it; none if the documentation does not.
        parts: The rows of the table that it counts in.
        follows: The number of the question that the same person asked before.
    """

    number: int
    question: str
    reference: str
    right: tuple[str, ...]
    parts: tuple[str, ...]
    follows: int | None = None


class Source(Struct, frozen=True):
    """A library that answers questions, with the name of its vectors, and the address of each section by its id."""

    name: str
    library: Library
    addresses: dict[str, str]
    questions: tuple[Asked, ...]


def open_cookbook_source(data: Path, folder: Path) -> Iterator[Source]:
    """Yield the library of the cookbook with its questions."""
    cookbook = open_cookbook(data, folder)
    questions = (
        Asked(number, each.question, each.correct_answer, tuple(each.correct_chunks), (choose_half(each.question),))
        for number, each in enumerate(cookbook.questions, 1)
    )
    yield Source("cookbook", cookbook.library, cookbook.addresses, tuple(questions))


def open_newcomers_sources(data: Path, folder: Path) -> Iterator[Source]:
    """Yield the libraries of two sites, each with its questions that have reference answers, and their follow-ups."""
    numbers = count(1)
    for name in NEWCOMERS:
        library = open_site(data, name, folder / name)
        addresses = {
            section.id: section.page.path + (f"#{section.section.anchor}" if section.section.anchor else "")
            for section in library.sections
        }
        questions: list[Asked] = []
        for each in read_questions(name):
            if each.facts or not each.answers:
                site = SITES[name].name
                first = _make_asked(
                    next(numbers), each, (site, "first questions" if each.answers else "not documented")
                )
                questions.append(first)
                if each.follow_up:
                    questions.append(_make_asked(next(numbers), each.follow_up, (site, "follow-ups"), first.number))
        yield Source(f"newcomers-{name}", library, addresses, tuple(questions))


def _make_asked(number: int, question: Question, parts: tuple[str, ...], follows: int | None = None) -> Asked:
    reference = "; ".join(question.facts) or NOT_DOCUMENTED
    return Asked(number, question.ask, reference, question.answers, parts, follows)


NEWCOMERS = ("pi-hole", "syncthing")
"""The sites whose questions are asked."""
NOT_DOCUMENTED = "The documentation does not say this; the answer has to say so."
SETS: Mapping[str, Callable[[Path, Path], Iterator[Source]]] = {
    "cookbook": open_cookbook_source,
    "newcomers": open_newcomers_sources,
}
"""What opens the libraries of each set, from the folder with the checkouts and an empty folder."""


def read_checkouts(name: str, data: Path) -> tuple[Checkout, ...]:
    """Return what a set is read from."""
    names = NEWCOMERS if name == "newcomers" else ("anthropic-cookbook",)
    return tuple(read_checkout(find_checkout(data, checkout)) for checkout in names)

"""Which of all that can be asked is asked: spread evenly over a site, and the same for the same seed."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import TypeVar

from mkdocs_roaming.evals.generating.facts import KINDS, Fact, facts
from mkdocs_roaming.evals.generating.made import Made, made, question_for
from mkdocs_roaming.library.library import Library

T = TypeVar("T")


def generate(library: Library, count: int, *, seed: int = 0) -> Made:
    """Make so many questions from headings, definitions, tables and code; fewer where there is no more to ask."""
    drawn = draw(facts(library), count, seed)
    questions = [question_for(library, fact.place, fact.ask, fact.contains) for fact in drawn]
    return made(library, f"made from its headings, definitions, tables and code (seed {seed})", questions)


def draw(found: Sequence[Fact], count: int, seed: int) -> list[Fact]:
    """Draw facts page by page, as evenly along the nav as can be; one from each section before any gives its second.

    Of what a page has left, the kind that was drawn least so far comes first.
    """
    pages = [list(group) for _, group in groupby(found, key=lambda fact: fact.place.page.path)]
    drawn: list[Fact] = []
    kinds: Counter[str] = Counter()
    sections: Counter[str] = Counter()
    while pages and len(drawn) < count:
        for page in evenly(pages, count - len(drawn), seed):
            fact = min(
                page,
                key=lambda one: (sections[one.place.id], kinds[one.kind], KINDS.index(one.kind), _lot(one, seed)),
            )
            page.remove(fact)
            drawn.append(fact)
            kinds[fact.kind] += 1
            sections[fact.place.id] += 1
        pages = [page for page in pages if page]
    return drawn


def evenly(things: Sequence[T], count: int, seed: int) -> list[T]:
    """Give so many of some things, at even distances; the seed says where it begins."""
    total = len(things)
    if count >= total:
        return list(things)
    offset = int(hashlib.sha256(str(seed).encode()).hexdigest()[:8], 16) / 16**8 if seed else 0.0
    return [things[int((at + offset) * total / count)] for at in range(count)]


def _lot(fact: Fact, seed: int) -> str:
    return hashlib.sha256(f"{seed} {fact.place.id} {fact.ask}".encode()).hexdigest()

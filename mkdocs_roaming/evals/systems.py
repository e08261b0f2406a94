"""The systems that an evaluation compares: search alone, or a model in the answer loop."""

from __future__ import annotations

import time
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol

from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.events import Reference, SectionsFound
from mkdocs_roaming.answer.loop import answer
from mkdocs_roaming.answer.models.base import Model
from mkdocs_roaming.answer.models.extractive import ExtractiveModel
from mkdocs_roaming.evals.metrics import SEARCH_LIMIT, EvalResult, TrailStep
from mkdocs_roaming.evals.questions import Question
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef

SEARCH = "search"

MAX_RANK = 50
"""Number of search hits among which a gold section has a rank."""

_OFFLINE_SECONDS = 3_600.0


class System(Protocol):
    """A system under test.

    Attributes:
        name: The name of its row.
        navigator: How it finds sections, in a few words.
        has_known_cost: Whether the cost of an answer is known.
    """

    name: str
    navigator: str
    has_known_cost: bool

    async def ask(self, question: Question) -> EvalResult:
        """Return the result of a question."""
        ...


class Ranking:
    """The search of a library, with the hits of each question cached.

    `word_only` collects the questions for which embeddings were configured but not available.
    """

    def __init__(self, library: Library, search: Search) -> None:
        """Start without hits."""
        self.library, self.search = library, search
        self.word_only: set[str] = set()
        self._hits: dict[str, list[SectionRef]] = {}

    def hits(self, question: Question) -> list[SectionRef]:
        """Return the first sections that search finds."""
        if question.ask not in self._hits:
            self._hits[question.ask] = [hit.section for hit in self.search.find(question.ask, limit=MAX_RANK)]
            if self.search.words_only(question.ask):
                self.word_only.add(question.ask)
        return self._hits[question.ask]

    def rank(self, question: Question) -> int | None:
        """Return the rank of the first gold section, counted from 1, or None if it is not among the hits."""
        return next((rank for rank, ref in enumerate(self.hits(question), 1) if ref.id in question.gold), None)


class SearchSystem:
    """Search alone: the hits of one call."""

    name = SEARCH
    navigator = f"the first {SEARCH_LIMIT} search results"
    has_known_cost = True

    def __init__(self, ranking: Ranking) -> None:
        """Use the search of a library."""
        self._ranking = ranking

    async def ask(self, question: Question) -> EvalResult:
        """Return the first hits as the trail."""
        sections = self._ranking.library.sections
        rank = self._ranking.rank(question)
        first = self._ranking.hits(question)[:SEARCH_LIMIT]
        return EvalResult(
            ask=question.ask,
            rank=rank,
            reached=rank is not None and rank <= SEARCH_LIMIT,
            trail=tuple(TrailStep(_reference(sections, ref), number) for number, ref in enumerate(first, 1)),
        )


class ModelSystem:
    """A model in the answer loop, as readers use it."""

    def __init__(
        self,
        name: str,
        model: Model,
        budget: Budget,
        ranking: Ranking,
        *,
        whole_site_tokens: int,
        seconds_given: bool = False,
    ) -> None:
        """Configure the answer loop.

        Args:
            name: Name of the row.
            model: The model.
            budget: Limits of one answer.
            ranking: The search of the site.
            whole_site_tokens: Estimated tokens below which the model reads the whole site.
            seconds_given: Whether the user set the time limit; by default the extractive model has nearly none, since
                a slow machine must not change its results.
        """
        offline = model.name == ExtractiveModel.name
        if offline and not seconds_given:
            budget = replace(budget, seconds=_OFFLINE_SECONDS)
        self.name = name
        self.navigator = "search and quotations" if offline else f"{model.name} in the answer loop"
        self.has_known_cost = offline or budget.prices is not None
        self.model, self.budget = model, budget
        self._ranking, self._whole_site_tokens = ranking, whole_site_tokens

    async def ask(self, question: Question) -> EvalResult:
        """Return the result of the answer loop."""
        start = time.monotonic()
        stream = answer(
            question.ask,
            Navigator(self._ranking.library, search=self._ranking.search),
            self.model,
            page=question.page,
            budget=self.budget,
            whole_site_tokens=self._whole_site_tokens,
        )
        async with aclosing(stream):
            events = [event async for event in stream]
        seconds = time.monotonic() - start
        if any(isinstance(event, SectionsFound) and event.words_only for event in events):
            self._ranking.word_only.add(question.ask)
        return EvalResult.from_events(question, events, rank=self._ranking.rank(question), seconds=seconds)


def _reference(sections: SectionIndex, ref: SectionRef) -> Reference:
    section = ref.section
    return Reference(ref.id, section.title, sections.breadcrumb(ref), sections.url(ref), section.tokens)

"""Who is asked: search alone, the outline alone, or a model that roams; each by its name."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol

from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.events import Finished, Reference, SectionsFound
from mkdocs_roaming.answer.loop import answer
from mkdocs_roaming.answer.models import Model
from mkdocs_roaming.answer.models.offline import Offline
from mkdocs_roaming.answer.trace import digest_of
from mkdocs_roaming.evals.outcomes import FIRST, Outcome, Step, outcome_of
from mkdocs_roaming.evals.outlining import walk_outline
from mkdocs_roaming.evals.questions import Question
from mkdocs_roaming.places import Place, Places
from mkdocs_roaming.roam.library import Library
from mkdocs_roaming.roam.meaning import Finder, Hybrid
from mkdocs_roaming.roam.navigator import Navigator

SEARCH = "search"
OUTLINE = "outline"

LOOKED = 50
"""How many sections of a search are looked at for a rank."""

CUT = "the money of --max-cost ran out in the middle of it"
"""The error of an answer that its own budget would have let go on: what came of it says nothing of the navigator."""


class Mode(Protocol):
    """Whoever is asked a set's questions."""

    @property
    def name(self) -> str:
        """What the row is called."""
        ...

    @property
    def navigator(self) -> str:
        """How it finds its way, in a few words."""
        ...

    @property
    def setting(self) -> str:
        """All that its outcomes depend on beside question and site."""
        ...

    @property
    def priced(self) -> bool:
        """Whether it is known what it costs."""
        ...

    @property
    def worth_keeping(self) -> bool:
        """Whether its outcomes are kept: not where asking anew is free and takes no time."""
        ...

    async def ask(self, question: Question, money: float | None) -> Outcome:
        """Give what comes of a question, spending no more than so much money."""
        ...


class Ranking:
    """How search ranks sections for a question; each question is looked up once.

    `by_words` are the questions for which meaning was to be gone by too, and could not be had.
    """

    def __init__(self, library: Library, search: Finder) -> None:
        self.library, self.search = library, search
        self.by_words: set[str] = set()
        self._found: dict[str, list[Place]] = {}

    def places(self, question: Question) -> list[Place]:
        """Give the first sections that search finds."""
        if question.ask not in self._found:
            self._found[question.ask] = [hit.place for hit in self.search.find(question.ask, limit=LOOKED)]
            if isinstance(self.search, Hybrid) and self.search.words_only(question.ask):
                self.by_words.add(question.ask)
        return self._found[question.ask]

    def rank(self, question: Question) -> int | None:
        """Give where the first gold section stands, from 1; None where it is not among the first fifty."""
        found = (at for at, place in enumerate(self.places(question), 1) if place.id in question.gold)
        return next(found, None)


class SearchMode:
    """Search alone: what one call of it shows."""

    name = SEARCH
    navigator = f"ranks alone, the first {FIRST}"
    setting = f"search {FIRST}"
    priced = True
    worth_keeping = False

    def __init__(self, ranking: Ranking) -> None:
        self._ranking = ranking

    async def ask(self, question: Question, money: float | None) -> Outcome:
        """Give the first ten sections and the rank."""
        places = self._ranking.library.places
        rank = self._ranking.rank(question)
        reached = rank is not None and rank <= FIRST
        first = self._ranking.places(question)[:FIRST]
        return Outcome(
            ask=question.ask,
            rank=rank,
            reached=reached,
            trail=tuple(Step(reference(places, place), at) for at, place in enumerate(first, 1)),
        )


class OutlineMode:
    """The collapsed outline alone, walked by shared words: no search, no understanding."""

    name = OUTLINE
    navigator = "walks the outline alone by shared words"
    setting = "outline 1"
    priced = True
    worth_keeping = False

    def __init__(self, ranking: Ranking) -> None:
        self._ranking = ranking

    async def ask(self, question: Question, money: float | None) -> Outcome:
        """Give the sections that lie along the way."""
        library = self._ranking.library
        walked = walk_outline(question.ask, Navigator(library, search=self._ranking.search))
        steps = tuple(
            Step(reference(library.places, place), call)
            for id_, call in walked.opened.items()
            if (place := library.places.get(id_))
        )
        hits = [step.at for step in steps if step.section.id in question.gold]
        return Outcome(
            ask=question.ask,
            rank=self._ranking.rank(question),
            reached=bool(hits),
            calls=min(hits, default=None),
            trail=steps,
            tokens_read=walked.tokens,
        )


class ModelMode:
    """A model in the answer loop, as readers meet it."""

    worth_keeping = True

    def __init__(
        self,
        name: str,
        model: Model,
        budget: Budget,
        ranking: Ranking,
        *,
        whole_site_tokens: int,
        seconds_given: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        offline = model.name == Offline.name
        if offline and not seconds_given:  # a slow machine must not change what it finds
            budget = replace(budget, seconds=_OFFLINE_SECONDS)
        self.name = name
        self.navigator = "searches, opens, quotes" if offline else f"{model.name} roams"
        self.priced = offline or budget.prices is not None
        self.setting = digest_of("model", model.name, budget, whole_site_tokens)
        self.model, self.budget = model, budget
        self._ranking, self._whole, self._clock = ranking, whole_site_tokens, clock

    async def ask(self, question: Question, money: float | None) -> Outcome:
        """Give what the answer loop comes to."""
        budget, cut = self.budget, False
        if money is not None and budget.prices is not None and (budget.cost is None or money < budget.cost):
            budget, cut = replace(budget, cost=money), True
        navigator = Navigator(self._ranking.library, search=self._ranking.search)
        begun = self._clock()
        asking = answer(
            question.ask,
            navigator,
            self.model,
            page=question.page,
            budget=budget,
            whole_site_tokens=self._whole,
            clock=self._clock,
        )
        async with aclosing(asking) as told:
            events = [event async for event in told]
        taken = self._clock() - begun
        if any(isinstance(event, SectionsFound) and event.words_only for event in events):
            self._ranking.by_words.add(question.ask)
        outcome = outcome_of(question, events, rank=self._ranking.rank(question), seconds=taken)
        if cut and any(isinstance(event, Finished) and event.spent == "cost" for event in events):
            return replace(outcome, error=CUT)
        return outcome


def reference(places: Places, place: Place) -> Reference:
    """Give a section as readers are told of it."""
    section = place.section
    return Reference(place.id, section.title, places.breadcrumb(place), places.url(place), section.tokens)


_OFFLINE_SECONDS = 3_600.0

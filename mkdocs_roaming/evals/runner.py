"""Run an evaluation of search alone or of models in the answer loop."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from mkdocs_roaming._version import __version__
from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.events import Reference, summarize
from mkdocs_roaming.answer.loop import answer
from mkdocs_roaming.answer.models.base import Model
from mkdocs_roaming.evals.metrics import (
    MAX_RANK,
    SEARCH_LIMIT,
    EvalResult,
    Figure,
    compute_figures,
    compute_rank_figures,
    describe_problem,
)
from mkdocs_roaming.evals.questions import Question, QuestionSet
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.search import Search

SEARCH = "search"

MAX_CONSECUTIVE_ERRORS = 5
"""A system is not asked any further after this number of failed answers in a row."""


@dataclass(frozen=True, slots=True)
class System:
    """A system under test: a model in the answer loop, as readers use it, or search alone.

    Attributes:
        name: Name of the row.
        model: The model; None for search alone.
        budget: Limits of one answer.
    """

    name: str
    model: Model | None = None
    budget: Budget = field(default_factory=Budget)


@dataclass(frozen=True, slots=True)
class ReportRow:
    """The results of one system.

    Attributes:
        mode: Name of the system.
        results: Results in the order of the questions; None for a question that was not asked.
        problems: What is wrong with each result; empty if nothing is.
        figures: Figures of the results.
        cost: Cost of all answers, or None if it is unknown.
        currency: Currency of `cost`.
        seconds: Duration of all answers, which differs from run to run.
        stop_reason: Why not every question was asked, or an empty string.
    """

    mode: str
    results: tuple[EvalResult | None, ...]
    problems: tuple[str, ...]
    figures: tuple[Figure, ...]
    cost: float | None
    currency: str
    seconds: float
    stop_reason: str = ""

    @property
    def asked(self) -> list[EvalResult]:
        """The results of the questions that were asked."""
        return [result for result in self.results if result is not None]

    @property
    def errors(self) -> int:
        """Number of answers that failed."""
        return sum(bool(result.error) for result in self.asked)


@dataclass(frozen=True, slots=True)
class EvalReport:
    """The results of an evaluation."""

    site: str
    url: str
    digest: str
    questions: QuestionSet
    ranks: tuple[Figure, ...]
    rows: tuple[ReportRow, ...]
    generator: str = f"mkdocs-roaming {__version__}"


class Evaluation:
    """A running evaluation; `report` may be called at any time.

    Args:
        questions: The questions to ask.
        systems: The systems under test.
        library: The site.
        search: Its search.
    """

    def __init__(self, questions: QuestionSet, systems: Sequence[System], library: Library, search: Search) -> None:
        self.on_progress: Callable[[], None] = lambda: None
        """Called after each question."""
        self._questions = questions
        self._systems = systems
        self._library = library
        self._search = search
        self._hits = {
            question.ask: [hit.section for hit in search.find(question.ask, limit=MAX_RANK)]
            for question in questions.questions
        }
        self._results: dict[str, list[EvalResult]] = {system.name: [] for system in systems}
        self._stop_reasons: dict[str, str] = {}

    async def run(self) -> None:
        """Ask every system every question."""
        for system in self._systems:
            results = self._results[system.name]
            for question in self._questions.questions:
                results.append(await self._ask(system, question))
                self.on_progress()
                last = results[-MAX_CONSECUTIVE_ERRORS:]
                if len(last) == MAX_CONSECUTIVE_ERRORS and all(result.error for result in last):
                    self._stop_reasons[system.name] = f"{len(last)} answers in a row failed: {last[-1].error}"
                    break

    async def _ask(self, system: System, question: Question) -> EvalResult:
        rank = self._rank(question)
        if system.model is None:
            hits = self._hits[question.ask][:SEARCH_LIMIT]
            opened = tuple(Reference.from_section(self._library.sections, hit) for hit in hits)
            return EvalResult(question.ask, rank, question.has_gold(opened), opened)
        navigator = Navigator(self._library, search=self._search)
        start = time.monotonic()
        stream = answer(question.ask, navigator, system.model, page=question.page, budget=system.budget)
        async with aclosing(stream):
            events = [event async for event in stream]
        seconds = time.monotonic() - start
        return EvalResult.from_answer(question, summarize(events), rank=rank, seconds=seconds)

    def _rank(self, question: Question) -> int | None:
        """Return the rank of the first gold section, counted from 1, or None if it is not among the hits."""
        for rank, hit in enumerate(self._hits[question.ask], 1):
            if hit.id in question.gold:
                return rank
        return None

    def report(self) -> EvalReport:
        """Return the results so far."""
        manifest = self._library.manifest
        questions = self._questions.questions
        ranks = compute_rank_figures(questions, [self._rank(question) for question in questions])
        rows = tuple(self._make_row(system.name) for system in self._systems)
        return EvalReport(manifest.site.name, manifest.site.url, manifest.digest, self._questions, ranks, rows)

    def _make_row(self, name: str) -> ReportRow:
        asked = self._results[name]
        questions = self._questions.questions
        unasked = [None] * (len(questions) - len(asked))
        results = (*asked, *unasked)
        problems = [describe_problem(question, result) for question, result in zip(questions, asked, strict=False)]
        costs = [result.cost for result in asked if result.cost is not None]
        currencies = [result.currency for result in asked if result.currency]
        return ReportRow(
            mode=name,
            results=results,
            problems=(*problems, *("" for _ in unasked)),
            figures=compute_figures(questions, results),
            cost=sum(costs) if costs else None,
            currency=currencies[0] if currencies else "",
            seconds=sum(result.seconds for result in asked),
            stop_reason=self._stop_reasons.get(name, "interrupted" if unasked else ""),
        )

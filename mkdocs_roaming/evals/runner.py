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
from mkdocs_roaming.answer.results import Offline
from mkdocs_roaming.errors import UsageError
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
from mkdocs_roaming.manifest.lookup import SectionRef

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

    @property
    def has_known_cost(self) -> bool:
        """Whether the cost of an answer is known."""
        return self.model is None or self.model.name == Offline.name or self.budget.prices is not None


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


@dataclass(slots=True)
class Evaluation:
    """A running evaluation; `report` may be called at any time.

    Attributes:
        questions: The questions to ask.
        systems: The systems under test.
        library: The site.
        search: Its search.
        max_cost: Cost of this run at which no more questions are asked.
        on_progress: Called after each question.
    """

    questions: QuestionSet
    systems: Sequence[System]
    library: Library
    search: Search
    max_cost: float | None = None
    on_progress: Callable[[], None] = lambda: None
    _hits: dict[str, list[SectionRef]] = field(init=False)
    _results: dict[str, list[EvalResult]] = field(default_factory=dict)
    _stop_reasons: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check that the cost can be limited, and search for each question."""
        for system in self.systems:
            if self.max_cost is not None and not system.has_known_cost:
                raise UsageError(
                    f"cannot limit the cost of {system.name}: its prices are unknown. "
                    "Set [prices] in roaming.toml, or omit --max-cost."
                )
        self._hits = {
            question.ask: [hit.section for hit in self.search.find(question.ask, limit=MAX_RANK)]
            for question in self.questions.questions
        }

    async def run(self) -> None:
        """Ask every system every question."""
        cost = 0.0
        for system in self.systems:
            results = self._results.setdefault(system.name, [])
            for question in self.questions.questions:
                if self.max_cost is not None and cost >= self.max_cost:
                    self._stop_reasons[system.name] = f"the limit of --max-cost ({self.max_cost}) is reached"
                    break
                result = await self._ask(system, question)
                results.append(result)
                cost += result.cost or 0.0
                self.on_progress()
                last = results[-MAX_CONSECUTIVE_ERRORS:]
                if len(last) == MAX_CONSECUTIVE_ERRORS and all(failed.error for failed in last):
                    self._stop_reasons[system.name] = f"{len(last)} answers in a row failed: {result.error}"
                    break

    async def _ask(self, system: System, question: Question) -> EvalResult:
        rank = self._rank(question)
        model = system.model
        if model is None:
            opened = [
                Reference.from_section(self.library.sections, ref) for ref in self._hits[question.ask][:SEARCH_LIMIT]
            ]
            return EvalResult(question.ask, rank, question.has_gold(opened), tuple(opened))
        start = time.monotonic()
        budget = system.budget
        stream = answer(
            question.ask,
            Navigator(self.library, search=self.search),
            model,
            page=question.page,
            budget=budget,
        )
        async with aclosing(stream):
            events = [event async for event in stream]
        return EvalResult.from_answer(question, summarize(events), rank=rank, seconds=time.monotonic() - start)

    def _rank(self, question: Question) -> int | None:
        """Return the rank of the first gold section, counted from 1, or None if it is not among the hits."""
        hits = enumerate(self._hits[question.ask], 1)
        return next((rank for rank, ref in hits if ref.id in question.gold), None)

    def report(self) -> EvalReport:
        """Return the results so far."""
        manifest = self.library.manifest
        questions = self.questions.questions
        figures = compute_rank_figures(questions, list(map(self._rank, questions)))
        rows = tuple(self._make_row(system.name) for system in self.systems)
        return EvalReport(manifest.site.name, manifest.site.url, manifest.digest, self.questions, figures, rows)

    def _make_row(self, name: str) -> ReportRow:
        asked = self._results.get(name, [])
        questions = self.questions.questions
        results = (*asked, *[None] * (len(questions) - len(asked)))
        pairs = zip(questions, results, strict=True)
        costs = [result.cost for result in asked if result.cost is not None]
        return ReportRow(
            mode=name,
            results=results,
            problems=tuple(describe_problem(question, result) if result else "" for question, result in pairs),
            figures=compute_figures(questions, results),
            cost=sum(costs) if costs else None,
            currency=next((result.currency for result in asked if result.currency), ""),
            seconds=sum(result.seconds for result in asked),
            stop_reason=self._stop_reasons.get(name, "interrupted" if None in results else ""),
        )

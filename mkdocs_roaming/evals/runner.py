"""Run an evaluation of search alone or of models in the answer loop."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from mkdocs_roaming._version import __version__
from mkdocs_roaming.answer.budget import AnswerLimits
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

_OFFLINE_SECONDS = 3_600.0


class Ranking:
    """The search of a library, with the hits of each question cached."""

    def __init__(self, library: Library, search: Search) -> None:
        """Start without hits."""
        self.library, self.search = library, search
        self._hits: dict[str, list[SectionRef]] = {}

    def hits(self, question: Question) -> list[SectionRef]:
        """Return the first sections that search finds."""
        if question.ask not in self._hits:
            self._hits[question.ask] = [hit.section for hit in self.search.find(question.ask, limit=MAX_RANK)]
        return self._hits[question.ask]

    def rank(self, question: Question) -> int | None:
        """Return the rank of the first gold section, counted from 1, or None if it is not among the hits."""
        return next((rank for rank, ref in enumerate(self.hits(question), 1) if ref.id in question.gold), None)


@dataclass(frozen=True, slots=True)
class System:
    """A system under test: its name, how it is asked, and whether the cost of an answer is known."""

    name: str
    ask: Callable[[Question], Awaitable[EvalResult]]
    has_known_cost: bool = True


def make_search_system(ranking: Ranking) -> System:
    """Return search alone: the hits of one call."""

    async def ask(question: Question) -> EvalResult:
        rank = ranking.rank(question)
        sections = ranking.library.sections
        opened = [Reference.from_section(sections, ref) for ref in ranking.hits(question)[:SEARCH_LIMIT]]
        return EvalResult(question.ask, rank, rank is not None and rank <= SEARCH_LIMIT, tuple(opened))

    return System(SEARCH, ask)


def make_model_system(
    name: str, model: Model, budget: AnswerLimits, ranking: Ranking, *, seconds_given: bool = False
) -> System:
    """Return a model in the answer loop, as readers use it.

    Args:
        name: Name of the row.
        model: The model.
        budget: Limits of one answer.
        ranking: The search of the site.
        seconds_given: Whether the user set the time limit; by default `offline` has nearly none, since
            a slow machine must not change its results.
    """
    offline = model.name == Offline.name
    if offline and not seconds_given:
        budget = replace(budget, seconds=_OFFLINE_SECONDS)

    async def ask(question: Question) -> EvalResult:
        start = time.monotonic()
        navigator = Navigator(ranking.library, search=ranking.search)
        whole_site_tokens = budget.whole_site_tokens
        stream = answer(
            question.ask, navigator, model, page=question.page, budget=budget, whole_site_tokens=whole_site_tokens
        )
        async with aclosing(stream):
            events = [event async for event in stream]
        seconds = time.monotonic() - start
        return EvalResult.from_answer(question, summarize(events), rank=ranking.rank(question), seconds=seconds)

    return System(name, ask, offline or budget.prices is not None)


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
        ranking: The search of the site.
        max_cost: Cost of this run at which no more questions are asked.
        on_progress: Called after each question.
    """

    questions: QuestionSet
    systems: Sequence[System]
    ranking: Ranking
    max_cost: float | None = None
    on_progress: Callable[[], None] = lambda: None
    _results: dict[str, list[EvalResult]] = field(default_factory=dict)
    _stop_reasons: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check that the cost can be limited."""
        for system in self.systems:
            if self.max_cost is not None and not system.has_known_cost:
                raise UsageError(
                    f"cannot limit the cost of {system.name}: its prices are unknown. "
                    "Set [prices] in roaming.toml, or omit --max-cost."
                )

    async def run(self) -> None:
        """Ask every system every question."""
        cost = 0.0
        for system in self.systems:
            results = self._results.setdefault(system.name, [])
            for question in self.questions.questions:
                if self.max_cost is not None and cost >= self.max_cost:
                    self._stop_reasons[system.name] = f"the limit of --max-cost ({self.max_cost}) is reached"
                    break
                result = await system.ask(question)
                results.append(result)
                cost += result.cost or 0.0
                self.on_progress()
                last = results[-MAX_CONSECUTIVE_ERRORS:]
                if len(last) == MAX_CONSECUTIVE_ERRORS and all(failed.error for failed in last):
                    self._stop_reasons[system.name] = f"{len(last)} answers in a row failed: {result.error}"
                    break

    def report(self) -> EvalReport:
        """Return the results so far."""
        manifest, questions = self.ranking.library.manifest, self.questions.questions
        ranks = [self.ranking.rank(question) for question in questions]
        rows = tuple(self._make_row(system.name) for system in self.systems)
        figures = compute_rank_figures(questions, ranks)
        return EvalReport(manifest.site.name, manifest.site.url, manifest.digest, self.questions, figures, rows)

    def _make_row(self, name: str) -> ReportRow:
        asked, questions = self._results.get(name, []), self.questions.questions
        results = (*asked, *[None] * (len(questions) - len(asked)))
        costs = [result.cost for result in asked if result.cost is not None]
        return ReportRow(
            mode=name,
            results=results,
            problems=tuple(
                describe_problem(question, result) if result else ""
                for question, result in zip(questions, results, strict=True)
            ),
            figures=compute_figures(questions, results),
            cost=sum(costs) if costs else None,
            currency=next((result.currency for result in asked if result.currency), ""),
            seconds=sum(result.seconds for result in asked),
            stop_reason=self._stop_reasons.get(name, "interrupted" if None in results else ""),
        )

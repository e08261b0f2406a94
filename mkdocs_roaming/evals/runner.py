"""Run an evaluation of search alone or of models in the answer loop."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

import anyio

from mkdocs_roaming._version import __version__
from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.events import Reference, SectionsFound
from mkdocs_roaming.answer.loop import answer
from mkdocs_roaming.answer.models.base import Model
from mkdocs_roaming.answer.results import Offline
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.evals.metrics import (
    SEARCH_LIMIT,
    EvalResult,
    Figure,
    Totals,
    TrailStep,
    compute_figure,
    compute_rank_figures,
    compute_totals,
)
from mkdocs_roaming.evals.questions import Question, QuestionSet
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.manifest.descriptions import Descriptions, describe_manifest
from mkdocs_roaming.manifest.lookup import SectionRef

SEARCH = "search"

MAX_RANK = 50
"""Number of search hits among which a gold section has a rank."""

_OFFLINE_SECONDS = 3_600.0


class Ranking:
    """The search of a library, with the hits of each question cached.

    `label` is added to the names of the systems that use it. `word_only` collects the questions for which embeddings
    were configured but not available.
    """

    def __init__(self, library: Library, search: Search, label: str = "") -> None:
        """Start without hits."""
        self.library, self.search, self.label = library, search, label
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

    def prefetches(self, question: Question) -> bool:
        """Return whether a gold section is opened for a question before a model is called."""
        opened = Navigator(self.library, search=self.search).prefetch(question.ask).sections
        return any(section.id in question.gold for section in opened)


class SearchSystem:
    """Search alone: the hits of one call.

    Attributes:
        name: The name of its row.
        navigator: How it finds sections, in a few words.
        has_known_cost: Whether the cost of an answer is known.
    """

    navigator = f"the first {SEARCH_LIMIT} search results"
    has_known_cost = True

    def __init__(self, ranking: Ranking) -> None:
        """Use the search of a library."""
        self.name = SEARCH + ranking.label
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
            trail=tuple(
                TrailStep(Reference.from_section(sections, ref), number) for number, ref in enumerate(first, 1)
            ),
        )


class ModelSystem:
    """A model in the answer loop, as readers use it. The attributes are those of `SearchSystem`."""

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
            seconds_given: Whether the user set the time limit; by default `offline` has nearly none, since
                a slow machine must not change its results.
        """
        offline = model.name == Offline.name
        if offline and not seconds_given:
            budget = replace(budget, seconds=_OFFLINE_SECONDS)
        self.name = name + ranking.label
        self.navigator = "search" if offline else f"{model.name} in the answer loop"
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


System = SearchSystem | ModelSystem
"""A system under test."""


def replace_descriptions(library: Library, descriptions: Descriptions) -> Library:
    """Return a library with other descriptions by a model; of an empty file, with none."""
    replaced = library.rename_ids(lambda manifest: describe_manifest(manifest, descriptions)[0])
    replaced.trusted = library.trusted
    return replaced


MAX_CONSECUTIVE_ERRORS = 5
"""A system is not asked any further after this number of failed answers in a row."""


@dataclass(frozen=True, slots=True)
class ReportRow:
    """The results of one system.

    Attributes:
        mode: Name of the system.
        navigator: How the system finds sections.
        results: Results in the order of the questions; None for a question that was not asked.
        totals: Figures of the results.
        stop_reason: Why not every question was asked, or an empty string.
    """

    mode: str
    navigator: str
    results: tuple[EvalResult | None, ...]
    totals: Totals
    stop_reason: str = ""

    @property
    def complete(self) -> bool:
        """Whether every question was asked and no answer failed."""
        return all(result is not None and not result.error for result in self.results)


@dataclass(frozen=True, slots=True)
class EvalReport:
    """The results of an evaluation."""

    site: str
    url: str
    digest: str
    questions: QuestionSet
    ranks: tuple[Figure, ...]
    rows: tuple[ReportRow, ...]
    ranks_without_descriptions: tuple[Figure, ...] = ()
    generator: str = f"mkdocs-roaming {__version__}"


@dataclass(slots=True)
class Evaluation:
    """A running evaluation; `report` may be called at any time.

    Attributes:
        questions: The questions to ask.
        systems: The systems under test.
        ranking: The search of the site.
        plain: The search of the site without descriptions, to compare with.
        parallel: Number of questions to ask concurrently.
        max_cost: Cost of this run at which no more questions are asked.
        on_progress: Called after each question.
    """

    questions: QuestionSet
    systems: Sequence[System]
    ranking: Ranking
    plain: Ranking | None = None
    parallel: int = 1
    max_cost: float | None = None
    on_progress: Callable[[], None] = lambda: None
    _stop_reasons: dict[str, str] = field(default_factory=dict)
    _results: dict[tuple[int, int], EvalResult] = field(default_factory=dict)
    _cost: float = 0.0
    _failures: dict[int, int] = field(default_factory=dict)

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
        limiter = anyio.CapacityLimiter(self.parallel)
        for row, system in enumerate(self.systems):
            async with anyio.create_task_group() as group:
                for position, question in enumerate(self.questions.questions):
                    await limiter.acquire_on_behalf_of((row, position))
                    group.start_soon(self._evaluate, row, position, system, question, limiter)

    def report(self) -> EvalReport:
        """Return the results so far."""
        manifest = self.ranking.library.manifest
        questions = self.questions.questions
        rows: list[ReportRow] = []
        for row, system in enumerate(self.systems):
            results = tuple(self._results.get((row, position)) for position in range(len(questions)))
            interrupted = "interrupted" if None in results else ""
            rows.append(
                ReportRow(
                    system.name,
                    system.navigator,
                    results,
                    compute_totals(questions, results),
                    self._stop_reasons.get(system.name, interrupted),
                )
            )
        return EvalReport(
            site=manifest.site.name,
            url=manifest.site.url,
            digest=manifest.digest,
            questions=self.questions,
            ranks=self._compute_ranks(self.ranking),
            rows=tuple(rows),
            ranks_without_descriptions=self._compute_ranks(self.plain) if self.plain else (),
        )

    def _compute_ranks(self, ranking: Ranking) -> tuple[Figure, ...]:
        questions = self.questions.questions
        figures = compute_rank_figures(questions, [ranking.rank(question) for question in questions])
        opened = [float(ranking.prefetches(one)) for one in questions if one.answerable] if self.plain else []
        return (*figures, compute_figure("prefetched", opened)) if opened else figures

    async def _evaluate(
        self, row: int, position: int, system: System, question: Question, limiter: anyio.CapacityLimiter
    ) -> None:
        try:
            if system.name in self._stop_reasons:
                return
            if self.max_cost is not None and self._cost >= self.max_cost:
                self._stop_reasons[system.name] = f"the limit of --max-cost ({self.max_cost}) is reached"
                return
            result = await system.ask(question)
            self._cost += result.cost or 0.0
            self._results[row, position] = result
            self._failures[row] = self._failures.get(row, 0) + 1 if result.error else 0
            if self._failures[row] >= MAX_CONSECUTIVE_ERRORS:
                self._stop_reasons[system.name] = f"{MAX_CONSECUTIVE_ERRORS} answers in a row failed: {result.error}"
        finally:
            self.on_progress()
            limiter.release_on_behalf_of((row, position))

"""Run an evaluation of search alone or of models in the answer loop, and compare its results with a baseline."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Protocol

import anyio
import msgspec

from mkdocs_roaming._version import __version__
from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.events import Reference, SectionsFound
from mkdocs_roaming.answer.loop import answer
from mkdocs_roaming.answer.models.base import Model
from mkdocs_roaming.answer.models.extractive import ExtractiveModel
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.evals.metrics import (
    SEARCH_LIMIT,
    EvalResult,
    Figure,
    Totals,
    TrailStep,
    compute_rank_figures,
    compute_totals,
)
from mkdocs_roaming.evals.questions import Question, QuestionSet
from mkdocs_roaming.files import write_text_file
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.manifest.lookup import SectionRef

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
            reached=_is_listed(rank),
            trail=tuple(
                TrailStep(Reference.from_section(sections, ref), number) for number, ref in enumerate(first, 1)
            ),
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
    """The results of an evaluation; `set_digest` identifies the question set without --only and --limit."""

    site: str
    url: str
    digest: str
    questions: QuestionSet
    set_digest: str
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
        set_digest: Digest of the whole question set, if `questions` are a part of it.
        parallel: Number of questions to ask concurrently.
        max_cost: Cost of this run at which no more questions are asked.
        on_progress: Called after each question.
    """

    questions: QuestionSet
    systems: Sequence[System]
    ranking: Ranking
    set_digest: str = ""
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
            set_digest=self.set_digest or self.questions.digest,
            ranks=compute_rank_figures(questions, [self.ranking.rank(question) for question in questions]),
            rows=tuple(rows),
        )

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


# Baseline


class BaselineResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """The part of a result that must not get worse; `held` are the expected literals that the answer contained."""

    ask: str
    rank: int | None = None
    reached: bool = False
    answered: bool | None = None
    held: tuple[str, ...] = ()


class BaselineSystem(msgspec.Struct, frozen=True):
    """The results of one system, in the order of the questions."""

    mode: str
    outcomes: tuple[BaselineResult, ...]


class Baseline(msgspec.Struct, frozen=True):
    """The results of a question set; `questions` is the digest of the set, `digest` that of the site."""

    format: Literal["roaming-baseline"]
    version: Literal[1]
    questions: str
    site: str
    digest: str
    modes: tuple[BaselineSystem, ...]


@dataclass(frozen=True, slots=True)
class Regression:
    """A question whose result got worse with a system."""

    ask: str
    mode: str
    before: str
    after: str


def create_baseline(report: EvalReport) -> Baseline:
    """Return the baseline of a report.

    Raises:
        UsageError: If not every question of the set was asked, or an answer failed.
    """
    if report.questions.digest != report.set_digest:
        raise UsageError("cannot write a baseline of some questions: omit --only and --limit")
    for row in report.rows:
        if not row.complete:
            reason = row.stop_reason or "answers failed"
            raise UsageError(f"cannot write a baseline: {row.mode} did not answer every question ({reason})")
    questions = report.questions.questions
    systems = [
        BaselineSystem(
            row.mode,
            tuple(
                _to_baseline_result(question, result)
                for question, result in zip(questions, row.results, strict=True)
                if result is not None
            ),
        )
        for row in report.rows
    ]
    return Baseline("roaming-baseline", 1, report.set_digest, report.site, report.digest, tuple(systems))


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Write a baseline; equal results yield equal bytes."""
    write_text_file(path, json.dumps(msgspec.to_builtins(baseline), ensure_ascii=False, indent=1) + "\n")


def read_baseline(path: Path) -> Baseline:
    """Read a baseline.

    Raises:
        UsageError: If the file cannot be read or is not a baseline of this version.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=Baseline)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}. Create it with --write-baseline.") from None
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not a baseline of version 1: {error}. {_REWRITE}") from None


def check_comparable(baseline: Baseline, questions: QuestionSet, systems: Sequence[str], where: str) -> None:
    """Check before any question is asked that a baseline covers all questions and systems.

    Raises:
        UsageError: If it does not; `where` names the baseline.
    """
    if baseline.questions != questions.digest:
        raise UsageError(f"{where}: the baseline has other questions than {questions.where}. {_REWRITE}")
    asked = {one.mode: {result.ask for result in one.outcomes} for one in baseline.modes}
    if missing := [system for system in systems if system not in asked]:
        raise UsageError(
            f"{where}: the baseline has results of {', '.join(asked)}, but not of {', '.join(missing)}. {_REWRITE}"
        )
    for system in systems:
        for question in questions.questions:
            if question.ask not in asked[system]:
                raise UsageError(f"{where}: the baseline has no result of {system} for {question.ask!r}. {_REWRITE}")


def find_regressions(baseline: Baseline, report: EvalReport) -> list[Regression]:
    """Return the results that got worse, in the order of systems and questions.

    The baseline must have passed `check_comparable`.
    """
    before = {one.mode: {result.ask: result for result in one.outcomes} for one in baseline.modes}
    regressions: dict[Regression, None] = {}  # all systems have the same search ranks: reported once
    for row in report.rows:
        for question, result in zip(report.questions.questions, row.results, strict=True):
            if result is not None and not result.error:
                found = _compare(question, before[row.mode][question.ask], result, row.mode)
                regressions |= dict.fromkeys(found)
    return list(regressions)


def _compare(question: Question, before: BaselineResult, now: EvalResult, system: str) -> Iterator[Regression]:
    for was, is_now in _compare_answers(question, before, now):
        yield Regression(question.ask, system, was, is_now)
    if not question.answerable:
        return
    if _is_listed(before.rank) and not _is_listed(now.rank):
        after = f"ranked {now.rank}" if now.rank else f"not among the first {MAX_RANK}"
        yield Regression(question.ask, SEARCH, f"ranked {before.rank}", after)
    if before.reached and not now.reached and system != SEARCH:
        yield Regression(question.ask, system, "a gold section was opened", "none is opened")


def _compare_answers(question: Question, before: BaselineResult, now: EvalResult) -> Iterator[tuple[str, str]]:
    if not question.answerable and before.answered is False and now.answered:
        yield "declined", "answered, although the documentation does not say"
    if question.answerable and before.answered and now.declined:
        yield "answered", "declined"
    lost = [literal for literal in now.missing or () if now.answered and literal in before.held]
    if lost:
        yield f"the answer contained {', '.join(lost)}", "it does not"


def _is_listed(rank: int | None) -> bool:
    """Return whether a section is among the results of one search."""
    return rank is not None and rank <= SEARCH_LIMIT


def _to_baseline_result(question: Question, result: EvalResult) -> BaselineResult:
    missing = question.contains if result.missing is None else result.missing
    return BaselineResult(
        ask=result.ask,
        rank=result.rank,
        reached=result.reached,
        answered=None if result.state is None else result.answered,
        held=tuple(literal for literal in question.contains if literal not in missing),
    )


_REWRITE = "Write the baseline again with --write-baseline."

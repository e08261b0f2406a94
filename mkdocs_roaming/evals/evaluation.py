"""A question set put to several modes: kept as it comes, broken off without loss, told as a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import anyio

from mkdocs_roaming import __version__
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.evals.keeping import Kept, key_of
from mkdocs_roaming.evals.modes import CUT, Mode, Ranking
from mkdocs_roaming.evals.outcomes import Outcome
from mkdocs_roaming.evals.questions import Question, QuestionSet
from mkdocs_roaming.evals.totals import Difference, Figure, Totals, differences, ranks, totals

MOST_ERRORS = 5
"""A mode that fails so often in a row is asked no more."""


@dataclass(frozen=True, slots=True)
class Row:
    """What came of a mode: outcomes in the order of the questions, None where one was not asked, and why not.

    `against` is what its figures differ by from the first row's; the first row has none.
    """

    mode: str
    navigator: str
    outcomes: tuple[Outcome | None, ...]
    totals: Totals
    left: str = ""
    against: tuple[Difference, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether every question was asked, and none failed."""
        return all(outcome is not None and not outcome.error for outcome in self.outcomes)


@dataclass(frozen=True, slots=True)
class Report:
    """What an evaluation comes to."""

    site: str
    url: str
    digest: str
    questions: QuestionSet
    set_digest: str
    ranks: tuple[Figure, ...]
    rows: tuple[Row, ...]
    generator: str = f"mkdocs-roaming {__version__}"


@dataclass(slots=True)
class Evaluation:
    """An evaluation while it runs; what is there can be told at any time."""

    questions: QuestionSet
    modes: Sequence[Mode]
    ranking: Ranking
    set_digest: str = ""
    kept: Kept | None = None
    parallel: int = 1
    max_cost: float | None = None
    step: Callable[[], None] = lambda: None
    left: dict[str, str] = field(default_factory=dict)
    _outcomes: dict[tuple[int, int], Outcome] = field(default_factory=dict)
    _spent: float = 0.0
    _set_aside: list[float] = field(default_factory=list)
    _failed: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for mode in self.modes:
            if self.max_cost is not None and not mode.priced:
                raise UsageError(
                    f"what {mode.name} costs is not known, so it cannot be limited; give [prices] in roaming.toml"
                )

    async def run(self) -> None:
        """Ask every question of every mode; several at once where that is wanted."""
        limit = anyio.CapacityLimiter(self.parallel)
        for row, mode in enumerate(self.modes):
            async with anyio.create_task_group() as group:
                for at, question in enumerate(self.questions.questions):
                    await limit.acquire_on_behalf_of((row, at))
                    group.start_soon(self._ask, row, at, mode, question, limit)

    def report(self) -> Report:
        """Give what is there."""
        manifest = self.ranking.library.manifest
        asked = self.questions.questions
        return Report(
            site=manifest.site.name,
            url=manifest.site.url,
            digest=manifest.digest,
            questions=self.questions,
            set_digest=self.set_digest or self.questions.digest,
            ranks=ranks(asked, [self.ranking.rank(one) for one in asked]),
            rows=tuple(self._row(row, mode) for row, mode in enumerate(self.modes)),
        )

    async def _ask(self, row: int, at: int, mode: Mode, question: Question, limit: anyio.CapacityLimiter) -> None:
        try:
            if mode.name in self.left:
                return
            kept = self.kept if mode.worth_keeping else None
            key = key_of(
                question,
                mode.name,
                f"{mode.setting} {type(self.ranking.search).__name__}",
                self.ranking.library.manifest.digest,
            )
            known = kept.get(key) if kept else None
            outcome = replace(known, rank=self.ranking.rank(question)) if known else await self._asked(mode, question)
            if outcome is None:
                return
            self._outcomes[row, at] = outcome
            if not known:
                self._spent += outcome.cost or 0.0
            self._failed[row] = self._failed.get(row, 0) + 1 if outcome.error else 0
            if outcome.error == CUT:
                self.left[mode.name] = f"what is left of the {self.max_cost} of --max-cost is not enough for an answer"
            elif self._failed[row] >= MOST_ERRORS:
                self.left[mode.name] = f"{MOST_ERRORS} answers in a row failed: {outcome.error}"
            if kept and not known and not outcome.error and question.ask not in self.ranking.by_words:
                kept.put(key, outcome)
        finally:
            self.step()
            limit.release_on_behalf_of((row, at))

    async def _asked(self, mode: Mode, question: Question) -> Outcome | None:
        """Ask, with a share of the money that is left: all answers under way together spend no more than that."""
        if self.max_cost is None:
            return await mode.ask(question, None)
        left = self.max_cost - self._spent - sum(self._set_aside)
        if left <= 0:
            self.left[mode.name] = f"the {self.max_cost} of --max-cost are spent"
            return None
        money = left / (self.parallel - len(self._set_aside))
        self._set_aside.append(money)
        try:
            return await mode.ask(question, money)
        finally:
            self._set_aside.remove(money)

    def _row(self, row: int, mode: Mode) -> Row:
        outcomes = tuple(self._outcomes.get((row, at)) for at in range(len(self.questions.questions)))
        pairs = [(one, out) for one, out in zip(self.questions.questions, outcomes, strict=True) if out is not None]
        left = self.left.get(mode.name, "")
        if not left and len(pairs) < len(outcomes):
            left = "it was broken off"
        found = totals([one for one, _ in pairs], [out for _, out in pairs])
        return Row(mode.name, mode.navigator, outcomes, found, left, self._against_first(row))

    def _against_first(self, row: int) -> tuple[Difference, ...]:
        """Give what a row's figures differ by from the first one's, over the questions that both were asked."""
        asked = [
            (question, first, other)
            for at, question in enumerate(self.questions.questions)
            if (first := self._outcomes.get((0, at))) and (other := self._outcomes.get((row, at)))
        ]
        if row == 0 or not asked:
            return ()
        questions, first_ones, others = zip(*asked, strict=True)
        return tuple(differences(questions, first_ones, others))

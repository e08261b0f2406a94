"""A question set put to several modes: kept as it comes, broken off without loss, told as a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import anyio

from mkdocs_roaming import __version__
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.evals.keeping import Kept, key_of
from mkdocs_roaming.evals.modes import Mode, Ranking
from mkdocs_roaming.evals.outcomes import Outcome
from mkdocs_roaming.evals.questions import Question, QuestionSet
from mkdocs_roaming.evals.totals import Figure, Totals, ranks, totals

MOST_ERRORS = 5
"""A mode that fails so often in a row is asked no more."""


@dataclass(frozen=True, slots=True)
class Row:
    """What came of a mode: outcomes in the order of the questions, None where one was not asked, and why not."""

    mode: str
    navigator: str
    outcomes: tuple[Outcome | None, ...]
    totals: Totals
    left: str = ""

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
            key = key_of(
                question,
                mode.name,
                f"{mode.setting} {type(self.ranking.search).__name__}",
                self.ranking.library.manifest.digest,
            )
            known = self.kept.get(key) if self.kept else None
            outcome = known or await self._asked(mode, question)
            if outcome is None:
                return
            self._outcomes[row, at] = outcome
            self._spent += outcome.cost or 0.0
            self._failed[row] = self._failed.get(row, 0) + 1 if outcome.error else 0
            if self._failed[row] >= MOST_ERRORS:
                self.left[mode.name] = f"{MOST_ERRORS} answers in a row failed: {outcome.error}"
            if self.kept and not known and not outcome.error:
                self.kept.put(key, outcome)
        finally:
            self.step()
            limit.release_on_behalf_of((row, at))

    async def _asked(self, mode: Mode, question: Question) -> Outcome | None:
        money = None if self.max_cost is None else self.max_cost - self._spent
        if money is not None and money <= 0:
            self.left[mode.name] = f"the {self.max_cost} of --max-cost are spent"
            return None
        return await mode.ask(question, money)

    def _row(self, row: int, mode: Mode) -> Row:
        outcomes = tuple(self._outcomes.get((row, at)) for at in range(len(self.questions.questions)))
        pairs = [(one, out) for one, out in zip(self.questions.questions, outcomes, strict=True) if out is not None]
        left = self.left.get(mode.name, "")
        if not left and len(pairs) < len(outcomes):
            left = "it was broken off"
        return Row(
            mode.name, mode.navigator, outcomes, totals([one for one, _ in pairs], [out for _, out in pairs]), left
        )

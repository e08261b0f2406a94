"""Outcomes kept in a file as they come, one a line: what was paid for once is not asked again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio

from mkdocs_roaming import __version__
from mkdocs_roaming.answer.trace import compute_digest, from_json, to_json, write_atomically
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.evals.metrics import (
    SEARCH_LIMIT,
    Difference,
    EvalResult,
    Figure,
    Totals,
    compute_differences,
    compute_rank_figures,
    compute_totals,
)
from mkdocs_roaming.evals.questions import Question, QuestionSet
from mkdocs_roaming.evals.systems import COST_LIMIT_ERROR, MAX_RANK, SEARCH, Ranking, System

CACHE_FORMAT = "roaming-outcomes"


CACHE_VERSION = 1


def cache_key(question: Question, mode: str, setting: str, digest: str) -> str:
    """Give what an outcome depends on: the question and its gold, who is asked and how, the site and mkdocs-roaming."""
    bare = replace(question, line=0, note="", sections=())
    return compute_digest(bare, mode, setting, digest, __version__).removeprefix("sha256:")[:32]


class ResultCache:
    """The outcomes of a file; one that breaks off in the middle of a line is read up to there.

    A file that is something else is never written to.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._outcomes: dict[str, EvalResult] = {}
        try:
            data = path.read_bytes() if path.exists() else b""
        except OSError as error:
            raise self._wrong(f"cannot be read ({error.strerror})") from None
        whole = data[: data.rfind(b"\n") + 1]  # a line without its end: whoever wrote it was stopped
        if not whole and not _HEAD.startswith(data):
            raise self._wrong(_OTHER)
        for number, line in enumerate(filter(None, whole.split(b"\n")), 1):
            self._take(number, line)
        try:
            if not whole:
                path.write_bytes(_HEAD)
            elif len(whole) < len(data):
                os.truncate(path, len(whole))
        except OSError as error:
            raise self._wrong(f"cannot be written ({error.strerror})") from None

    def get(self, key: str) -> EvalResult | None:
        """Give an outcome that was kept."""
        return self._outcomes.get(key)

    def put(self, key: str, outcome: EvalResult) -> None:
        """Keep an outcome, on the disk before anything else is asked."""
        self._outcomes[key] = outcome
        line = json.dumps({"key": key, "outcome": to_json(outcome)}, ensure_ascii=False)
        try:
            with self._path.open("a", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
                file.write(line + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise self._wrong(f"cannot be written ({error.strerror})") from None

    def _take(self, number: int, line: bytes) -> None:
        try:
            data: Any = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise self._wrong(f"line {number} is not JSON ({error}); name another file") from None
        if number == 1:
            if not isinstance(data, dict) or data.get("format") != CACHE_FORMAT or data.get("version") != CACHE_VERSION:
                raise self._wrong(_OTHER)
            return
        if not isinstance(data, dict) or not isinstance(data.get("key"), str):
            raise self._wrong(f"line {number} is no outcome; name another file")
        try:
            self._outcomes[data["key"]] = from_json(EvalResult, data.get("outcome"), "outcome")
        except UsageError as error:
            raise self._wrong(f"line {number}: {error}; name another file") from None

    def _wrong(self, what: str) -> UsageError:
        return UsageError(f"{self._path}: {what}")


_HEAD = json.dumps({"format": CACHE_FORMAT, "version": CACHE_VERSION}).encode() + b"\n"


_OTHER = f"holds no outcomes of version {CACHE_VERSION}; name another file"


# MERGED mkdocs_roaming.evals.evaluation:
# A question set put to several modes: kept as it comes, broken off without loss, told as a whole.


MAX_CONSECUTIVE_ERRORS = 5


"""A mode that fails so often in a row is asked no more."""


@dataclass(frozen=True, slots=True)
class ReportRow:
    """What came of a mode: outcomes in the order of the questions, None where one was not asked, and why not.

    `against` is what its figures differ by from the first row's; the first row has none.
    """

    mode: str
    navigator: str
    outcomes: tuple[EvalResult | None, ...]
    totals: Totals
    left: str = ""
    against: tuple[Difference, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether every question was asked, and none failed."""
        return all(outcome is not None and not outcome.error for outcome in self.outcomes)


@dataclass(frozen=True, slots=True)
class EvalReport:
    """What an evaluation comes to."""

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
    """An evaluation while it runs; what is there can be told at any time."""

    questions: QuestionSet
    modes: Sequence[System]
    ranking: Ranking
    set_digest: str = ""
    kept: ResultCache | None = None
    parallel: int = 1
    max_cost: float | None = None
    step: Callable[[], None] = lambda: None
    left: dict[str, str] = field(default_factory=dict)
    _outcomes: dict[tuple[int, int], EvalResult] = field(default_factory=dict)
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

    def report(self) -> EvalReport:
        """Give what is there."""
        manifest = self.ranking.library.manifest
        asked = self.questions.questions
        return EvalReport(
            site=manifest.site.name,
            url=manifest.site.url,
            digest=manifest.digest,
            questions=self.questions,
            set_digest=self.set_digest or self.questions.digest,
            ranks=compute_rank_figures(asked, [self.ranking.rank(one) for one in asked]),
            rows=tuple(self._row(row, mode) for row, mode in enumerate(self.modes)),
        )

    async def _ask(self, row: int, at: int, mode: System, question: Question, limit: anyio.CapacityLimiter) -> None:
        try:
            if mode.name in self.left:
                return
            kept = self.kept if mode.worth_keeping else None
            key = cache_key(
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
            if outcome.error == COST_LIMIT_ERROR:
                self.left[mode.name] = f"what is left of the {self.max_cost} of --max-cost is not enough for an answer"
            elif self._failed[row] >= MAX_CONSECUTIVE_ERRORS:
                self.left[mode.name] = f"{MAX_CONSECUTIVE_ERRORS} answers in a row failed: {outcome.error}"
            if kept and not known and not outcome.error and question.ask not in self.ranking.by_words:
                kept.put(key, outcome)
        finally:
            self.step()
            limit.release_on_behalf_of((row, at))

    async def _asked(self, mode: System, question: Question) -> EvalResult | None:
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

    def _row(self, row: int, mode: System) -> ReportRow:
        outcomes = tuple(self._outcomes.get((row, at)) for at in range(len(self.questions.questions)))
        pairs = [(one, out) for one, out in zip(self.questions.questions, outcomes, strict=True) if out is not None]
        left = self.left.get(mode.name, "")
        if not left and len(pairs) < len(outcomes):
            left = "it was broken off"
        found = compute_totals([one for one, _ in pairs], [out for _, out in pairs])
        return ReportRow(mode.name, mode.navigator, outcomes, found, left, self._against_first(row))

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
        return tuple(compute_differences(questions, first_ones, others))


# MERGED mkdocs_roaming.evals.baseline:
# What could be found before, kept in a file, and what of it no longer can.


BASELINE_FORMAT = "roaming-baseline"


BASELINE_VERSION = 1


@dataclass(frozen=True, slots=True)
class BaselineResult:
    """What came of a question: the part of its outcome that must not get worse; `held` are its answer's literals."""

    ask: str
    rank: int | None = None
    reached: bool = False
    answered: bool | None = None
    held: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BaselineSystem:
    """A mode's outcomes in the order of the questions."""

    mode: str
    outcomes: tuple[BaselineResult, ...]


@dataclass(frozen=True, slots=True)
class Baseline:
    """A set's outcomes by modes. `questions` is the set's digest, `site` and `digest` tell where it was measured."""

    questions: str
    site: str
    digest: str
    modes: tuple[BaselineSystem, ...]


@dataclass(frozen=True, slots=True)
class Regression:
    """What could be found and no longer can: the question, who was asked, what was and what is."""

    ask: str
    mode: str
    before: str
    after: str


def create_baseline(report: EvalReport) -> Baseline:
    """Give a report's baseline; raises UsageError where not every question was asked."""
    if report.questions.digest != report.set_digest:
        raise UsageError("no baseline is written: it is of all questions; leave --only and --limit out")
    for row in report.rows:
        if not row.whole:
            why = row.left or "answers failed"
            raise UsageError(f"no baseline is written: not every question was answered by {row.mode} ({why})")
    asked = report.questions.questions
    modes = tuple(
        BaselineSystem(row.mode, tuple(_was(*pair) for pair in zip(asked, row.outcomes, strict=True)))
        for row in report.rows
    )
    return Baseline(report.set_digest, report.site, report.digest, modes)


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Write a baseline, the same bytes for the same outcomes."""
    data = {"format": BASELINE_FORMAT, "version": BASELINE_VERSION, **to_json(baseline)}
    write_atomically(path, json.dumps(data, ensure_ascii=False, indent=1) + "\n")


def read_baseline(path: Path) -> Baseline:
    """Read a baseline; raises UsageError where the file is none, or a newer version's."""
    try:
        data: Any = json.loads(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); `--write-baseline` writes one") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not JSON ({error}); `--write-baseline` writes a baseline") from None
    if not isinstance(data, dict) or data.get("format") != BASELINE_FORMAT:
        raise UsageError(f"{path}: not a baseline; `--write-baseline` writes one")
    if data.get("version") != BASELINE_VERSION:
        raise UsageError(
            f"{path}: a baseline of version {data.get('version')!r}, this reads {BASELINE_VERSION}; "
            "write it again with `--write-baseline`"
        )
    try:
        return from_json(Baseline, data, "")
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def check_comparable(baseline: Baseline, questions: QuestionSet, modes: Sequence[str], where: str) -> None:
    """Check that a baseline is of these questions, all of them, and of these modes, before anything is asked.

    Raises UsageError where it is not.
    """
    cure = "write it again with `--write-baseline`"
    if baseline.questions != questions.digest:
        raise UsageError(f"{where}: a baseline of other questions than {questions.where} asks; {cure}")
    before = {mode.mode: {was.ask for was in mode.outcomes} for mode in baseline.modes}
    missing = [mode for mode in modes if mode not in before]
    if missing:
        raise UsageError(
            f"{where}: a baseline of {', '.join(before)}, not of {', '.join(missing)}; ask the same modes, or {cure}"
        )
    for mode in modes:
        for question in questions.questions:
            if question.ask not in before[mode]:
                raise UsageError(f"{where}: does not tell what came of {question.ask!r} with {mode}; {cure}")


def find_regressions(baseline: Baseline, report: EvalReport) -> list[Regression]:
    """Give what got worse, in the order of modes and questions; what got better is nobody's loss.

    The baseline is one that `check_comparable` lets pass.
    """
    before = {mode.mode: {was.ask: was for was in mode.outcomes} for mode in baseline.modes}
    found: dict[Regression, None] = {}  # search ranks alike for all modes: told once
    for row in report.rows:
        for question, outcome in zip(report.questions.questions, row.outcomes, strict=True):
            if outcome is not None and not outcome.error:
                found |= dict.fromkeys(_worse(question, before[row.mode][question.ask], outcome, row.mode))
    return list(found)


def _worse(question: Question, was: BaselineResult, now: EvalResult, mode: str) -> Iterator[Regression]:
    """Give what got worse with one question, as it was and as it is."""

    def worse(before: str, after: str, by: str = mode) -> Regression:
        return Regression(question.ask, by, before, after)

    if not question.answerable:
        if was.answered is False and now.answered:
            yield worse("declined", "answered, though the docs do not say")
        return
    if was.rank is not None and was.rank <= SEARCH_LIMIT and (now.rank is None or now.rank > SEARCH_LIMIT):
        after = f"ranked {now.rank}" if now.rank else f"not among the first {MAX_RANK}"
        yield worse(f"ranked {was.rank}", after, SEARCH)
    if was.reached and not now.reached and mode != SEARCH:
        yield worse("a section that answers was opened", "none is")
    if was.answered and now.declined:
        yield worse("answered", "declined")
    lost = [literal for literal in now.missing or () if literal in was.held]
    if lost and now.answered:
        yield worse(f"the answer held {', '.join(lost)}", "it does not")


def _was(question: Question, outcome: EvalResult | None) -> BaselineResult:
    assert outcome is not None  # the row is whole
    answered = None if outcome.state is None else outcome.answered
    missing = question.contains if outcome.missing is None else outcome.missing
    held = tuple(literal for literal in question.contains if literal not in missing)
    return BaselineResult(outcome.ask, outcome.rank, outcome.reached, answered, held)

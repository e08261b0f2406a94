"""What could be found before, kept in a file, and what of it no longer can."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mkdocs_roaming.answer.record import read, written
from mkdocs_roaming.answer.trace import write_whole
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.evals.evaluation import Report
from mkdocs_roaming.evals.modes import LOOKED, SEARCH
from mkdocs_roaming.evals.outcomes import FIRST, Outcome
from mkdocs_roaming.evals.questions import Question, QuestionSet

FORMAT = "roaming-baseline"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Was:
    """What came of a question: the part of its outcome that must not get worse; `held` are its answer's literals."""

    ask: str
    rank: int | None = None
    reached: bool = False
    answered: bool | None = None
    held: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mode:
    """A mode's outcomes in the order of the questions."""

    mode: str
    outcomes: tuple[Was, ...]


@dataclass(frozen=True, slots=True)
class Baseline:
    """A set's outcomes by modes. `questions` is the set's digest, `site` and `digest` tell where it was measured."""

    questions: str
    site: str
    digest: str
    modes: tuple[Mode, ...]


@dataclass(frozen=True, slots=True)
class Regression:
    """What could be found and no longer can: the question, who was asked, what was and what is."""

    ask: str
    mode: str
    before: str
    after: str


def baseline_of(report: Report) -> Baseline:
    """Give a report's baseline; raises UsageError where not every question was asked."""
    if report.questions.digest != report.set_digest:
        raise UsageError("no baseline is written: it is of all questions; leave --only and --limit out")
    for row in report.rows:
        if not row.whole:
            why = row.left or "answers failed"
            raise UsageError(f"no baseline is written: not every question was answered by {row.mode} ({why})")
    asked = report.questions.questions
    modes = tuple(
        Mode(row.mode, tuple(_was(*pair) for pair in zip(asked, row.outcomes, strict=True))) for row in report.rows
    )
    return Baseline(report.set_digest, report.site, report.digest, modes)


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Write a baseline, the same bytes for the same outcomes."""
    data = {"format": FORMAT, "version": VERSION, **written(baseline)}
    write_whole(path, json.dumps(data, ensure_ascii=False, indent=1) + "\n")


def read_baseline(path: Path) -> Baseline:
    """Read a baseline; raises UsageError where the file is none, or a newer version's."""
    try:
        data: Any = json.loads(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); `--write-baseline` writes one") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not JSON ({error}); `--write-baseline` writes a baseline") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise UsageError(f"{path}: not a baseline; `--write-baseline` writes one")
    if data.get("version") != VERSION:
        raise UsageError(
            f"{path}: a baseline of version {data.get('version')!r}, this reads {VERSION}; "
            "write it again with `--write-baseline`"
        )
    try:
        return read(Baseline, data, "")
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


def regressions(baseline: Baseline, report: Report) -> list[Regression]:
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


def _worse(question: Question, was: Was, now: Outcome, mode: str) -> Iterator[Regression]:
    """Give what got worse with one question, as it was and as it is."""

    def worse(before: str, after: str, by: str = mode) -> Regression:
        return Regression(question.ask, by, before, after)

    if not question.answerable:
        if was.answered is False and now.answered:
            yield worse("declined", "answered, though the docs do not say")
        return
    if was.rank is not None and was.rank <= FIRST and (now.rank is None or now.rank > FIRST):
        after = f"ranked {now.rank}" if now.rank else f"not among the first {LOOKED}"
        yield worse(f"ranked {was.rank}", after, SEARCH)
    if was.reached and not now.reached and mode != SEARCH:
        yield worse("a section that answers was opened", "none is")
    if was.answered and now.declined:
        yield worse("answered", "declined")
    lost = [literal for literal in now.missing or () if literal in was.held]
    if lost and now.answered:
        yield worse(f"the answer held {', '.join(lost)}", "it does not")


def _was(question: Question, outcome: Outcome | None) -> Was:
    assert outcome is not None  # the row is whole
    answered = None if outcome.state is None else outcome.answered
    missing = question.contains if outcome.missing is None else outcome.missing
    held = tuple(literal for literal in question.contains if literal not in missing)
    return Was(outcome.ask, outcome.rank, outcome.reached, answered, held)

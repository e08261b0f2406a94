"""Format an evaluation as text, and compare it with the JSON of an earlier one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from mkdocs_roaming._json import decode_json
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.evals.metrics import FIGURES, Figure
from mkdocs_roaming.evals.questions import QuestionSet
from mkdocs_roaming.evals.runner import EvalReport, ReportRow
from mkdocs_roaming.text.markdown import pluralize

_MAX_SHOWN = 20
"""Number of problems of a system that are shown."""

_EMPTY_CELLS = {"–", "0.0"}
"""Cells without a value; a column with these alone is left out."""


def format_report(report: EvalReport) -> Iterator[str]:
    """Yield the lines of a report: search ranks, a row per system, questions with a problem."""
    questions = report.questions.questions
    unanswerable = sum(not question.answerable for question in questions)
    yield f"{report.site}: {len(questions)} questions, {unanswerable} of them without an answer in the docs"
    if report.ranks:
        ranks = ", ".join(f"{figure.name} {_format_figure(figure)}" for figure in report.ranks)
        yield f"\nSearch ranks a gold section\n  {ranks}"
    yield ""
    yield from _format_table(report.rows)
    for row in report.rows:
        problems = []
        for question, problem in zip(questions, row.problems, strict=True):
            if problem:
                problems.append(f"  {question.ask}\n      {problem}")
        if problems:
            yield f"\n{row.mode}: {pluralize(len(problems), 'question')} with a problem"
            yield from problems[:_MAX_SHOWN]
        if len(problems) > _MAX_SHOWN:
            yield f"  … and {len(problems) - _MAX_SHOWN} more; --json lists all of them"


def _format_figure(figure: Figure | None) -> str:
    """Return a share with its interval, `82 % [70–90]`, or a mean."""
    if figure is None:
        return "–"
    if figure.interval is None:
        return f"{figure.value:.2f}"
    value, low, high = (f"{share:.0%}".removesuffix("%") for share in (figure.value, *figure.interval))
    return f"{value} % [{low}–{high}]"


def _format_table(rows: Sequence[ReportRow]) -> Iterator[str]:
    lines: list[tuple[str, ...]] = [("mode", *FIGURES, "cost", "seconds")]
    for row in rows:
        figures = {figure.name: figure for figure in row.figures}
        cells = [_format_figure(figures.get(name)) for name in FIGURES]
        cost = "–" if row.cost is None else f"{row.cost:.4f} {row.currency}".rstrip()
        lines.append((row.mode, *cells, cost, f"{row.seconds:.1f}"))
    columns = []
    for name, *cells in zip(*lines, strict=True):
        if not _EMPTY_CELLS.issuperset(cells):
            width = max(map(len, (name, *cells)))
            columns.append([cell.ljust(width) for cell in (name, *cells)])
    for line in zip(*columns, strict=True):
        yield "  ".join(line).rstrip()


# Comparison with an earlier evaluation


class _EarlierResult(msgspec.Struct):
    ask: str
    error: str


class _EarlierRow(msgspec.Struct):
    mode: str
    results: list[_EarlierResult | None]
    problems: list[str]


class _EarlierReport(msgspec.Struct):
    rows: list[_EarlierRow]


Baseline = dict[tuple[str, str], str]
"""The problem of each question with each system, or an empty string; failed answers are left out."""


@dataclass(frozen=True, slots=True)
class Regression:
    """A question that has a problem with a system, but had none before."""

    ask: str
    mode: str
    problem: str


def read_baseline(path: Path, questions: QuestionSet, systems: Sequence[str]) -> Baseline:
    """Read the JSON output of an earlier evaluation.

    Raises:
        UsageError: The file is no such output, or lacks a question or a system.
    """
    try:
        report = decode_json(path.read_bytes(), _EarlierReport)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}. Write it with `roaming eval --json`.") from None
    except ValueError as error:
        raise UsageError(f"{path}: not the output of `roaming eval --json`: {error}") from None
    baseline: Baseline = {}
    for row in report.rows:
        for result, problem in zip(row.results, row.problems, strict=False):
            if result and not result.error:
                baseline[row.mode, result.ask] = problem
    for system in systems:
        for question in questions.questions:
            if (system, question.ask) not in baseline:
                raise UsageError(
                    f"{path}: the baseline has no result of {system} for {question.ask!r}. "
                    "Write it again with `roaming eval --json`."
                )
    return baseline


def find_regressions(baseline: Baseline, report: EvalReport) -> list[Regression]:
    """Return the questions that have a problem now and had none before, in the order of systems and questions."""
    regressions = []
    for row in report.rows:
        for result, problem in zip(row.results, row.problems, strict=True):
            if result is None or result.error:
                continue
            if problem and not baseline[row.mode, result.ask]:
                regressions.append(Regression(result.ask, row.mode, problem))
    return regressions

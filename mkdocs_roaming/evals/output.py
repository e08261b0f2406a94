"""Format an evaluation as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from mkdocs_roaming.evals.metrics import FIGURES, Difference, EvalResult, Figure, Totals
from mkdocs_roaming.evals.questions import Question
from mkdocs_roaming.evals.runner import EvalReport, ReportRow
from mkdocs_roaming.evals.systems import MAX_RANK

_MAX_FAILURES = 20


def format_report(report: EvalReport) -> Iterator[str]:
    """Yield the lines of a report for a terminal: search ranks, a row per system, questions with a problem."""
    questions = report.questions.questions
    unanswerable = sum(not question.answerable for question in questions)
    yield f"{report.site}: {len(questions)} questions, {unanswerable} of them without an answer in the docs"
    if report.ranks:
        yield "\nSearch ranks a gold section"
        yield "  " + ", ".join(f"{one.name} {format_figure(one)}" for one in report.ranks)
    yield ""
    yield from _format_table(report.rows)
    differences = [(row.mode, format_difference(one)) for row in report.rows for one in row.differences]
    if differences:
        yield f"\nCompared with {report.rows[0].mode}, question by question"
    for mode, difference in differences:
        yield f"  {mode}: {difference}"
    for row in report.rows:
        failures = [
            (question, failure)
            for question, result in zip(questions, row.results, strict=True)
            if result is not None and (failure := describe_failure(question, result))
        ]
        if failures:
            yield f"\n{row.mode}: {len(failures)} question{'' if len(failures) == 1 else 's'} with a problem"
        for question, failure in failures[:_MAX_FAILURES]:
            yield f"  {question.ask}\n      {failure}"
        if len(failures) > _MAX_FAILURES:
            yield f"  … and {len(failures) - _MAX_FAILURES} more; --html and --json list all of them"


def describe_failure(question: Question, result: EvalResult) -> str:
    """Return what is wrong with a result, or an empty string."""
    if result.error:
        return f"failed: {result.error}"
    if not question.answerable:
        return "answered, although the documentation does not say" if result.answered else ""
    problems = []
    if not result.reached:
        rank = f"rank {result.rank} in search" if result.rank else f"not among the first {MAX_RANK} in search"
        problems.append(f"not reached, {rank}")
    if result.declined:
        problems.append("declined")
    elif result.missing:
        problems.append(f"the answer lacks {', '.join(result.missing)}")
    return "; ".join(problems)


def format_figure(figure: Figure | None) -> str:
    """Return a figure with its interval: `82 % [70–90]`."""
    if figure is None:
        return "–"
    digits = 0 if figure.value >= 100 else 1 if figure.value >= 1 else 2

    def number(value: float) -> str:
        return f"{100 * value:.0f}" if figure.share else f"{value:.{digits}f}"

    value = number(figure.value) + (" %" if figure.share else "")
    if figure.interval is None:
        return value
    low, high = map(number, figure.interval)
    return f"{value} [{low}–{high}]"


def format_difference(difference: Difference) -> str:
    """Return a difference with its interval in percentage points."""
    low, high = map(_points, difference.interval)
    chance = "" if difference.significant else "; may be chance"
    return (
        f"{difference.name} {_points(difference.value)} points [{low} to {high}], "
        f"{difference.won} won, {difference.lost} lost{chance}"
    )


def format_cost(totals: Totals) -> str:
    """Return the cost of a row."""
    return "–" if totals.cost is None else f"{totals.cost:.4f} {totals.currency}".rstrip()


def report_to_dict(report: EvalReport) -> dict[str, Any]:
    """Return a report as JSON-compatible data; only `seconds` differs from run to run."""
    return {
        "generator": report.generator,
        "site": report.site,
        "url": report.url,
        "digest": report.digest,
        "questions": report.questions.where,
        "question_set": report.set_digest,
        "search": {one.name: _figure_to_dict(one) for one in report.ranks},
        "rows": [
            {
                "mode": row.mode,
                "navigator": row.navigator,
                "left": row.stop_reason,
                "asked": row.totals.asked,
                "errors": row.totals.errors,
                "figures": {one.name: _figure_to_dict(one) for one in row.totals.figures},
                "against_first": {one.name: _difference_to_dict(one) for one in row.differences},
                "tokens_read": row.totals.tokens_read,
                "cost": row.totals.cost,
                "currency": row.totals.currency,
                "seconds": round(row.totals.seconds, 3),
                "outcomes": [
                    _result_to_dict(question, result)
                    for question, result in zip(report.questions.questions, row.results, strict=True)
                    if result is not None
                ],
            }
            for row in report.rows
        ],
    }


def _figure_to_dict(figure: Figure) -> dict[str, Any]:
    low, high = figure.interval or (None, None)
    return {"value": figure.value, "low": low, "high": high, "questions": figure.count}


def _difference_to_dict(one: Difference) -> dict[str, Any]:
    low, high = one.interval
    return {"value": one.value, "low": low, "high": high, "won": one.won, "lost": one.lost, "questions": one.count}


def _result_to_dict(question: Question, result: EvalResult) -> dict[str, Any]:
    has_answer = result.state is not None
    return {
        "ask": question.ask,
        "line": question.line,
        "answerable": question.answerable,
        "gold": question.gold,
        "rank": result.rank,
        "reached": result.reached,
        "calls": result.calls,
        "state": result.state,
        "answered": result.answered if has_answer else None,
        "declined": result.declined if has_answer else None,
        "missing": result.missing,
        "gold_cited": result.gold_cited,
        "opened": [{"id": step.section.id, "title": step.section.title, "at": step.number} for step in result.trail],
        "cited": [section.id for section in result.cited],
        "whole_site": result.whole_site,
        "text": result.text,
        "tokens_read": result.tokens_read,
        "usage": {name: count for name, count in msgspec.structs.asdict(result.usage).items() if count},
        "cost": result.cost,
        "error": result.error,
        "wrong": describe_failure(question, result),
        "seconds": round(result.seconds, 3),
    }


def _format_table(rows: Sequence[ReportRow]) -> Iterator[str]:
    lines = [["mode", "navigator", *FIGURES, "cost", "seconds"]]
    for row in rows:
        figures = [format_figure(row.totals.figure(name)) for name in FIGURES]
        lines.append([row.mode, row.navigator, *figures, format_cost(row.totals), f"{row.totals.seconds:.1f}"])
    columns = [at for at in range(len(lines[0])) if any(line[at] not in ("–", "0.0") for line in lines[1:])]
    widths = [max(len(line[at]) for line in lines) for at in columns]
    for line in lines:
        yield "  ".join(line[at].ljust(width) for at, width in zip(columns, widths, strict=True)).rstrip()


def _points(share: float) -> str:
    """Return percentage points with their sign."""
    return f"{100 * share:+.0f}".replace("-", "−").replace("+0", "0").replace("−0", "0")

"""An evaluation as lines for a terminal, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mkdocs_roaming.answer.trace import to_json
from mkdocs_roaming.evals.metrics import Difference, EvalResult, Figure, Totals
from mkdocs_roaming.evals.questions import Question
from mkdocs_roaming.evals.runner import EvalReport, ReportRow

COLUMNS = ("reached", "calls", "answered", "cited", "literals", "declined", "tokens")
"""The figures of a row, in the order in which they are shown."""


def format_report(report: EvalReport) -> Iterator[str]:
    """Give what a terminal shows: the ranks, a row for each mode, the questions for which something is wrong."""
    asked = report.questions.questions
    answerable = sum(question.answerable for question in asked)
    yield f"{report.site}: {len(asked)} questions, {len(asked) - answerable} of them without an answer in the docs"
    if report.ranks:
        yield ""
        yield "Search ranks a section that answers"
        yield "  " + ", ".join(f"{one.name} {format_figure(one)}" for one in report.ranks)
    yield ""
    yield from _table(report.rows)
    yield from _against(report)
    for row in report.rows:
        wrong = [
            (question, why)
            for question, outcome in zip(asked, row.outcomes, strict=True)
            if outcome is not None and (why := describe_failure(question, outcome))
        ]
        if wrong:
            yield f"\n{row.mode}: {len(wrong)} to look at"
        for question, why in wrong[:_MOST]:
            yield f"  {question.ask}\n      {why}"
        if len(wrong) > _MOST:
            yield f"  … and {len(wrong) - _MOST} more: --html and --json have them all"


def describe_failure(question: Question, outcome: EvalResult) -> str:
    """Say what is wrong with an outcome; nothing where all is well."""
    if outcome.error:
        return f"failed: {outcome.error}"
    if not question.answerable:
        return "answered, though the docs do not say" if outcome.answered else ""
    wrong = [] if outcome.reached else [f"not reached, {_rank(outcome.rank)}"]
    if outcome.declined:
        wrong.append("declined")
    elif outcome.missing:
        wrong.append(f"the answer lacks {', '.join(outcome.missing)}")
    return "; ".join(wrong)


def format_figure(figure: Figure | None) -> str:
    """Give a figure with its interval."""
    if figure is None:
        return "–"
    digits = 0 if figure.value >= 100 else 1 if figure.value >= 1 else 2
    value = f"{_percent(figure.value)} %" if figure.share else f"{figure.value:.{digits}f}"
    if figure.interval is None:
        return value
    low, high = (_percent(end) if figure.share else f"{end:.{digits}f}" for end in figure.interval)
    return f"{value} [{low}–{high}]"


def format_difference(one: Difference) -> str:
    """Give a difference with its interval, and what stands behind it."""
    low, high = map(_points, one.interval)
    chance = "" if one.clear else "; may be chance"
    return f"{one.name} {_points(one.value)} points [{low} to {high}], {one.won} won, {one.lost} lost{chance}"


def format_cost(totals: Totals) -> str:
    """Give what a row cost."""
    return "–" if totals.cost is None else f"{totals.cost:.4f} {totals.currency}".rstrip()


def report_to_dict(report: EvalReport) -> dict[str, Any]:
    """Give all there is to an evaluation. Nothing but `seconds` differs from run to run."""
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
                "left": row.left,
                "asked": row.totals.asked,
                "errors": row.totals.errors,
                "figures": {one.name: _figure_to_dict(one) for one in row.totals.figures},
                "against_first": {one.name: _difference_as_json(one) for one in row.against},
                "tokens_read": row.totals.tokens_read,
                "cost": row.totals.cost,
                "currency": row.totals.currency,
                "seconds": round(row.totals.seconds, 3),
                "outcomes": [
                    _outcome_as_json(question, outcome)
                    for question, outcome in zip(report.questions.questions, row.outcomes, strict=True)
                    if outcome is not None
                ],
            }
            for row in report.rows
        ],
    }


def _figure_to_dict(figure: Figure) -> dict[str, Any]:
    """Give a figure."""
    low, high = figure.interval or (None, None)
    return {"value": figure.value, "low": low, "high": high, "questions": figure.count}


def _difference_as_json(one: Difference) -> dict[str, Any]:
    low, high = one.interval
    return {"value": one.value, "low": low, "high": high, "won": one.won, "lost": one.lost, "questions": one.count}


def _outcome_as_json(question: Question, outcome: EvalResult) -> dict[str, Any]:
    return {
        "ask": question.ask,
        "line": question.line,
        "answerable": question.answerable,
        "gold": question.gold,
        "rank": outcome.rank,
        "reached": outcome.reached,
        "calls": outcome.calls,
        "state": outcome.state,
        "answered": outcome.answered if outcome.state is not None else None,
        "declined": outcome.declined if outcome.state is not None else None,
        "missing": outcome.missing,
        "gold_cited": outcome.gold_cited,
        "opened": [{"id": step.section.id, "title": step.section.title, "at": step.at} for step in outcome.trail],
        "cited": [section.id for section in outcome.cited],
        "whole_site": outcome.whole_site,
        "text": outcome.text,
        "tokens_read": outcome.tokens_read,
        "usage": to_json(outcome.usage),
        "cost": outcome.cost,
        "error": outcome.error,
        "wrong": describe_failure(question, outcome),
        "seconds": round(outcome.seconds, 3),
    }


def _against(report: EvalReport) -> Iterator[str]:
    """Give what each mode has more or less than the first one."""
    told = [(row.mode, format_difference(one)) for row in report.rows for one in row.against]
    if told:
        yield f"\nAgainst {report.rows[0].mode}, question by question"
    for mode, difference in told:
        yield f"  {mode}: {difference}"


def _table(rows: Sequence[ReportRow]) -> Iterator[str]:
    lines = [["mode", "navigator", *COLUMNS, "cost", "seconds"]]
    for row in rows:
        figures = [format_figure(row.totals.figure(name)) for name in COLUMNS]
        lines.append([row.mode, row.navigator, *figures, format_cost(row.totals), f"{row.totals.seconds:.1f}"])
    kept = [at for at in range(len(lines[0])) if any(line[at] not in ("–", "0.0") for line in lines[1:])]
    widths = [max(len(line[at]) for line in lines) for at in kept]
    for line in lines:
        yield "  ".join(line[at].ljust(width) for at, width in zip(kept, widths, strict=True)).rstrip()


def _percent(share: float) -> str:
    return f"{100 * share:.0f}"


def _points(share: float) -> str:
    """Give percentage points with their sign."""
    return f"{100 * share:+.0f}".replace("-", "−").replace("+0", "0").replace("−0", "0")


def _rank(rank: int | None) -> str:
    return f"search ranks it {rank}" if rank else "not among the first fifty in search"


_MOST = 20

"""Format an evaluation as text, as JSON or as an HTML page, and compare it with the JSON of an earlier one.

HTML pages contain no scripts and cause no network requests.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from mkdocs_roaming._json import decode_json
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.evals.metrics import FIGURES, EvalResult, Figure, Totals
from mkdocs_roaming.evals.questions import Question, QuestionSet
from mkdocs_roaming.evals.runner import MAX_RANK, EvalReport, ReportRow


def format_report(report: EvalReport) -> list[str]:
    """Return the lines of a report for a terminal: search ranks, a row per system, questions with a problem."""
    return render_text("mkdocs_roaming.evals", "report.txt", report=report, table=_format_table(report.rows))


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
    """Return a share with its interval, `82 % [70–90]`, or a mean."""
    if figure is None:
        return "–"
    if figure.interval is None:
        digits = 0 if figure.value >= 100 else 1 if figure.value >= 1 else 2
        return f"{figure.value:.{digits}f}"
    value, low, high = (f"{100 * share:.0f}" for share in (figure.value, *figure.interval))
    return f"{value} % [{low}–{high}]"


def _join_figures(figures: Sequence[Figure]) -> str:
    return ", ".join(f"{one.name} {format_figure(one)}" for one in figures)


def format_cost(totals: Totals) -> str:
    """Return the cost of a row."""
    return "–" if totals.cost is None else f"{totals.cost:.4f} {totals.currency}".rstrip()


def report_to_dict(report: EvalReport) -> dict[str, Any]:
    """Return a report as JSON-compatible data; only `seconds` differs from run to run."""
    data: dict[str, Any] = msgspec.to_builtins(report)
    for row, encoded_row in zip(report.rows, data["rows"], strict=True):
        for question, result, encoded in zip(
            report.questions.questions, row.results, encoded_row["results"], strict=True
        ):
            if result is not None:
                encoded["problem"] = describe_failure(question, result)
    return data


def _format_table(rows: Sequence[ReportRow]) -> Iterator[str]:
    lines = [["mode", "navigator", *FIGURES, "cost", "seconds"]]
    for row in rows:
        figures = [format_figure(row.totals.figure(name)) for name in FIGURES]
        lines.append([row.mode, row.navigator, *figures, format_cost(row.totals), f"{row.totals.seconds:.1f}"])
    columns = [at for at in range(len(lines[0])) if any(line[at] not in ("–", "0.0") for line in lines[1:])]
    widths = [max(len(line[at]) for line in lines) for at in columns]
    for line in lines:
        yield "  ".join(line[at].ljust(width) for at, width in zip(columns, widths, strict=True)).rstrip()


# Comparison with an earlier evaluation


class _EarlierResult(msgspec.Struct):
    ask: str
    problem: str
    error: str


class _EarlierRow(msgspec.Struct):
    mode: str
    results: list[_EarlierResult | None]


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


def read_baseline(path: Path) -> Baseline:
    """Read the JSON output of an earlier evaluation.

    Raises:
        UsageError: If the file cannot be read or is not such an output.
    """
    try:
        report = decode_json(path.read_bytes(), _EarlierReport)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}. Write it with `roaming eval --json`.") from None
    except ValueError as error:
        raise UsageError(f"{path}: not the output of `roaming eval --json`: {error}") from None
    results = ((row.mode, result) for row in report.rows for result in row.results)
    return {(mode, result.ask): result.problem for mode, result in results if result and not result.error}


def check_comparable(baseline: Baseline, questions: QuestionSet, systems: Sequence[str], where: str) -> None:
    """Check before any question is asked that a baseline covers all questions and systems.

    Raises:
        UsageError: If it does not; `where` names the baseline.
    """
    for system in systems:
        for question in questions.questions:
            if (system, question.ask) not in baseline:
                raise UsageError(
                    f"{where}: the baseline has no result of {system} for {question.ask!r}. "
                    "Write it again with `roaming eval --json`."
                )


def find_regressions(baseline: Baseline, report: EvalReport) -> list[Regression]:
    """Return the questions that have a problem now and had none before, in the order of systems and questions."""
    return [
        Regression(question.ask, row.mode, problem)
        for row in report.rows
        for question, result in zip(report.questions.questions, row.results, strict=True)
        if result is not None and not result.error
        if (problem := describe_failure(question, result)) and not baseline[row.mode, question.ask]
    ]


# HTML


def render_evaluation(report: EvalReport, regressions: Sequence[Regression] = ()) -> str:
    """Return the page of an evaluation: figures, and each question with the result of each system."""
    figures = [name for name in FIGURES if any(row.totals.figure(name) for row in report.rows)]
    return render_page(
        "mkdocs_roaming.evals",
        "report.html",
        f"Questions about {report.site}",
        report=report,
        regressions=regressions,
        figures=figures,
    )


_FILTERS: dict[str, Callable[..., object]] = {
    "cost": format_cost,
    "failure": describe_failure,
    "figure": format_figure,
    "figures": _join_figures,
}


def render_text(
    package: str, template: str, filters: Mapping[str, Callable[..., object]] = _FILTERS, **context: object
) -> list[str]:
    """Return the lines of a text; the arguments are those of `render_page`."""
    environment = _create_environment(filters, is_html=False)
    source = resources.files(package).joinpath(template).read_text("utf-8")
    return environment.from_string(source).render(context).splitlines()


def render_page(
    package: str, template: str, title: str, filters: Mapping[str, Callable[..., object]] = _FILTERS, **context: object
) -> str:
    """Return a page without scripts; its content security policy allows nothing but its own style sheet.

    Args:
        package: The package with the template and, if it has any, the style sheet of the same name. The common style
            sheet precedes it.
        template: The file name of the Jinja template.
        title: The title of the page.
        filters: Filters of the template.
        context: Variables of the template.
    """
    folder, common = resources.files(package), resources.files(__package__).joinpath("report.css")
    own = folder.joinpath(template.replace(".html", ".css"))
    style = common.read_text("utf-8") + (own.read_text("utf-8") if own != common else "")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    page = _create_environment(filters).from_string(folder.joinpath(template).read_text("utf-8"))
    html = page.render(title=title, style=Markup(style), style_digest=digest, **context)
    return _FORBIDDEN.sub("\ufffd", html)


def _create_environment(filters: Mapping[str, Callable[..., object]], *, is_html: bool = True) -> Environment:
    environment = Environment(autoescape=is_html, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    environment.filters |= filters
    return environment


_FORBIDDEN = re.compile("[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd\U00010000-\U0010fffd]")
"""Characters that HTML forbids."""

"""Format a report for a terminal, or as an HTML page without scripts and network requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from mkdocs_roaming.evals.output import render_page
from mkdocs_roaming.report.report import STATES, Day, Report, SectionInfo

STATE_NAMES = {
    "answered": "answered",
    "partial": "answered in part",
    "passages": "closest passages",
    "not_found": "not answered",
    "refused": "refused by the model",
    "budget": "stopped by a limit",
    "error": "failed",
}

_BAR_WIDTH = 10.0  # at least
_PLOT_WIDTH = 1_160.0
_PLOT_HEIGHT = 150.0
_MAX_BARS = 62
"""A longer period is shown by weeks."""


class Bar(Struct, frozen=True):
    """A part of a bar of the plot, in its coordinates.

    Attributes:
        x: Left edge.
        y: Upper edge.
        width: Width.
        height: Height.
        state: The state of the questions.
        label: What it stands for, as text.
    """

    x: float
    y: float
    width: float
    height: float
    state: str
    label: str


class Plot(Struct, frozen=True):
    """Questions by day or week and state, as stacked bars."""

    width: float
    height: float
    most: int
    unit: str
    bars: tuple[Bar, ...]
    first: str
    last: str


def format_report(report: Report) -> Iterator[str]:
    """Yield the lines of a report for a terminal."""
    if report.since is None or report.until is None:
        yield "No questions in this period."
        return
    yield f"{report.questions} questions from {report.since:%Y-%m-%d} to {report.until:%Y-%m-%d}{_about(report.site)}"
    yield f"  {', '.join(f'{STATE_NAMES.get(state, state)} {count}' for state, count in report.states.items())}"
    yield f"  {_format_ratings(report)}; {_format_cost(report)}; median {report.seconds:.1f} s, {report.cached} cached"
    if report.skipped:
        yield f"  lines of the logs that could not be read: {report.skipped}"
    if report.groups:
        yield "\nNot answered, or rated as not helpful"
    for group in report.groups:
        yield f"\n{group.count:>5}  {group.questions[0]}"
        yield from (f"       {question}" for question in group.questions[1:3])
        yield from (f"       nearest: {_name(section)}" for section in group.nearest)
        if group.finding:
            yield f"       lint: {group.finding}"
    if report.more_groups:
        yield f"\n       and {report.more_groups} smaller groups; --html and --json have entries for roaming eval"
    yield from _format_sections("Cited most", report.cited)
    yield from _format_sections("Opened often, never cited", report.never_cited)
    if report.pages:
        yield "\nAsked from"
        yield from (
            f"{page.count:>5}  {page.title or page.path}, {page.unanswered} not answered" for page in report.pages
        )


def render_report(report: Report) -> str:
    """Return the page of a report."""
    return render_page(
        "mkdocs_roaming.report",
        "page.html",
        f"What readers asked{_about(report.site)}",
        filters={"state": lambda state: STATE_NAMES.get(state, state), "name": _name},
        report=report,
        plot=make_plot(report.days),
        ratings=_format_ratings(report),
        cost=_format_cost(report),
    )


def make_plot(days: Sequence[Day]) -> Plot | None:
    """Return the plot of the questions of each day, of each week if there are many days; None without questions."""
    if not days:
        return None
    size = 1 if len(days) <= _MAX_BARS else 7
    periods = [[day for _, day in group] for _, group in groupby(enumerate(days), key=lambda pair: pair[0] // size)]
    counts = [{state: sum(day.states.get(state, 0) for day in period) for state in STATES} for period in periods]
    most = max(1, *(sum(each.values()) for each in counts))
    width = max(_BAR_WIDTH, _PLOT_WIDTH / max(len(periods), 30))
    bars: list[Bar] = []
    for position, (period, count) in enumerate(zip(periods, counts, strict=True)):
        y = _PLOT_HEIGHT
        for state in STATES:
            if not count[state]:
                continue
            height = _PLOT_HEIGHT * count[state] / most
            y -= height
            label = f"{period[0].date}: {count[state]} {STATE_NAMES[state]}"
            bars.append(
                Bar(round(position * width, 2), round(y, 2), round(width * 0.8, 2), round(height, 2), state, label)
            )
    total = round(len(periods) * width, 2)
    return Plot(total, _PLOT_HEIGHT, most, "day" if size == 1 else "week", tuple(bars), days[0].date, days[-1].date)


def _about(site: str) -> str:
    return f" about {site}" if site else ""


def _name(section: SectionInfo) -> str:
    return section.title or section.id


def _format_ratings(report: Report) -> str:
    if report.satisfaction is None:
        return "no ratings"
    return f"{100 * report.satisfaction:.0f} % of {report.helpful + report.unhelpful} ratings helpful"


def _format_cost(report: Report) -> str:
    if report.cost is None:
        return "cost not known" if report.unpriced else "no cost"
    return f"cost {report.cost:.2f}" + (f" without {report.unpriced} answers" if report.unpriced else "")


def _format_sections(title: str, sections: Sequence[SectionInfo]) -> Iterator[str]:
    if sections:
        yield f"\n{title}"
        yield from (f"{section.count:>5}  {_name(section)}" for section in sections)

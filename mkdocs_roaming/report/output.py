"""Format a report for a terminal, or as an HTML page without scripts and network requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import resources

from jinja2 import Environment, StrictUndefined

from mkdocs_roaming.evals.output import render_page
from mkdocs_roaming.report.access import find_agent, load_tables
from mkdocs_roaming.report.report import Report

_FILTERS: Mapping[str, Callable[..., object]] = {
    "day": lambda time: f"{time:%Y-%m-%d}",
    "kind": lambda agent: find_agent(agent)[1],
    "name": lambda section: section.title or section.id,
    "one_line": lambda text: " ".join(text.split()),
    "percent": lambda share: f"{100 * share:.0f} %",
    "total": lambda counts: sum(counts.values()),
    "plural": lambda count, noun: f"{count:,} {noun}{'' if count == 1 else 's'}",
}


def format_report(report: Report) -> Iterator[str]:
    """Yield the lines of a report for a terminal."""
    yield from _render("report.txt", report, summary=_render("summary.txt", report))


def render_report(report: Report) -> str:
    """Return the page of a report."""
    title = f"What readers asked{f' about {report.site}' if report.site else ''}"
    summary, tables = _render("summary.txt", report), load_tables()
    return render_page(
        "mkdocs_roaming.report", "page.html", title, _FILTERS, report=report, summary=summary, tables=tables
    )


def _render(template: str, report: Report, **context: object) -> list[str]:
    """Return the lines of a plain text."""
    environment = Environment(trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    environment.filters |= _FILTERS
    source = resources.files(__package__).joinpath(template).read_text("utf-8")
    return environment.from_string(source).render(report=report, tables=load_tables(), **context).splitlines()

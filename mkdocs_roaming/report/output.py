"""Format a report for a terminal, or as an HTML page without scripts and network requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mkdocs_roaming.evals.output import render_page, render_text
from mkdocs_roaming.report.access import load_tables
from mkdocs_roaming.report.report import Report

_FILTERS: Mapping[str, Callable[..., object]] = {
    "day": lambda time: f"{time:%Y-%m-%d}",
    "name": lambda section: section.title or section.id,
    "one_line": lambda text: " ".join(text.split()),
    "percent": lambda share: f"{100 * share:.0f} %",
    "total": lambda counts: sum(counts.values()),
    "plural": lambda count, noun: f"{count:,} {noun}{'' if count == 1 else 's'}",
}


def format_report(report: Report) -> list[str]:
    """Return the lines of a report for a terminal."""
    return _render("report.txt", report, summary=_render("summary.txt", report))


def render_report(report: Report) -> str:
    """Return the page of a report."""
    title = f"What readers asked{f' about {report.site}' if report.site else ''}"
    context = {"report": report, "tables": load_tables(), "summary": _render("summary.txt", report)}
    return render_page("mkdocs_roaming.report", "page.html", title, _FILTERS, **context)


def _render(template: str, report: Report, **context: object) -> list[str]:
    return render_text("mkdocs_roaming.report", template, _FILTERS, report=report, tables=load_tables(), **context)

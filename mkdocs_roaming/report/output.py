"""Format a report for a terminal, or as an HTML page without scripts and network requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mkdocs_roaming.evals.output import render_page
from mkdocs_roaming.report.report import Report, SectionInfo

STATE_NAMES = {  # in the order of plots
    "answered": "answered",
    "partial": "answered in part",
    "results": "search results",
    "not_found": "not answered",
    "refused": "refused by the model",
    "budget": "stopped by a limit",
    "error": "failed",
}


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
        if group.description:
            yield f"       describe: {group.description}"
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
        states=STATE_NAMES,
    )


def _about(site: str) -> str:
    return f" about {site}" if site else ""


def _name(section: SectionInfo) -> str:
    return section.title or section.id


def _format_ratings(report: Report) -> str:
    if report.satisfaction is None:
        return "no ratings"
    return f"{100 * report.satisfaction:.0f} % of {report.rated} ratings helpful"


def _format_cost(report: Report) -> str:
    if report.cost is None:
        return "cost not known" if report.unpriced else "no cost"
    return f"cost {report.cost:.2f}" + (f" without {report.unpriced} answers" if report.unpriced else "")


def _format_sections(title: str, sections: Sequence[SectionInfo]) -> Iterator[str]:
    if sections:
        yield f"\n{title}"
        yield from (f"{section.count:>5}  {_name(section)}" for section in sections)

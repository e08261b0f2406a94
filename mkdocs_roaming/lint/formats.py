"""Format a lint report: text, build log, JSON, GitHub annotations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from mkdocs_roaming.lint.models import SEVERITIES, Severity
from mkdocs_roaming.lint.rules import load_rules
from mkdocs_roaming.lint.runner import LintReport

_MAX_LOGGED = 20

_GITHUB_LEVELS: Mapping[Severity, str] = {"error": "error", "warning": "warning", "hint": "notice"}


def format_text(report: LintReport, docs: str = "", lib: str = "") -> Iterator[str]:
    """Yield the lines of a report for a terminal: three per finding, and the score.

    Args:
        report: The report.
        docs: The folder of the sources, as a prefix of their paths.
        lib: Name of the site in the last line.
    """
    for finding in report.findings:
        section = f"  {' › '.join(finding.breadcrumb)} [{finding.section}]" if finding.section else ""
        yield f"{finding.describe_location(docs)}: {finding.severity} {finding.rule}{section}"
        yield f"    {finding.message}"
        yield f"    Fix: {finding.fix}"
    yield f"{lib + ': ' if lib else ''}{report}"


def format_log(report: LintReport) -> Iterator[tuple[Severity | None, str]]:
    """Yield the lines of a report for a build log with their severity: the worst findings, then the score."""
    findings = sorted(report.findings, key=lambda finding: SEVERITIES.index(finding.severity))
    for finding in findings[:_MAX_LOGGED]:
        location = finding.describe_location()
        yield finding.severity, f"lint: {location}: {finding.rule}: {finding.message} {finding.fix}"
    if len(findings) > _MAX_LOGGED:
        hidden = len(findings) - _MAX_LOGGED
        yield findings[_MAX_LOGGED].severity, f"lint: {hidden} more; run `roaming lint` on the site to list all of them"
    yield None, f"lint: {report}"


def report_to_dict(report: LintReport) -> dict[str, Any]:
    """Return a report as JSON-compatible data, with the summaries of the rules that found something."""
    found = {finding.rule for finding in report.findings}
    return {
        "site": report.site,
        "score": report.score,
        "pages": report.pages,
        "sections": report.sections,
        "counts": {severity: report.count(severity) for severity in SEVERITIES},
        "rules": {
            id_: {"severity": rule.severity, "why": rule.summary} for id_, rule in load_rules().items() if id_ in found
        },
        "findings": [asdict(finding) for finding in report.findings],
    }


def format_github(report: LintReport, docs: str = "") -> Iterator[str]:
    """Yield a report as workflow commands, which GitHub turns into annotations."""
    for finding in report.findings:
        file, line = finding.location(docs)
        location = f" file={_escape_property(file)},line={line}," if finding.page is not None else " "
        title = _escape_property(f"roaming {finding.rule}")
        message = _escape_data(f"{finding.message} {finding.fix}")
        yield f"::{_GITHUB_LEVELS[finding.severity]}{location}title={title}::{message}"
    yield f"::notice title=roaming lint::{_escape_data(str(report))}"


def _escape_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")

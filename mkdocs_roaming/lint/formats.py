"""A report for a terminal, for programs, for GitHub's annotations and for GitLab's Code Quality."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import PurePosixPath
from typing import Any

from mkdocs_roaming.lint.models import SEVERITIES, Finding, Severity
from mkdocs_roaming.lint.rules import RULES
from mkdocs_roaming.lint.runner import Report

SITE = "llms.txt"
"""The file that a finding on the site as a whole is told of."""


def find_location(finding: Finding, docs: str = "") -> tuple[str, int]:
    """Give the file and the line to look at: in the source where its line is known, else in the published Markdown.

    `docs` is the folder of the sources, as seen from where the report is read.
    """
    if finding.source and finding.source_line is not None:
        return str(PurePosixPath(docs) / finding.source), finding.source_line
    return finding.markdown or SITE, finding.line


def format_text(report: Report, docs: str = "", lib: str = "") -> Iterator[str]:
    """Give a report's lines for a terminal: three for each finding, and the score."""
    for finding in report.findings:
        file, line = find_location(finding, docs)
        where = f"{file}:{line}" if finding.page is not None else "the site"
        crumbs = f"  {' › '.join(finding.breadcrumb)} [{finding.section}]" if finding.section else ""
        yield f"{where}: {finding.severity} {finding.rule}{crumbs}"
        yield f"    {finding.message}"
        yield f"    Fix: {finding.fix}"
    yield f"{lib + ': ' if lib else ''}{report}"


def format_log(report: Report) -> Iterator[tuple[Severity | None, str]]:
    """Give a report's lines for a build's log, the worst findings first: a line each, of a hundred the first twenty."""
    worst = sorted(report.findings, key=lambda finding: SEVERITIES.index(finding.severity))
    for finding in worst[:_LOGGED]:
        file, line = find_location(finding)
        where = f"{file}:{line}" if finding.page is not None else "the site"
        yield finding.severity, f"lint: {where}: {finding.rule}: {finding.message} {finding.fix}"
    if len(worst) > _LOGGED:
        yield (
            worst[_LOGGED].severity,
            f"lint: {len(worst) - _LOGGED} more; `roaming lint` on the site's folder tells them",
        )
    yield None, f"lint: {report}"


def report_to_dict(report: Report) -> dict[str, Any]:
    """Give a report as JSON has it, with the rules that found something."""
    found = {finding.rule for finding in report.findings}
    return {
        "site": report.site,
        "score": report.score,
        "pages": report.pages,
        "sections": report.sections,
        "counts": {severity: report.count(severity) for severity in ("error", "warning", "hint")},
        "rules": {name: {"severity": rule.severity, "why": rule.why} for name, rule in RULES.items() if name in found},
        "findings": [asdict(finding) for finding in report.findings],
    }


def format_github(report: Report, docs: str = "") -> Iterator[str]:
    """Give a report's lines as the workflow commands that GitHub makes annotations of."""
    for finding in report.findings:
        file, line = find_location(finding, docs)
        at = f" file={_property(file)},line={line}," if finding.page is not None else " "
        message = f"{finding.message} {finding.fix}"
        yield f"::{_GITHUB[finding.severity]}{at}title={_property('roaming ' + finding.rule)}::{_data(message)}"
    yield f"::notice title=roaming lint::{_data(str(report))}"


def format_gitlab(report: Report, docs: str = "") -> str:
    """Give a report as GitLab's Code Quality reads it."""
    issues = []
    for finding in report.findings:
        file, line = find_location(finding, docs)
        issues.append(
            {
                "description": f"{finding.message} {finding.fix}",
                "check_name": finding.rule,
                "fingerprint": finding.fingerprint,
                "severity": _GITLAB[finding.severity],
                "location": {"path": file, "lines": {"begin": line}},
            }
        )
    return json.dumps(issues, ensure_ascii=False, indent=2)


_LOGGED = 20

_GITHUB: Mapping[Severity, str] = {"error": "error", "warning": "warning", "hint": "notice"}
_GITLAB: Mapping[Severity, str] = {"error": "major", "warning": "minor", "hint": "info"}


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")

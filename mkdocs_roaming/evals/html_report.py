"""Render an evaluation or a lint report as one HTML page without scripts or network requests."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import defaultdict
from collections.abc import Sequence
from importlib import resources

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from mkdocs_roaming.evals.metrics import FIGURES
from mkdocs_roaming.evals.output import describe_failure, format_cost, format_figure
from mkdocs_roaming.evals.runner import EvalReport, Regression
from mkdocs_roaming.lint.models import SEVERITIES, Finding
from mkdocs_roaming.lint.rules import load_rules
from mkdocs_roaming.lint.runner import LintReport


def render_evaluation(report: EvalReport, regressions: Sequence[Regression] = ()) -> str:
    """Return the page of an evaluation: figures, and each question with the result of each system."""
    figures = [name for name in FIGURES if any(row.totals.figure(name) for row in report.rows)]
    return _render(f"Questions about {report.site}", report=report, regressions=regressions, figures=figures)


def render_findings(report: LintReport, url: str = "", docs: str = "") -> str:
    """Return the page of a lint report: the findings by rule, errors first.

    Args:
        report: The lint report.
        url: The address of the site.
        docs: The folder of the Markdown sources, for the location of each finding.
    """
    findings: dict[str, list[Finding]] = defaultdict(list)
    for finding in sorted(report.findings, key=lambda finding: SEVERITIES.index(finding.severity)):
        findings[finding.rule].append(finding)
    title = f"Lint report of {report.site}"
    return _render(title, report=report, findings=findings, rules=load_rules(), url=url, docs=docs)


def _render(title: str, **context: object) -> str:
    """Render the template; the content security policy of the page allows nothing but its own style sheet."""
    folder = resources.files(__package__)
    style = folder.joinpath("report.css").read_text("utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    environment.filters |= {
        "cost": format_cost,
        "failure": describe_failure,
        "figure": format_figure,
    }
    html = environment.from_string(folder.joinpath("report.html").read_text("utf-8")).render(
        title=title,
        style=Markup(style),
        style_digest=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        **context,
    )
    return _FORBIDDEN.sub("\ufffd", html)


_FORBIDDEN = re.compile("[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd\U00010000-\U0010fffd]")
"""Characters that HTML forbids."""

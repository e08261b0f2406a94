"""Output formats of a report: text, build log, JSON, GitHub."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from mkdocs_roaming.lint.context import Finding
from mkdocs_roaming.lint.runner import LintReport, format_github, format_log, format_text, lint_site, report_to_dict

from .cases import CASES, load_case

GOLDEN = CASES.parent / "lint-formats"


@pytest.mark.parametrize("file", ["text.txt", "github.txt", "report.json"])
def test_format_matches_golden_file(file: str) -> None:
    """UPDATE=1 writes the files."""
    context, _ = load_case(CASES / "hidden-text/fires")
    report = lint_site(context)
    output = {
        "text.txt": lambda: "\n".join(format_text(report, "docs", "site")),
        "github.txt": lambda: "\n".join(format_github(report, "docs")),
        "report.json": lambda: json.dumps(report_to_dict(report), ensure_ascii=False, indent=2),
    }[file]()
    if os.environ.get("UPDATE"):
        (GOLDEN / file).write_text(output + "\n", "utf-8")
    assert output + "\n" == (GOLDEN / file).read_text("utf-8")


def make_report(**fields: Any) -> LintReport:
    finding = Finding("hidden-text", "error", "50 % of\nit: a, b", "Fix it.", **fields)
    return LintReport("Docs", 1, 1, 9, (finding,))


def test_format_github_escapes_messages_and_properties() -> None:
    line = next(iter(format_github(make_report(source="a,b:c.md", source_line=3, page="a,b:c/"))))
    assert line == "::error file=a%2Cb%3Ac.md,line=3,title=roaming hidden-text::50 %25 of%0Ait: a, b Fix it."
    line = next(iter(format_github(make_report())))
    assert line == "::error title=roaming hidden-text::50 %25 of%0Ait: a, b Fix it."


def test_finding_about_site_is_located_in_llms_txt() -> None:
    finding = make_report().findings[0]
    assert finding.location("docs") == ("llms.txt", None)
    assert finding.describe_location("docs") == "the site"


def test_format_log_has_worst_findings_first_and_at_most_twenty() -> None:
    hints = tuple(Finding("empty-title", "hint", f"{at}.", "Fix it.") for at in range(30))
    worst = Finding("hidden-text", "error", "Worst.", "Fix it.")
    lines = list(format_log(LintReport("Docs", 3, 40, 50, (*hints, worst))))
    assert len(lines) == 22
    assert lines[0] == ("error", "lint: the site: hidden-text: Worst. Fix it.")
    assert "11 more" in lines[-2][1]
    assert lines[-1][1] == "lint: 50/100: 1 error, 30 hints in 40 sections on 3 pages"

"""The findings of each rule: a folder of pages is a case, `expected.txt` has its findings."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from mkdocs_roaming.lint.context import Rule, rule
from mkdocs_roaming.lint.rules import BUILTIN_RULES
from mkdocs_roaming.lint.runner import LintConfig, LintReport, lint_site

from .cases import CASES, load_case

RULE_CASES = sorted(folder for rule in CASES.iterdir() if rule.name != "clean" for folder in rule.iterdir())
CLEAN_CASES = sorted((CASES / "clean").iterdir())


def format_findings(report: LintReport) -> str:
    return "".join(
        f"{f'{one.markdown}:{one.line}' if one.markdown else 'the site'}: {one.severity} {one.rule}\n  {one.message}\n  Fix: {one.fix}\n"
        for one in report.findings
    )


@pytest.mark.parametrize("case", RULE_CASES, ids=lambda case: f"{case.parent.name}-{case.name}")
def test_rule_has_expected_findings(case: Path) -> None:
    """UPDATE=1 writes `expected.txt`; a case without that file has no findings."""
    context, _ = load_case(case)
    others = frozenset(BUILTIN_RULES) - {case.parent.name}
    report = lint_site(context, LintConfig(disable=others))
    expected = case / "expected.txt"
    if os.environ.get("UPDATE") and report.findings:
        expected.write_text(format_findings(report), "utf-8")
    assert format_findings(report) == (expected.read_text("utf-8") if expected.is_file() else "")


@pytest.mark.parametrize("case", CLEAN_CASES, ids=lambda case: case.name)
def test_clean_pages_have_no_findings(case: Path) -> None:
    context, config = load_case(case)
    report = lint_site(context, config)
    assert (format_findings(report), report.score) == ("", 100)


def test_every_rule_has_cases_with_and_without_findings() -> None:
    with_findings = {case.parent.name for case in RULE_CASES if (case / "expected.txt").is_file()}
    without_findings = {case.parent.name for case in RULE_CASES if not (case / "expected.txt").is_file()}
    assert with_findings == without_findings == set(BUILTIN_RULES)


def test_summaries_and_fixes_are_sentences() -> None:
    for id_, built_in in BUILTIN_RULES.items():
        assert id_ == built_in.id
        assert built_in.summary.endswith(".")
    for case in RULE_CASES:
        context, config = load_case(case)
        assert all(finding.fix.endswith(".") for finding in lint_site(context, config).findings)


def test_documentation_lists_every_rule() -> None:
    text = (CASES.parents[2] / "docs/guides/lint.md").read_text("utf-8")
    listed = dict(re.findall(r"^\| `([a-z-]+)` \| .* \| (error|warning|hint) \|$", text, re.MULTILINE))
    assert listed == {id_: one.severity for id_, one in BUILTIN_RULES.items()}


@pytest.mark.parametrize("id_", ["", "Short-Title", "short title", "title2", "-title", "title-"])
def test_rule_with_invalid_id_raises(id_: str) -> None:
    with pytest.raises(ValueError, match="use lower-case words with hyphens"):
        rule(id_, "hint", "A summary.")(lambda site: [])


def test_rule_with_invalid_severity_raises() -> None:
    with pytest.raises(ValueError, match="use one of error, warning, hint"):
        Rule("short-title", "fatal", "A summary.", lambda site: [])

"""What each rule finds and what it leaves alone: a folder of pages is a case, `expected.txt` what is found there."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from mkdocs_roaming.lint.config import Config
from mkdocs_roaming.lint.formats import find_location
from mkdocs_roaming.lint.rules import RULES
from mkdocs_roaming.lint.runner import Report, lint

from .conftest import GOLDEN, case_docs

CASES = sorted(folder for rule in GOLDEN.iterdir() if rule.name != "clean" for folder in rule.iterdir())
CLEAN = sorted((GOLDEN / "clean").iterdir())


def told(report: Report) -> str:
    lines = []
    for finding in report.findings:
        file, line = find_location(finding)
        lines.append(f"{file}:{line}: {finding.severity} {finding.rule}\n  {finding.message}\n  Fix: {finding.fix}\n")
    return "".join(lines)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}-{case.name}")
def test_a_rule_finds_what_it_promises_and_nothing_else(case: Path) -> None:
    """What a rule finds in a case is what `expected.txt` says; a near miss has none. UPDATE_LINT=1 writes it."""
    docs, config = case_docs(case)
    only = frozenset(RULES) - {case.parent.name}
    report = lint(docs, Config(disable=only, enable=config.enable))
    expected = case / "expected.txt"
    if os.environ.get("UPDATE_LINT") and report.findings:
        expected.write_text(told(report), "utf-8")
    assert told(report) == (expected.read_text("utf-8") if expected.is_file() else "")


@pytest.mark.parametrize("case", CLEAN, ids=lambda case: case.name)
def test_pages_that_are_written_well_are_left_alone(case: Path) -> None:
    """Nothing is found on clean pages, the rules that are off by default included: 100 of 100."""
    docs, config = case_docs(case)
    report = lint(docs, config)
    assert (told(report), report.score) == ("", 100)


def test_every_rule_has_a_case_that_fires_and_a_near_miss() -> None:
    """No rule without both, and no case of a rule that is none."""
    fires = {case.parent.name for case in CASES if (case / "expected.txt").is_file()}
    near = {case.parent.name for case in CASES if not (case / "expected.txt").is_file()}
    assert fires == near == set(RULES)


def test_every_rule_says_why_and_how_to_mend() -> None:
    """Names are words with hyphens, reasons are sentences, and every finding has a fix."""
    for name, rule in RULES.items():
        assert name == rule.name
        assert name.replace("-", "").isalpha()
        assert rule.why.endswith(".")
    for case in CASES:
        docs, config = case_docs(case)
        assert all(finding.fix.endswith(".") for finding in lint(docs, config).findings)


def test_the_docs_list_every_rule_as_it_is() -> None:
    """docs/guides/lint.md names each rule with its severity, those that are off as off, and no other."""
    text = (GOLDEN.parents[2] / "docs/guides/lint.md").read_text("utf-8")
    table = text.split("## Rules")[1].split("\n## ")[0]
    listed = dict(re.findall(r"^\| `([a-z-]+)` \| .* \| ([a-z, ]+) \|$", table, re.MULTILINE))
    assert listed == {name: rule.severity + ("" if rule.on else ", off") for name, rule in RULES.items()}

"""Rules of other distributions, installed in a temporary folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

RULE = """\
from collections.abc import Iterator

from mkdocs_roaming.lint import LintContext, Problem, rule


@rule("no-beta", "warning", "Readers of a release cannot use beta features.")
def no_beta(site: LintContext) -> Iterator[Problem]:
    for text, ref in site.iter_sections(site.manual_pages):
        if "beta" in ref.section.title.lower():
            yield Problem("The section is about a beta feature.", "Move it to the roadmap.", ref.page, ref.position)
"""


@pytest.fixture
def markdown(tmp_path: Path) -> Path:
    file = tmp_path / "README.md"
    file.write_text("# Pump\n\nA pump.\n\n## Beta features\n\nIt flies.\n", "utf-8")
    return file


def install(folder: Path, code: str, entry_point: str) -> None:
    """Install a distribution `house-rules` with a module `house_rules` in a folder."""
    (folder / "house_rules.py").write_text(code, "utf-8")
    metadata = folder / "house_rules-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: house-rules\nVersion: 1.0\n", "utf-8")
    (metadata / "entry_points.txt").write_text(f"[roaming.lint_rules]\nhouse = {entry_point}\n", "utf-8")


def lint(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs_roaming", "lint", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=folder)


@pytest.mark.parametrize("entry_point", ["house_rules:no_beta", "house_rules:RULES"])
def test_installed_rule_reports_findings(tmp_path: Path, markdown: Path, entry_point: str) -> None:
    install(tmp_path, RULE + "\n\nRULES = [no_beta]\n", entry_point)
    report = json.loads(lint(tmp_path, markdown, "--json").stdout)
    (finding,) = report["findings"]
    assert (finding["rule"], finding["severity"], finding["line"]) == ("no-beta", "warning", 5)
    assert report["rules"]["no-beta"]["why"] == "Readers of a release cannot use beta features."


def test_installed_rule_can_be_disabled_and_makes_strict_fail(tmp_path: Path, markdown: Path) -> None:
    install(tmp_path, RULE, "house_rules:no_beta")
    assert lint(tmp_path, markdown, "--strict").returncode == 4
    assert lint(tmp_path, markdown, "--strict", "--disable", "no-beta").returncode == 0


@pytest.mark.parametrize(
    ("code", "entry_point", "message"),
    [
        (RULE, "house_rules:missing", "house-rules"),
        ("raise RuntimeError('no key')", "house_rules:no_beta", "no key"),
        ("no_beta = 'a text'", "house_rules:no_beta", "is str, expected a Rule or a list of rules"),
        (RULE.replace("no-beta", "empty-title"), "house_rules:no_beta", "defines the rule 'empty-title', which exists"),
        (RULE.replace("no-beta", "No beta"), "house_rules:no_beta", "invalid rule id 'No beta'"),
    ],
)
def test_broken_plugin_is_named(tmp_path: Path, markdown: Path, code: str, entry_point: str, message: str) -> None:
    install(tmp_path, code, entry_point)
    result = lint(tmp_path, markdown)
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    assert "house" in result.stderr
    assert message in result.stderr

"""The plugin's `lint` option."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest
from mkdocs.exceptions import Abort

if TYPE_CHECKING:
    from .conftest import Project

HOME = "# Tide pump\n\nA pump for tidal basins.\n"
VALVES = "---\ntags: [a]\n---\n# Valves\n\nTwo valves.\n\n## Inlet\n\nLeft.\n\n## Inlet\n\nRight.\n\n## Notes\n\nDry.\n"
SOURCES = {"index.md": HOME, "valves.md": VALVES}
DESCRIBED = {"site_description": "Pumps."}


def lint_lines(built: object) -> list[str]:
    return [line for line in built.messages() if "lint:" in line]


def test_lint_off_logs_nothing(mkdocs: Project) -> None:
    """YAML reads `off` as False."""
    assert lint_lines(mkdocs(SOURCES, **DESCRIBED)) == []
    assert lint_lines(mkdocs(SOURCES, plugins=[], plugin={"lint": False}, **DESCRIBED)) == []


def test_lint_warn_logs_findings_at_info_level(mkdocs: Project) -> None:
    built = mkdocs(SOURCES, plugins=[], plugin={"lint": "warn"}, **DESCRIBED)
    lines = lint_lines(built)
    assert lines[0].startswith("roaming: lint: valves.md:12: repeated-sibling: 2 sections below “Valves” have")
    assert lines[1].startswith("roaming: lint: valves.md:16: empty-title: ")
    assert lines[2] == "roaming: lint: 55/100: 1 warning, 1 hint in 5 sections on 2 pages"
    assert built.messages(logging.WARNING) == []


def test_lint_strict_aborts_build_after_writing_site(mkdocs: Project, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(Abort):
        mkdocs(SOURCES, plugins=[], plugin={"lint": "strict"}, **DESCRIBED)
    (message,) = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert message.startswith(
        "roaming: lint: 55/100: 1 warning, 1 hint in 5 sections on 2 pages; fix the findings above"
    )
    assert (mkdocs.folder / "site/roaming/manifest.json").is_file()
    mild = {"level": "strict", "disable": ["repeated-sibling"]}
    assert lint_lines(mkdocs(SOURCES, plugins=[], plugin={"lint": mild}, **DESCRIBED))[-1].endswith("on 2 pages")


def test_lint_invalid_option_aborts_before_build(mkdocs: Project, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(Abort):
        mkdocs(SOURCES, plugins=[], plugin={"lint": {"disable": ["x"]}})
    assert "roaming: lint: disable: unknown rule 'x'. Known rules: " in caplog.text
    assert not (mkdocs.folder / "site").exists()

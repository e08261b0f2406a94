"""How a report looks: on a terminal, to programs, on GitHub and GitLab, as a badge."""

from __future__ import annotations

import json
import os

import pytest

from mkdocs_roaming.lint.formats import format_github, format_gitlab, format_log, format_text, report_to_dict
from mkdocs_roaming.lint.models import Finding
from mkdocs_roaming.lint.runner import Report, lint

from .conftest import GOLDEN, case_docs

SHOWN = GOLDEN.parent / "lint-formats"


@pytest.mark.parametrize("form", ["text.txt", "github.txt", "gitlab.json", "report.json"])
def test_each_format_is_as_it_was(form: str) -> None:
    """One report in all formats. UPDATE_LINT=1 writes them."""
    docs, _ = case_docs(GOLDEN / "hidden-text/fires")
    report = lint(docs)
    shown = {
        "text.txt": lambda: "\n".join(format_text(report, "docs", "site")),
        "github.txt": lambda: "\n".join(format_github(report, "docs")),
        "gitlab.json": lambda: format_gitlab(report, "docs"),
        "report.json": lambda: json.dumps(report_to_dict(report), ensure_ascii=False, indent=2),
    }[form]()
    if os.environ.get("UPDATE_LINT"):
        SHOWN.mkdir(exist_ok=True)
        (SHOWN / form).write_text(shown + "\n", "utf-8")
    assert shown + "\n" == (SHOWN / form).read_text("utf-8")


def one(**given: object) -> Report:
    finding = Finding("broken-link", "error", "50 % of\nit: a, b", "Mend it.", **given)
    return Report("Docs", 1, 1, 9, (finding,))


def test_github_reads_whatever_stands_in_a_message() -> None:
    """Line ends and percent signs are escaped, colons and commas in names too."""
    line = next(iter(format_github(one(markdown="a,b:c/index.md", line=3, page="a,b:c/"))))
    assert line == ("::error file=a%2Cb%3Ac/index.md,line=3,title=roaming broken-link::50 %25 of%0Ait: a, b Mend it.")
    assert next(iter(format_github(one()))) == "::error title=roaming broken-link::50 %25 of%0Ait: a, b Mend it."


def test_gitlab_gets_what_code_quality_asks_for() -> None:
    """Each entry has description, check_name, a fingerprint of its own, a severity it knows, and a place."""
    docs, _ = case_docs(GOLDEN / "orders-to-models/fires")
    entries = json.loads(format_gitlab(lint(docs)))
    assert len({entry["fingerprint"] for entry in entries}) == len(entries) > 0
    for entry in entries:
        assert set(entry) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert entry["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert entry["location"]["lines"]["begin"] >= 1


def test_a_log_tells_the_worst_first_and_no_more_than_twenty() -> None:
    """A build's log is no place for hundreds of lines: the rest is a number, the score is the last line."""
    hints = tuple(Finding("empty-title", "hint", f"{at}.", "Mend.") for at in range(30))
    worst = Finding("broken-link", "error", "Worst.", "Mend.")
    lines = list(format_log(Report("Docs", 3, 40, 50, (*hints, worst))))
    assert len(lines) == 22
    assert lines[0] == ("error", "lint: the site: broken-link: Worst. Mend.")
    assert "11 more" in lines[-2][1]
    assert lines[-1][1] == "lint: 50/100: 1 error, 30 hints in 40 sections on 3 pages"

"""Baselines: what counts as a regression, and which files are refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from kettle import QUESTIONS

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.evals.metrics import EvalResult, compute_totals
from mkdocs_roaming.evals.output import (
    Baseline,
    Regression,
    check_comparable,
    find_regressions,
    read_baseline,
    report_to_dict,
)
from mkdocs_roaming.evals.questions import QuestionSet, parse_questions
from mkdocs_roaming.evals.runner import EvalReport, ReportRow

PORT = EvalResult("Which port is the default?", rank=2, reached=True, state="answered", text="8642", missing=())


def make_report(*results: EvalResult, mode: str = "offline", questions: QuestionSet | None = None) -> EvalReport:
    questions = questions or parse_questions(QUESTIONS, "q.yml")
    asked = replace(questions, questions=questions.questions[: len(results)])
    row = ReportRow(mode, "", results, compute_totals(asked.questions, results))
    return EvalReport("Kettle", "", "sha256:0", asked, (), (row,))


def save(report: EvalReport, folder: Path) -> Baseline:
    (folder / "b.json").write_text(json.dumps(report_to_dict(report)), "utf-8")
    return read_baseline(folder / "b.json")


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (replace(PORT), []),
        (replace(PORT, rank=11), []),
        (replace(PORT, reached=False), ["not reached, rank 2 in search"]),
        (replace(PORT, text="", state="not_found", missing=("8642",)), ["declined"]),
        (replace(PORT, missing=("8642",)), ["the answer lacks 8642"]),
        (replace(PORT, error="no network", reached=False, rank=None), []),
    ],
)
def test_find_regressions_of_answerable_question(now: EvalResult, expected: list[str], tmp_path: Path) -> None:
    before = save(make_report(PORT), tmp_path)
    assert find_regressions(before, make_report(now)) == [Regression(PORT.ask, "offline", one) for one in expected]


def test_find_regressions_of_unanswerable_question(tmp_path: Path) -> None:
    questions = parse_questions("questions:\n- ask: teapot\n  answerable: false\n", "q.yml")
    declined = make_report(EvalResult("teapot", state="not_found"), questions=questions)
    answered = make_report(EvalResult("teapot", state="answered", text="blue"), questions=questions)
    expected = [Regression("teapot", "offline", "answered, although the documentation does not say")]
    assert find_regressions(save(declined, tmp_path), answered) == expected
    assert find_regressions(save(answered, tmp_path), declined) == []


def test_check_comparable_other_questions_or_systems_raises(tmp_path: Path) -> None:
    report = make_report(PORT)
    baseline = save(report, tmp_path)
    check_comparable(baseline, report.questions, ["offline"], "b.json")
    with pytest.raises(UsageError, match=r"b\.json: the baseline has no result of claude for 'Which port"):
        check_comparable(baseline, report.questions, ["offline", "claude"], "b.json")
    with pytest.raises(UsageError, match="no result of offline"):
        check_comparable(baseline, parse_questions(QUESTIONS, "q.yml"), ["offline"], "b.json")
    failed = save(make_report(replace(PORT, error="no network")), tmp_path)
    with pytest.raises(UsageError, match="no result of offline"):
        check_comparable(failed, report.questions, ["offline"], "b.json")


@pytest.mark.parametrize("text", ["{", "[]", "", "{}", "\xff", "[" * 100_000, '{"rows": [{}]}'])
def test_read_baseline_other_file_raises(text: str, tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text(text, "latin-1")
    with pytest.raises(UsageError, match=r"b\.json: not the output of `roaming eval --json`"):
        read_baseline(tmp_path / "b.json")

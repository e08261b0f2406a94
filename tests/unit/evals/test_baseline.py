"""Baselines: what counts as a regression, and which files are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from kettle import QUESTIONS

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.evals.metrics import EvalResult, describe_problem
from mkdocs_roaming.evals.output import Baseline, Regression, find_regressions, read_baseline
from mkdocs_roaming.evals.questions import QuestionSet, parse_questions
from mkdocs_roaming.evals.runner import EvalReport, ReportRow

PORT = EvalResult("Which port is the default?", rank=2, reached=True, state="answered", text="8642")


def make_report(*results: EvalResult, questions: QuestionSet | None = None) -> EvalReport:
    questions = questions or parse_questions(QUESTIONS, "q.yml")
    asked = replace(questions, questions=questions.questions[: len(results)])
    problems = tuple(map(describe_problem, asked.questions, results))
    return EvalReport(
        "Kettle", "", "sha256:0", asked, (), (ReportRow("offline", results, problems, (), None, "", 0.0),)
    )


def save(report: EvalReport, folder: Path, questions: QuestionSet | None = None, *systems: str) -> Baseline:
    """Write a report, and read it as the baseline of questions and systems."""
    (folder / "b.json").write_bytes(msgspec.json.encode(report))
    return read_baseline(folder / "b.json", questions or report.questions, systems or ["offline"])


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


def test_read_baseline_of_other_questions_or_systems_raises(tmp_path: Path) -> None:
    report = make_report(PORT)
    with pytest.raises(UsageError, match=r"b\.json: the baseline has no result of claude for 'Which port"):
        save(report, tmp_path, None, "offline", "claude")
    with pytest.raises(UsageError, match="no result of offline"):
        save(report, tmp_path, parse_questions(QUESTIONS, "q.yml"))
    with pytest.raises(UsageError, match="no result of offline"):
        save(make_report(replace(PORT, error="no network")), tmp_path)


@pytest.mark.parametrize("text", ["{", "[]", "", "{}", "\xff", "[" * 100_000, '{"rows": [{}]}'])
def test_read_baseline_other_file_raises(text: str, tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text(text, "latin-1")
    with pytest.raises(UsageError, match=r"b\.json: not the output of `roaming eval --json`"):
        read_baseline(tmp_path / "b.json", parse_questions(QUESTIONS, "q.yml"), [])

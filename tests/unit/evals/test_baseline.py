"""Baselines: what counts as a regression, and which files are refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from kettle import QUESTIONS

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.evals.metrics import EvalResult, compute_totals
from mkdocs_roaming.evals.questions import QuestionSet, parse_questions
from mkdocs_roaming.evals.runner import (
    EvalReport,
    Regression,
    ReportRow,
    check_comparable,
    create_baseline,
    find_regressions,
    read_baseline,
    write_baseline,
)

PORT = EvalResult("Which port is the default?", rank=2, reached=True, state="answered", text="8642", missing=())


def make_report(*results: EvalResult, mode: str = "offline", questions: QuestionSet | None = None) -> EvalReport:
    questions = questions or parse_questions(QUESTIONS, "q.yml")
    asked = replace(questions, questions=questions.questions[: len(results)])
    row = ReportRow(mode, "", results, compute_totals(asked.questions, results))
    return EvalReport("Kettle", "", "sha256:0", asked, asked.digest, (), (row,))


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (replace(PORT), []),
        (replace(PORT, rank=10), []),
        (replace(PORT, rank=1), []),
        (replace(PORT, rank=11), [("search", "ranked 2", "ranked 11")]),
        (replace(PORT, rank=None), [("search", "ranked 2", "not among the first 50")]),
        (replace(PORT, reached=False), [("offline", "a gold section was opened", "none is opened")]),
        (replace(PORT, text="", state="not_found", missing=("8642",)), [("offline", "answered", "declined")]),
        (replace(PORT, missing=("8642",)), [("offline", "the answer contained 8642", "it does not")]),
        (replace(PORT, error="no network", reached=False, rank=None), []),
    ],
)
def test_find_regressions_of_answerable_question(now: EvalResult, expected: list[tuple[str, str, str]]) -> None:
    found = find_regressions(create_baseline(make_report(PORT)), make_report(now))
    assert [(one.mode, one.before, one.after) for one in found] == expected


def test_find_regressions_of_unanswerable_question() -> None:
    questions = parse_questions("questions:\n- ask: teapot\n  answerable: false\n", "q.yml")
    declined = make_report(EvalResult("teapot", state="not_found"), questions=questions)
    answered = make_report(EvalResult("teapot", state="answered", text="blue"), questions=questions)
    expected = [Regression("teapot", "offline", "declined", "answered, although the documentation does not say")]
    assert find_regressions(create_baseline(declined), answered) == expected
    assert find_regressions(create_baseline(answered), declined) == []


def test_find_regressions_ignores_literals_new_in_question_file() -> None:
    questions = parse_questions(QUESTIONS.replace("['8642']", "['8642', tcp]"), "q.yml")
    baseline = create_baseline(make_report(PORT))
    assert find_regressions(baseline, make_report(replace(PORT, missing=("tcp",)), questions=questions)) == []
    (lost,) = find_regressions(baseline, make_report(replace(PORT, missing=("8642", "tcp")), questions=questions))
    assert lost.before == "the answer contained 8642"


def test_check_comparable_other_questions_or_systems_raises(tmp_path: Path) -> None:
    file = tmp_path / "b.json"
    write_baseline(file, create_baseline(make_report(PORT)))
    other = parse_questions(QUESTIONS.replace("how long", "for how long"), "other.yml")
    with pytest.raises(UsageError, match=r"b\.json: the baseline has other questions than other\.yml\. Write .*again"):
        check_comparable(read_baseline(file), other, ["offline"], "b.json")
    questions = make_report(PORT).questions
    check_comparable(read_baseline(file), questions, ["offline"], "b.json")
    with pytest.raises(UsageError, match="has results of offline, but not of claude"):
        check_comparable(read_baseline(file), questions, ["offline", "claude"], "b.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, r"not a baseline of version 1: .* - at `\$\.version`"),
        ({"format": "x"}, r"not a baseline of version 1: .* - at `\$\.format`"),
        ({"modes": [{}]}, r"missing required field `mode` - at `\$\.modes\[0\]`"),
        ({"modes": [{"mode": "offline", "outcomes": []}]}, "has no result of offline for 'Which port is the default"),
    ],
)
def test_read_baseline_invalid_field_raises(change: dict[str, object], message: str, tmp_path: Path) -> None:
    file = tmp_path / "b.json"
    write_baseline(file, create_baseline(make_report(PORT)))
    file.write_text(json.dumps({**json.loads(file.read_text("utf-8")), **change}), "utf-8")
    with pytest.raises(UsageError, match=message):
        check_comparable(read_baseline(file), make_report(PORT).questions, ["offline"], "b.json")


@pytest.mark.parametrize("text", ["{", "[]", "", "{}", "\xff", "[" * 100_000])
def test_read_baseline_other_file_raises(text: str, tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text(text, "latin-1")
    with pytest.raises(UsageError, match=r"b\.json: not a baseline of version 1: .*--write-baseline"):
        read_baseline(tmp_path / "b.json")


def test_write_baseline_equal_results_write_equal_bytes(tmp_path: Path) -> None:
    first, second = tmp_path / "one.json", tmp_path / "other.json"
    write_baseline(first, create_baseline(make_report(PORT)))
    write_baseline(second, create_baseline(make_report(replace(PORT, seconds=9.0))))
    assert first.read_bytes() == second.read_bytes()


def test_create_baseline_incomplete_report_raises() -> None:
    report = make_report(PORT)
    row = replace(report.rows[0], results=(PORT, None), stop_reason="interrupted")
    with pytest.raises(UsageError, match="interrupted"):
        create_baseline(replace(report, rows=(row,)))


def test_create_baseline_of_selected_questions_raises() -> None:
    report = replace(make_report(PORT), set_digest=parse_questions(QUESTIONS, "q.yml").digest)
    with pytest.raises(UsageError, match="omit --only and --limit"):
        create_baseline(report)

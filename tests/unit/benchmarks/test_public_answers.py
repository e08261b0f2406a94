"""Answers to the questions of the cookbook set: what is asked, graded, reported and recorded."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path

import msgspec
import pytest
from public.cookbook import FOLDERS
from public.cookbook_answers import (
    AnswerRecord,
    Graded,
    ask_all,
    grade_all,
    iter_report,
    make_verdicts,
    read_all,
    read_grade,
    write,
)
from public.corpus import Checkout
from public.report import write_record

LINK = "https://pumps.example/en/prime-a-pump#before"


def make_graded(number: int = 1, **given: object) -> Graded:
    values = {
        "question": "Which valve?",
        "reference": "The upper one.",
        "answer": "The upper one.",
        "state": "answered",
        "calls": 1,
        "tokens": 900,
        "cited": [LINK],
        "right": [LINK],
        "marks": 0,
    }
    return msgspec.convert({"number": number, **values, **given}, Graded)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout in the shape of the set."""
    folder = tmp_path / "checkout" / FOLDERS[0]
    (folder / "data").mkdir(parents=True)
    (folder / "evaluation").mkdir()
    text = "Before\n\nOpen the upper valve before you fill the pump with water."
    chunks = [{"chunk_link": LINK, "chunk_heading": "Before", "text": text}]
    questions = [{"question": "Which valve is opened?", "correct_chunks": [LINK], "correct_answer": "The upper valve."}]
    (folder / "data" / "anthropic_docs.json").write_text(json.dumps(chunks), "utf-8")
    (folder / "evaluation" / "docs_evaluation_dataset.json").write_text(json.dumps(questions), "utf-8")
    git = ["git", "-C", str(tmp_path / "checkout"), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "set"]):
        subprocess.run([*git, *arguments], check=True)
    return tmp_path / "checkout"


def test_answers_are_asked_once_and_kept_with_the_addresses_of_the_set(checkout: Path, tmp_path: Path) -> None:
    folder = tmp_path / "answers"
    asyncio.run(ask_all(checkout, folder, "offline", None, parallel=2, seconds=30.0))
    [found] = read_all(folder)
    write(folder, make_graded(answer="edited"))
    asyncio.run(ask_all(checkout, folder, "offline", None, parallel=2, seconds=30.0))

    assert (found.number, found.reference, found.right, found.cited) == (1, "The upper valve.", [LINK], [LINK])
    assert "upper valve" in found.answer
    assert "[^" not in found.answer
    assert [each.answer for each in read_all(folder)] == ["edited"]


def test_grader_grades_only_answers_without_a_grade(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([[{"text": "It names another valve.\n\nincorrect"}]]), "utf-8")
    write(tmp_path, make_graded(1, correct=True))
    write(tmp_path, make_graded(2))
    asyncio.run(grade_all(tmp_path, f"scripted:{script}"))

    assert [(each.correct, each.reason) for each in read_all(tmp_path)] == [
        (True, ""),
        (False, "It names another valve."),
    ]


@pytest.mark.parametrize(
    ("reply", "grade"),
    [("Same.\ncorrect", (True, "Same.")), ("**Incorrect.**", (False, "")), ("a\nb\n\n`correct`\n", (True, "a b"))],
)
def test_grade_is_the_last_line(reply: str, grade: tuple[bool, str]) -> None:
    assert read_grade(reply) == grade


@pytest.mark.parametrize("reply", ["", "It is correct, I think"])
def test_reply_without_a_grade_exits(reply: str) -> None:
    with pytest.raises(SystemExit, match="last line is neither"):
        read_grade(reply)


def test_report_counts_grades_citations_marks_and_calls() -> None:
    found = [
        make_graded(1, correct=True, calls=2, tokens=1_000),
        make_graded(2, correct=False, cited=[], marks=3, tokens=2_000),
    ]
    row = iter_report(make_verdicts(found))[-1]

    assert row == "| all | 2 | 50.0% (9.5%–90.5%) | 50.0% | 50.0% | 1.50 | 1,500 |"


def test_report_names_answers_without_a_grade() -> None:
    with pytest.raises(SystemExit, match="no grades yet: 1, 3"):
        make_verdicts([make_graded(1), make_graded(2, correct=True), make_graded(3)])


def test_record_has_no_text_of_the_set(tmp_path: Path) -> None:
    rows = make_verdicts([make_graded(correct=True, reason="Same.")])
    record = AnswerRecord("cookbook", Checkout("set", "0" * 40), "by hand", "by hand", tuple(rows))
    write_record(record, tmp_path / "record.json")
    text = (tmp_path / "record.json").read_text("utf-8")

    assert json.loads(text)["rows"][0]["cited"] == [LINK]
    assert not any(word in text for word in ("valve", "upper one", "Same."))

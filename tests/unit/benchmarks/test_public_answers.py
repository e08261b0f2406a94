"""Answers to the questions of a set: what is asked, graded, reported and recorded."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path

import msgspec
import pytest
from public.answers import (
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
from public.asked import Asked, open_cookbook_source
from public.cookbook import FOLDERS
from public.corpus import Checkout
from public.report import write_record

from mkdocs_roaming.answer.models.base import Citation, Text
from mkdocs_roaming.answer.models.scripted import ScriptedModel
from mkdocs_roaming.answer.results import Offline

LINK = "https://pumps.example/en/prime-a-pump#before"


def make_graded(number: int = 1, **given: object) -> Graded:
    asked = Asked(number, "Which valve?", "The upper one.", (LINK,), ("unseen",))
    values = {
        "asked": asked,
        "answer": "The upper one.",
        "state": "answered",
        "calls": 1,
        "tokens": 900,
        "output": 10,
        "cited": [LINK],
        "marks": 0,
    }
    return msgspec.convert({**values, **given}, Graded)


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
    asyncio.run(ask_all(open_cookbook_source(checkout, tmp_path / "a"), folder, Offline, parallel=2, seconds=30.0))
    [found] = read_all(folder)
    write(folder, make_graded(answer="edited"))
    asyncio.run(ask_all(open_cookbook_source(checkout, tmp_path / "b"), folder, Offline, parallel=2, seconds=30.0))

    assert (found.asked.number, found.asked.reference, found.asked.right) == (1, "The upper valve.", (LINK,))
    assert found.cited == [LINK]
    assert "upper valve" in found.answer
    assert "[^" not in found.answer
    assert [each.answer for each in read_all(folder)] == ["edited"]


def test_follow_up_question_has_the_answer_before_it(checkout: Path, tmp_path: Path) -> None:
    [source] = open_cookbook_source(checkout, tmp_path / "site")
    first = Asked(1, "Which valve is opened?", "The upper valve.", (LINK,), ("first",))
    second = Asked(2, "And what is filled then?", "The pump.", (LINK,), ("next",), 1)
    [cited] = source.addresses
    model = ScriptedModel([[Text("The upper valve is opened first."), Citation(cited)]] * 2)
    asked = msgspec.structs.replace(source, questions=(first, second))
    asyncio.run(ask_all([asked], tmp_path / "answers", lambda: model, parallel=2, seconds=30.0))

    turns = str(model.requests[1].turns)
    assert [each.asked.number for each in read_all(tmp_path / "answers")] == [1, 2]
    assert turns.index(first.question) < turns.index("The upper valve is opened first.") < turns.index(second.question)


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
    *_, row = iter_report(make_verdicts(found))

    assert row == "| all | 2 | 50.0% (9.5%–90.5%) | 50.0% | 50.0% | 1.50 | 1,500 |"


def test_report_has_a_row_for_each_part_and_no_share_of_citations_without_right_sections() -> None:
    unanswered = Asked(2, "Which pump?", "None.", (), ("site", "not documented"))
    found = [make_graded(1, correct=True), make_graded(asked=unanswered, correct=True, cited=[])]
    rows = list(iter_report(make_verdicts(found)))

    assert [row.split(" | ")[0] for row in rows[2:]] == ["| unseen", "| site", "| not documented", "| all"]
    assert [row.split(" | ")[3] for row in rows[2:]] == ["100.0%", "–", "–", "100.0%"]


def test_report_names_answers_without_a_grade() -> None:
    with pytest.raises(SystemExit, match="no grades yet: 1, 3"):
        make_verdicts([make_graded(1), make_graded(2, correct=True), make_graded(3)])


def test_record_has_no_text_of_the_set(tmp_path: Path) -> None:
    rows = make_verdicts([make_graded(correct=True, reason="Same.")])
    record = AnswerRecord("cookbook", (Checkout("set", "0" * 40),), "by hand", "by hand", tuple(rows))
    write_record(record, tmp_path / "record.json")
    text = (tmp_path / "record.json").read_text("utf-8")

    assert json.loads(text)["rows"][0]["cited"] == [LINK]
    assert not any(word in text for word in ("valve", "upper one", "Same."))

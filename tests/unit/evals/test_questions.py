"""Question files: messages with file and question, addresses of sections."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.evals.questions import (
    parse_questions,
    read_questions,
    resolve_sections,
)
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.targets import open_library

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden" / "evals" / "questions"
SAMPLE = ROOT / "sample_site" / "questions.yml"


@pytest.mark.parametrize("name", sorted(path.stem for path in GOLDEN.glob("*.yml")))
def test_parse_questions_invalid_file_names_question_and_fix(name: str, library: Library) -> None:
    """UPDATE=1 writes the messages."""
    text = (GOLDEN / f"{name}.yml").read_text("utf-8")
    with pytest.raises(UsageError) as error:
        resolve_sections(parse_questions(text, "q.yml"), library.sections)
    expected = GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE"):
        expected.write_text(f"{error.value}\n", "utf-8")
    assert f"{error.value}\n" == expected.read_text("utf-8")


@pytest.mark.parametrize("value", ["yes", "on", "true", "True"])
def test_parse_questions_accepts_yaml_booleans(value: str) -> None:
    text = f"questions:\n- ask: one\n  sections: a\n  answerable: {value}\n  contains: [{value}]\n"
    (question,) = parse_questions(text, "q.yml").questions
    assert question.answerable is True
    assert question.contains == (value,)


def test_parse_questions_numeric_section_id_stays_text() -> None:
    read = parse_questions("questions:\n- ask: one\n  sections: [12345678, 1e234567]\n", "q.yml")
    assert read.questions[0].sections == ("12345678", "1e234567")


def test_parse_questions_too_long_question_raises() -> None:
    with pytest.raises(UsageError, match=r"q\.yml, question 1: ask: expected a text of at most 4000 characters"):
        parse_questions(f"questions:\n- ask: {'x' * 4001}\n  answerable: false\n", "q.yml")


@given(st.text(alphabet="questionask: -[]{}'\"\n\t#&*!|>%@`,0aé", max_size=60))
def test_parse_questions_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        message = ""
        questions = parse_questions(f"questions:\n- ask: {text}\n  answerable: false\n", "q.yml").questions
    except UsageError as error:
        message, questions = str(error), ()
    assert questions or message.startswith(("q.yml:", "q.yml, "))


def test_read_questions_missing_file_raises(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        read_questions(tmp_path / "none.yml")


def test_resolve_sections_accepts_id_source_path_and_url(sample: Path) -> None:
    library = open_library(sample)
    names = ["reference/cli.md#ebb-drain", "reference/cli/#ebb-drain"]
    ref = library.sections.resolve(names[0])
    assert ref is not None
    names += [ref.id, library.sections.url(ref)]
    text = "questions:\n" + "".join(f"- ask: drain {name}\n  sections: {name}\n" for name in names)
    resolved = resolve_sections(parse_questions(text, "q.yml"), library.sections)
    assert {question.gold for question in resolved.questions} == {(ref.id,)}


def test_resolve_sections_sample_questions_have_gold_sections(sample: Path) -> None:
    resolved = resolve_sections(read_questions(SAMPLE), open_library(sample).sections)
    assert all(bool(question.gold) is question.answerable for question in resolved.questions)

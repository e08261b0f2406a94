"""Suggested questions that a model writes during a build."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.evals.page_questions import MAX_CONSECUTIVE_ERRORS, PageQuestionWriter

PAGE = "# Boil\n\n" + "Kettle boils water at 96.5 degrees. It whistles with a sealed lid. " * 4


class Build:
    """Builds of one project with a scripted model."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.warnings, self.note = folder, list[str](), ""
        self.script = folder / "script.json"

    def write(self, page: str = PAGE, *, is_offline: bool = False, pages: int = 1) -> tuple[str, ...]:
        cache, name = self.folder / "cache", f"scripted:{self.script}"
        writer = PageQuestionWriter(name, self.folder, {}, cache, warn=self.warnings.append, is_offline=is_offline)
        for _ in range(pages):
            questions = writer.write("Boil", page, site="Kettle", language="en")
        self.note = writer.finish()
        return questions

    def replies(self, *entries: tuple[str, str]) -> None:
        questions = [{"question": question, "literal": literal} for question, literal in entries]
        text = f"Here:\n{json.dumps({'questions': questions})}"
        self.script.write_text(json.dumps([[{"text": text}, {"usage": {"input": 900, "output": 40}}]]))

    def fails(self) -> None:
        self.script.write_text("[]")


@pytest.fixture
def build(tmp_path: Path) -> Build:
    return Build(tmp_path)


def test_unchanged_page_is_not_sent_again(build: Build) -> None:
    build.replies(("How hot does it get?", "96.5 degrees"))
    assert build.write() == ("How hot does it get?",)
    assert build.note.endswith("wrote questions for 1 page (940 tokens)")
    build.fails()
    assert build.write() == ("How hot does it get?",)
    assert (build.note, build.warnings) == ("", [])
    assert build.write(PAGE + "New.") == ()


def test_unsuitable_questions_are_discarded(build: Build) -> None:
    """A literal must occur on the page; markup, addresses and headings are no questions."""
    build.replies(
        ("How cold does it get?", "12 degrees"),
        ("Boil water", "96.5 degrees"),
        ("Is <b>it</b> hot?", "96.5 degrees"),
        ("Why does it\nwhistle?", "sealed lid"),
    )
    assert build.write() == ("Why does it whistle?",)


def test_server_of_mkdocs_asks_no_model(build: Build) -> None:
    build.replies(("How hot does it get?", "96.5 degrees"))
    assert build.write(is_offline=True) == ()
    build.write()
    build.fails()
    assert build.write(is_offline=True) == ("How hot does it get?",)


def test_failing_model_is_reported_and_asked_again_by_next_build(build: Build) -> None:
    build.fails()
    assert build.write(pages=MAX_CONSECUTIVE_ERRORS + 2) == ()
    assert len(build.warnings) == MAX_CONSECUTIVE_ERRORS + 1
    build.replies(("How hot does it get?", "96.5 degrees"))
    assert build.write() == ("How hot does it get?",)


def test_short_page_is_not_sent(build: Build) -> None:
    build.fails()
    assert build.write("# Boil\n\nSee below.") == ()
    assert build.warnings == []


def test_offline_model_cannot_write_questions(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="questions_model needs a language model"):
        PageQuestionWriter("offline", tmp_path, {}, tmp_path, warn=print)

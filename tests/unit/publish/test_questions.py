"""The questions that the widget suggests, by page."""

from __future__ import annotations

from pathlib import Path

import pytest

from mkdocs_roaming.errors import PublishError
from mkdocs_roaming.manifest.models import Page
from mkdocs_roaming.publish.elements.questions import SiteQuestions, load_site_questions, read_page_questions

URL = "https://kettle.example/docs/"
FILE = """\
questions:
  - ask: Which port is  the default?
    sections: [settings.md#port, boil/#water]
    contains: ['8642']
  - ask: Is there an app?
    answerable: false
  - ask: How hot does it get?
    sections: https://kettle.example/docs/boil/#water
"""


def make_pages() -> dict[str, Page]:
    return {
        page.path: page
        for page in (Page("", "Kettle"), Page("boil/", "Boil"), Page("set/", "Set", source="settings.md"))
    }


def test_front_matter_lists_questions() -> None:
    assert read_page_questions({"questions": ["How  hot?", 3, {}, ""]}) == ["How hot?", "3"]
    assert read_page_questions({"questions": True}) == []


def test_questions_of_front_matter_and_file_are_assigned_to_pages(tmp_path: Path) -> None:
    """A file names pages by source, path or URL; questions without an answer are left out."""
    (tmp_path / "questions.yml").write_text(FILE)
    pages = make_pages()
    questions = load_site_questions("questions.yml", tmp_path)
    questions.assign(pages, {"boil/": {"questions": ["Does it whistle?"]}, "secret/": {"questions": ["Who?"]}}, URL)
    assert pages[""].questions == ()
    assert pages["boil/"].questions == ("Does it whistle?", "Which port is the default?", "How hot does it get?")
    assert pages["set/"].questions == ("Which port is the default?",)


def test_page_without_questions_suggests_those_of_options_home_page_or_file(tmp_path: Path) -> None:
    (tmp_path / "questions.yml").write_text(FILE)
    of_file, listed = load_site_questions("questions.yml", tmp_path), load_site_questions(("Why?",), tmp_path)
    assert of_file.suggest(["a?", "b?", "c?", "d?", "e?"]) == ["a?", "b?", "c?", "d?"]
    assert listed.suggest([], ["Home?"]) == ["Why?"]
    assert of_file.suggest([], ["Home?"]) == ["Home?"]
    assert of_file.suggest([]) == ["Which port is the default?", "How hot does it get?"]
    assert SiteQuestions().suggest([]) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [("questions: [", "invalid YAML"), ("- ask: Why?", "has no list `questions`"), (None, "cannot be read")],
)
def test_invalid_question_file_is_reported(tmp_path: Path, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / "questions.yml").write_text(text)
    with pytest.raises(PublishError, match=message):
        load_site_questions("questions.yml", tmp_path)

"""The questions that the site suggests after an answer."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from mkdocs_roaming.answer.events import Finished
from mkdocs_roaming.library.targets import library_from_markdown
from mkdocs_roaming.manifest.lookup import SectionIndex
from mkdocs_roaming.serve.encoding import AnswerContext, Continuation, PartEncoder
from mkdocs_roaming.serve.service import choose_followups

KETTLE = Path(__file__).parents[2] / "golden/answer/kettle.md"
QUESTIONS = {
    "Settings": ("Which port is the default?", "How hot does the water get?", "Where does Kettle write its log?"),
    "Troubleshooting": ("Why does it not whistle?", "What if the port is taken?"),
}


@pytest.fixture
def sections() -> SectionIndex:
    library = library_from_markdown(KETTLE.read_text("utf-8"), name="Kettle", url="https://kettle.example/")
    pages = [msgspec.structs.replace(page, questions=QUESTIONS.get(page.title, ())) for page in library.manifest.pages]
    return SectionIndex(msgspec.structs.replace(library.manifest, pages=tuple(pages)))


def find_ids(sections: SectionIndex, *titles: str) -> list[str]:
    ids = {section.section.title: section.id for section in sections}
    return [ids[title] for title in titles]


def test_followups_come_from_cited_pages_first(sections: SectionIndex) -> None:
    ids = find_ids(sections, "It does not whistle", "Server")
    assert choose_followups(sections, ids, ["Is there tea?"]) == [
        *QUESTIONS["Troubleshooting"],
        QUESTIONS["Settings"][0],
    ]


def test_asked_questions_are_not_suggested_again(sections: SectionIndex) -> None:
    found = choose_followups(sections, find_ids(sections, "Server"), ["what is the default port", "How hot is water?"])
    assert found == ["Where does Kettle write its log?"]


def test_pages_without_questions_have_no_followups(sections: SectionIndex) -> None:
    assert choose_followups(sections, [*find_ids(sections, "Install"), "00000000"], []) == []


def test_stream_contains_followups_after_status(sections: SectionIndex) -> None:
    encoder = PartEncoder(AnswerContext(sections, lambda: Continuation(["Why?"])))
    parts = list(encoder.encode(Finished("answered", "scripted")))
    assert [part["type"] for part in parts] == ["data-status", "data-followups", "finish"]
    assert parts[1]["data"] == {"questions": ["Why?"]}

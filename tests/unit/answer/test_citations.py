"""The text of an answer: which paragraphs are released, and when."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import read_tables

from mkdocs_roaming.answer.citations import AnswerText
from mkdocs_roaming.answer.conversation import Conversation
from mkdocs_roaming.answer.events import CitationDropped, Reference, SectionCited, TextReleased, TextWithheld

TABLES = read_tables(__file__)

CASES = sorted((Path(__file__).parents[2] / "golden" / "citations").glob("*.txt"))
OPENED = {"aaaaaaaa", "bbbbbbbb"}


@dataclass(frozen=True)
class Output:
    """A complete text, as it is released."""

    text: str
    withheld: list[str]
    dropped: list[str]
    has_gap: bool


class OpenSections(Conversation):
    """A conversation in which the sections of `OPENED` are open."""

    def __init__(self) -> None:
        """Need no navigator."""

    def resolve_citation(self, name: str) -> str | None:
        return name.lower() if name.lower() in OPENED else None

    def find_url(self, id_: str) -> str | None:
        return f"https://a.example/#{id_}" if id_ in OPENED else None

    def mark_cited(self, ids: Iterable[str]) -> None:
        assert set() < {*ids} <= OPENED

    def knows_address(self, address: str) -> bool:
        return address.startswith("https://a.example/")

    def make_reference(self, id_: str) -> Reference:
        return Reference(id_, "", (), "")


def release(texts: Iterable[str]) -> Output:
    answer = AnswerText(OpenSections())
    events = [event for text in texts for event in answer.feed(text)]
    events += answer.end()
    text = "".join(event.text for event in events if isinstance(event, TextReleased))
    assert text == answer.markdown
    lengths = [event.characters for event in events if isinstance(event, TextWithheld)]
    assert lengths == [len(paragraph) for paragraph in answer.withheld]
    assert [event.id for event in events if isinstance(event, CitationDropped)] == answer.dropped
    has_gap = any(statement.is_gap for statement in answer.statements)
    return Output(text, answer.withheld, answer.dropped, has_gap)


def parts(case: Path) -> Iterator[tuple[str, str]]:
    _, *rest = re.split(r"^=== (\w+)\n", case.read_text("utf-8"), flags=re.MULTILINE)
    return zip(rest[::2], rest[1::2], strict=True)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
@pytest.mark.parametrize("size", [1, 3, 10_000])
def test_answer_text_releases_cited_paragraphs_for_any_chunk_size(case: Path, size: int) -> None:
    expected = dict(parts(case))
    model = expected["model"]
    output = release(model[at : at + size] for at in range(0, len(model), size))
    assert output == Output(
        expected["reader"].strip("\n"),
        [text.strip("\n") for text in expected.get("withheld", "").split("\n---\n") if text.strip()],
        expected.get("dropped", "").split(),
        "gap" in expected,
    )


def test_answer_text_releases_paragraph_when_next_one_begins() -> None:
    answer = AnswerText(OpenSections())
    assert list(answer.feed("It is 41927 [^aaaaaaaa].\n\n")) == []
    assert list(answer.feed("And another")) == [
        TextReleased("It is 41927 [^aaaaaaaa]."),
        SectionCited(Reference("aaaaaaaa", "", (), "")),
    ]


@pytest.mark.parametrize(("before", "expected"), TABLES["answer text native citation supports text before it"])
def test_answer_text_native_citation_supports_text_before_it(before: str, expected: str) -> None:
    answer = AnswerText(OpenSections())
    assert list(answer.feed(before)) == []
    answer.cite("aaaaaaaa")
    list(answer.end())
    assert answer.released == [expected]


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_answer_text_splits_paragraphs_at_any_line_end(end: str, size: int) -> None:
    text = "Anything.\n\nMade up.\n\nIt is 41927 [^aaaaaaaa].\n".replace("\n", end)
    output = release(text[at : at + size] for at in range(0, len(text), size))
    assert (output.text, output.withheld) == ("Made up.\n\nIt is 41927 [^aaaaaaaa].", ["Anything."])


def test_answer_text_citation_in_a_removed_link_does_not_count() -> None:
    output = release(["[aaaaaaaa]:[^aaaaaaaa] made up"])
    assert (output.text, len(output.withheld)) == ("", 1)


_CITED = ["[^aaaaaaaa]", "[^bbbbbbbb]", "[^cccccccc]", "[^none]", "[aaaaaaaa]", "^cccccccc]"]
_MARKUP = st.sampled_from([*_CITED, "```", "`", "\n", "\n\n", "- ", "1. ", "| a |", ":"])


@given(st.lists(_MARKUP | st.text("ab #~[]^\\\r", max_size=6), max_size=25), st.integers(1, 7))
def test_answer_text_never_releases_uncited_text(pieces: list[str], size: int) -> None:
    text = "".join(pieces)
    output = release(text[at : at + size] for at in range(0, len(text), size))
    assert output == release([text])
    cited = set(re.findall(r"\[\^([0-9a-f]{8})\]", output.text))
    assert cited <= {"aaaaaaaa", "bbbbbbbb"}
    assert cited or output.has_gap or not output.text


FOREIGN = TABLES["foreign"]


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize("text", FOREIGN.values(), ids=FOREIGN)
def test_foreign_addresses_and_reasoning_are_removed(text: str, size: int) -> None:
    shown = release(text[at : at + size] for at in range(0, len(text), size)).text
    assert "8642" in shown
    assert not re.search("evil|javascript:|<think|says so", shown)

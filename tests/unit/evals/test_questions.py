"""Question files: every mistake has its line, every address its section."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.evals.questions import (
    parse_questions,
    read_questions,
    resolve_sections,
    section_address,
    select_questions,
)
from mkdocs_roaming.library.library import Library, open_library

GOLDEN = Path(__file__).parents[2] / "golden" / "evals" / "questions"
SAMPLE = Path(__file__).parents[3] / "sample_site" / "questions.yml"


@pytest.mark.parametrize("name", sorted(path.stem for path in GOLDEN.glob("*.yml")))
def test_mistake_is_told_with_its_line(name: str, library: Library) -> None:
    """A broken question file is refused in one line that names file, line and cure."""
    text = (GOLDEN / f"{name}.yml").read_text("utf-8")
    with pytest.raises(UsageError) as error:
        resolve_sections(parse_questions(text, "q.yml"), library.sections)
    assert str(error.value) + "\n" == (GOLDEN / f"{name}.txt").read_text("utf-8")


def test_question_may_name_a_section_in_four_ways(sample: Path) -> None:
    """An id, a source with its anchor, a page's path with it, and an address on the site are the same section."""
    library = open_library(sample)
    names = ["reference/cli.md#ebb-drain", "reference/cli/#ebb-drain"]
    place = library.sections.resolve(names[0])
    assert place is not None
    names += [place.id, library.sections.url(place)]
    text = "questions:\n" + "".join(f"- ask: drain {name}\n  sections: {name}\n" for name in names)
    read = resolve_sections(parse_questions(text, "q.yml"), library.sections)
    assert {question.gold for question in read.questions} == {(place.id,)}


def test_id_that_looks_like_a_number_is_one(library: Library) -> None:
    """An id of digits alone needs no quotation marks."""
    read = parse_questions("questions:\n- ask: one\n  sections: [12345678, 1e234567]\n", "q.yml")
    assert [address.text for address in read.questions[0].sections] == ["12345678", "1e234567"]


def test_every_section_has_an_address_that_leads_back(sample: Path) -> None:
    """The address that is written for a section leads to that section."""
    places = open_library(sample).sections
    for place in places:
        found = places.resolve(section_address(place, places))
        assert found is not None
        assert found.id == place.id


def test_set_stays_itself_while_its_gold_is_named_anew(library: Library, questions: Path) -> None:
    """Naming other sections does not make another set of it; asking something else does."""
    text = questions.read_text("utf-8")
    digest = read_questions(questions).digest
    assert parse_questions(text.replace("settings#logs", "settings"), "q.yml").digest == digest
    assert parse_questions(text.replace("how long", "for how long"), "q.yml").digest != digest


def test_questions_are_chosen_by_words_and_number(questions: Path) -> None:
    """`only` keeps questions that hold a word, whatever its case; `limit` the first ones; none at all is an error."""
    read = read_questions(questions)
    assert [one.ask[:5] for one in select_questions(read, only=["PORT", "logs"]).questions] == ["Which", "how l"]
    assert len(select_questions(read, limit=2).questions) == 2
    with pytest.raises(UsageError, match="no question holds 'tide'"):
        select_questions(read, only=["tide"])


def test_file_that_is_not_there(tmp_path: Path) -> None:
    """A file that cannot be read is told in one line."""
    with pytest.raises(UsageError, match="cannot be read"):
        read_questions(tmp_path / "none.yml")


def test_shipped_questions_resolve(sample: Path) -> None:
    """The sample site's questions name sections that are there."""
    read = resolve_sections(read_questions(SAMPLE), open_library(sample).sections)
    assert all(bool(question.gold) is question.answerable for question in read.questions)


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="questionask: -[]{}'\"\n\t#&*!|>%@`,0aé", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Whatever stands in a file, it is questions or one line of complaint."""
    try:
        read = parse_questions(f"questions:\n- ask: {text}\n  answerable: false\n", "q.yml")
    except UsageError as refused:
        said = str(refused)
    else:
        said = "q.yml" if read.questions else ""
    assert said.startswith("q.yml")

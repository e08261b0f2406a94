"""Openings of sections, and the sentences and clauses that they end at."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mkdocs_roaming.manifest.sections import split_sections
from mkdocs_roaming.text.markdown import ends_sentence, first_sentence, shorten, to_single_line
from mkdocs_roaming.text.openings import make_opening

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

GOLDEN = Path(__file__).parents[2] / "golden" / "openings"
EXPECTED = re.compile(r"^<!-- opening: ?(.*?) ?-->\n", re.MULTILINE)
LONG = "The gate opens at dawn, when the tide is low, and closes at dusk because the sea rises at night."


@pytest.mark.parametrize("name", sorted(path.stem for path in GOLDEN.glob("*.md")))
def test_opening_says_what_a_section_is_about(name: str) -> None:
    text = (GOLDEN / f"{name}.md").read_text(encoding="utf-8")
    sections = split_sections(EXPECTED.sub("", text))
    openings = [f"{section.title}: {section.opening}" for section in sections]
    expected = [f"{section.title}: {found}" for section, found in zip(sections, EXPECTED.findall(text), strict=True)]
    assert openings == expected


def test_opening_of_text_without_headings() -> None:
    (section,) = split_sections("Just text. And more.\n", title="Notes")
    assert section.opening == "Just text. And more."


def test_section_without_text_does_not_inherit_that_of_a_subsection() -> None:
    sections = split_sections("# T\n\n## A\n\n### B\n\nHello there, you.\n")
    assert [section.opening for section in sections] == ["", "", "Hello there, you."]


@pytest.mark.parametrize(("text", "expected"), TABLES["opening_of_page_with_subsections_says_what_it_is_for"])
def test_opening_of_page_with_subsections_says_what_it_is_for(text: str, expected: str) -> None:
    assert make_opening(text, subsections=2) == expected


def test_directive_without_end_reaches_to_the_end_of_its_section() -> None:
    assert make_opening(":::note\nThe gate opens at dawn.") == "The gate opens at dawn."


def test_list_of_classes_that_one_inherits_from_is_no_opening() -> None:
    text = "- boat.Object\n- - [boat.Rope](rope.md)\n  - - boat.Shroud\n\n---\n\nThe shroud holds the mast.\n"
    assert make_opening(text) == "The shroud holds the mast."


def test_names_in_a_column_are_not_repeated() -> None:
    rows = "".join(f"| {kind} | pump_{at} |\n" for at, kind in enumerate(("gauge", "counter", "gauge", "gauge")))
    assert make_opening(f"| Kind | Name |\n| - | - |\n{rows}") == "gauge, counter"
    assert make_opening("| Kind | Name |\n| - | - |\n|  | , |\n| , | b |\n") == ""


MARKUP = st.one_of(
    st.sampled_from(
        ["\n", "\n\n", " ", "word", "Added in version 1.0", "2024-01-05", "Parameters:", "See", "说", "\x11"]
    ),
    st.sampled_from(
        ["# ", "> ", "- ", "1. ", "    ", "```", "~~~", ":::", "| a |", "| - |", "<table>", "</table>", "{%"]
    ),
    st.sampled_from(["**", "*", "`", "[", "](", ")", "!", "[^1]", "\\", "&amp;", "$", ":", ". ", "。", "…", "\u202e"]),
)


@given(st.lists(MARKUP, max_size=40).map("".join), st.integers(1, 60))
def test_opening_of_any_text_is_a_short_line(markdown: str, limit: int) -> None:
    opening = make_opening(markdown, limit=limit)
    assert len(opening) <= limit
    assert to_single_line(opening) == opening
    assert not re.search(r"[\x00-\x1f]", opening)


@pytest.mark.parametrize(("text", "sentence"), TABLES["first_sentence_ends_where_a_reader_ends_it"])
def test_first_sentence_ends_where_a_reader_ends_it(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence
    assert ends_sentence(sentence) is (sentence != "No end here")


@pytest.mark.parametrize(("text", "limit", "short"), TABLES["shorten_cuts_at_a_sentence_or_clause"])
def test_shorten_cuts_at_a_sentence_or_clause(text: str, limit: int, short: str) -> None:
    assert shorten(text.replace("LONG", LONG), limit) == short.replace("LONG", LONG)

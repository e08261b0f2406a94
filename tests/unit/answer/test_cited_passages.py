"""The passages that readers see for the citations of an answer, and their text fragments."""

from __future__ import annotations

import sys

import pytest
from tables import read_tables

from mkdocs_roaming.answer.support.passages import MAX_CITED_CHARS, CitedSection, find_passages, make_fragment

TABLES = read_tables(__file__)

BREW = "0a0a0a0a"
SECTION = CitedSection(TABLES["section"])


@pytest.mark.parametrize(("answer", "text", "fragment"), TABLES["passage is nearest statement"])
def test_passage_is_nearest_statement_as_plain_text(answer: str, text: str, fragment: str) -> None:
    (passage,) = find_passages(answer, {BREW: SECTION})
    assert (passage.section, passage.text, passage.fragment) == (BREW, text, fragment)


def test_each_citation_has_passage_of_its_own_statement() -> None:
    """Offsets count UTF-16 code units, and a citation below a block belongs to the block."""
    answer = f"🫖 A kettle brews tea [^{BREW}]. The port is 8642.\n\n[^{BREW}]\n\nMoon and stars. [^{BREW}]"
    first, second = find_passages(answer, {BREW: SECTION})
    assert first.text == "A kettle brews tea."
    assert second.text.startswith("The default port")
    units = answer.encode("utf-16-le")
    for passage in (first, second):
        assert units[2 * passage.start :].decode("utf-16-le").startswith(f"[^{BREW}]")


def test_passage_of_unknown_section_is_left_out() -> None:
    assert find_passages(f"The port is 8642. [^{BREW}]", {}) == []


def test_text_fragment_grows_until_its_start_is_unique() -> None:
    words = "To stop the server without loss, close the lid before you lift the pot."
    assert make_fragment([words], "") == "To%20stop%20the%20server,you%20lift%20the%20pot."
    assert make_fragment([words], "To **stop** the server, read on.").startswith("To%20stop%20the%20server%20without")
    assert make_fragment([words], f"Before: {words}") == ""


def test_text_fragment_encodes_separators_of_fragments() -> None:
    assert make_fragment(["--lid, open & shut"], "") == "%2D%2Dlid%2C%20open%20%26%20shut"


def test_text_fragment_of_parameter_is_its_description() -> None:
    assert make_fragment(["lid (bool, default: True) — Whether it is shut."], "") == "Whether%20it%20is%20shut."


def test_text_fragment_of_row_with_repeated_key_uses_longest_cell() -> None:
    before = "Set brew.leaves first."
    assert make_fragment(["brew.leaves", "21 g", "tea for a pot"], before) == "tea%20for%20a%20pot"


def test_passage_far_down_a_long_page_has_no_fragment() -> None:
    """Whether its words are unique is not checked there."""
    section = CitedSection(SECTION.text, "word " * (MAX_CITED_CHARS // 5 + 1))
    (passage,) = find_passages(f"It listens on port 8642. [^{BREW}]", {BREW: section})
    assert passage.text.startswith("The default port")
    assert passage.fragment == ""


def test_text_of_section_is_not_kept_after_later_answers() -> None:
    section = CitedSection(f"## Brewing\n\n{'The pot holds seven cups. ' * 100}")
    before = sys.getrefcount(section.text)
    passages = find_passages(f"The pot holds seven cups. [^{BREW}]", {BREW: section})
    for number in range(8):
        find_passages(f"The pot holds seven cups. [^{BREW}]", {BREW: CitedSection(f"The pot holds {number} cups.")})
    after = sys.getrefcount(section.text)  # not in an assertion, which holds it
    assert (len(passages), after) == (1, before)

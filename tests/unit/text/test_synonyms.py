"""Synonyms, everyday words and spelling correction."""

from __future__ import annotations

import pytest

from mkdocs_roaming.text.languages import load_phrases
from mkdocs_roaming.text.tokenizer import find_stem_synonyms, is_common_word, parse_word, stem


def test_find_stem_synonyms_returns_stems_of_the_same_group() -> None:
    assert stem("erase") in find_stem_synonyms(stem("deleting"), "en-GB")
    assert stem("delete") not in find_stem_synonyms(stem("delete"), "en")


def test_find_stem_synonyms_returns_nothing_for_other_languages() -> None:
    assert find_stem_synonyms("delet", "de") == ()


@pytest.mark.parametrize(
    ("word", "common"), [("yesterday", True), ("Works", False), ("Working", True), ("drain", False)]
)
def test_is_common_word_ignores_case(word: str, common: bool) -> None:
    assert is_common_word(parse_word(word)) is common


def test_synonym_groups_have_several_distinct_members() -> None:
    for group in load_phrases("en", "synonyms"):
        members = group.split(", ")
        assert len(members) == len(set(members)) > 1, group

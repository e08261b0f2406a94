"""Everyday words of English."""

from __future__ import annotations

import pytest

from mkdocs_roaming.text.tokenizer import is_common_word, parse_word


@pytest.mark.parametrize(
    ("word", "common"), [("yesterday", True), ("Works", False), ("Minutes", True), ("drain", False)]
)
def test_is_common_word_ignores_case_and_inflection(word: str, common: bool) -> None:
    assert is_common_word(parse_word(word)) is common

"""Text on a single line: bidirectional controls, control characters, truncation."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mkdocs_roaming.text.blocks import find_code, find_fences, follow_fence, sub_outside_code
from mkdocs_roaming.text.markdown import remove_invisible, to_single_line, truncate_at_word

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

TURNING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


@pytest.mark.parametrize("text", TABLES["to_single_line_keeps_ordinary_text"])
def test_to_single_line_keeps_ordinary_text(text: str) -> None:
    assert to_single_line(text) == text


@pytest.mark.parametrize(("text", "line"), TABLES["to_single_line_removes_unsafe_characters"])
def test_to_single_line_removes_unsafe_characters(text: str, line: str) -> None:
    assert to_single_line(text) == line
    assert to_single_line(f"{text}\ud83d") == line


@given(st.text(alphabet=st.one_of(st.sampled_from(TURNING + "ab ש\n\0"), st.characters())), st.integers(1, 12))
def test_single_line_has_no_directions_and_no_controls(text: str, most: int) -> None:
    for line in (to_single_line(text), truncate_at_word(to_single_line(text), most)):
        assert not set(line) & set(TURNING)
        assert to_single_line(line) == line
        assert not any(unicodedata.category(mark) in ("Cc", "Cs", "Zl", "Zp") for mark in line)


FENCE_LINES = [
    "```",
    "````",
    "~~~",
    "``` py",
    "```a`b",
    "~~~ a`b",
    "   ```",
    "    ```",
    "``",
    "``` ",
    "text",
    "",
    "~~~~  ",
]


@given(st.lists(st.sampled_from(FENCE_LINES), max_size=8))
def test_follow_fence_finds_same_fenced_lines_as_commonmark(lines: list[str]) -> None:
    """Lines of text and indented code between fences are the same to both."""
    fenced: set[int] = set()
    fence = ""
    for number, line in enumerate(lines):
        before, fence = fence, follow_fence(line, fence)
        if before or fence:
            fenced.add(number)
    tokens = MarkdownIt("commonmark").parse("\n".join(lines))
    expected = {
        number
        for token in tokens
        if token.type == "fence" and token.map
        for number in range(*token.map)
        if number < len(lines)
    }
    blank = {number for number, line in enumerate(lines) if not line.strip()}
    assert fenced - blank == expected - blank


CONTAINER_LINES = [
    *("```", "~~~", "   ```", "    ```", "``` py", "      ```", "\t```", "- ```", "> ```", "- > ```", ">   ```"),
    *("- item", "  - sub", "1. one", "10. ten", "+", "-\titem", "> quote", "> - item", ">", "# Title"),
    *("text", "  text", "    code", "", "---", "* * *"),
]


@given(st.lists(st.sampled_from(CONTAINER_LINES), max_size=6))
def test_find_code_blocks_agrees_with_commonmark_in_lists_and_quotes(lines: list[str]) -> None:
    found = [(block.start, block.end, block.info.strip()) for block in find_fences("\n".join(lines))]
    tokens = [token for token in MarkdownIt("commonmark").parse("\n".join(lines)) if token.type == "fence"]
    expected = [(*token.map, token.info.strip()) for token in tokens if token.map]
    assert [(start, info) for start, _, info in found] == [(start, info) for start, _, info in expected]
    for (start, stop, _), (_, end, _) in zip(found, expected, strict=True):
        between = "".join(lines[min(stop, end) : max(stop, end)])
        assert not between.strip(" >"), f"the code in line {start} ends at {stop}, not at {end}"


@pytest.mark.parametrize(("markdown", "code"), TABLES["find_code_returns_blocks_and_spans"])
def test_find_code_returns_blocks_and_spans(markdown: str, code: list[str]) -> None:
    assert [markdown[start:stop] for start, stop in find_code(markdown)] == code


def test_sub_outside_code_replaces_matches_that_begin_outside() -> None:
    text = "a `a` [`a`](a)\n\n```\na\n```\n\na"
    replaced = sub_outside_code(re.compile(r"\[`a`\]|a"), lambda match: match[0].upper(), text)
    assert replaced == "A `a` [`A`](A)\n\n```\na\n```\n\nA"


@pytest.mark.parametrize(("text", "shown"), TABLES["remove_invisible_keeps_what_readers_see"])
def test_remove_invisible_keeps_what_readers_see(text: str, shown: str) -> None:
    assert remove_invisible(text) == shown

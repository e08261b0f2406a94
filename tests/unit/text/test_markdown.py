"""Text on a single line: bidirectional controls, control characters, truncation."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mkdocs_roaming.text.markdown import (
    find_code,
    find_code_blocks,
    follow_fence,
    remove_invisible,
    sub_outside_code,
    to_single_line,
    truncate_at_word,
)

TURNING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


@pytest.mark.parametrize(
    "text",
    [
        "Install",
        "دليل التثبيت (v2.1)",
        "מדריך \u200f(RFC 9110)\u200e",
        "می\u200cخواهم",  # Persian, with a non-joiner
        "क्\u200dष",  # Devanagari, with a joiner
        "Family 👨\u200d👩\u200d👧",
        "Flag 🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
        "Zero\u200bwidth\u2060and\ufeffsoft\u00adhyphen",
    ],
)
def test_to_single_line_keeps_ordinary_text(text: str) -> None:
    assert to_single_line(text) == text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("safe\u202efdp.exe", "safefdp.exe"),
        ("a\u202db\u202c c", "ab c"),
        ("\u202bopen", "open"),
        ("\u2067open", "open"),
        ("closed\u202c\u2069 only", "closed only"),
        ("The word \u2067עברית\u2069 in a sentence", "The word עברית in a sentence"),
        ("\u202ba\u202eb\u202cc\u202c", "abc"),
        ("\u202ba\u2067b\u202cc", "abc"),
        ("two\nlines\u2028three\x85four\x0bfive", "two lines three four five"),
        ("bell\x07 nul\0 esc\x1b[31m del\x7f csi\x9b", "bell nul esc[31m del csi"),
        ("half \ud83d of it", "half of it"),
        ("tags\U000e0049\U000e0067 🏴\U000e0049\U000e007f", "tags 🏴"),
    ],
)
def test_to_single_line_removes_unsafe_characters(text: str, line: str) -> None:
    assert to_single_line(text) == line


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
    found = [(block.start, block.stop, block.info) for block in find_code_blocks("\n".join(lines))]
    tokens = [token for token in MarkdownIt("commonmark").parse("\n".join(lines)) if token.type == "fence"]
    expected = [(*token.map, token.info.strip()) for token in tokens if token.map]
    assert [(start, info) for start, _, info in found] == [(start, info) for start, _, info in expected]
    for (start, stop, _), (_, end, _) in zip(found, expected, strict=True):
        between = "".join(lines[min(stop, end) : max(stop, end)])
        assert not between.strip(" >"), f"the code in line {start} ends at {stop}, not at {end}"


@pytest.mark.parametrize(
    ("markdown", "code"),
    [
        ("Run `a` or ``b ` c``.", ["`a`", "``b ` c``"]),
        ("a ` b\n\nc ` d", []),
        ("- a ` b\n- c ` d", []),
        (r"\`a` and `b`", ["` and `"]),
        ("~~~\n`a`\n~~~\nand `b`", ["~~~\n`a`\n~~~\n", "`b`"]),
        ("- item\n  ```\n  a\n\ntext `b`", ["  ```\n  a\n\n", "`b`"]),
        ("```\r\na\r\n```\r\n`b`", ["```\r\na\r\n```\r\n", "`b`"]),
    ],
)
def test_find_code_returns_blocks_and_spans(markdown: str, code: list[str]) -> None:
    assert [markdown[start:stop] for start, stop in find_code(markdown)] == code


def test_sub_outside_code_replaces_matches_that_begin_outside() -> None:
    text = "a `a` [`a`](a)\n\n```\na\n```\n\na"
    replaced = sub_outside_code(re.compile(r"\[`a`\]|a"), lambda match: match[0].upper(), text)
    assert replaced == "A `a` [`A`](A)\n\n```\na\n```\n\nA"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\n", "a\tb\n"),
        ("a\x00\x1b\x7f\x9fb", "ab"),
        ("\u202eab\u202c\u2066c\u2069\u200e\u200f\u061c", "abc"),
        ("a\u200bb\u2060c\u2064d\ufeffe\u00adf", "abcdef"),
        ("a\U000e0041\U000e007f\U000e0100b", "ab"),
        ("a\u3164b\uffa0c\u115f\u1160d\u2800e\u034ff\u17b4\u17b5g\U0001d173\U0001d17ah", "abcdefgh"),
        ("a\u2028b\u2029c", "a b c"),
        ("a\u200cb\u200d c", "ab c"),
        (
            "می\u200cخواهم API\u200cها क्\u200dष 👩\u200d💻 ❤\ufe0f\u200d🔥",
            "می\u200cخواهم API\u200cها क्\u200dष 👩\u200d💻 ❤\ufe0f\u200d🔥",
        ),
        ("می\u200c\u200c\u200dخواهم ❤\ufe0f\ufe01\ufe02", "می\u200cخواهم ❤\ufe0f"),
    ],
)
def test_remove_invisible_keeps_what_readers_see(text: str, shown: str) -> None:
    assert remove_invisible(text) == shown

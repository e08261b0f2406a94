"""Exact search: patterns, order and limits."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.grep import grep, limit_grep, render_grep
from mkdocs_roaming.library.library import Library

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

PAGES = (
    (
        "pumps/",
        "# Pumps\n\nSet `drain_window` to 40.\n\n## Valve\n\n```\ndrain --all\nDRAIN=1\n```\n\nTurn (it) slowly.\n",
    ),
    ("drain/", "# drain_window\n\nOne.\nTwo.\nThe drain_window opens.\nFour.\nFive.\n"),
    ("long/", "# Long\n\n" + "x" * 2_000 + "needle" + "y" * 2_000 + "\n"),
    ("many/", "# Many\n\n" + "wave\n" * 9),
)


@pytest.fixture
def library(make_site: Callable) -> Library:
    return make_site(PAGES).library()


def find(library: Library, pattern: str, **options: object) -> dict[str, list[int]]:
    """Return the numbers of the matching lines by the title of their section."""
    result = grep(library, pattern, **options)
    return {one.title: [line.number for line in one.lines] for one in result.sections}


@pytest.mark.parametrize(("pattern", "found"), TABLES["grep_finds_lines"])
def test_grep_finds_lines(library: Library, pattern: str, found: dict[str, list[int]]) -> None:
    assert find(library, pattern) == found
    assert list(find(library, pattern)) == list(found)


def test_further_lines_and_sections_are_counted(library: Library) -> None:
    assert "  6 more in this section\nLines: 9, sections: 1.\n" in render_grep(grep(library, "wave"))
    text = render_grep(grep(library, "drain", limit=1))
    assert text.endswith("Lines: 5, sections: 3; sections 1 to 1 are shown, a longer pattern finds fewer.\n")


def test_part_of_a_long_line_is_shown_around_its_match(library: Library) -> None:
    (line,) = grep(library, "needle").sections[0].lines
    assert "needle" in line.text
    assert len(line.text) < 310
    assert (line.text[0], line.text[-1]) == ("…", "…")


def test_limit_removes_sections_that_do_not_fit(library: Library) -> None:
    result = grep(library, "drain")
    limited = limit_grep(result, 190)
    assert 0 < len(limited.sections) < len(result.sections)
    assert len(render_grep(limited)) <= 190


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (" ", "empty"),
        ("x" * 600, "600 characters"),
    ],
)
def test_invalid_patterns_are_explained(library: Library, pattern: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        grep(library, pattern)

"""Regular expressions of the packages work with every supported version of Python."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import mkdocs_roaming
import roaming_crawler
import roaming_deps
import roaming_fleet

PACKAGES = [Path(package.__path__[0]) for package in (mkdocs_roaming, roaming_crawler, roaming_fleet, roaming_deps)]
IGNORED = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
"""Escaped characters, and sets of characters."""
POSSESSIVE_GROUP = re.compile(r"[^(]\)(?:[*+?]|\{\d*,?\d*\})\+")


def iter_texts(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and content of each string literal; the expressions in an f-string are replaced by a letter."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        elif isinstance(node, ast.JoinedStr):
            parts = (str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)
            yield node.lineno, "".join(parts)


def find_possessive_groups(source: str) -> list[int]:
    """Return the lines of strings that repeat a group with a possessive quantifier."""
    lines = {line for line, text in iter_texts(source) if POSSESSIVE_GROUP.search(IGNORED.sub("x", text))}
    return sorted(lines)


def test_packages_repeat_no_group_possessively() -> None:
    """Python 3.11.0 to 3.11.4 match `(?:…)*+` wrongly; `(?>(?:…)*)` means the same, and is matched rightly."""
    places = []
    for package in PACKAGES:
        for file in package.rglob("*.py"):
            lines = find_possessive_groups(file.read_text("utf-8"))
            places += [f"{file.relative_to(package.parent)}:{line}" for line in lines]
    assert places == []


@pytest.mark.parametrize("pattern", ["(?:ab)*+", "(a|b)++", "(?:a)?+", "(a){2,}+b", "[)](a)*+", "((?:a)++)"])
def test_possessive_group_is_found(pattern: str) -> None:
    assert find_possessive_groups(f"import re\nNAME = re.compile(r'{pattern}')") == [2]


def test_possessive_group_is_found_in_f_string() -> None:
    assert find_possessive_groups("NAME = rf'(?:{LETTER})*+'") == [1]


@pytest.mark.parametrize(
    "pattern", ["(?>(?:ab)*)", "a++", "[a-z]*+", r"\)*+", "[()*+]+", "[^])*+]", "(a)+b", "(a{3}+)", "()*+,;"]
)
def test_atomic_group_and_possessive_character_are_allowed(pattern: str) -> None:
    assert find_possessive_groups(f"NAME = r'{pattern}'") == []

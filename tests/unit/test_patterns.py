"""Regular expressions of the packages work with every supported version of Python."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

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


def test_possessive_groups_are_found_and_nothing_else() -> None:
    found = ["r'(?:ab)*+'", "r'(a|b)++'", "r'(?:a)?+'", "r'(a){2,}+b'", "r'[)](a)*+'", "r'((?:a)++)'", "rf'(?:{A})*+'"]
    allowed = [
        "r'(?>(?:ab)*)'",
        "r'a++'",
        r"r'\)*+'",
        "r'[()*+]+'",
        "r'[^])*+]'",
        "r'(a)+b'",
        "r'(a{3}+)'",
        "r'()*+,;'",
    ]
    for pattern in found + allowed:
        assert bool(find_possessive_groups(f"NAME = {pattern}")) == (pattern in found), pattern

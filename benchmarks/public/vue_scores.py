"""Scores of the Vue set: names of an API in the text that is sent, and pages that are found.

The set's own measure counts a name wherever its letters are found, in any case, and gives 1 to a question without
names. The strict measure counts only names that the question does not contain, as whole identifiers in their case.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from math import isnan, nan
from statistics import fmean

from .report import Figure, Row

_PART_OF_NAME = r"[\w$-]"


def remove_echo(text: str, question: str) -> str:
    """Return the text that a method sends without the question, which some methods repeat."""
    return text.replace(question, "") if question else text


def measure_recall(names: Collection[str], text: str) -> float:
    """Return the share of the names whose letters are in a text, in any case; 1 without names."""
    folded = text.lower()
    return fmean(name.lower() in folded for name in names) if names else 1.0


def unnamed(names: Iterable[str], question: str) -> tuple[str, ...]:
    """Return the names that a question does not contain, in any case."""
    folded = question.lower()
    return tuple(name for name in names if name.lower() not in folded)


def measure_strict_recall(names: Collection[str], text: str) -> float:
    """Return the share of the names that are whole identifiers in a text.

    Raises:
        ValueError: There are no names.
    """
    if not names:
        raise ValueError("no names")
    return fmean(_is_identifier(name, text) for name in names)


def _is_identifier(name: str, text: str) -> bool:
    """Return whether a name is in a text with no letter, digit, `$`, `_` or hyphen around it."""
    before = rf"(?<!{_PART_OF_NAME})" if re.match(_PART_OF_NAME, name) else ""
    after = rf"(?!{_PART_OF_NAME})" if re.search(rf"{_PART_OF_NAME}\Z", name) else ""
    return re.search(before + re.escape(name) + after, text) is not None


def hits_page(found: Sequence[str], right: Collection[str], depth: int, *, suffix: bool = False) -> float:
    """Return 1 if one of the first pages is right, 0 otherwise.

    Args:
        found: The files of the pages that were found, best first, each once.
        right: The set's paths of the right pages.
        depth: Number of pages that count.
        suffix: Whether a path of the set must have the `.md` of the file; otherwise that is ignored.
    """
    if suffix:
        return float(any(file in right for file in found[:depth]))
    names = {strip_suffix(path) for path in right}
    return float(any(strip_suffix(file) in names for file in found[:depth]))


def strip_suffix(path: str) -> str:
    """Return the path of a file without `.md` and without slashes around it."""
    return path.strip("/").removesuffix(".md")


# Figures


def mean_of_groups(figure: Figure) -> Figure:
    """Return the mean of a figure over the groups of the rows, each with equal weight; a group without it is left out."""

    def mean(rows: Sequence[Row]) -> float:
        groups: dict[str, list[Row]] = {}
        for row in rows:
            groups.setdefault(row.group, []).append(row)
        figures = [value for own in groups.values() if not isnan(value := figure(own))]
        return fmean(figures) if figures else nan

    return mean

"""Literals in answers, figures with intervals."""

from __future__ import annotations

import pytest
from tables import read_tables

from mkdocs_roaming.evals.metrics import compute_share, find_missing_literals

TABLES = read_tables(__file__)


@pytest.mark.parametrize(("text", "literal", "contained"), TABLES["literals"])
def test_find_missing_literals_ignores_parts_of_longer_words(text: str, literal: str, contained: bool) -> None:
    assert find_missing_literals(text, [literal]) == ([] if contained else [literal])


@pytest.mark.parametrize(
    ("yes", "count", "interval"),
    [(40, 40, (0.912, 1.0)), (0, 40, (0.0, 0.088)), (1, 1, (0.207, 1.0)), (81, 263, (0.255, 0.366))],
)
def test_interval_matches_wilson_tables(yes: int, count: int, interval: tuple[float, float]) -> None:
    share = compute_share("reached", [True] * yes + [False] * (count - yes))
    assert share.interval == pytest.approx(interval, abs=0.0005)

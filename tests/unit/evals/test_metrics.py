"""Literals in answers, figures with intervals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mkdocs_roaming.evals.metrics import compute_share, find_missing_literals


@pytest.mark.parametrize(
    ("text", "literal", "contained"),
    [
        ("It is 8642 by default. [^0123abcd]", "8642", True),
        ("It is 18642 by default.", "8642", False),
        ("It is 8642.5 by default.", "642.5", False),
        ("It is 4.8642 by default.", "8642", False),
        ("Run `ebb  gangway\nopen`.", "ebb gangway open", True),
        ("Run **ebb** gangway open.", "ebb gangway open", True),
        ("A Steered boat.", "steer", False),
        ("You steer, of course.", "Steer", True),
        ("最大66時間です", "66時間", True),
        ("see [^96512345]", "96", False),
        ("Write `a_b`, not ab.", "a_b", True),
        ("", "x", False),
    ],
)
def test_find_missing_literals_ignores_parts_of_longer_words(text: str, literal: str, contained: bool) -> None:
    assert find_missing_literals(text, [literal]) == ([] if contained else [literal])


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_interval_contains_the_share(values: list[bool]) -> None:
    share = compute_share("reached", values)
    assert share.interval is not None
    assert 0 <= share.interval[0] <= round(sum(values) / len(values), 6) == share.value <= share.interval[1] <= 1


@pytest.mark.parametrize(
    ("yes", "count", "interval"),
    [(40, 40, (0.912, 1.0)), (0, 40, (0.0, 0.088)), (1, 1, (0.207, 1.0)), (81, 263, (0.255, 0.366))],
)
def test_interval_matches_wilson_tables(yes: int, count: int, interval: tuple[float, float]) -> None:
    share = compute_share("reached", [True] * yes + [False] * (count - yes))
    assert share.interval == pytest.approx(interval, abs=0.0005)

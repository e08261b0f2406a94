"""Literals in answers, figures with intervals."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mkdocs_roaming.evals.metrics import (
    compute_figure,
    find_missing_literals,
    share_interval,
)


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


@settings(max_examples=40)
@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=60), st.booleans())
def test_compute_figure_interval_contains_mean(values: list[float], share: bool) -> None:
    values = [round(value) for value in values] if share else values
    one = compute_figure("reached", values, share=share)
    if one.interval is not None:
        assert 0 <= one.interval[0] <= round(sum(values) / len(values), 6) == one.value <= one.interval[1] <= 1
    assert (one.interval is None) is not share
    assert compute_figure("reached", values, share=share) == one


def test_compute_figure_interval_narrows_with_more_questions() -> None:
    few, many = (compute_figure("x", [0.0, 1.0] * times).interval for times in (10, 200))
    assert few is not None
    assert many is not None
    assert few[1] - few[0] > 3 * (many[1] - many[0])
    assert many == pytest.approx((0.5 - 0.049, 0.5 + 0.049), abs=0.01)


@pytest.mark.parametrize(
    ("yes", "count", "interval"),
    [(40, 40, (0.912, 1.0)), (0, 40, (0.0, 0.088)), (1, 1, (0.207, 1.0)), (81, 263, (0.255, 0.366))],
)
def test_share_interval_matches_wilson_tables(yes: int, count: int, interval: tuple[float, float]) -> None:
    assert share_interval(yes, count) == pytest.approx(interval, abs=0.0005)

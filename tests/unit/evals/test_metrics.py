"""Literals in answers, figures with intervals, differences of systems."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mkdocs_roaming.evals.metrics import (
    EvalResult,
    compute_differences,
    compute_figure,
    difference_interval,
    find_missing_literals,
    share_interval,
)
from mkdocs_roaming.evals.output import format_difference
from mkdocs_roaming.evals.questions import parse_questions


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


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=60), st.booleans())
def test_compute_figure_interval_contains_mean(values: list[float], share: bool) -> None:
    values = [round(value) for value in values] if share else values
    one = compute_figure("reached", values, share=share)
    if one.interval is not None:
        assert 0 <= one.interval[0] <= round(sum(values) / len(values), 6) == one.value <= one.interval[1] <= 1
    assert (one.interval is None) is (not share and len(set(values)) == 1)
    assert compute_figure("reached", values, share=share) == one


def test_compute_figure_interval_narrows_with_more_questions() -> None:
    for share in (True, False):
        few, many = (compute_figure("x", [0.0, 1.0] * times, share=share).interval for times in (10, 200))
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


@pytest.mark.parametrize(
    ("both", "lost", "won", "neither", "interval"),
    [
        (36, 2, 12, 0, (0.0569, 0.3404)),
        (20, 2, 12, 16, (0.0562, 0.3292)),
        (53, 0, 1, 0, (-0.0496, 0.0977)),
        (54, 0, 0, 0, (-0.0664, 0.0664)),
        (0, 30, 0, 0, (-1.0, -0.8395)),
    ],
)
def test_difference_interval_matches_newcombe_tables(
    both: int, lost: int, won: int, neither: int, interval: tuple[float, float]
) -> None:
    """The expected intervals are those of Newcombe (1998), method 10."""
    assert difference_interval(both, won, lost, neither) == pytest.approx(interval, abs=0.0002)
    low, high = interval
    assert difference_interval(both, lost, won, neither) == pytest.approx((-high, -low), abs=0.0002)


def test_compute_differences_counts_won_and_lost_questions() -> None:
    text = "questions:\n" + "".join(f"- ask: question {at}\n  sections: a\n" for at in range(20))
    questions = parse_questions(text, "q.yml").questions
    first = [EvalResult(one.ask, reached=at < 8) for at, one in enumerate(questions)]
    better = [EvalResult(one.ask, reached=at < 18) for at, one in enumerate(questions)]
    (one,) = compute_differences(questions, first, better)
    assert (one.name, one.value, one.won, one.lost, one.count, one.significant) == ("reached", 0.5, 10, 0, 20, True)
    assert format_difference(one) == "reached +50 points [+22 to +69], 10 won, 0 lost"
    (same,) = compute_differences(questions, first, first)
    assert format_difference(same).endswith("0 won, 0 lost; may be chance")
    failed = [replace(better[0], error="no network"), *better[1:]]
    assert compute_differences(questions, first, failed)[0].count == 19
    (few,) = compute_differences(questions[7:9], first[7:9], better[7:9])
    assert (few.won, few.significant) == (1, False)

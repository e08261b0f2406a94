"""What counts as a literal in an answer, and what a mean with its interval is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mkdocs_roaming.evals.outcomes import missing
from mkdocs_roaming.evals.totals import figure


@pytest.mark.parametrize(
    ("text", "literal", "there"),
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
def test_literal_stands_by_itself(text: str, literal: str, there: bool) -> None:
    """A literal counts where it stands by itself, whatever its case, white space and emphasis, but in a citation."""
    assert missing(text, [literal]) == ([] if there else [literal])


@settings(max_examples=40, deadline=None)  # two thousand draws take their time
@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=60))
def test_interval_holds_the_mean(values: list[float]) -> None:
    """The mean lies in its interval, the interval within what was measured, and both come out alike again."""
    one = figure("reached", values)
    assert min(values) <= one.low <= round(sum(values) / len(values), 6) == one.value <= one.high <= max(values)
    assert figure("reached", values) == one


def test_interval_narrows_with_questions() -> None:
    """More questions of the same kind make a narrower interval, near to what is known of shares."""
    few, many = figure("reached", [0.0, 1.0] * 10), figure("reached", [0.0, 1.0] * 200)
    assert few.high - few.low > 3 * (many.high - many.low)
    assert many.low == pytest.approx(0.5 - 0.049, abs=0.01)
    assert many.high == pytest.approx(0.5 + 0.049, abs=0.01)

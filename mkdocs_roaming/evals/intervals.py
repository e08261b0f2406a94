"""How far a figure can be trusted: 95 % intervals of shares, of means, and of what two navigators differ by.

Shares have Wilson's interval, and their differences Newcombe's, which is built of it: both hold for few questions, and
where all of them or none count as yes. There drawing questions again would claim certainty: of 40 reached out of 40 it
draws nothing but 40.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import sqrt

DRAWS = 2_000
Interval = tuple[float, float]


def of_share(yes: float, count: int) -> Interval:
    """Give the interval of a share: so many of so many (Wilson 1927)."""
    share, spread = yes / count, _Z**2 / count
    middle = (share + spread / 2) / (1 + spread)
    half = _Z * sqrt(share * (1 - share) / count + spread / (4 * count)) / (1 + spread)
    return max(0.0, min(middle - half, share)), min(1.0, max(middle + half, share))


def of_mean(values: Sequence[float]) -> Interval | None:
    """Give the interval of a mean by drawing its values again; None where all are alike: draws tell nothing."""
    if min(values) == max(values):
        return None
    count = len(values)
    draw = random.Random(count)  # the same draws for all figures: equal ones have equal intervals
    means = sorted(sum(draw.choices(values, k=count)) / count for _ in range(DRAWS))
    return means[int(DRAWS * 0.025)], means[int(DRAWS * 0.975) - 1]


def of_difference(first: Sequence[bool], other: Sequence[bool]) -> Interval:
    """Give the interval of what `other` has more than `first`, question by question (Newcombe 1998, method 10)."""
    count = len(first)
    pairs = list(zip(first, other, strict=True))
    both, neither = pairs.count((True, True)), pairs.count((False, False))
    won, lost = pairs.count((False, True)), pairs.count((True, False))
    less, more = (both + lost) / count, (both + won) / count
    (less_low, less_high), (more_low, more_high) = (of_share(share * count, count) for share in (less, more))
    margins = (both + lost) * (won + neither) * (both + won) * (lost + neither)
    # How much the two agree beyond chance, counted cautiously.
    agreeing: float = both * neither - won * lost
    if agreeing > 0:
        agreeing = max(agreeing - count / 2, 0.0)
    alike = agreeing / sqrt(margins) if margins else 0.0

    def reach(one: float, two: float) -> float:
        return sqrt(max(one**2 - 2 * alike * one * two + two**2, 0.0))

    difference = more - less
    return (
        difference - reach(more - more_low, less_high - less),
        difference + reach(more_high - more, less - less_low),
    )


_Z = 1.959964  # of a normal distribution, 95 % lie within so many deviations

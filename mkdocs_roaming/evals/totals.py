"""Outcomes in figures, each with the interval in which it would lie for other questions of the same kind.

Intervals are bootstrap percentiles: questions are drawn again, with repeats, two thousand times. The draws depend on
nothing but the figures themselves, so the same outcomes always give the same interval.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mkdocs_roaming.evals.outcomes import Outcome
from mkdocs_roaming.evals.questions import Question

DRAWS = 2_000
DEPTHS = (1, 5, 10)


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean over so many questions, and its 95 % interval; `share` where each of them counts as yes or no."""

    name: str
    value: float
    low: float
    high: float
    count: int
    share: bool = True


@dataclass(frozen=True, slots=True)
class Totals:
    """The figures of a row. `cost` is None where nothing was counted; `seconds` differ from run to run."""

    figures: tuple[Figure, ...]
    asked: int
    errors: int
    tokens_read: int
    cost: float | None
    currency: str
    seconds: float

    def figure(self, name: str) -> Figure | None:
        """Give a figure by its name; None where no question counts for it."""
        return next((one for one in self.figures if one.name == name), None)


def totals(questions: Sequence[Question], outcomes: Sequence[Outcome]) -> Totals:
    """Give what outcomes come to; what failed counts in no figure."""
    pairs = [(one, out) for one, out in zip(questions, outcomes, strict=True) if not out.error]
    costs = [outcome.cost for outcome in outcomes if outcome.cost is not None]
    return Totals(
        figures=tuple(figure(name, values, share=share) for name, values, share in _measured(pairs) if values),
        asked=len(outcomes),
        errors=len(outcomes) - len(pairs),
        tokens_read=sum(outcome.tokens_read for outcome in outcomes),
        cost=sum(costs) if costs else None,
        currency=next((outcome.currency for outcome in outcomes if outcome.currency), ""),
        seconds=sum(outcome.seconds for outcome in outcomes),
    )


def ranks(questions: Sequence[Question], found: Sequence[int | None]) -> tuple[Figure, ...]:
    """Give how search ranks gold sections: shares among the first, and the mean reciprocal rank."""
    ranked = [rank for question, rank in zip(questions, found, strict=True) if question.answerable]
    if not ranked:
        return ()
    shares = [
        figure(f"first {depth}", [float(rank is not None and rank <= depth) for rank in ranked]) for depth in DEPTHS
    ]
    return (*shares, figure("reciprocal rank", [1 / rank if rank else 0.0 for rank in ranked], share=False))


def figure(name: str, values: Sequence[float], *, share: bool = True) -> Figure:
    """Give the mean of some values with its interval."""
    count = len(values)
    mean = sum(values) / count
    if min(values) == max(values):
        low = high = mean
    else:
        draw = random.Random(count)  # the same draws for all figures: equal ones have equal intervals
        means = sorted(sum(draw.choices(values, k=count)) / count for _ in range(DRAWS))
        low, high = means[int(DRAWS * 0.025)], means[int(DRAWS * 0.975) - 1]
    return Figure(name, round(mean, 6), round(low, 6), round(high, 6), count, share)


def _measured(pairs: Sequence[tuple[Question, Outcome]]) -> Iterator[tuple[str, list[float], bool]]:
    """Give each figure's name, its values question by question, and whether they are yes or no."""
    answerable = [outcome for question, outcome in pairs if question.answerable]
    yield "reached", [float(outcome.reached) for outcome in answerable], True
    yield "calls", [float(out.calls) for out in answerable if out.calls is not None], False
    answers = [outcome for outcome in answerable if outcome.state is not None]
    yield "answered", [float(outcome.answered) for outcome in answers], True
    yield "cited", [float(outcome.gold_cited) for outcome in answers], True
    yield "literals", [float(not out.missing) for out in answers if out.missing is not None], True
    without = [outcome for question, outcome in pairs if not question.answerable and outcome.state is not None]
    yield "declined", [float(outcome.declined) for outcome in without], True
    yield "tokens", [float(outcome.tokens_read) for _, outcome in pairs if outcome.tokens_read], False

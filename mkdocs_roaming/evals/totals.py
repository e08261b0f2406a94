"""Outcomes in figures, each with the interval in which it would lie for other questions of the same kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mkdocs_roaming.evals.intervals import Interval, of_difference, of_mean, of_share
from mkdocs_roaming.evals.outcomes import Outcome
from mkdocs_roaming.evals.questions import Question

DEPTHS = (1, 5, 10)

SHARES = ("reached", "answered", "cited", "literals", "declined")
"""The figures for which a question counts as yes or no."""
COMPARED = ("reached", "cited", "literals", "declined")
"""Those of them of which more is better."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean over so many questions, and its 95 % interval, None where all of them are alike.

    `share` tells that each question counts as yes or no; such a figure always has its interval.
    """

    name: str
    value: float
    interval: Interval | None
    count: int
    share: bool = True


@dataclass(frozen=True, slots=True)
class Difference:
    """By how much a figure is higher than another navigator's, over the questions that count for both of them.

    `won` and `lost` are the questions that one of them alone has as yes.
    """

    name: str
    value: float
    interval: Interval
    won: int
    lost: int
    count: int

    @property
    def clear(self) -> bool:
        """Whether it is more than chance makes of other questions of the same kind."""
        return self.interval[0] > 0 or self.interval[1] < 0


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
        figures=tuple(_figures(pairs)),
        asked=len(outcomes),
        errors=len(outcomes) - len(pairs),
        tokens_read=sum(outcome.tokens_read for outcome in outcomes),
        cost=sum(costs) if costs else None,
        currency=next((outcome.currency for outcome in outcomes if outcome.currency), ""),
        seconds=sum(outcome.seconds for outcome in outcomes),
    )


def differences(questions: Sequence[Question], first: Sequence[Outcome], other: Sequence[Outcome]) -> list[Difference]:
    """Give what another navigator has more than the first one, figure by figure; what failed counts for neither."""
    found = []
    for name in COMPARED:
        pairs = [
            (bool(one), bool(two))
            for question, before, after in zip(questions, first, other, strict=True)
            if (one := _values(question, before).get(name)) is not None
            and (two := _values(question, after).get(name)) is not None
        ]
        if pairs:
            won, lost = pairs.count((False, True)), pairs.count((True, False))
            interval = of_difference([one for one, _ in pairs], [two for _, two in pairs])
            found.append(Difference(name, _round((won - lost) / len(pairs)), _rounded(interval), won, lost, len(pairs)))
    return found


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
    total, count = sum(values), len(values)
    interval = of_share(total, count) if share else of_mean(values)
    return Figure(name, _round(total / count), _rounded(interval) if interval else None, count, share)


def _figures(pairs: Sequence[tuple[Question, Outcome]]) -> Iterator[Figure]:
    measured = [_values(question, outcome) for question, outcome in pairs]
    for name in ("reached", "calls", "answered", "cited", "literals", "declined", "tokens"):
        values = [value for one in measured if (value := one.get(name)) is not None]
        if values:
            yield figure(name, values, share=name in SHARES)


def _values(question: Question, outcome: Outcome) -> dict[str, float | None]:
    """Give what a question counts for each figure; nothing where it does not count, or where its answer failed."""
    if outcome.error:
        return {}
    said = outcome.state is not None
    tokens = float(outcome.tokens_read) or None
    if not question.answerable:
        return {"declined": float(outcome.declined) if said else None, "tokens": tokens}
    return {
        "reached": float(outcome.reached),
        "calls": None if outcome.calls is None else float(outcome.calls),
        "answered": float(outcome.answered) if said else None,
        "cited": float(outcome.gold_cited) if said else None,
        "literals": None if not said or outcome.missing is None else float(not outcome.missing),
        "tokens": tokens,
    }


def _rounded(interval: Interval) -> Interval:
    return _round(interval[0]), _round(interval[1])


def _round(number: float) -> float:
    return round(number, 6)

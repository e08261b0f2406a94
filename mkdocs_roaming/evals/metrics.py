"""What comes of one question put to one navigator, and what counts as right."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

from mkdocs_roaming.answer.events import (
    Answer,
    AnswerState,
    Event,
    Reference,
    SectionOpened,
    SiteRead,
    ToolCalled,
    summarize,
)
from mkdocs_roaming.answer.models.base import NO_USAGE, Usage
from mkdocs_roaming.evals.questions import Question
from mkdocs_roaming.library.rules import RULES_CALL_ID as PINNED
from mkdocs_roaming.text.languages import fold

SEARCH_LIMIT = 10


"""Search counts as having reached a section that is among its first ten: what one call of a tool can show."""


@dataclass(frozen=True, slots=True)
class TrailStep:
    """A section on the trail: in which tool call it was opened (0: before the first), or its rank in a search."""

    section: Reference
    at: int


@dataclass(frozen=True, slots=True)
class EvalResult:
    """What came of a question. `rank` is where search ranks the first gold section, None where it is not found.

    `reached` tells whether a gold section was opened, `calls` in which tool call. `state` is empty where no answer was
    looked for; `missing` are the literals that the answer lacks, None where none were to be looked for.
    """

    ask: str
    rank: int | None = None
    reached: bool = False
    calls: int | None = None
    trail: tuple[TrailStep, ...] = ()
    state: AnswerState | None = None
    text: str = ""
    missing: tuple[str, ...] | None = None
    cited: tuple[Reference, ...] = ()
    gold_cited: bool = False
    whole_site: bool = False
    tokens_read: int = 0
    usage: Usage = NO_USAGE
    cost: float | None = None
    currency: str = ""
    error: str = ""
    seconds: float = 0.0

    @property
    def declined(self) -> bool:
        """Whether it was said that the docs do not answer, or nothing."""
        return self.state is not None and self.state != "error" and not self.text

    @property
    def answered(self) -> bool:
        """Whether readers got an answer, whatever it is worth."""
        return bool(self.text)


def result_from_events(question: Question, events: Sequence[Event], *, rank: int | None, seconds: float) -> EvalResult:
    """Give what came of a question, by the events of its answer."""
    answer = summarize(events)
    trail = tuple(_trail(events))
    gold = set(question.gold)
    hits = [step.at for step in trail if step.section.id in gold]
    whole = any(isinstance(event, SiteRead) for event in events)
    if whole and gold:
        hits.append(0)
    looked = bool(question.contains) and answer.state != "error"
    return EvalResult(
        ask=question.ask,
        rank=rank,
        reached=bool(hits),
        calls=min(hits, default=None),
        trail=trail,
        state=answer.state,
        text=answer.text,
        missing=tuple(find_missing_literals(answer.text, question.contains)) if looked else None,
        cited=answer.citations,
        gold_cited=any(section.id in gold for section in answer.citations),
        whole_site=whole,
        tokens_read=answer.tokens_read,
        usage=answer.usage,
        cost=answer.cost,
        currency=answer.currency,
        error=_error(answer),
        seconds=seconds,
    )


def find_missing_literals(text: str, literals: Iterable[str]) -> list[str]:
    """Give the literals that a text does not hold, whatever its case, white space and marks of emphasis or code."""
    plain = _plain(_CITATION.sub("", text))
    bare = _MARKS.sub("", plain)
    return [
        literal for literal in literals if not (contains_literal(plain, literal) or contains_literal(bare, literal))
    ]


def contains_literal(text: str, literal: str) -> bool:
    """Tell whether a literal stands in a text by itself, and not within a longer word or number."""
    text, literal = _plain(text), _plain(literal)
    if not literal:
        return False
    before, after = (_beside(end) for end in (literal[0], literal[-1]))
    return re.search(rf"(?<!{before})(?<!\d[.,]){re.escape(literal)}(?!{after})", text) is not None


def _trail(events: Iterable[Event]) -> Iterable[TrailStep]:
    """Give each section when it was first opened; what rules open stands before the first call."""
    calls = {PINNED: 0}
    seen: set[str] = set()
    for event in events:
        if isinstance(event, ToolCalled):
            calls.setdefault(event.call, len(calls))
        elif isinstance(event, SectionOpened):
            for section in (event.section, *event.inside):
                if section.id not in seen:
                    seen.add(section.id)
                    yield TrailStep(section, calls.get(event.call, 0))


def _error(answer: Answer) -> str:
    return (answer.error or "it failed") if answer.state == "error" else ""


def _plain(text: str) -> str:
    return " ".join(fold(text).split())


def _beside(end: str) -> str:
    """Give what may not stand beside a literal's end; a script without spaces has its words side by side."""
    if end.isdigit():
        return r"\d"
    return r"[^\W\d_]" if end.isalpha() and end.isascii() else r"(?!)"


_CITATION = re.compile(r"\[\^[0-9a-z]{1,8}\]")


_MARKS = re.compile(r"[*`]|(?<![^\W_])_+(?=\w)|(?<=\w)_+(?![^\W_])")


# MERGED mkdocs_roaming.evals.intervals:
# How far a figure can be trusted: 95 % intervals of shares, of means, and of what two navigators differ by.
#
# Shares have Wilson's interval, and their differences Newcombe's, which is built of it: both hold for few
# questions, and
# where all of them or none count as yes. There drawing questions again would claim certainty: of 40 reached out
# of 40 it
# draws nothing but 40.


DRAWS = 2_000


Interval = tuple[float, float]


def share_interval(yes: float, count: int) -> Interval:
    """Give the interval of a share: so many of so many (Wilson 1927)."""
    share, spread = yes / count, _Z**2 / count
    middle = (share + spread / 2) / (1 + spread)
    half = _Z * sqrt(share * (1 - share) / count + spread / (4 * count)) / (1 + spread)
    return max(0.0, min(middle - half, share)), min(1.0, max(middle + half, share))


def mean_interval(values: Sequence[float]) -> Interval | None:
    """Give the interval of a mean by drawing its values again; None where all are alike: draws tell nothing."""
    if min(values) == max(values):
        return None
    count = len(values)
    draw = random.Random(count)  # the same draws for all figures: equal ones have equal intervals
    means = sorted(sum(draw.choices(values, k=count)) / count for _ in range(DRAWS))
    return means[int(DRAWS * 0.025)], means[int(DRAWS * 0.975) - 1]


def difference_interval(first: Sequence[bool], other: Sequence[bool]) -> Interval:
    """Give the interval of what `other` has more than `first`, question by question (Newcombe 1998, method 10)."""
    count = len(first)
    pairs = list(zip(first, other, strict=True))
    both, neither = pairs.count((True, True)), pairs.count((False, False))
    won, lost = pairs.count((False, True)), pairs.count((True, False))
    less, more = (both + lost) / count, (both + won) / count
    (less_low, less_high), (more_low, more_high) = (share_interval(share * count, count) for share in (less, more))
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


# MERGED mkdocs_roaming.evals.totals:
# Outcomes in figures, each with the interval in which it would lie for other questions of the same kind.


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


def compute_totals(questions: Sequence[Question], outcomes: Sequence[EvalResult]) -> Totals:
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


def compute_differences(
    questions: Sequence[Question], first: Sequence[EvalResult], other: Sequence[EvalResult]
) -> list[Difference]:
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
            interval = difference_interval([one for one, _ in pairs], [two for _, two in pairs])
            found.append(Difference(name, _round((won - lost) / len(pairs)), _rounded(interval), won, lost, len(pairs)))
    return found


def compute_rank_figures(questions: Sequence[Question], found: Sequence[int | None]) -> tuple[Figure, ...]:
    """Give how search ranks gold sections: shares among the first, and the mean reciprocal rank."""
    ranked = [rank for question, rank in zip(questions, found, strict=True) if question.answerable]
    if not ranked:
        return ()
    shares = [
        compute_figure(f"first {depth}", [float(rank is not None and rank <= depth) for rank in ranked])
        for depth in DEPTHS
    ]
    return (*shares, compute_figure("reciprocal rank", [1 / rank if rank else 0.0 for rank in ranked], share=False))


def compute_figure(name: str, values: Sequence[float], *, share: bool = True) -> Figure:
    """Give the mean of some values with its interval."""
    total, count = sum(values), len(values)
    interval = share_interval(total, count) if share else mean_interval(values)
    return Figure(name, _round(total / count), _rounded(interval) if interval else None, count, share)


def _figures(pairs: Sequence[tuple[Question, EvalResult]]) -> Iterator[Figure]:
    measured = [_values(question, outcome) for question, outcome in pairs]
    for name in ("reached", "calls", "answered", "cited", "literals", "declined", "tokens"):
        values = [value for one in measured if (value := one.get(name)) is not None]
        if values:
            yield compute_figure(name, values, share=name in SHARES)


def _values(question: Question, outcome: EvalResult) -> dict[str, float | None]:
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

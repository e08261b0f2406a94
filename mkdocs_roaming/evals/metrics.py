"""Results of evaluated questions, and the figures computed from them.

Shares have Wilson's 95 % interval, which is valid for few questions, and where all of them or none succeed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

from mkdocs_roaming.answer.events import (
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
from mkdocs_roaming.library.rules import RULES_CALL_ID
from mkdocs_roaming.text.languages import fold

SEARCH_LIMIT = 10
"""A section counts as reached by search if it is among this number of hits: what one tool call can show."""

RANK_DEPTHS = (1, 5, 10)

SHARES = ("reached", "answered", "cited", "literals", "declined")
"""Figures for which each question counts as yes or no."""

FIGURES = ("reached", "calls", "answered", "cited", "literals", "declined", "tokens")
"""All figures of a row, in the order in which they are shown."""

_DIGITS = 6
_Z = 1.959964  # 95 % of a normal distribution lie within this number of standard deviations

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class TrailStep:
    """An opened section.

    `number` is that of the tool call that opened it (0: before the first), or the rank of a search hit.
    """

    section: Reference
    number: int


@dataclass(frozen=True, slots=True)
class EvalResult:
    """The result of one question.

    Attributes:
        ask: The question.
        rank: Rank of the first gold section in search, or None.
        reached: Whether a gold section was opened.
        calls: Number of the tool call that opened it; 0 if it was opened before the first call.
        trail: The opened sections in order.
        state: State of the answer, or None if the system does not answer.
        text: The answer.
        missing: Literals that the answer lacks, or None if none were expected.
        cited: The cited sections.
        gold_cited: Whether a gold section was cited.
        whole_site: Whether the model read the whole site.
        tokens_read: Estimated tokens of section text read.
        usage: Tokens as counted by the provider.
        cost: Cost, or None if the prices are unknown.
        currency: Currency of `cost`.
        error: Why the answer failed, or an empty string.
        seconds: Duration.
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
        """Whether the system found no answer in the documentation, or returned nothing."""
        return self.state is not None and self.state not in ("unusable", "error") and not self.answered

    @property
    def answered(self) -> bool:
        """Whether there is an answer, right or wrong, or search results."""
        if self.state == "budget":
            return bool(self.cited)
        return bool(self.text) and self.state not in ("not_found", "unusable", "refused", "error")

    @classmethod
    def from_events(
        cls, question: Question, events: Sequence[Event], *, rank: int | None, seconds: float
    ) -> EvalResult:
        """Return the result of a question from the events of its answer."""
        answer = summarize(events)
        trail = tuple(_trail(events))
        gold = set(question.gold)
        calls = [step.number for step in trail if step.section.id in gold]
        whole_site = any(isinstance(event, SiteRead) for event in events)
        if whole_site and gold:
            calls.append(0)
        failed = answer.state == "error"
        check_literals = bool(question.contains) and not failed
        return cls(
            ask=question.ask,
            rank=rank,
            reached=bool(calls),
            calls=min(calls, default=None),
            trail=trail,
            state=answer.state,
            text=answer.text,
            missing=tuple(find_missing_literals(answer.text, question.contains)) if check_literals else None,
            cited=answer.citations,
            gold_cited=any(section.id in gold for section in answer.citations),
            whole_site=whole_site,
            tokens_read=answer.tokens_read,
            usage=answer.usage,
            cost=answer.cost,
            currency=answer.currency,
            error=(answer.error or "unknown error") if failed else "",
            seconds=seconds,
        )


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean over `count` questions; one for which each question counts as yes or no has a 95 % interval."""

    name: str
    value: float
    interval: Interval | None
    count: int


@dataclass(frozen=True, slots=True)
class Totals:
    """The figures of one system; `cost` is None if no cost is known, `seconds` differ from run to run."""

    figures: tuple[Figure, ...]
    asked: int
    errors: int
    tokens_read: int
    cost: float | None
    currency: str
    seconds: float

    def figure(self, name: str) -> Figure | None:
        """Return a figure by name, or None if no question counts for it."""
        return next((one for one in self.figures if one.name == name), None)


def find_missing_literals(text: str, literals: Iterable[str]) -> list[str]:
    """Return the literals that a text lacks, ignoring case, white space, citations, emphasis and code marks."""
    plain = _normalize(_CITATION.sub("", text))
    unmarked = _MARKS.sub("", plain)
    return [one for one in literals if not (contains_literal(plain, one) or contains_literal(unmarked, one))]


def contains_literal(text: str, literal: str) -> bool:
    """Return whether a text contains a literal that is not part of a longer word or number."""
    text, literal = _normalize(text), _normalize(literal)
    if not literal:
        return False
    before, after = (_forbidden_neighbour(end) for end in (literal[0], literal[-1]))
    return re.search(rf"(?<!{before})(?<!\d[.,]){re.escape(literal)}(?!{after})", text) is not None


def compute_totals(questions: Sequence[Question], results: Sequence[EvalResult | None]) -> Totals:
    """Return the figures of a system; failed answers and questions that were not asked count in none of them."""
    asked = [result for result in results if result is not None]
    costs = [result.cost for result in asked if result.cost is not None]
    return Totals(
        figures=tuple(_compute_figures(questions, results)),
        asked=len(asked),
        errors=sum(bool(result.error) for result in asked),
        tokens_read=sum(result.tokens_read for result in asked),
        cost=sum(costs) if costs else None,
        currency=next((result.currency for result in asked if result.currency), ""),
        seconds=sum(result.seconds for result in asked),
    )


def _compute_figures(questions: Sequence[Question], results: Sequence[EvalResult | None]) -> Iterator[Figure]:
    values = [_values(question, result) for question, result in zip(questions, results, strict=True)]
    for name in FIGURES:
        if found := [value for one in values if (value := one.get(name)) is not None]:
            yield compute_figure(name, found, share=name in SHARES)


def compute_rank_figures(questions: Sequence[Question], ranks: Sequence[int | None]) -> tuple[Figure, ...]:
    """Return the shares of gold sections among the first search hits, and the mean reciprocal rank."""
    counted = [rank for question, rank in zip(questions, ranks, strict=True) if question.answerable]
    if not counted:
        return ()
    shares = [
        compute_figure(f"first {depth}", [float(rank is not None and rank <= depth) for rank in counted])
        for depth in RANK_DEPTHS
    ]
    reciprocal = compute_figure("reciprocal rank", [1 / rank if rank else 0.0 for rank in counted], share=False)
    return (*shares, reciprocal)


def compute_figure(name: str, values: Sequence[float], *, share: bool = True) -> Figure:
    """Return the mean of the values, with its interval if it is a share."""
    total, count = sum(values), len(values)
    return Figure(name, round(total / count, _DIGITS), share_interval(total, count) if share else None, count)


def share_interval(successes: float, count: int) -> Interval:
    """Return the interval of a share (Wilson 1927)."""
    share, spread = successes / count, _Z**2 / count
    middle = (share + spread / 2) / (1 + spread)
    half = _Z * sqrt(share * (1 - share) / count + spread / (4 * count)) / (1 + spread)
    low, high = max(0.0, min(middle - half, share)), min(1.0, max(middle + half, share))
    return round(low, _DIGITS), round(high, _DIGITS)


def _values(question: Question, result: EvalResult | None) -> dict[str, float | None]:
    """Return the value of a question for each figure that it counts for."""
    if result is None or result.error:
        return {}
    has_answer = result.state is not None
    tokens = float(result.tokens_read) or None
    if not question.answerable:
        return {"declined": float(result.declined) if has_answer else None, "tokens": tokens}
    return {
        "reached": float(result.reached),
        "calls": None if result.calls is None else float(result.calls),
        "answered": float(result.answered) if has_answer else None,
        "cited": float(result.gold_cited) if has_answer else None,
        "literals": None if not has_answer or result.missing is None else float(not result.missing),
        "tokens": tokens,
    }


def _trail(events: Iterable[Event]) -> Iterator[TrailStep]:
    """Yield each section when it was first opened; sections opened by rules have call number 0."""
    calls = {RULES_CALL_ID: 0}
    seen: set[str] = set()
    for event in events:
        if isinstance(event, ToolCalled):
            calls.setdefault(event.call, len(calls))
        elif isinstance(event, SectionOpened):
            for section in (event.section, *event.inside):
                if section.id not in seen:
                    seen.add(section.id)
                    yield TrailStep(section, calls.get(event.call, 0))


def _normalize(text: str) -> str:
    return " ".join(fold(text).split())


def _forbidden_neighbour(end: str) -> str:
    """Return a pattern of what must not follow or precede an end of a literal.

    Scripts without spaces write words next to each other, so only digits and ASCII letters restrict their neighbours.
    """
    if end.isdigit():
        return r"\d"
    return r"[^\W\d_]" if end.isalpha() and end.isascii() else r"(?!)"


_CITATION = re.compile(r"\[\^[0-9a-z]{1,8}\]")
_MARKS = re.compile(r"[*`]|(?<![^\W_])_+(?=\w)|(?<=\w)_+(?![^\W_])")

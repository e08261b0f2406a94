"""Results of evaluated questions, and the figures computed from them.

Shares have Wilson's 95 % interval, which is valid for few questions, and where all of them or none succeed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt

from mkdocs_roaming.answer.events import Answer, AnswerState, Reference
from mkdocs_roaming.evals.questions import Question
from mkdocs_roaming.text.languages import fold

SEARCH_LIMIT = 10
"""A section counts as reached by search if it is among this number of hits: what one tool call can show."""

MAX_RANK = 50
"""Number of search hits among which a gold section has a rank."""

RANK_DEPTHS = (1, 5, 10)

FIGURES = ("reached", "answered", "cited", "literals", "declined")
"""The figures of a row, in the order in which they are shown."""

_DIGITS = 6
_Z = 1.959964
"""95 % of a normal distribution lie within this number of standard deviations."""

_CITATION = re.compile(r"\[\^[0-9a-z]{1,8}\]")
"""A citation, `[^0a1b2c3d]`. The answer is not parsed: all of its text counts, code included."""

_UNDERSCORES = re.compile(r"(?<![^\W_])_+(?=\w)|(?<=\w)_+(?![^\W_])")
"""Emphasis: `_word_`, but not the underscore of `snake_case`."""

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class EvalResult:
    """The result of one question.

    Attributes:
        ask: The question.
        rank: Rank of the first gold section in search, or None.
        reached: Whether a gold section was opened.
        opened: The opened sections in order.
        state: State of the answer, or None if the system does not answer.
        text: The answer.
        missing: Expected literals that the answer lacks.
        cited: The cited sections.
        tokens_read: Estimated tokens of section text read.
        cost: Cost, or None if the prices are unknown.
        currency: Currency of `cost`.
        error: Why the answer failed, or an empty string.
        seconds: Duration.
    """

    ask: str
    rank: int | None = None
    reached: bool = False
    opened: tuple[Reference, ...] = ()
    state: AnswerState | None = None
    text: str = ""
    missing: tuple[str, ...] = ()
    cited: tuple[Reference, ...] = ()
    tokens_read: int = 0
    cost: float | None = None
    currency: str = ""
    error: str = ""
    seconds: float = 0.0

    @classmethod
    def from_answer(cls, question: Question, answer: Answer, *, rank: int | None, seconds: float) -> EvalResult:
        """Return the result of a question from its answer."""
        failed = answer.state == "error"
        return cls(
            ask=question.ask,
            rank=rank,
            reached=question.answerable and (answer.whole_site or question.has_gold(answer.steps)),
            opened=answer.steps,
            state=answer.state,
            text=answer.text,
            missing=tuple(find_missing_literals(answer.text, question.contains)),
            cited=answer.citations,
            tokens_read=answer.tokens_read,
            cost=answer.cost,
            currency=answer.currency,
            error=(answer.error or "unknown error") if failed else "",
            seconds=seconds,
        )

    @property
    def answered(self) -> bool:
        """Whether there is an answer, right or wrong, or search results."""
        if self.state == "budget":
            return bool(self.cited)
        return bool(self.text) and self.state not in ("not_found", "unusable", "refused", "error")

    @property
    def declined(self) -> bool:
        """Whether the system found no answer in the documentation, or returned nothing."""
        return self.state is not None and self.state not in ("unusable", "error") and not self.answered


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean over `count` questions; one for which each question counts as yes or no has a 95 % interval."""

    name: str
    value: float
    interval: Interval | None
    count: int


def describe_problem(question: Question, result: EvalResult) -> str:
    """Return what is wrong with a result, or an empty string."""
    if result.error:
        return f"failed: {result.error}"
    if not question.answerable:
        return "answered, although the documentation does not say" if result.answered else ""
    problems = []
    if not result.reached:
        rank = f"rank {result.rank} in search" if result.rank else f"not among the first {MAX_RANK} in search"
        problems.append(f"not reached, {rank}")
    if result.declined:
        problems.append("declined")
    elif result.missing:
        problems.append(f"the answer lacks {', '.join(result.missing)}")
    return "; ".join(problems)


def find_missing_literals(text: str, literals: Iterable[str]) -> list[str]:
    """Return the literals that a text lacks, ignoring case, white space, citations, emphasis and code marks."""
    plain = _normalize(_CITATION.sub("", text))
    unmarked = _UNDERSCORES.sub("", plain.replace("*", "").replace("`", ""))
    missing = []
    for literal in literals:
        normalized = _normalize(literal)
        if not (_contains(plain, normalized) or _contains(unmarked, normalized)):
            missing.append(literal)
    return missing


def _normalize(text: str) -> str:
    return " ".join(fold(text).split())


def _contains(text: str, literal: str) -> bool:
    """Return whether a text contains a literal that is not part of a longer word or number."""
    start = text.find(literal)
    while start >= 0:
        end = start + len(literal)
        before = text[max(start - 2, 0) : start]
        after = text[end : end + 1]
        is_fraction = before[:1].isdecimal() and before[1:] in (".", ",")
        begins_earlier = _is_one_word(literal[:1], before[-1:])
        ends_later = _is_one_word(literal[-1:], after)
        if not (is_fraction or begins_earlier or ends_later):
            return True
        start = text.find(literal, start + 1)
    return False


def _is_one_word(end: str, neighbour: str) -> bool:
    """Return whether an end of a literal and the character next to it are of the same word or number.

    Scripts without spaces write words next to each other, so only digits and ASCII letters can be.
    """
    if end.isdecimal():
        return neighbour.isdecimal()
    return end.isascii() and end.isalpha() and neighbour.isalpha()


def compute_figures(questions: Sequence[Question], results: Sequence[EvalResult | None]) -> tuple[Figure, ...]:
    """Return the figures of a system; failed answers and questions that were not asked count in none of them."""
    values: dict[str, list[float]] = {name: [] for name in FIGURES}
    for question, result in zip(questions, results, strict=True):
        if result is None or result.error:
            continue
        if question.answerable:
            values["reached"].append(result.reached)
        if result.state is None:
            continue
        if not question.answerable:
            values["declined"].append(result.declined)
            continue
        values["answered"].append(result.answered)
        values["cited"].append(question.has_gold(result.cited))
        if question.contains:
            values["literals"].append(not result.missing)
    return tuple(compute_share(name, counted) for name, counted in values.items() if counted)


def compute_rank_figures(questions: Sequence[Question], ranks: Sequence[int | None]) -> tuple[Figure, ...]:
    """Return the shares of gold sections among the first search hits, and the mean reciprocal rank."""
    counted = [rank for question, rank in zip(questions, ranks, strict=True) if question.answerable]
    if not counted:
        return ()
    figures = []
    for depth in RANK_DEPTHS:
        is_within = [rank is not None and rank <= depth for rank in counted]
        figures.append(compute_share(f"first {depth}", is_within))
    mean = sum(1 / rank for rank in counted if rank) / len(counted)
    figures.append(Figure("reciprocal rank", round(mean, _DIGITS), None, len(counted)))
    return tuple(figures)


def compute_share(name: str, values: Sequence[float]) -> Figure:
    """Return the share of the values that are true, with its interval (Wilson 1927)."""
    count = len(values)
    share = sum(values) / count
    spread = _Z**2 / count
    middle = (share + spread / 2) / (1 + spread)
    variance = share * (1 - share) / count + spread / (4 * count)
    half = _Z * sqrt(variance) / (1 + spread)
    low = max(0.0, min(middle - half, share))
    high = min(1.0, max(middle + half, share))
    return Figure(name, round(share, _DIGITS), (round(low, _DIGITS), round(high, _DIGITS)), count)

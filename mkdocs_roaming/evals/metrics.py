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
_Z = 1.959964  # 95 % of a normal distribution lie within this number of standard deviations
_CITATION = re.compile(r"\[\^[0-9a-z]{1,8}\]")
_MARKS = re.compile(r"[*`]|(?<![^\W_])_+(?=\w)|(?<=\w)_+(?![^\W_])")

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
    unmarked = _MARKS.sub("", plain)
    return [one for one in literals if not (_contains_literal(plain, one) or _contains_literal(unmarked, one))]


def _contains_literal(text: str, literal: str) -> bool:
    """Return whether a normalized text contains a literal that is not part of a longer word or number."""
    literal = _normalize(literal)
    before, after = (_forbidden_neighbour(end) for end in (literal[:1], literal[-1:]))
    return re.search(rf"(?<!{before})(?<!\d[.,]){re.escape(literal)}(?!{after})", text) is not None


def _normalize(text: str) -> str:
    return " ".join(fold(text).split())


def _forbidden_neighbour(end: str) -> str:
    """Return a pattern of what must not follow or precede an end of a literal.

    Scripts without spaces write words next to each other, so only digits and ASCII letters restrict their neighbours.
    """
    if end.isdigit():
        return r"\d"
    return r"[^\W\d_]" if end.isalpha() and end.isascii() else r"(?!)"


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
    return tuple(compute_share(name, found) for name, found in values.items() if found)


def compute_rank_figures(questions: Sequence[Question], ranks: Sequence[int | None]) -> tuple[Figure, ...]:
    """Return the shares of gold sections among the first search hits, and the mean reciprocal rank."""
    counted = [rank for question, rank in zip(questions, ranks, strict=True) if question.answerable]
    if not counted:
        return ()
    shares = [
        compute_share(f"first {depth}", [rank is not None and rank <= depth for rank in counted])
        for depth in RANK_DEPTHS
    ]
    mean = sum(1 / rank for rank in counted if rank) / len(counted)
    return (*shares, Figure("reciprocal rank", round(mean, _DIGITS), None, len(counted)))


def compute_share(name: str, values: Sequence[float]) -> Figure:
    """Return the share of the values that are true, with its interval (Wilson 1927)."""
    count = len(values)
    share = sum(values) / count
    spread = _Z**2 / count
    middle = (share + spread / 2) / (1 + spread)
    half = _Z * sqrt(share * (1 - share) / count + spread / (4 * count)) / (1 + spread)
    low = max(0.0, min(middle - half, share))
    high = min(1.0, max(middle + half, share))
    return Figure(name, round(share, _DIGITS), (round(low, _DIGITS), round(high, _DIGITS)), count)

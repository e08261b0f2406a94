"""Tables of what agents wrote, and the record that the page of public figures has them from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from msgspec import Struct

from ..corpus import Checkout
from ..report import wilson_interval
from .documentation import CONDITIONS, Condition

FILE = Path(__file__).parents[1] / "records/agents.json"


class Outcome(Struct, frozen=True):
    """What came of a task.

    Attributes:
        condition: The condition.
        library: The library.
        task: The task.
        limit: The tokens that the agent might read; 0 without a limit.
        place: Its place among the tasks of the agent, from 1.
        reason: Why the first solution is wrong; None if it is right.
        requests: Number of documents fetched or tools called.
        tokens: Tokens that were read.
        invented: Names in the solution that nothing has.
    """

    condition: Condition
    library: str
    task: str
    limit: int
    place: int
    reason: str | None
    requests: int
    tokens: int
    invented: tuple[str, ...]


class AgentRecord(Struct, frozen=True):
    """The outcomes of a run.

    Attributes:
        agent: Who solved the tasks.
        checkouts: The commits of this repository that made the documentation.
        outcomes: The outcomes.
    """

    agent: str
    checkouts: tuple[Checkout, ...]
    outcomes: tuple[Outcome, ...]


def iter_tables(record: AgentRecord) -> Iterator[tuple[str, list[str]]]:
    """Yield the title and the lines of a table for all tasks without a limit, for each library, and for each limit."""
    free = [outcome for outcome in record.outcomes if not outcome.limit]
    yield "all", list(_iter_lines(free))
    for library in sorted({outcome.library for outcome in free}):
        yield f"all, {library}", list(_iter_lines([outcome for outcome in free if outcome.library == library]))
    for limit in sorted({outcome.limit for outcome in record.outcomes} - {0}):
        yield f"limit {limit}", list(_iter_lines([outcome for outcome in record.outcomes if outcome.limit == limit]))


def _iter_lines(outcomes: Sequence[Outcome]) -> Iterator[str]:
    yield "| method | tasks | right at first try | requests, first task | tokens, first task | requests | tokens | invented names |"
    yield "| --- |" + " --: |" * 7
    for condition, name in CONDITIONS.items():
        own = [outcome for outcome in outcomes if outcome.condition == condition]
        if own:
            right = sum(outcome.reason is None for outcome in own)
            interval = wilson_interval(right, len(own))
            means = (
                f"{fmean(each.requests for each in part):.1f} | {fmean(each.tokens for each in part):,.0f}"
                for part in ([outcome for outcome in own if outcome.place == 1] or own, own)
            )
            yield (
                f"| {name} | {len(own)} | {right / len(own):.0%} ({interval.low:.0%}–{interval.high:.0%})"
                f" | {' | '.join(means)} | {sum(len(each.invented) for each in own)} |"
            )

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
        reason: Why the first solution is wrong; None if it is right.
        requests: Number of documents fetched or tools called.
        tokens: Tokens that were read.
        invented: Names in the solution that nothing has.
    """

    condition: Condition
    library: str
    task: str
    reason: str | None
    requests: int
    tokens: int
    invented: tuple[str, ...]


class AgentRecord(Struct, frozen=True):
    """The outcomes of a run.

    Attributes:
        agent: Who solved the tasks.
        checkout: The commit of this repository.
        outcomes: The outcomes.
    """

    agent: str
    checkout: Checkout
    outcomes: tuple[Outcome, ...]


def iter_tables(record: AgentRecord) -> Iterator[tuple[str, list[str]]]:
    """Yield the title and the lines of a table for all tasks, and for those of each library."""
    libraries = sorted({outcome.library for outcome in record.outcomes})
    yield "all", list(_iter_lines(record.outcomes))
    for library in libraries:
        yield f"all, {library}", list(_iter_lines([each for each in record.outcomes if each.library == library]))


def _iter_lines(outcomes: Sequence[Outcome]) -> Iterator[str]:
    yield "| method | tasks | right at first try | requests | tokens read | invented names |"
    yield "| --- | --: | --: | --: | --: | --: |"
    for condition, name in CONDITIONS.items():
        own = [outcome for outcome in outcomes if outcome.condition == condition]
        if own:
            right = sum(outcome.reason is None for outcome in own)
            interval = wilson_interval(right, len(own))
            yield (
                f"| {name} | {len(own)} | {right / len(own):.0%} ({interval.low:.0%}–{interval.high:.0%})"
                f" | {fmean(each.requests for each in own):.1f} | {fmean(each.tokens for each in own):,.0f}"
                f" | {sum(len(each.invented) for each in own)} |"
            )

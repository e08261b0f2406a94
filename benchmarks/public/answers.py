"""Recorded answers of a model that was played by hand, question by question.

    python -m benchmarks.public.answers newcomers

Readers stood for the model, from the requests that the product sends. `roaming eval SITE QUESTIONS --model NAME` does the
same with a model. A record has numbers, addresses and verdicts, nothing of the set's text.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

import msgspec
from msgspec import Struct

from .corpus import Checkout
from .report import wilson_interval

RECORDS = Path(__file__).parent / "records"
SETS = ("cookbook", "newcomers")


class Verdict(Struct, frozen=True):
    """What is recorded of an answer.

    Attributes:
        number: The number of the question in the set.
        parts: The parts of the set that the question belongs to.
        state: How the answer ended.
        calls: Number of requests to the model.
        tokens: Input tokens of all requests.
        cited: The addresses of the cited sections.
        cites_right: Whether one of them answers the question; None if no section does.
        marks: Number of sentences that the support check marked.
        correct: The grade.
        output: Output tokens of all requests; None if they were not counted.
    """

    number: int
    parts: tuple[str, ...]
    state: str
    calls: int
    tokens: int
    cited: tuple[str, ...]
    cites_right: bool | None
    marks: int
    correct: bool
    output: int | None = None


class AnswerRecord(Struct, frozen=True):
    """The verdicts of a run.

    Attributes:
        set: The name of the set.
        checkouts: What the set was read from.
        answered_by: Who answered.
        graded_by: Who graded.
        rows: The verdicts.
    """

    set: str
    checkouts: tuple[Checkout, ...]
    answered_by: str
    graded_by: str
    rows: tuple[Verdict, ...]


def read_record(name: str) -> AnswerRecord:
    """Return the record of a set."""
    return msgspec.json.decode((RECORDS / f"{name}_answers.json").read_bytes(), type=AnswerRecord)


def iter_report(rows: Sequence[Verdict]) -> Iterator[str]:
    """Yield the lines of a Markdown table with a row for each part and the whole."""
    yield "| part | questions | correct | cites a right section | without marks | calls | input tokens |"
    yield "| --- |" + " --: |" * 6
    parts = dict.fromkeys(part for row in rows for part in row.parts)
    for part in parts:
        yield format_part(part, [row for row in rows if part in row.parts])
    yield format_part("all", rows)


def format_part(name: str, rows: Sequence[Verdict]) -> str:
    """Return the row of a part of the set."""
    correct = sum(row.correct for row in rows)
    interval = wilson_interval(correct, len(rows))
    known = [row.cites_right for row in rows if row.cites_right is not None]
    cells = (
        name,
        str(len(rows)),
        f"{correct / len(rows):.1%} ({interval.low:.1%}–{interval.high:.1%})",
        f"{fmean(known):.1%}" if known else "–",
        f"{fmean(not row.marks for row in rows):.1%}",
        f"{fmean(row.calls for row in rows):.2f}",
        f"{fmean(row.tokens for row in rows):,.0f}",
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=SETS)
    record = read_record(parser.parse_args().set)
    print(f"Answered by {record.answered_by}. Graded by {record.graded_by}.\n")
    print("\n".join(iter_report(record.rows)))


if __name__ == "__main__":
    main()

"""Answers to the 100 questions of Anthropic's cookbook, through the real answer loop, and their grades.

    python -m benchmarks.public.cookbook_answers ask --data anthropic-cookbook --answers FOLDER --model claude
    python -m benchmarks.public.cookbook_answers grade --answers FOLDER --model openai:NAME
    python -m benchmarks.public.cookbook_answers report --answers FOLDER [--record FILE.json]

`ask` builds the library as `benchmarks.public.cookbook` does and writes one file for each answer; answers that exist are
kept. `grade` lets another model compare each answer with the reference answer of the set. A person who grades writes the
same field by hand: `"correct": true` or `false`. `report` prints the table. FOLDER contains text of the set and belongs
outside of this repository; the record has numbers, addresses and verdicts only.

An answer is correct if it says in substance what the reference answer says; an answer that lacks a critical part of it,
or contradicts it, is not. This is the rule of the set's own evaluation.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import tempfile
import time
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from statistics import fmean

import msgspec
from msgspec import Struct

from mkdocs_roaming import Answer, astream
from mkdocs_roaming.answer.budget import Deadline
from mkdocs_roaming.answer.conversation import ModelReply
from mkdocs_roaming.answer.events import collect_answer
from mkdocs_roaming.answer.models.base import Model, Request, UserTurn, create_model
from mkdocs_roaming.library.library import Library

from .cookbook import open_cookbook
from .corpus import Checkout, read_checkout
from .report import PARTS, Half, choose_half, in_part, wilson_interval, write_record

ROUNDS = 4
GRADE_TOKENS = 1000
GRADE_SECONDS = 120.0
RULES = """\
You grade answers to questions about a product's documentation. Compare the answer with the reference answer.

- Substance counts; wording, order and minor details do not.
- It is incorrect if it lacks a critical part of the reference answer or contradicts it.

Give your reason in one sentence. End with a line that is only `correct` or only `incorrect`."""


class Graded(Struct, omit_defaults=True):
    """An answer with what it took, and its grade.

    Attributes:
        number: The number of the question in the set, from 1.
        question: The question.
        reference: The reference answer of the set.
        answer: The answer; the numbers of citations are left out.
        state: How the answer ended.
        calls: Number of requests to the model.
        tokens: Input tokens of all requests, cached ones included.
        cited: The addresses of the cited sections.
        right: The addresses that the set lists as right.
        marks: Number of sentences that the support check marked.
        correct: The grade; None if there is none yet.
        reason: Why it was graded so.
    """

    number: int
    question: str
    reference: str
    answer: str
    state: str
    calls: int
    tokens: int
    cited: list[str]
    right: list[str]
    marks: int
    correct: bool | None = None
    reason: str = ""


class Verdict(Struct, frozen=True):
    """What is recorded of an answer: nothing of the set's text but the addresses that were cited."""

    number: int
    half: Half
    state: str
    calls: int
    tokens: int
    cited: tuple[str, ...]
    cites_right: bool
    marks: int
    correct: bool


class AnswerRecord(Struct, frozen=True):
    """The verdicts of a run.

    Attributes:
        set: The name of the set.
        checkout: What the set was read from.
        answered_by: The model that answered, or who did so by hand: such rows cannot be reproduced by a command.
        graded_by: The model or the person that graded.
        rows: The verdicts.
    """

    set: str
    checkout: Checkout
    answered_by: str
    graded_by: str
    rows: tuple[Verdict, ...]


# Answers


async def ask_all(
    data: Path, folder: Path, name: str, only: Sequence[int] | None, *, parallel: int, seconds: float
) -> None:
    """Answer the questions that have no file in the folder yet."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as site:
        cookbook = open_cookbook(data, Path(site))
        slots = asyncio.Semaphore(parallel)

        async def ask(number: int) -> None:
            question = cookbook.questions[number - 1]
            async with slots:
                answer = await ask_one(cookbook.library, question.question, name, seconds)
            right = question.correct_chunks
            made = make_graded(number, question.question, question.correct_answer, answer, cookbook.addresses, right)
            write(folder, made)
            print(f"{number}: {made.state}, {made.calls} calls, {answer.error}".rstrip(", "), flush=True)

        numbers = only or range(1, len(cookbook.questions) + 1)
        await asyncio.gather(*(ask(number) for number in numbers if not _file(folder, number).exists()))


async def ask_one(library: Library, question: str, model: str, seconds: float) -> Answer:
    """Return the answer to a question as a reader would get it."""
    return await collect_answer(astream(library, question, model=model, rounds=ROUNDS, seconds=seconds))


def make_graded(
    number: int, question: str, reference: str, answer: Answer, addresses: dict[str, str], right: Sequence[str]
) -> Graded:
    """Return what is kept of an answer; `addresses` are those of the sections by id."""
    usage = answer.usage
    cited = [addresses[source.id] for source in answer.citations if source.id in addresses]
    return Graded(
        number=number,
        question=question,
        reference=reference,
        answer=_CITATION.sub("", answer.text),
        state=answer.state,
        calls=answer.rounds,
        tokens=usage.input + usage.cache_read + usage.cache_write,
        cited=cited,
        right=list(right),
        marks=len(answer.support.marks) if answer.support else 0,
    )


_CITATION = re.compile(r"[ \t]*\[\^[^\]\s]+\]")


# Grades


async def grade_all(folder: Path, name: str) -> None:
    """Let a model grade the answers that have no grade yet."""
    model = create_model(name, environ=os.environ)
    for graded in read_all(folder):
        if graded.correct is None:
            graded.correct, graded.reason = read_grade(await _ask_grader(model, graded))
            write(folder, graded)


async def _ask_grader(model: Model, graded: Graded) -> str:
    texts = {"question": graded.question, "reference": graded.reference, "answer": graded.answer}
    prompt = json.dumps(texts, ensure_ascii=False)
    request = Request(
        rules=RULES, outline="", turns=(UserTurn("Grade this answer.", prompt),), output_tokens=GRADE_TOKENS
    )
    reply = ModelReply(model, request, Deadline(GRADE_SECONDS, time.monotonic))
    async with aclosing(reply.stream()) as parts:
        async for _ in parts:
            pass
    return reply.text


def read_grade(reply: str) -> tuple[bool, str]:
    """Return the grade and the reason of a grader's reply.

    Raises:
        SystemExit: The last line is neither `correct` nor `incorrect`.
    """
    *reason, last = [line.strip() for line in reply.strip().splitlines() if line.strip()] or [""]
    grade = last.strip("`*. ").lower()
    if grade not in ("correct", "incorrect"):
        raise SystemExit(f"the grader's last line is neither `correct` nor `incorrect`: {last!r}")
    return grade == "correct", " ".join(reason)


# Files


def _file(folder: Path, number: int) -> Path:
    return folder / f"{number}.json"


def write(folder: Path, graded: Graded) -> None:
    """Write an answer as JSON that a person can edit."""
    file = _file(folder, graded.number)
    draft = file.with_suffix(".tmp")
    draft.write_bytes(msgspec.json.format(msgspec.json.encode(graded), indent=1))
    draft.replace(file)


def read_all(folder: Path) -> list[Graded]:
    """Return the answers of a folder by their numbers."""
    found = [msgspec.json.decode(file.read_bytes(), type=Graded) for file in folder.glob("[0-9]*.json")]
    return sorted(found, key=lambda graded: graded.number)


# Report


def make_verdicts(found: Sequence[Graded]) -> list[Verdict]:
    """Return what is recorded of graded answers.

    Raises:
        SystemExit: An answer has no grade.
    """
    if missing := [graded.number for graded in found if graded.correct is None]:
        raise SystemExit(f"no grades yet: {', '.join(map(str, missing))}")
    return [
        Verdict(
            number=graded.number,
            half=choose_half(graded.question),
            state=graded.state,
            calls=graded.calls,
            tokens=graded.tokens,
            cited=tuple(graded.cited),
            cites_right=bool(set(graded.cited) & set(graded.right)),
            marks=graded.marks,
            correct=bool(graded.correct),
        )
        for graded in found
    ]


def iter_report(rows: Sequence[Verdict]) -> list[str]:
    """Return the lines of a Markdown table with a row for each half and the whole."""
    lines = [
        "| part | questions | correct | cites a right section | without marks | calls | input tokens |",
        "| --- |" + " --: |" * 6,
    ]
    for part in PARTS:
        if not (chosen := in_part(rows, part)):
            continue
        correct = sum(row.correct for row in chosen)
        interval = wilson_interval(correct, len(chosen))
        cites = fmean(row.cites_right for row in chosen)
        clean = fmean(not row.marks for row in chosen)
        calls, tokens = (fmean(getattr(row, name) for row in chosen) for name in ("calls", "tokens"))
        lines.append(
            f"| {part} | {len(chosen)} | {correct / len(chosen):.1%} ({interval.low:.1%}–{interval.high:.1%}) | {cites:.1%} "
            f"| {clean:.1%} | {calls:.2f} | {tokens:,.0f} |"
        )
    return lines


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("ask", "grade", "report"))
    parser.add_argument("--answers", type=Path, required=True, help="Folder of the answers.")
    parser.add_argument("--data", type=Path, help="Checkout of anthropics/anthropic-cookbook.")
    parser.add_argument("--model", help="The model that answers or grades.")
    parser.add_argument("--parallel", type=int, default=4, help="Concurrent questions (default: 4).")
    parser.add_argument("--seconds", type=float, default=120.0, help="Time limit of an answer (default: 120).")
    parser.add_argument("--only", type=int, nargs="+", help="Numbers of questions (default: all).")
    parser.add_argument("--answered-by", default="", help="Who answered, for the record.")
    parser.add_argument("--graded-by", default="", help="Who graded, for the record.")
    parser.add_argument("--record", type=Path, help="File for the verdicts, as JSON.")
    options = parser.parse_args()
    if options.step != "report" and not options.model:
        parser.error(f"{options.step} needs --model")
    if options.step == "ask":
        if options.data is None:
            parser.error("ask needs --data")
        limits = {"parallel": options.parallel, "seconds": options.seconds}
        asyncio.run(ask_all(options.data, options.answers, options.model, options.only, **limits))
    elif options.step == "grade":
        asyncio.run(grade_all(options.answers, options.model))
    else:
        rows = make_verdicts(read_all(options.answers))
        print("\n".join(iter_report(rows)))
        if options.record:
            if options.data is None:
                parser.error("--record needs --data")
            checkout = read_checkout(options.data)
            record = AnswerRecord("cookbook", checkout, options.answered_by, options.graded_by, tuple(rows))
            write_record(record, options.record)


if __name__ == "__main__":
    main()

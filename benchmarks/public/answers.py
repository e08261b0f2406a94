"""Answers to questions of the public sets, through the real answer loop, and their grades.

    python -m benchmarks.public.answers ask SET --data FOLDER --answers ANSWERS --model claude
    python -m benchmarks.public.answers grade SET --answers ANSWERS --model openai:NAME
    python -m benchmarks.public.answers report SET --answers ANSWERS [--data FOLDER --record FILE.json]

SET is `cookbook`, the 100 questions of Anthropic's cookbook, or `newcomers`: 20 questions about each of two sites, three
of which the documentation does not answer, and five follow-up questions. `ask` builds the libraries as the command of the
set does and writes one file for each answer; answers that exist are kept. `grade` lets another model compare each answer
with the reference answer. A person who grades writes the same field by hand: `"correct": true` or `false`. `report`
prints the table. ANSWERS contains text of the set and belongs outside of this repository; the record has numbers,
addresses and verdicts only.

An answer is correct if it says in substance what the reference answer says; an answer that lacks a critical part of it,
or contradicts it, is not. This is the rule of the cookbook's own evaluation.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path
from statistics import fmean

import msgspec
from msgspec import Struct

from mkdocs_roaming import Answer
from mkdocs_roaming.answer.budget import Budget, Deadline
from mkdocs_roaming.answer.conversation import Exchange, ModelReply
from mkdocs_roaming.answer.events import collect_answer
from mkdocs_roaming.answer.loop import answer
from mkdocs_roaming.answer.models.base import Model, Request, UserTurn, create_model
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator

from .asked import SETS, Asked, Source, read_checkouts
from .corpus import Checkout
from .report import wilson_interval, write_record
from .vectors import find_embeddings, open_hybrid_search
from .ways import Prompt, Way, iter_ways, iter_ways_lines, make_chunks_prompt, make_whole_prompt

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
        asked: The question.
        answer: The answer; the numbers of citations are left out.
        state: How the answer ended.
        calls: Number of requests to the model.
        tokens: Input tokens of all requests, cached ones included.
        output: Output tokens of all requests.
        cited: The addresses of the cited sections.
        marks: Number of sentences that the support check marked.
        memory: The text that a follow-up question refers to.
        opened: The ids of the opened sections.
        correct: The grade; None if there is none yet.
        reason: Why it was graded so.
    """

    asked: Asked
    answer: str
    state: str
    calls: int
    tokens: int
    output: int
    cited: list[str]
    marks: int
    memory: str = ""
    opened: list[str] = []
    correct: bool | None = None
    reason: str = ""


class Verdict(Struct, frozen=True):
    """What is recorded of an answer: nothing of the set's text but the addresses that were cited.

    `cites_right` is None if no section answers the question, `output` if the output tokens were not counted.
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
        answered_by: The model that answered, or who did so by hand: such rows cannot be reproduced by a command.
        graded_by: The model or the person that graded.
        rows: The verdicts.
        ways: What the answers and other ways sent to the model; empty if it was not measured.
    """

    set: str
    checkouts: tuple[Checkout, ...]
    answered_by: str
    graded_by: str
    rows: tuple[Verdict, ...]
    ways: tuple[Way, ...] = ()


# Answers


async def ask_all(
    sources: Iterable[Source],
    folder: Path,
    make_model: Callable[[], Model],
    only: Sequence[int] | None = None,
    *,
    parallel: int,
    seconds: float,
) -> None:
    """Answer the questions that have no file in the folder yet, a follow-up question after the one before it.

    Args:
        sources: The libraries with their questions.
        folder: The folder of the answers.
        make_model: Makes the model of an answer.
        only: Numbers of questions; their follow-up questions are asked, too.
        parallel: Number of concurrent questions.
        seconds: The time limit of an answer.
    """
    folder.mkdir(parents=True, exist_ok=True)
    slots = asyncio.Semaphore(parallel)

    async def ask(source: Source, asked: Asked) -> None:
        before = read(folder, asked.follows) if asked.follows else None
        async with slots:
            given = await ask_one(source.library, asked.question, make_model(), seconds, before)
        write(folder, make_graded(asked, given, source.addresses))
        print(f"{asked.number}: {given.state}, {given.rounds} calls, {given.error}".rstrip(", "), flush=True)

    async def ask_in_order(source: Source, first: Asked) -> None:
        for asked in source.questions:
            if first.number in (asked.number, asked.follows) and not _file(folder, asked.number).exists():
                await ask(source, asked)

    chosen = [
        ask_in_order(source, asked)
        for source in sources
        for asked in source.questions
        if not asked.follows and (not only or asked.number in only)
    ]
    await asyncio.gather(*chosen)


async def ask_one(library: Library, question: str, model: str, seconds: float, before: Graded | None = None) -> Answer:
    """Return the answer to a question as a reader would get it.

    Args:
        library: The library.
        question: The question.
        model: The model.
        seconds: The time limit.
        before: The answer to what the same person asked before.
    """
    events = answer(
        question,
        Navigator(library),
        model,
        opened=before.opened if before else (),
        history=[Exchange(before.asked.question, before.memory)] if before and before.memory else (),
        budget=Budget(rounds=ROUNDS, seconds=seconds),
    )
    return await collect_answer(events)


def make_graded(asked: Asked, answer: Answer, addresses: Mapping[str, str]) -> Graded:
    """Return what is kept of an answer; `addresses` are those of the sections by id."""
    usage = answer.usage
    return Graded(
        asked=asked,
        answer=_CITATION.sub("", answer.text),
        state=answer.state,
        calls=answer.rounds,
        tokens=usage.input + usage.cache_read + usage.cache_write,
        output=usage.output,
        cited=[addresses[source.id] for source in answer.citations if source.id in addresses],
        marks=len(answer.support.marks) if answer.support else 0,
        memory=answer.memory,
        opened=[section.id for section in answer.trail],
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
    texts = {"question": graded.asked.question, "reference": graded.asked.reference, "answer": graded.answer}
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
    file = _file(folder, graded.asked.number)
    draft = file.with_suffix(".tmp")
    draft.write_bytes(msgspec.json.format(msgspec.json.encode(graded), indent=1))
    draft.replace(file)


def read(folder: Path, number: int) -> Graded:
    """Return an answer."""
    return msgspec.json.decode(_file(folder, number).read_bytes(), type=Graded)


def read_all(folder: Path) -> list[Graded]:
    """Return the answers of a folder by their numbers."""
    return [read(folder, number) for number in sorted(int(file.stem) for file in folder.glob("[0-9]*.json"))]


# Report


def make_verdicts(found: Sequence[Graded]) -> list[Verdict]:
    """Return what is recorded of graded answers.

    Raises:
        SystemExit: An answer has no grade.
    """
    if missing := [graded.asked.number for graded in found if graded.correct is None]:
        raise SystemExit(f"no grades yet: {', '.join(map(str, missing))}")
    return [
        Verdict(
            number=graded.asked.number,
            parts=graded.asked.parts,
            state=graded.state,
            calls=graded.calls,
            tokens=graded.tokens,
            cited=tuple(graded.cited),
            cites_right=bool({*graded.cited} & {*graded.asked.right}) if graded.asked.right else None,
            marks=graded.marks,
            correct=bool(graded.correct),
            output=graded.output,
        )
        for graded in found
    ]


def iter_report(rows: Sequence[Verdict]) -> Iterator[str]:
    """Yield the lines of a Markdown table with a row for each part and the whole."""
    yield "| part | questions | correct | cites a right section | without marks | calls | input tokens |"
    yield "| --- |" + " --: |" * 6
    for part in (*dict.fromkeys(part for row in rows for part in row.parts), "all"):
        chosen = [row for row in rows if part in (*row.parts, "all")]
        correct = sum(row.correct for row in chosen)
        interval = wilson_interval(correct, len(chosen))
        known = [row.cites_right for row in chosen if row.cites_right is not None]
        cites = f"{fmean(known):.1%}" if known else "–"
        clean, calls, tokens = (
            fmean(values) for values in zip(*((not row.marks, row.calls, row.tokens) for row in chosen), strict=True)
        )
        yield (
            f"| {part} | {len(chosen)} | {correct / len(chosen):.1%} ({interval.low:.1%}–{interval.high:.1%}) | {cites} "
            f"| {clean:.1%} | {calls:.2f} | {tokens:,.0f} |"
        )


def compare_ways(sources: Iterable[Source], data: Path, found: Sequence[Graded]) -> list[Way]:
    """Return what the answers and other ways send to the model.

    Args:
        sources: The libraries with their questions.
        data: The folder with the checkouts and the model of the chunks.
        found: The answers.
    """
    answers = {graded.asked.number: graded for graded in found}
    opened: list[Prompt] = []
    whole: list[Prompt] = []
    chunks: list[Prompt] = []
    for source in sources:
        library, embeddings = source.library, find_embeddings(data, source.name)
        if embeddings is None:
            return []
        hybrid = open_hybrid_search(library, embeddings)
        for asked in source.questions:
            right = {id_ for id_, address in source.addresses.items() if address in asked.right}
            graded = answers[asked.number]
            seen = {source.addresses[id_] for id_ in graded.opened} | {
                *graded.cited
            }  # a part of an opened one is cited
            opened.append(Prompt(graded.tokens, bool(seen & {*asked.right}) if right else None))
            whole.append(make_whole_prompt(library, right))
            before = f"{answers[asked.follows].asked.question} " if asked.follows else ""
            chunks.append(make_chunks_prompt(library, hybrid, before + asked.question, right))
    calls, output = (fmean(getattr(graded, name) for graded in found) for name in ("calls", "output"))
    return list(iter_ways(opened, whole, chunks, calls, output))


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("ask", "grade", "report"))
    parser.add_argument("set", choices=tuple(SETS))
    parser.add_argument("--answers", type=Path, required=True, help="Folder of the answers.")
    parser.add_argument("--data", type=Path, help="Folder with the checkouts of the set.")
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
    if options.data is None and (options.step == "ask" or options.record):
        parser.error(f"{options.step} needs --data")
    if options.step == "ask":
        limits = {"parallel": options.parallel, "seconds": options.seconds}
        with tempfile.TemporaryDirectory() as folder:
            sources = SETS[options.set](options.data, Path(folder))
            make_model = partial(create_model, options.model, environ=os.environ)
            asyncio.run(ask_all(sources, options.answers, make_model, options.only, **limits))
    elif options.step == "grade":
        asyncio.run(grade_all(options.answers, options.model))
    else:
        found = read_all(options.answers)
        rows = make_verdicts(found)
        print("\n".join(iter_report(rows)))
        if options.record:
            checkouts = read_checkouts(options.set, options.data)
            with tempfile.TemporaryDirectory() as folder:
                ways = compare_ways(SETS[options.set](options.data, Path(folder)), options.data, found)
            print("\n" + "\n".join(iter_ways_lines(ways)))
            record = AnswerRecord(
                options.set, checkouts, options.answered_by, options.graded_by, tuple(rows), tuple(ways)
            )
            write_record(record, options.record)


if __name__ == "__main__":
    main()

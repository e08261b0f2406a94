"""The roaming loop: a model reads the outline, opens sections, and answers with citations, within a budget.

    async with aclosing(answer("Which port is the default?", navigator, model)) as events:
        async for event in events:
            ...

`answer` is the whole loop from top to bottom. Its steps are the functions below it, and those of `prepare` and
`finish`: what the model gets before its first reply, and what follows its text.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from functools import partial

from msgspec.structs import replace as replace_struct

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import (
    Budget,
    Deadline,
    StopAnswer,
    run_in_thread,
)
from mkdocs_roaming.answer.conversation import MAX_CALLS_PER_REPLY, Exchange, ModelReply, describe_call, find_citations
from mkdocs_roaming.answer.events import (
    AnswerState,
    Event,
    RoundStarted,
    SectionCited,
    SectionOpened,
    TextReleased,
    TokensUsed,
)
from mkdocs_roaming.answer.finish import check_answer, finish
from mkdocs_roaming.answer.judge import FLAWS, find_flaw, judge_state, read_calls
from mkdocs_roaming.answer.models.base import (
    AssistantTurn,
    Citation,
    Model,
    Part,
    Request,
    Text,
    ToolCall,
    ToolResult,
    Usage,
)
from mkdocs_roaming.answer.prepare import Run, prepare
from mkdocs_roaming.answer.results import Offline, show_results
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.prefetch import PREFETCH_TOKENS
from mkdocs_roaming.library.tools import TOOLS, ToolError, ToolOutput
from mkdocs_roaming.text.markdown import escape_markup

_MAX_CALL_ID_CHARS = 60
_MAX_NAMED_SECTIONS = 8
_MORE_ROOM = 4  # for a model whose thinking left none for its text
_REPLACEMENT_SECONDS = 5.0
_MAX_BLOCKING_CHARS = 2_000  # longer paragraphs are processed in a thread


async def answer(
    question: str,
    navigator: Navigator,
    model: Model,
    *,
    page: str | None = None,
    opened: Sequence[str] = (),
    history: Sequence[Exchange] = (),
    budget: Budget | None = None,
    prefetch_tokens: int = PREFETCH_TOKENS,
    clock: Callable[[], float] = time.monotonic,
) -> AsyncGenerator[Event, None]:
    """Answer a question; yield what happens, `Finished` last.

    Raises nothing: a failure is an event, too. Close the generator (`contextlib.aclosing`) if you leave it early;
    the request to the model is then cancelled.

    Args:
        question: The question.
        navigator: Opens and searches the site.
        model: The model.
        page: The reader's page: an id, a path or a URL.
        opened: The ids of the sections that earlier answers opened; they stay open.
        history: Earlier questions and answers.
        budget: Limits of the answer.
        prefetch_tokens: Maximum size of the sections that search opens before the first call; with 0 none is opened.
        clock: Returns the time in seconds.
    """
    budget = budget or Budget()
    deadline = Deadline(budget.seconds, clock)
    opened = opened or navigator.opened
    run = Run(question, navigator, model, budget, deadline, page, opened, history, prefetch_tokens)
    try:
        # The whole text of a small site, or an outline and the first sections; without a model, the answer.
        first = _answer_with_results(run) if model.name == Offline.name else prepare(run)
        for event in await first:
            yield event
        while run.state is None:
            run.round += 1
            yield RoundStarted(run.round, run.max_rounds)

            # The model's reply. Paragraphs are released as soon as they are cited.
            reply = ModelReply(model, _make_request(run), run.deadline)
            try:
                async with aclosing(reply.stream()) as parts:
                    async for part in parts:
                        for event in await _receive(run, part):
                            yield event
            except StopAnswer as stop:  # a request that was too much for the model is made smaller
                _reduce_request(run, stop)
                for event in await prepare(run):
                    yield event
                continue
            calls = _end_reply(run, reply)

            # A reply without tool calls is the answer. The model is asked once more for one that cannot be used.
            if not calls:
                for event in await run_in_thread(lambda: list(run.text.end())):
                    yield event
                run.state = await run_in_thread(partial(_judge_reply, run, reply.text))
                continue

            # The tool calls, in order.
            run.text.discard()
            open_before = navigator.open_chars()
            results: list[ToolResult] = []
            for call in calls:
                yield describe_call(call)
                results.append(await _call_tool(run, call, len(results), open_before))
                for event in run.conversation.describe_result(call.id, results[-1].result):
                    yield event
            run.conversation.add_results(results)
            for event in run.conversation.make_room(run.budget.open_chars):
                yield event
            if budget.spent_share(run.usage) >= 1:
                raise StopAnswer("budget", spent="cost")
    except StopAnswer as stop:
        run.state = stop.state
        run.stop = stop
        if run.state != "error":  # paragraphs that are already cited still reach the reader
            for event in await run_in_thread(lambda: list(run.text.end(is_refusal=run.state == "refused"))):
                yield event

    if run.text.text:
        async with aclosing(check_answer(run)) as checks:
            async for event in checks:
                yield event
    else:
        for event in await _find_replacement(run):
            yield event
    yield await finish(run)


# The model's reply


def _make_request(run: Run) -> Request:
    opened = [run.conversation.make_reference(id_) for id_ in run.navigator.opened[-_MAX_NAMED_SECTIONS:]]
    repair = prompts.build_repair(run.flaw, opened) if run.flaw else ""
    note = prompts.build_note(
        rounds_left=run.max_rounds - run.round,
        room_used=run.navigator.open_chars() / run.budget.open_chars,
        time_used=run.deadline.used_share,
        money_used=run.budget.spent_share(run.usage),
    )
    return Request(
        rules=run.rules,
        outline=run.outline,
        turns=tuple(run.conversation.turns),
        tools=TOOLS if run.has_tools and run.round < run.max_rounds else (),
        note=repair or (note if run.has_tools else ""),
        output_tokens=run.budget.output_tokens * (_MORE_ROOM if run.flaw == "empty" else 1),
        site=run.site,
    )


async def _receive(run: Run, part: Part) -> list[Event]:
    match part:
        case Text():
            if len(run.text.buffer) + len(part.text) <= _MAX_BLOCKING_CHARS:
                return list(run.text.feed(part.text))
            return await run_in_thread(lambda: list(run.text.feed(part.text)))
        case Citation():
            run.text.cite(part.id)
        case Usage():
            run.usage += part
            return [TokensUsed(part)]
    return []


def _reduce_request(run: Run, stop: StopAnswer) -> None:
    """Note what was too much for the model.

    Raises:
        StopAnswer: It was something else or is known already, or the reader has text.
    """
    if not stop.wants_less or stop.cause in run.reductions or run.text.released:
        raise stop
    run.reductions.add(stop.cause)
    run.text.discard()


def _end_reply(run: Run, reply: ModelReply) -> list[ToolCall]:
    """Add the reply to the conversation and return its tool calls, also those in its text; none if it is the answer.

    Raises:
        StopAnswer: The model refused, or the reply exceeds a limit.
    """
    if reply.stop.reason == "refusal":
        raise StopAnswer("refused")
    text = reply.text
    written = read_calls(text) if not (reply.calls or run.round == run.max_rounds or find_citations(text)) else []
    calls = [_with_unique_id(call, run.call_ids) for call in reply.calls or written]
    if calls or text.strip():
        turn = AssistantTurn("" if written else text, tuple(calls), reply.stop.provider_state)
        run.conversation.turns.append(turn)
    if calls and run.round == run.max_rounds:
        raise StopAnswer("budget", spent="rounds")
    can_repair = run.flaw is None and not text.strip()  # with more room
    if not calls and (reply.is_endless or (reply.stop.reason == "length" and not can_repair)):
        raise StopAnswer("budget", spent="output")
    return calls


def _with_unique_id(call: ToolCall, used: set[str]) -> ToolCall:
    """Return the call with an id that no other call of this answer has, in characters that every provider accepts."""
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", str(call.id or "call"))[:_MAX_CALL_ID_CHARS]
    id_ = name
    number = 1
    while id_ in used:
        number += 1
        id_ = f"{name}_{number}"
    used.add(id_)
    return replace_struct(call, id=id_)


# The tool calls


async def _call_tool(run: Run, call: ToolCall, calls_before: int, open_before: int) -> ToolResult:
    """Make a call.

    Args:
        run: The answer.
        call: The call.
        calls_before: Number of earlier calls of the same reply.
        open_before: Characters of the open sections before the first call of the reply.
    """
    result: ToolOutput
    if calls_before >= MAX_CALLS_PER_REPLY:
        result = ToolError(prompts.TOO_MANY_CALLS.format(limit=MAX_CALLS_PER_REPLY))
    elif run.navigator.open_chars() - open_before >= run.budget.open_chars:
        result = ToolError(prompts.NO_ROOM)
    else:
        result = await run.read(lambda: run.navigator.call(call.name, call.arguments))
    return ToolResult(call, result)


# After a reply without calls


def _judge_reply(run: Run, reply: str) -> AnswerState | None:
    """Return the state of an answer; None if its text cannot be used, and the model should write it again.

    No answer with withheld text or a foreign address is complete.

    Raises:
        StopAnswer: The text cannot be used, and the model was asked already.
    """
    text = run.text
    if not text.released and (flaw := find_flaw(reply, text.withheld)):
        if run.flaw or run.budget.spent_share(run.usage) >= 1:
            raise StopAnswer("unusable", error=f"{run.model.name}: {FLAWS[flaw]}", cause=flaw)
        text.discard()
        run.flaw = flaw
        run.max_rounds = max(run.max_rounds, run.round + 1)
        return None
    state = judge_state(run.question, text.statements, run.navigator.library.manifest.site.language)
    return "partial" if state == "answered" and (text.withheld or text.foreign_addresses) else state


async def _answer_with_results(run: Run) -> list[Event]:
    events, run.text = await show_results(run, run.deadline)
    run.conversation.tokens_read = sum(event.tokens for event in events if isinstance(event, SectionOpened))
    run.state = "results" if run.text.text else "not_found"
    return events


async def _find_replacement(run: Run) -> list[Event]:
    """Return the events of a text that replaces an answer: the reason, and results if the model failed."""
    reason = run.stop.explain(has_text=False) if run.stop else run.note or prompts.NO_ANSWER
    is_failure = run.stop is not None and run.stop.state != "refused" and run.stop.cause != "site"
    if is_failure and run.model.name != Offline.name:
        opened = set(run.navigator.opened)
        with suppress(StopAnswer):
            found, results = await show_results(run, Deadline(_REPLACEMENT_SECONDS, time.monotonic))
            if results.text:
                shown = [
                    event
                    for event in found
                    if isinstance(event, (TextReleased, SectionCited))
                    or (isinstance(event, SectionOpened) and event.section.id not in opened)
                ]
                return [TextReleased(f"{reason} {prompts.NEAREST_SECTIONS}\n\n"), *shown]
            if run.note:
                return [TextReleased(f"{reason}\n\n{run.note}")]
    elsewhere = "" if run.stop else escape_markup(run.navigator.library.find_left_out(run.question))
    return [TextReleased(f"{reason}\n\n{elsewhere}".rstrip())]

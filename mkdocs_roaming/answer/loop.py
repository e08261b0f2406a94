"""The roaming loop: a model reads the outline, opens sections, and answers with citations, within a budget.

    async with aclosing(answer("Which port is the default?", navigator, model)) as events:
        async for event in events:
            ...

`answer` is the whole loop from top to bottom. Its steps are the functions below it, and those of `prepare`: what the
model gets before its first reply.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
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
    Finished,
    NotFound,
    Reference,
    RoundStarted,
    SupportChecked,
    TokensUsed,
)
from mkdocs_roaming.answer.judge import FLAWS, find_flaw, judge_state, read_calls
from mkdocs_roaming.answer.models.base import (
    AssistantTurn,
    Citation,
    Model,
    ModelRequest,
    Part,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    to_identifier,
)
from mkdocs_roaming.answer.prepare import write_first_turns
from mkdocs_roaming.answer.results import Offline, answer_with_results, explain_missing_answer
from mkdocs_roaming.answer.run import Run
from mkdocs_roaming.answer.support.check import LOW_SUPPORT, Support, check_support, mark_addresses
from mkdocs_roaming.answer.support.passages import MAX_CITED_CHARS, CitedSection, Passage, find_passages
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.search import Hit
from mkdocs_roaming.library.texts import PREFETCH_TOKENS
from mkdocs_roaming.library.tools import TOOLS, ToolError, ToolOutput
from mkdocs_roaming.manifest.lookup import SectionRef

_MAX_CALL_ID_CHARS = 60
_MAX_NAMED_SECTIONS = 8
_MORE_ROOM = 4  # for a model whose thinking left none for its text
_MAX_BLOCKING_CHARS = 2_000  # longer paragraphs are processed in a thread
_MAX_NEAREST = 3
_NEAREST_SECONDS = 3.0  # also builds the search index if nothing was searched before


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
        begin = answer_with_results if model.name == Offline.name else write_first_turns
        for event in await begin(run):
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
                for event in await write_first_turns(run):
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

    if run.text.markdown:
        yield await _check_answer(run)
    else:
        for event in await explain_missing_answer(run):
            yield event
    yield await _finish(run)


# The model's reply


def _make_request(run: Run) -> ModelRequest:
    budget = run.budget
    rounds_left = run.max_rounds - run.round
    note = ""
    if run.flaw:
        opened = map(run.conversation.make_reference, run.navigator.opened[-_MAX_NAMED_SECTIONS:])
        note = prompts.build_repair(run.flaw, opened)
    elif run.has_tools:
        note = prompts.build_note(
            rounds_left=rounds_left,
            room_used=run.navigator.open_chars() / budget.open_chars,
            time_used=run.deadline.used_share,
            money_used=budget.spent_share(run.usage),
        )
    return replace(
        run.prompt,
        turns=tuple(run.conversation.turns),
        tools=TOOLS if run.has_tools and rounds_left > 0 else (),
        note=note,
        output_tokens=budget.output_tokens * (_MORE_ROOM if run.flaw == "empty" else 1),
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
    calls = reply.calls
    is_last = run.round == run.max_rounds
    if not (calls or is_last or find_citations(text)) and (calls := read_calls(text)):
        text = ""
    calls = [_with_unique_id(call, run.call_ids) for call in calls]
    if calls or text.strip():
        run.conversation.turns.append(AssistantTurn(text, tuple(calls), reply.stop.provider_state))
    if calls and is_last:
        raise StopAnswer("budget", spent="rounds")
    can_repair = run.flaw is None and not text.strip()  # with more room
    if not calls and (reply.is_endless or (reply.stop.reason == "length" and not can_repair)):
        raise StopAnswer("budget", spent="output")
    return calls


def _with_unique_id(call: ToolCall, used: set[str]) -> ToolCall:
    """Return the call with an id that no other call of this answer has."""
    name = to_identifier(call.id or "call", _MAX_CALL_ID_CHARS)
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


# A reply without calls


def _judge_reply(run: Run, reply: str) -> AnswerState | None:
    """Return the state of an answer; None if its text cannot be used, and the model should write it again.

    No answer with withheld text is complete.

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
    return "partial" if state == "answered" and text.withheld else state


# After the text


async def _check_answer(run: Run) -> SupportChecked:
    """Compare the answer with all sections that were opened for it, and find the passages that it cites.

    No answer with a foreign address or low support is complete.
    """
    library = run.navigator.library
    index = run.navigator.sections
    site = library.manifest.site
    text = run.text.markdown

    def check() -> Support:
        opened: dict[str, str] = {}
        for section in filter(None, map(index.get, run.navigator.opened)):
            breadcrumb = " › ".join((site.name, *index.breadcrumb(section)))
            opened[section.id] = f"{breadcrumb}\n\n{library.text(section)}"
        questions = run.conversation.questions
        return check_support(text, opened, question=questions, language=site.language, foreign=run.foreign)

    run.foreign = await run_in_thread(lambda: run.conversation.find_foreign(text))
    is_complete = not run.foreign
    support: Support | None = None
    skipped = ""
    if run.state != "results":  # those are quoted word for word
        try:
            support = await run.read(check)
            is_complete = is_complete and support.score >= LOW_SUPPORT
        except StopAnswer as stop:
            skipped = stop.error or "no time was left"
            support = mark_addresses(text, run.foreign) if run.foreign else None
    if run.state == "answered" and not is_complete:
        run.state = "partial"
    passages: tuple[Passage, ...] = ()
    with suppress(StopAnswer):  # there is no time left, or the site cannot be read
        passages = await run.read(partial(_find_passages, run))
    return SupportChecked(support, skipped, passages)


def _find_passages(run: Run) -> tuple[Passage, ...]:
    """Return the passages that the answer cites."""
    index = run.navigator.sections
    library = run.navigator.library
    text = run.text.markdown

    def join(sections: Iterable[SectionRef]) -> str:
        joined = ""
        for section in sections:
            joined += f"{library.text(section)}\n\n"
            if len(joined) > MAX_CITED_CHARS:
                break
        return joined[: MAX_CITED_CHARS + 1]

    cited: dict[str, CitedSection] = {}
    for section in filter(None, map(index.get, find_citations(text))):
        before = (SectionRef(section.page, position) for position in range(section.position))
        cited[section.id] = CitedSection(join((section, *index.descendants(section))), join(before))
    return tuple(find_passages(text, cited, library.manifest.site.language))


async def _finish(run: Run) -> Finished:
    """Return the last event of an answer that has ended."""
    assert run.state is not None
    text = run.text
    has_text = bool(text.markdown)
    prices = run.budget.prices
    stop = run.stop or StopAnswer("refused")
    has_answer = run.state in ("answered", "partial", "results", "error") or (run.state == "budget" and has_text)
    return Finished(
        state=run.state,
        model=run.model.name,
        rounds=run.round,
        usage=run.usage,
        tokens_read=run.conversation.tokens_read,
        dropped_citations=len(text.dropped),
        withheld=len(text.withheld),
        spent=stop.spent,
        error=stop.error,
        cause=stop.cause,
        message="" if stop.state == "refused" else stop.explain(has_text=has_text),
        retry_after=stop.retry_after,
        foreign_addresses=text.removed_links + len(run.foreign),
        not_found=None if has_answer else await _describe_not_found(run),
        cost=prices.cost(run.usage) if prices else None,
        currency=prices.currency if prices else "",
    )


async def _describe_not_found(run: Run) -> NotFound:
    """Return the opened sections, and the nearest ones.

    Searching may take a moment even if the time is over.
    """
    make_reference = run.conversation.make_reference
    search = run.navigator.search
    nearest: tuple[Reference, ...] = ()

    def find() -> list[Hit]:
        query = "" if run.note else run.question  # the words of another language say nothing
        return search.find(query, limit=_MAX_NEAREST)

    with suppress(StopAnswer):
        hits = await run.read(find, Deadline(_NEAREST_SECONDS, time.monotonic))
        nearest = tuple(make_reference(hit.section.id) for hit in hits)
    return NotFound(tuple(map(make_reference, run.conversation.looked_at)), nearest)

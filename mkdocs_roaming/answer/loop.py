"""The roaming loop: a model reads the outline, opens sections, and answers with citations, within a budget.

    async with aclosing(answer("Which port is the default?", navigator, model)) as events:
        async for event in events:
            ...

`answer` is the whole loop from top to bottom; the functions below it are its steps, in order.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TypeVar

import anyio
from msgspec.structs import replace as replace_struct

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import (
    SITE,
    SMALL_SITE_TOKENS,
    Budget,
    Deadline,
    StopAnswer,
    compute_limiter,
    run_in_thread,
    stop_on_error,
)
from mkdocs_roaming.answer.citations import AnswerText
from mkdocs_roaming.answer.conversation import (
    MAX_CALLS_PER_REPLY,
    Conversation,
    Exchange,
    ModelReply,
    describe_call,
    find_citations,
)
from mkdocs_roaming.answer.events import (
    AnswerState,
    Event,
    Finished,
    NotFound,
    OutlineRead,
    Reference,
    RoundStarted,
    SectionCited,
    SectionOpened,
    SiteRead,
    SupportChecked,
    TextReleased,
    TokensUsed,
    summarize,
)
from mkdocs_roaming.answer.models.base import (
    NO_USAGE,
    AssistantTurn,
    Citation,
    Model,
    OpenSection,
    Part,
    Request,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    UserTurn,
)
from mkdocs_roaming.answer.support.check import (
    LOW_SUPPORT,
    Support,
    check_support,
    find_statements,
    mark_addresses,
    read_claims,
)
from mkdocs_roaming.answer.support.passages import MAX_CITED_CHARS, CitedSection, Passage, find_passages
from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.library.navigator import PREFETCH_CALL_ID, PREFETCH_TOKENS, Navigator
from mkdocs_roaming.library.rules import RULES_CALL_ID, apply_rules, rules_share
from mkdocs_roaming.library.search import Hit
from mkdocs_roaming.library.tools import TOOLS, ToolError, ToolOutput
from mkdocs_roaming.manifest.lookup import SectionRef
from mkdocs_roaming.manifest.models import PageEntry
from mkdocs_roaming.text.markdown import truncate_at_word
from mkdocs_roaming.text.tokenizer import estimate_tokens

T = TypeVar("T")

REOPEN_CALL_ID = "kept"
"""Id of the call that opens the sections of earlier answers again."""

_MAX_CALL_ID_CHARS = 60
_MAX_NEAREST = 5
_MAX_UNSPECIFIC = 3  # nearest sections without a rare word of the question
_MAX_REOPENED = 8  # the maximum of one call
_MAX_PREFETCHED_PAGES = 16
_PARALLEL_REQUESTS = 6
_NEAREST_SECONDS = 3.0  # also builds the search index if nothing was searched before
_REPLACEMENT_SECONDS = 5.0
_SEARCH_TOKENS = 900  # of the texts that a search opens; titles and snippets alone would cost another round
_PREFETCH_CHARS_PER_TOKEN = 8  # at most half of the room for open sections
_MAX_SHOWN_QUERY = 200
_log = logging.getLogger(__name__)


async def answer(
    question: str,
    navigator: Navigator,
    model: Model,
    *,
    page: str | None = None,
    opened: Sequence[str] = (),
    history: Sequence[Exchange] = (),
    budget: Budget | None = None,
    whole_site_tokens: int = SMALL_SITE_TOKENS,
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
        whole_site_tokens: A site with fewer estimated tokens is read whole, without an outline and tools.
        prefetch_tokens: Maximum size of the sections that search opens before the first call; with 0 none is opened.
        clock: Returns the time in seconds.
    """
    budget = budget or Budget()
    run = _Run(question, navigator, model, budget, Deadline(budget.seconds, clock))
    try:
        # The whole text of a small site, or an outline and the first sections.
        for event in await _prepare(run, page, opened, history, whole_site_tokens, prefetch_tokens):
            yield event
        while run.state is None:
            run.round += 1
            yield RoundStarted(run.round, run.max_rounds)

            # The model's reply. Paragraphs are released as soon as they are cited.
            reply = ModelReply(model, _make_request(run), run.deadline)
            async with aclosing(reply.stream()) as parts:
                async for part in parts:
                    for event in _receive(run, part):
                        yield event
            calls = _end_reply(run, reply)

            # A reply without tool calls is the answer.
            if not calls:
                for event in run.text.end():
                    yield event
                run.state = "passages" if reply.stop.reason == "passages" else _judge_text(run.text)
                break

            # The tool calls, in order.
            run.text.discard()
            await _prefetch_pages(run, calls)
            open_before = navigator.open_chars()
            results: list[ToolResult] = []
            for call in calls:
                yield describe_call(call)
                results.append(await _call_tool(run, call, len(results), open_before))
                for event in run.conversation.describe_result(call.id, results[-1].result):
                    yield event
            run.conversation.add_results(results)
            for event in run.conversation.make_room(budget.open_chars):
                yield event
            if budget.spent_share(run.usage) >= 1:
                raise StopAnswer("budget", spent="cost")
    except StopAnswer as stop:
        if stop.state != "error":  # paragraphs that are already cited still reach the reader
            for event in run.text.end(is_refusal=stop.state == "refused"):
                yield event
        run.state, run.stop = stop.state, stop

    if run.text.text:
        async with aclosing(_check_answer(run)) as checks:
            async for event in checks:
                yield event
    else:
        for event in await _find_replacement(run, page, history, whole_site_tokens):
            yield event
    yield await _finish(run)


@dataclass(slots=True)
class _Run:
    """The state of one answer.

    Attributes:
        question: The question.
        navigator: Opens and searches the site.
        model: The model.
        budget: Limits of the answer.
        deadline: End of the time.
        conversation: The turns so far.
        text: The text that the reader has.
        rules: The instructions for the model.
        outline: The outline, or the text of a small site.
        site: The sections of a small site.
        max_rounds: Maximum number of requests.
        round: Number of the current request.
        call_ids: The ids of all tool calls so far.
        usage: All tokens so far.
        state: How the answer ended; None until then.
        stop: Why it ended early.
        has_passages: Whether the reader has the closest passages instead of an answer.
    """

    question: str
    navigator: Navigator
    model: Model
    budget: Budget
    deadline: Deadline
    conversation: Conversation = field(init=False)
    text: AnswerText = field(init=False)
    rules: str = ""
    outline: str = ""
    site: tuple[OpenSection, ...] = ()
    max_rounds: int = field(init=False)
    round: int = 0
    call_ids: set[str] = field(default_factory=set)
    usage: Usage = NO_USAGE
    state: AnswerState | None = None
    stop: StopAnswer | None = None
    has_passages: bool = False

    def __post_init__(self) -> None:
        self.conversation = Conversation(self.navigator)
        self.text = AnswerText(self.conversation)
        self.max_rounds = self.budget.rounds

    async def read(self, work: Callable[[], T]) -> T:
        """Run a function that reads the site in a thread."""
        limiter = compute_limiter() if self.navigator.library.is_local else None
        return await stop_on_error(self.deadline.run_in_thread(work, limiter), SITE)


# Before the first round


async def _prepare(
    run: _Run,
    page: str | None,
    opened: Sequence[str],
    history: Sequence[Exchange],
    whole_site_tokens: int,
    prefetch_tokens: int,
) -> list[Event]:
    navigator, conversation = run.navigator, run.conversation
    navigator.link_ids, navigator.search_tokens = True, _SEARCH_TOKENS
    manifest = navigator.library.manifest
    conversation.add_history(history)
    site = await run.read(lambda: read_small_site(navigator, whole_site_tokens))
    if site is not None:
        run.rules, run.outline, run.site = prompts.build_rules(manifest.site, whole_site=True), site.text, site.sections
        run.max_rounds = 1
        conversation.turns.append(UserTurn(run.question, format_page_context(navigator, page, with_outline=False)))
        conversation.tokens_read += site.tokens
        navigator.mark_opened(section.id for section in site.sections)
        return [SiteRead(manifest.digest, len(site.sections), site.tokens)]

    run.rules = prompts.build_rules(manifest.site, rounds=run.max_rounds)
    run.outline = prompts.format_outline(manifest.site, await run.read(navigator.outline))
    conversation.turns.append(UserTurn(run.question, format_page_context(navigator, page)))
    events: list[Event] = [OutlineRead(manifest.digest, len(navigator.sections), estimate_tokens(run.outline))]
    if ids := conversation.choose_reopened(opened or navigator.opened, history, _MAX_REOPENED):
        events += await _reopen_sections(run, ids, history)
    events += await _open_pinned_sections(run, page)
    return events + await _prefetch_sections(run, history, prefetch_tokens)


@dataclass(frozen=True, slots=True)
class SmallSite:
    """All sections of a small site in page order, their text for the model, and its estimated size."""

    sections: tuple[OpenSection, ...]
    text: str
    tokens: int


def read_small_site(navigator: Navigator, max_tokens: int) -> SmallSite | None:
    """Return the whole site if it has fewer estimated tokens than the maximum and can be read."""
    sizes = (section.section.tokens for section in navigator.sections)
    if any(total >= max_tokens for total in accumulate(sizes, initial=0)):  # stops early on a large site
        return None

    def read() -> SmallSite:
        index, library = navigator.sections, navigator.library
        library.prefetch(index.manifest.pages)
        sections = tuple(
            OpenSection(section.id, index.breadcrumb(section), text)
            for section in index
            if (text := library.text(section))
        )
        text = prompts.format_site(library.manifest.site, sections)
        return SmallSite(sections, text, estimate_tokens(text))

    try:
        site = navigator.library.memoize("small site", read)
    except LibraryError:
        return None  # reported when the section is opened
    return site if site.tokens < max_tokens else None


def format_page_context(navigator: Navigator, page: str | None, *, with_outline: bool = True) -> str:
    """Return the text before a question: the reader's page, if it exists, and its outline."""
    section = navigator.sections.resolve(page) if page else None
    if page is None or section is None:
        return ""
    outline = navigator.page_outline(page) if with_outline else ""
    return prompts.format_context(outline, navigator.sections.breadcrumb(section))


async def _reopen_sections(run: _Run, ids: list[str], history: Sequence[Exchange]) -> list[Event]:
    """Open the sections of earlier answers; the cited ones count as used."""
    run.navigator.drop(run.navigator.opened)
    events = await _open_sections(run, REOPEN_CALL_ID, ids)
    for exchange in history:
        run.conversation.mark_cited(find_citations(exchange.answer))
    return [*events, *run.conversation.make_room(run.budget.open_chars)]


async def _open_pinned_sections(run: _Run, page: str | None) -> list[Event]:
    """Open the sections that the site's rules choose for the question."""
    chars = rules_share(run.budget.open_chars, run.navigator.open_chars())
    rules = await run.read(lambda: apply_rules(run.navigator, run.question, page, chars))
    return await _open_sections(run, RULES_CALL_ID, list(rules.opens), rules.words) if rules.opens else []


async def _prefetch_sections(run: _Run, history: Sequence[Exchange], max_tokens: int) -> list[Event]:
    """Open the sections that search ranks first; a follow-up is searched with the question before it."""
    room = (run.budget.open_chars - run.navigator.open_chars()) // _PREFETCH_CHARS_PER_TOKEN
    max_tokens = min(max_tokens, room)
    if max_tokens <= 0:
        return []
    earlier = history[-1].question if history else ""
    call = ToolCall(PREFETCH_CALL_ID, "search_sections", {"query": truncate_at_word(run.question, _MAX_SHOWN_QUERY)})
    return await _record_call(run, call, lambda: run.navigator.prefetch(run.question, earlier, max_tokens=max_tokens))


async def _open_sections(run: _Run, call_id: str, ids: list[str], words: str = "") -> list[Event]:
    """Open sections before the first round."""
    call = ToolCall(call_id, "expand_sections", {"ids": ids, "query": words} if words else {"ids": ids})
    return await _record_call(run, call, lambda: run.navigator.call(call.name, call.arguments))


async def _record_call(run: _Run, call: ToolCall, work: Callable[[], ToolOutput]) -> list[Event]:
    """Do the work before the first round, and record it as a call of the model."""
    run.call_ids.add(call.id)
    run.conversation.turns.append(AssistantTurn("", (call,)))
    result = await run.read(work)
    run.conversation.add_results([ToolResult(call, result)])
    return [describe_call(call), *run.conversation.describe_result(call.id, result)]


# The model's reply


def _make_request(run: _Run) -> Request:
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
        tools=TOOLS if run.round < run.max_rounds else (),
        note="" if run.site else note,
        output_tokens=run.budget.output_tokens,
        language=run.navigator.library.manifest.site.language,
        site=run.site,
    )


def _receive(run: _Run, part: Part) -> Iterator[Event]:
    match part:
        case Text():
            yield from run.text.feed(part.text)
        case Citation():
            run.text.cite(part.id)
        case Usage():
            run.usage += part
            yield TokensUsed(part)
        case _:
            pass


def _end_reply(run: _Run, reply: ModelReply) -> list[ToolCall]:
    """Add the reply to the conversation and return its tool calls; none if it is the answer.

    Raises:
        StopAnswer: The model refused, or the reply exceeds a limit.
    """
    if reply.stop.reason == "refusal":
        raise StopAnswer("refused")
    calls = [_with_unique_id(call, run.call_ids) for call in reply.calls]
    run.conversation.turns.append(AssistantTurn(reply.text, tuple(calls), reply.stop.provider_state))
    if calls and run.round == run.max_rounds:
        raise StopAnswer("budget", spent="rounds")
    if not calls and (reply.stop.reason == "length" or reply.is_endless):
        raise StopAnswer("budget", spent="output")
    return calls


def _with_unique_id(call: ToolCall, used: set[str]) -> ToolCall:
    """Return the call with an id that no other call of this answer has, in characters that every provider accepts."""
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", str(call.id or "call"))[:_MAX_CALL_ID_CHARS]
    id_, number = name, 1
    while id_ in used:
        number += 1
        id_ = f"{name}_{number}"
    used.add(id_)
    return replace_struct(call, id=id_)


# The tool calls


async def _prefetch_pages(run: _Run, calls: Sequence[ToolCall]) -> None:
    """Fetch the pages of all sections that are asked for in parallel: the calls are then made one by one."""
    library, sections = run.navigator.library, run.navigator.sections
    found = (sections.get(id_) for call in calls[:MAX_CALLS_PER_REPLY] for id_ in describe_call(call).ids)
    pages = list({section.page.path: section.page for section in found if section}.values())[:_MAX_PREFETCHED_PAGES]
    if len(pages) < 2:
        return

    async def fetch(page: PageEntry, limiter: anyio.CapacityLimiter) -> None:
        await run_in_thread(lambda: library.prefetch([page]), limiter)

    async def fetch_all() -> None:
        limiter = anyio.CapacityLimiter(_PARALLEL_REQUESTS)
        async with anyio.create_task_group() as group:
            for page in pages:
                group.start_soon(fetch, page, limiter)

    await stop_on_error(run.deadline.run(fetch_all), SITE)


async def _call_tool(run: _Run, call: ToolCall, calls_before: int, open_before: int) -> ToolResult:
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


# After the last round


def _judge_text(text: AnswerText) -> AnswerState:
    """Return the state of a complete answer: citations that only show that something is missing answer nothing."""
    if not text.has_statement:
        return "not_found"
    return "partial" if text.is_partial or text.foreign_addresses else "answered"


async def _find_replacement(
    run: _Run, page: str | None, history: Sequence[Exchange], whole_site_tokens: int
) -> list[Event]:
    """Return the events of a text that replaces an answer: the reason, and the closest passages if the model failed."""
    from mkdocs_roaming.answer.models.extractive import ExtractiveModel

    reason = run.stop.explain(has_text=False) if run.stop else prompts.NO_ANSWER
    found: list[Event] = []
    is_failure = run.stop is not None and run.stop.state != "refused" and run.stop.cause != "site"
    if is_failure and run.model.name != ExtractiveModel.name:
        opened = set(run.navigator.opened)
        budget = Budget(seconds=_REPLACEMENT_SECONDS)
        passages = answer(
            run.question,
            run.navigator,
            ExtractiveModel(),
            page=page,
            history=history,
            budget=budget,
            whole_site_tokens=whole_site_tokens,
        )
        async with aclosing(passages) as events:
            found = [event async for event in events]
        run.has_passages = bool(summarize(found).citations)
        found = [
            event
            for event in found
            if isinstance(event, (TextReleased, SectionCited))
            or (isinstance(event, SectionOpened) and event.section.id not in opened)
        ]
    if not run.has_passages:
        return [TextReleased(reason)]
    return [TextReleased(f"{reason} {prompts.CLOSEST_PASSAGES}\n\n"), *found]


async def _check_answer(run: _Run) -> AsyncGenerator[Event, None]:
    """Compare the answer with all sections that were opened for it, and find the passages that it cites."""
    text, library, index = run.text.text, run.navigator.library, run.navigator.sections
    if run.state == "passages":  # quoted word for word
        yield SupportChecked(None, passages=await _find_passages(run))
        return

    def read() -> list[OpenSection]:
        opened = filter(None, map(index.get, run.navigator.opened))
        return [OpenSection(section.id, index.breadcrumb(section), library.text(section)) for section in opened]

    def check(claims: Sequence[tuple[int, int]] | None) -> Support:
        site = library.manifest.site
        texts = {one.id: f"{' › '.join((site.name, *one.breadcrumb))}\n\n{one.text}" for one in sections}
        asked = "\n".join(turn.question for turn in run.conversation.turns if isinstance(turn, UserTurn))
        return check_support(
            text,
            texts,
            question=asked,
            language=site.language,
            claims=claims,
            gaps=run.text.gaps,
            foreign=run.text.foreign_addresses,
        )

    try:
        sections = await run.read(read)
        support = await run.read(lambda: check(None))
    except StopAnswer as stop:
        foreign = run.text.foreign_addresses  # marked in any case
        reason = stop.error or "no time was left"
        yield SupportChecked(mark_addresses(text, foreign) if foreign else None, reason, await _find_passages(run))
        return
    has_room = run.budget.spent_share(run.usage) < 1 and run.deadline.used_share < 1
    if run.budget.support == "model" and run.state in ("answered", "partial") and has_room:
        judgement = _Judgement(run, text, sections)
        async with aclosing(judgement.events()) as events:
            async for event in events:
                yield event
        if judgement.claims is not None:
            with suppress(StopAnswer):
                support = await run.read(lambda: check(judgement.claims))
    if run.state == "answered" and support.score < LOW_SUPPORT:
        run.state = "partial"
    yield SupportChecked(support, passages=await _find_passages(run))


async def _find_passages(run: _Run) -> tuple[Passage, ...]:
    """Return the passages that the answer cites; none if there is no time left or the site cannot be read."""
    index, library = run.navigator.sections, run.navigator.library

    def join(sections: Sequence[SectionRef]) -> str:
        text = ""
        for section in sections:
            text += library.text(section) + "\n\n"
            if len(text) > MAX_CITED_CHARS:
                break
        return text[: MAX_CITED_CHARS + 1]

    def read(id_: str) -> CitedSection | None:
        section = index.get(id_)
        if section is None:
            return None
        earlier = [SectionRef(section.page, position) for position in range(section.position)]
        return CitedSection(join([section, *index.descendants(section)]), join(earlier))

    def find() -> tuple[Passage, ...]:
        cited = {id_: found for id_ in find_citations(run.text.text) if (found := read(id_))}
        return tuple(find_passages(run.text.text, cited, library.manifest.site.language))

    try:
        return await run.read(find)
    except StopAnswer:
        return ()


@dataclass(slots=True)
class _Judgement:
    """One more call to the model, which names the statements that the opened sections do not support.

    Attributes:
        claims: Start and end of these statements; None if the call fails or its reply has another form.
    """

    run: _Run
    text: str
    sections: Sequence[OpenSection]
    claims: list[tuple[int, int]] | None = None

    async def events(self) -> AsyncGenerator[Event, None]:
        """Send the request; yield its events. A failed call is no failure of the answer."""
        run = self.run
        statements = find_statements(self.text)
        run.round += 1
        yield RoundStarted(run.round, max(run.round, run.max_rounds))
        turn = prompts.build_support_turn(self.sections, (self.text[start:end] for start, end in statements))
        tokens, language = run.budget.output_tokens, run.navigator.library.manifest.site.language
        request = Request(prompts.SUPPORT_RULES, "", (turn,), output_tokens=tokens, language=language)
        reply = ModelReply(run.model, request, run.deadline)
        try:
            async with aclosing(reply.stream()) as parts:
                async for part in parts:
                    if isinstance(part, Usage):
                        run.usage += part
                        yield TokensUsed(part)
        except StopAnswer as stop:
            _log.warning("the support check by the model failed: %s", stop.error or stop.state)
            return
        if reply.stop.reason == "end":
            self.claims = read_claims(reply.text, self.text, statements)


async def _finish(run: _Run) -> Finished:
    assert run.state is not None
    prices = run.budget.prices
    stop = run.stop
    foreign = run.text.removed_links + len(run.text.foreign_addresses)
    has_answer = run.state in ("answered", "partial", "error") or (run.state == "budget" and bool(run.text.text))
    return Finished(
        state=run.state,
        model=run.model.name,
        rounds=run.round,
        usage=run.usage,
        tokens_read=run.conversation.tokens_read,
        dropped_citations=len(run.text.dropped),
        withheld=len(run.text.withheld),
        spent=stop.spent if stop else "",
        error=stop.error if stop else "",
        cause=stop.cause if stop else "",
        message=stop.explain(has_text=bool(run.text.text)) if stop and stop.state != "refused" else "",
        retry_after=stop.retry_after if stop else None,
        foreign_addresses=foreign,
        not_found=None if has_answer else await _describe_not_found(run),
        cost=prices.cost(run.usage) if prices else None,
        currency=prices.currency if prices else "",
    )


async def _describe_not_found(run: _Run) -> NotFound:
    """Return the opened sections, and the nearest ones: those with a rare word of the question, else the best ones.

    Searching may take a moment even if the time is over.
    """
    make_reference = run.conversation.make_reference
    search = run.navigator.search
    nearest: tuple[Reference, ...] = ()

    def find() -> list[Hit]:
        specific = search.find_specific(run.question, limit=_MAX_NEAREST)
        return specific or search.find(run.question, limit=_MAX_UNSPECIFIC)

    with anyio.move_on_after(_NEAREST_SECONDS):
        try:
            found = await run_in_thread(find)
        except Exception:
            _log.debug("cannot find the nearest sections", exc_info=True)
        else:
            nearest = tuple(make_reference(hit.section.id) for hit in found)
    return NotFound(tuple(map(make_reference, run.conversation.looked_at)), nearest)

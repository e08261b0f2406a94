"""How an answer stops early: a budget spent, a refusal, a failure told in one line."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import TypeVar

import anyio
import anyio.lowlevel

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer._threads import compute_limiter, run_in_thread
from mkdocs_roaming.answer.budget import SMALL_SITE_TOKENS, Budget, Deadline, DeadlineExceededError, Prices
from mkdocs_roaming.answer.citations import AnswerText
from mkdocs_roaming.answer.conversation import Conversation, Exchange, describe_call, find_citations
from mkdocs_roaming.answer.events import (
    AnswerState,
    Event,
    Finished,
    NotFound,
    OutlineRead,
    Reference,
    RoundStarted,
    SiteRead,
    SupportChecked,
    TokensUsed,
)
from mkdocs_roaming.answer.models.base import (
    NO_USAGE,
    AssistantTurn,
    Citation,
    Model,
    OpenSection,
    Part,
    Request,
    Stop,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    UserTurn,
)
from mkdocs_roaming.answer.support.check import Support, check_support
from mkdocs_roaming.errors import LibraryError, RoamingError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.rules import RULES_CALL_ID as PINNED
from mkdocs_roaming.library.rules import apply_rules, rules_share
from mkdocs_roaming.library.tools import TOOLS, SearchResults, ToolError, ToolOutput
from mkdocs_roaming.manifest.models import PageEntry
from mkdocs_roaming.text.tokenizer import estimate_tokens

__all__ = ["Budget", "Exchange", "Prices", "answer"]


class StopAnswer(Exception):  # noqa: N818 -- no error: it is how an answer stops early
    """The answer ends here, whatever was going on."""

    def __init__(self, state: AnswerState, *, spent: str = "", error: str = "") -> None:
        self.state, self.spent, self.error = state, spent, error


async def stop_on_error(waiting: Awaitable[_T], who: str) -> _T:
    """Wait for something; what it raises ends the answer."""
    try:
        return await waiting
    except StopAnswer:
        raise
    except DeadlineExceededError:
        raise StopAnswer("budget", spent="seconds") from None
    except Exception as error:
        raise stop_from_error(error, who) from None


def stop_from_error(error: Exception, who: str) -> StopAnswer:
    """Give the end that an exception makes: our own errors name the cure, of others the first words are told."""
    _log.debug("%s failed", who, exc_info=error)
    what = " ".join(str(error).split())
    if not isinstance(error, RoamingError):
        what = f"{who} failed: {type(error).__name__}" + (f": {what[:_LONGEST_ERROR]}" if what else "")
    return StopAnswer("error", error=what[:_LONGEST] or type(error).__name__)


_T = TypeVar("_T")


_log = logging.getLogger(__name__)


_LONGEST_ERROR = 200  # of what others raise


_LONGEST = 1_000  # ours end with the cure


# MERGED mkdocs_roaming.answer.whole:
# A small site, whole: what fits into a prompt need not be looked for.


@dataclass(frozen=True, slots=True)
class SmallSite:
    """All sections of a site in page order, and how they are said to a model; it depends on the site alone."""

    sections: tuple[OpenSection, ...]
    text: str
    tokens: int


def read_small_site(navigator: Navigator, most: int) -> SmallSite | None:
    """Give the site whole where it has fewer than `most` estimated tokens and can be read; None elsewhere."""
    sizes = (place.section.tokens for place in navigator.sections)
    if any(total >= most for total in accumulate(sizes, initial=0)):  # of a large site only the first few are counted
        return None
    try:
        read = navigator.library.memoize(("read_small_site", navigator.scope), lambda: _read(navigator))
    except LibraryError:
        return None  # what is missing is told where it is asked for
    return read if read.tokens < most else None


def _read(navigator: Navigator) -> SmallSite:
    places, library = navigator.sections, navigator.library
    library.prefetch(places.manifest.pages)
    sections = tuple(
        OpenSection(place.id, places.breadcrumb(place), text) for place in places if (text := library.text(place))
    )
    text = prompts.whole(library.manifest.site, sections)
    return SmallSite(sections, text, estimate_tokens(text))


# MERGED mkdocs_roaming.answer.closing:
# What is found out when an answer is over: what supports it, or what lies nearest where there is none.


def check_answer(text: str, navigator: Navigator) -> Support:
    """Hold an answer against all sections that were opened for it; raises LibraryError where one cannot be read."""
    library, places = navigator.library, navigator.sections
    opened = filter(None, map(places.get, navigator.opened))
    texts = {place.id: library.text(place) for place in opened}
    return check_support(text, texts, language=library.manifest.site.language)


async def describe_not_found(question: str, navigator: Navigator, conversation: Conversation) -> NotFound:
    """Give what was looked at and what lies nearest: said even when time is up, but not at any price."""
    reference = conversation.reference
    nearest: tuple[Reference, ...] = ()
    with anyio.move_on_after(_LAST_SECOND):
        try:
            found = await run_in_thread(lambda: navigator.search_sections(question))
        except Exception:
            _log.debug("no nearest sections", exc_info=True)
        else:
            nearest = tuple(reference(hit.id) for hit in found.hits) if isinstance(found, SearchResults) else ()
    return NotFound(tuple(map(reference, conversation.looked_at)), nearest)


_LAST_SECOND = 1.0


# MERGED mkdocs_roaming.answer.reply:
# One reply of a model while it is heard: within the deadline, and not for ever.


MAX_CALLS_PER_REPLY = 8


"""The most tool calls that are made of one reply."""


class ModelReply:
    """What a model says to one request: its text, its calls, how it stopped. Raises Ended where it fails."""

    def __init__(self, model: Model, request: Request, deadline: Deadline) -> None:
        self.said: list[str] = []
        self.calls: list[ToolCall] = []
        self.stop = Stop()
        self._model, self._deadline = model, deadline
        self._most = request.output_tokens * _CHARS_A_TOKEN
        self._length = 0
        try:
            self._parts = model.reply(request)
        except Exception as error:
            raise stop_from_error(error, model.name) from None

    @property
    def endless(self) -> bool:
        """Whether it is far beyond its limit: a model that does not keep it is not listened to for ever."""
        return self._length > self._most or len(self.calls) > MAX_CALLS_PER_REPLY * 4

    async def part(self) -> Part | None:
        """Give the next part, None at the end."""
        if self.endless:
            return None

        async def next_part() -> Part | None:
            await anyio.lowlevel.checkpoint()  # a model that never waits must not keep the deadline from being seen
            try:
                return await self._parts.__anext__()
            except StopAsyncIteration:
                return None

        return await stop_on_error(self._deadline.wait(next_part), self._model.name)

    def keep(self, part: Part) -> None:
        """Add a part to what was said."""
        match part:
            case Text():
                self.said.append(part.text)
                self._length += len(part.text)
            case Citation():
                self.said.append(f"[^{part.id}]")
            case ToolCall():
                self.calls.append(part)
            case Stop():
                self.stop = part
            case _:
                pass

    async def close(self) -> None:
        """Break it off: its connection is closed even while we are being cancelled ourselves."""
        close = getattr(self._parts, "aclose", None)
        if close is None:
            return
        with anyio.move_on_after(_CLOSING, shield=True):
            try:
                await close()
            except Exception:
                _log.debug("closing a reply failed", exc_info=True)


_CLOSING = 1.0  # seconds


_CHARS_A_TOKEN = 8  # twice what is usual: the limit itself is the model's to keep


# MERGED mkdocs_roaming.answer.run:
# One answer while it comes about: what `answer` does at each turn.


REOPEN_CALL = "kept"


"""The id of the call that opens an earlier answer's sections again."""


class Run:
    """One answer while it comes about."""

    def __init__(self, question: str, navigator: Navigator, model: Model, budget: Budget, deadline: Deadline) -> None:
        self.state: AnswerState | None = None
        self.calls: list[ToolCall] = []
        self._question, self._navigator, self._model, self._budget = question, navigator, model, budget
        self._deadline = deadline
        self._rounds = budget.rounds
        self._conversation = Conversation(navigator)
        self._telling = AnswerText(self._conversation)
        self._rules = self._outline = ""
        self._site: tuple[OpenSection, ...] = ()
        self._round = 0
        self._results: list[ToolResult] = []
        self._opened_before = 0
        self._call_ids: set[str] = set()
        self._usage = NO_USAGE
        self._spent = self._error = ""

    # Before the first round

    async def begin(
        self, page: str | None, opened: Sequence[str], history: Sequence[Exchange], whole_site_tokens: int
    ) -> list[Event]:
        for exchange in history:
            self._conversation.turns += (UserTurn(exchange.question), AssistantTurn(exchange.answer))
        site = await self._work(lambda: read_small_site(self._navigator, whole_site_tokens))
        if site is not None:
            return self._begin_whole(site, page)
        navigator, places = self._navigator, self._navigator.sections
        manifest = navigator.library.manifest
        self._rules = prompts.rules(manifest.site)
        self._outline = prompts.outline(manifest.site, await self._work(navigator.outline))
        place = places.resolve(page) if page else None
        hints = await self._work(lambda: navigator.hints(self._question, page if place else None))
        around = prompts.around(hints, places.breadcrumb(place) if place else ())
        self._conversation.turns.append(UserTurn(self._question, around))
        events: list[Event] = [OutlineRead(manifest.digest, len(places), estimate_tokens(self._outline))]
        if kept := self._conversation.kept(opened or navigator.opened, history, _MOST_KEPT):
            events += await self._open_again(kept, history)
        return events + await self._open_pinned(page)

    def _begin_whole(self, site: SmallSite, page: str | None) -> list[Event]:
        """Begin with all of a small site open: one round, no tools."""
        places, manifest = self._navigator.sections, self._navigator.library.manifest
        self._rules, self._outline, self._site = prompts.rules(manifest.site, whole=True), site.text, site.sections
        self._rounds = 1
        place = places.resolve(page) if page else None
        around = prompts.around("", places.breadcrumb(place) if place else ())
        self._conversation.turns.append(UserTurn(self._question, around))
        self._navigator.mark_opened(section.id for section in site.sections)
        self._conversation.tokens_read += site.tokens
        return [SiteRead(manifest.digest, len(site.sections), site.tokens)]

    async def _open_again(self, ids: list[str], history: Sequence[Exchange]) -> list[Event]:
        """Open what earlier answers had open, as if the model had just asked for it; what they cited was used."""
        self._navigator.drop(self._navigator.opened)
        events = await self._open_first(REOPEN_CALL, ids)
        for exchange in history:
            self._conversation.cite(find_citations(exchange.answer))
        return [*events, *self._conversation.make_room(self._budget.open_chars)]

    async def _open_pinned(self, page: str | None) -> list[Event]:
        """Open what the site's rules pin to the question."""
        chars = rules_share(self._budget.open_chars, self._navigator.open_chars())
        firing = await self._work(lambda: apply_rules(self._navigator, self._question, page, chars))
        return await self._open_first(PINNED, list(firing.opens), firing.words) if firing.opens else []

    async def _open_first(self, name: str, ids: list[str], words: str = "") -> list[Event]:
        """Open sections by a call of our own, as if the model had just asked for them, because of some words."""
        call = ToolCall(name, "expand_sections", {"ids": ids, "query": words} if words else {"ids": ids})
        self._call_ids.add(name)
        self._conversation.turns.append(AssistantTurn("", (call,)))
        result = await self._work(lambda: self._navigator.call(call.name, call.arguments))
        self._conversation.results([ToolResult(call, result)])
        return [describe_call(call), *self._conversation.told(call.id, result)]

    # A round: the model's reply

    def start_round(self) -> RoundStarted:
        self._round += 1
        self.calls, self._results = [], []
        self._opened_before = self._navigator.open_chars()
        return RoundStarted(self._round, self._rounds)

    def ask(self) -> ModelReply:
        note = prompts.note(
            rounds_left=self._rounds - self._round,
            room_used=self._navigator.open_chars() / self._budget.open_chars,
            time_used=self._deadline.used,
            money_used=self._budget.spent(self._usage),
        )
        request = Request(
            rules=self._rules,
            outline=self._outline,
            turns=tuple(self._conversation.turns),
            tools=TOOLS if self._round < self._rounds else (),
            note="" if self._site else note,
            output_tokens=self._budget.output_tokens,
            language=self._navigator.library.manifest.site.language,
            site=self._site,
        )
        self._reply = ModelReply(self._model, request, self._deadline)
        return self._reply

    def take(self, part: Part) -> Iterator[Event]:
        if isinstance(part, ToolCall):
            part = self._with_own_id(part)
        self._reply.keep(part)
        match part:
            case Text():
                yield from self._telling.feed(part.text)
            case Citation():
                self._telling.cite(part.id)
            case Usage():
                self._usage += part
                yield TokensUsed(part)
            case _:
                pass

    def end_reply(self) -> Iterator[Event]:
        """Draw the line under a reply: either tools are to be called, or it was the answer."""
        reply = self._reply
        if reply.stop.reason == "refusal":
            raise StopAnswer("refused")
        self._conversation.turns.append(AssistantTurn("".join(reply.said), tuple(reply.calls), reply.stop.keep))
        if reply.calls and self._round < self._rounds:
            self._telling.discard()
            self.calls = reply.calls
            return
        if reply.calls:
            raise StopAnswer("budget", spent="rounds")
        if reply.stop.reason == "length" or reply.endless:
            raise StopAnswer("budget", spent="output")
        yield from self._telling.end()
        if not self._telling.text:
            self.state = "not_found"
        else:
            self.state = "partial" if self._telling.gap else "answered"

    # A round: the tools

    async def fetch(self) -> None:
        """Bring the pages of all sections that are asked for nearer, at once: the calls are then made in order."""
        library, places = self._navigator.library, self._navigator.sections
        found = (places.get(id_) for call in self.calls[:MAX_CALLS_PER_REPLY] for id_ in describe_call(call).ids)
        pages = list({place.page.path: place.page for place in found if place}.values())[:_MOST_FETCHED]
        if len(pages) < 2:
            return

        async def fetch_all() -> None:
            limit = anyio.CapacityLimiter(_AT_ONCE)
            async with anyio.create_task_group() as group:
                for page in pages:
                    group.start_soon(partial(_fetch, library, page, limit))

        await stop_on_error(self._deadline.wait(fetch_all), _SITE)

    async def call(self, call: ToolCall) -> list[Event]:
        if len(self._results) >= MAX_CALLS_PER_REPLY:
            result: ToolOutput = ToolError(prompts.TOO_MANY_CALLS.format(most=MAX_CALLS_PER_REPLY))
        elif self._navigator.open_chars() - self._opened_before >= self._budget.open_chars:
            result = ToolError(prompts.NO_ROOM)
        else:
            result = await self._work(lambda: self._navigator.call(call.name, call.arguments))
        self._results.append(ToolResult(call, result))
        return list(self._conversation.told(call.id, result))

    def end_round(self) -> Iterator[Event]:
        if self._results:
            self._conversation.results(self._results)
            yield from self._conversation.make_room(self._budget.open_chars)
        if self.state is None and self._budget.spent(self._usage) >= 1:
            raise StopAnswer("budget", spent="cost")

    # The end

    def end(self, ended: StopAnswer) -> Iterator[Event]:
        """End before the model was done; a spent budget still releases what is covered."""
        if ended.state == "budget":
            yield from self._telling.end()
        self.state, self._spent, self._error = ended.state, ended.spent, ended.error

    async def check(self) -> list[Event]:
        """Hold what the reader has against the sections that were opened for it."""
        if not self._telling.text:
            return []
        try:
            return [SupportChecked(await self._work(lambda: check_answer(self._telling.text, self._navigator)))]
        except StopAnswer as ended:
            return [SupportChecked(None, ended.error or "no time was left")]

    async def finished(self) -> Finished:
        assert self.state is not None
        prices = self._budget.prices
        found = self._telling.text or self.state == "error"
        return Finished(
            state=self.state,
            model=self._model.name,
            rounds=self._round,
            usage=self._usage,
            tokens_read=self._conversation.tokens_read,
            dropped_citations=self._telling.dropped,
            withheld=self._telling.withheld,
            spent=self._spent,
            error=self._error,
            not_found=None if found else await describe_not_found(self._question, self._navigator, self._conversation),
            cost=prices.cost(self._usage) if prices else None,
            currency=prices.currency if prices else "",
        )

    # Small things

    def _with_own_id(self, call: ToolCall) -> ToolCall:
        """Give the call an id that no other call of this answer has: results are told apart by it."""
        name = call.id if isinstance(call.id, str) and call.id else "call"
        id_, again = name, 1
        while id_ in self._call_ids:
            again += 1
            id_ = f"{name}~{again}"
        self._call_ids.add(id_)
        return call if call.id == id_ else ToolCall(id_, call.name, call.arguments)

    async def _work(self, work: Callable[[], _T]) -> _T:
        limiter = compute_limiter() if self._navigator.library.is_local else None
        return await stop_on_error(self._deadline.work(work, limiter), _SITE)


_SITE = "reading the site"


_MOST_KEPT = 8  # what one call may ask for


_AT_ONCE = 6  # requests


_MOST_FETCHED = 16  # pages of one reply: more than there is room for; others are fetched as they come


async def _fetch(library: Library, page: PageEntry, limit: anyio.CapacityLimiter) -> None:
    await run_in_thread(lambda: library.prefetch([page]), limit)


# MERGED mkdocs_roaming.answer.loop:
# The roaming loop: a model reads the outline, opens sections, and answers with citations, within a budget.
#
# async with aclosing(answer("Which port is the default?", navigator, model)) as events:
#     async for event in events:
#         ...


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
    clock: Callable[[], float] = time.monotonic,
    deadline: Deadline | None = None,
) -> AsyncGenerator[Event, None]:
    """Answer a question by roaming; yields what happens, `Finished` last. Nothing but a cancellation is raised.

    `page` is where the reader is: an id, a path or a URL. `opened` are the ids of sections that earlier answers of
    this conversation opened, `history` the earlier questions and answers: their sections stay open. A site of fewer
    than `whole_site_tokens` estimated tokens is read whole instead of being roamed; 0 never does. Close the generator
    (`contextlib.aclosing`) where it may be left early; the model's reply is then broken off at once.
    """
    budget = budget or Budget()
    run = Run(question, navigator, model, budget, deadline or Deadline(budget.seconds, clock))
    try:
        for event in await run.begin(page, opened, history, whole_site_tokens):
            yield event
        while run.state is None:
            yield run.start_round()
            reply = run.ask()
            try:
                while (part := await reply.part()) is not None:
                    for event in run.take(part):
                        yield event
            finally:
                await reply.close()
            for event in run.end_reply():
                yield event
            await run.fetch()
            for call in run.calls:
                yield describe_call(call)
                for event in await run.call(call):
                    yield event
            for event in run.end_round():
                yield event
    except StopAnswer as ended:
        for event in run.end(ended):
            yield event
    for event in await run.check():
        yield event
    yield await run.finished()

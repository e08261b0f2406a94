"""One answer while it comes about: what `answer` does at each turn."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

import anyio

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import Budget, Deadline
from mkdocs_roaming.answer.closing import not_found, supported
from mkdocs_roaming.answer.conversation import Conversation, Exchange, called, cited_in
from mkdocs_roaming.answer.ending import Ended, ending
from mkdocs_roaming.answer.events import (
    Event,
    Finished,
    OutlineRead,
    RoundStarted,
    SiteRead,
    State,
    SupportChecked,
    TokensUsed,
)
from mkdocs_roaming.answer.models import (
    UNUSED,
    Asked,
    Citation,
    Model,
    OpenSection,
    Part,
    Request,
    Said,
    Text,
    ToolCall,
    ToolResult,
    Usage,
)
from mkdocs_roaming.answer.reply import MOST_CALLS, Reply
from mkdocs_roaming.answer.telling import Telling
from mkdocs_roaming.answer.threads import computing, in_thread
from mkdocs_roaming.answer.whole import Whole, whole
from mkdocs_roaming.manifest import PageEntry
from mkdocs_roaming.roam.library import Library
from mkdocs_roaming.roam.navigator import TOOLS, Misused, Navigator, Result
from mkdocs_roaming.roam.rules import CALL as PINNED
from mkdocs_roaming.roam.rules import pinned, share
from mkdocs_roaming.words import estimate_tokens

KEPT = "kept"
"""The id of the call that opens an earlier answer's sections again."""


_T = TypeVar("_T")
_log = logging.getLogger(__name__)


class Run:
    """One answer while it comes about."""

    def __init__(self, question: str, navigator: Navigator, model: Model, budget: Budget, deadline: Deadline) -> None:
        self.state: State | None = None
        self.calls: list[ToolCall] = []
        self._question, self._navigator, self._model, self._budget = question, navigator, model, budget
        self._deadline = deadline
        self._rounds = budget.rounds
        self._conversation = Conversation(navigator)
        self._telling = Telling(self._conversation)
        self._rules = self._outline = ""
        self._site: tuple[OpenSection, ...] = ()
        self._round = 0
        self._results: list[ToolResult] = []
        self._opened_before = 0
        self._call_ids: set[str] = set()
        self._usage = UNUSED
        self._spent = self._error = ""

    # Before the first round

    async def begin(
        self, page: str | None, opened: Sequence[str], history: Sequence[Exchange], whole_site_tokens: int
    ) -> list[Event]:
        for exchange in history:
            self._conversation.turns += (Asked(exchange.question), Said(exchange.answer))
        site = await self._work(lambda: whole(self._navigator, whole_site_tokens))
        if site is not None:
            return self._begin_whole(site, page)
        navigator, places = self._navigator, self._navigator.places
        manifest = navigator.library.manifest
        self._rules = prompts.rules(manifest.site)
        self._outline = prompts.outline(manifest.site, await self._work(navigator.outline))
        place = places.address(page) if page else None
        hints = await self._work(lambda: navigator.hints(self._question, page if place else None))
        around = prompts.around(hints, places.breadcrumb(place) if place else ())
        self._conversation.turns.append(Asked(self._question, around))
        events: list[Event] = [OutlineRead(manifest.digest, len(places), estimate_tokens(self._outline))]
        if kept := self._conversation.kept(opened or navigator.opened, history, _MOST_KEPT):
            events += await self._open_again(kept, history)
        return events + await self._open_pinned(page)

    def _begin_whole(self, site: Whole, page: str | None) -> list[Event]:
        """Begin with all of a small site open: one round, no tools."""
        places, manifest = self._navigator.places, self._navigator.library.manifest
        self._rules, self._outline, self._site = prompts.rules(manifest.site, whole=True), site.text, site.sections
        self._rounds = 1
        place = places.address(page) if page else None
        around = prompts.around("", places.breadcrumb(place) if place else ())
        self._conversation.turns.append(Asked(self._question, around))
        self._navigator.mark_opened(section.id for section in site.sections)
        self._conversation.tokens_read += site.tokens
        return [SiteRead(manifest.digest, len(site.sections), site.tokens)]

    async def _open_again(self, ids: list[str], history: Sequence[Exchange]) -> list[Event]:
        """Open what earlier answers had open, as if the model had just asked for it; what they cited was used."""
        self._navigator.drop(self._navigator.opened)
        events = await self._open_first(KEPT, ids)
        for exchange in history:
            self._conversation.cite(cited_in(exchange.answer))
        return [*events, *self._conversation.make_room(self._budget.open_chars)]

    async def _open_pinned(self, page: str | None) -> list[Event]:
        """Open what the site's rules pin to the question."""
        chars = share(self._budget.open_chars, self._navigator.open_chars())
        firing = await self._work(lambda: pinned(self._navigator, self._question, page, chars))
        return await self._open_first(PINNED, list(firing.opens), firing.words) if firing.opens else []

    async def _open_first(self, name: str, ids: list[str], words: str = "") -> list[Event]:
        """Open sections by a call of our own, as if the model had just asked for them, because of some words."""
        call = ToolCall(name, "expand_sections", {"ids": ids, "query": words} if words else {"ids": ids})
        self._call_ids.add(name)
        self._conversation.turns.append(Said("", (call,)))
        result = await self._work(lambda: self._navigator.call(call.name, call.arguments))
        self._conversation.results([ToolResult(call, result)])
        return [called(call), *self._conversation.told(call.id, result)]

    # A round: the model's reply

    def start_round(self) -> RoundStarted:
        self._round += 1
        self.calls, self._results = [], []
        self._opened_before = self._navigator.open_chars()
        return RoundStarted(self._round, self._rounds)

    def ask(self) -> Reply:
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
        self._reply = Reply(self._model, request, self._deadline)
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
            raise Ended("refused")
        self._conversation.turns.append(Said("".join(reply.said), tuple(reply.calls), reply.stop.keep))
        if reply.calls and self._round < self._rounds:
            self._telling.discard()
            self.calls = reply.calls
            return
        if reply.calls:
            raise Ended("budget", spent="rounds")
        if reply.stop.reason == "length" or reply.endless:
            raise Ended("budget", spent="output")
        yield from self._telling.end()
        if not self._telling.text:
            self.state = "not_found"
        else:
            self.state = "partial" if self._telling.gap else "answered"

    # A round: the tools

    async def fetch(self) -> None:
        """Bring the pages of all sections that are asked for nearer, at once: the calls are then made in order."""
        library, places = self._navigator.library, self._navigator.places
        found = (places.get(id_) for call in self.calls[:MOST_CALLS] for id_ in called(call).ids)
        pages = list({place.page.path: place.page for place in found if place}.values())[:_MOST_FETCHED]
        if len(pages) < 2:
            return

        async def fetch_all() -> None:
            limit = anyio.CapacityLimiter(_AT_ONCE)
            async with anyio.create_task_group() as group:
                for page in pages:
                    group.start_soon(partial(_fetch, library, page, limit))

        await ending(self._deadline.wait(fetch_all), _SITE)

    async def call(self, call: ToolCall) -> list[Event]:
        if len(self._results) >= MOST_CALLS:
            result: Result = Misused(prompts.TOO_MANY_CALLS.format(most=MOST_CALLS))
        elif self._navigator.open_chars() - self._opened_before >= self._budget.open_chars:
            result = Misused(prompts.NO_ROOM)
        else:
            result = await self._work(lambda: self._navigator.call(call.name, call.arguments))
        self._results.append(ToolResult(call, result))
        return list(self._conversation.told(call.id, result))

    def end_round(self) -> Iterator[Event]:
        if self._results:
            self._conversation.results(self._results)
            yield from self._conversation.make_room(self._budget.open_chars)
        if self.state is None and self._budget.spent(self._usage) >= 1:
            raise Ended("budget", spent="cost")

    # The end

    def end(self, ended: Ended) -> Iterator[Event]:
        """End before the model was done; a spent budget still releases what is covered."""
        if ended.state == "budget":
            yield from self._telling.end()
        self.state, self._spent, self._error = ended.state, ended.spent, ended.error

    async def check(self) -> list[Event]:
        """Hold what the reader has against the sections that were opened for it."""
        if not self._telling.text:
            return []
        try:
            return [SupportChecked(await self._work(lambda: supported(self._telling.text, self._navigator)))]
        except Ended as ended:
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
            not_found=None if found else await not_found(self._question, self._navigator, self._conversation),
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
        limiter = computing() if self._navigator.library.near else None
        return await ending(self._deadline.work(work, limiter), _SITE)


_SITE = "reading the site"
_MOST_KEPT = 8  # what one call may ask for
_AT_ONCE = 6  # requests
_MOST_FETCHED = 16  # pages of one reply: more than there is room for; others are fetched as they come


async def _fetch(library: Library, page: PageEntry, limit: anyio.CapacityLimiter) -> None:
    await in_thread(lambda: library.prefetch([page]), limit)

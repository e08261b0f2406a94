"""One answer while it comes about: what `answer` does at each turn."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import Budget, Deadline, OutOfTime
from mkdocs_roaming.answer.conversation import Conversation, called
from mkdocs_roaming.answer.events import (
    CitationDropped,
    Event,
    Finished,
    NotFound,
    OutlineRead,
    Reference,
    RoundStarted,
    SectionCited,
    State,
    TextReleased,
    TextWithheld,
    TokensUsed,
)
from mkdocs_roaming.answer.models import (
    UNUSED,
    Asked,
    Citation,
    Model,
    Part,
    Request,
    Said,
    Stop,
    Text,
    ToolCall,
    ToolResult,
    Usage,
)
from mkdocs_roaming.answer.release import Dropped, Outcome, Release, Released
from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.roam.navigator import TOOLS, Found, Misused, Navigator, Result
from mkdocs_roaming.words import estimate_tokens

MOST_CALLS = 8
"""The most tool calls that are made of one reply."""
KEPT = "kept"
"""The id of the call that opens an earlier answer's sections again."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """An earlier question and its answer, with its `[^id]` citations."""

    question: str
    answer: str


class Ended(Exception):  # noqa: N818 -- no error: it is how an answer stops early
    """The answer ends here, whatever was going on."""

    def __init__(self, state: State, *, spent: str = "", error: str = "") -> None:
        self.state, self.spent, self.error = state, spent, error


_T = TypeVar("_T")
_log = logging.getLogger(__name__)


class Run:
    """One answer while it comes about."""

    def __init__(
        self, question: str, navigator: Navigator, model: Model, budget: Budget, clock: Callable[[], float]
    ) -> None:
        self.state: State | None = None
        self.calls: list[ToolCall] = []
        self._question, self._navigator, self._model, self._budget = question, navigator, model, budget
        self._deadline = Deadline(budget.seconds, clock)
        self._conversation = Conversation(navigator)
        self._release = Release(self._conversation.citable)
        self._rules = self._outline = ""
        self._round = 0
        self._said: list[str] = []
        self._length = 0
        self._stop = Stop()
        self._results: list[ToolResult] = []
        self._opened_before = 0
        self._call_ids: set[str] = set()
        self._cited: set[str] = set()
        self._usage = UNUSED
        self._dropped = self._withheld = 0
        self._spent = self._error = ""

    # Before the first round

    async def begin(self, page: str | None, opened: Sequence[str], history: Sequence[Exchange]) -> list[Event]:
        navigator, places = self._navigator, self._navigator.places
        manifest = navigator.library.manifest
        self._rules = prompts.rules(manifest.site)
        self._outline = prompts.outline(manifest.site, await self._work(navigator.outline))
        place = places.address(page) if page else None
        hints = await self._work(lambda: navigator.hints(self._question, page if place else None))
        around = prompts.around(hints, places.breadcrumb(place) if place else ())
        for exchange in history:
            self._conversation.turns += (Asked(exchange.question), Said(exchange.answer))
        self._conversation.turns.append(Asked(self._question, around))
        events: list[Event] = [OutlineRead(manifest.digest, len(places), estimate_tokens(self._outline))]
        if kept := list(dict.fromkeys(opened or navigator.opened))[-_MOST_KEPT:]:
            events += await self._open_again(kept)
        return events

    async def _open_again(self, ids: list[str]) -> list[Event]:
        """Open what an earlier answer had open, as if the model had just asked for it."""
        self._navigator.drop(self._navigator.opened)
        call = ToolCall(KEPT, "expand_sections", {"ids": ids})
        self._call_ids.add(KEPT)
        self._conversation.turns.append(Said("", (call,)))
        result = await self._work(lambda: self._navigator.call(call.name, call.arguments))
        self._conversation.results([ToolResult(call, result)])
        room = self._conversation.make_room(self._budget.open_chars)
        return [called(call), *self._conversation.told(call.id, result), *room]

    # A round: the model's reply

    def start_round(self) -> RoundStarted:
        self._round += 1
        self.calls, self._said, self._length, self._stop, self._results = [], [], 0, Stop(), []
        self._opened_before = self._navigator.open_chars()
        return RoundStarted(self._round, self._budget.rounds)

    def ask(self) -> AsyncIterator[Part]:
        request = Request(
            rules=self._rules,
            outline=self._outline,
            turns=tuple(self._conversation.turns),
            tools=TOOLS if self._round < self._budget.rounds else (),
            note=prompts.note(
                rounds_left=self._budget.rounds - self._round,
                room_used=self._navigator.open_chars() / self._budget.open_chars,
                time_used=self._deadline.used,
            ),
            output_tokens=self._budget.output_tokens,
            language=self._navigator.library.manifest.site.language,
        )
        try:
            return self._model.reply(request)
        except Exception as error:
            raise _failed(error, self._model.name) from None

    async def part(self, reply: AsyncIterator[Part]) -> Part | None:
        """Give the next part of a reply, None at its end."""
        if self._endless():
            return None

        async def next_part() -> Part | None:
            await anyio.lowlevel.checkpoint()  # a model that never waits must not keep the deadline from being seen
            try:
                return await reply.__anext__()
            except StopAsyncIteration:
                return None

        return await _ending(self._deadline.wait(next_part), self._model.name)

    def take(self, part: Part) -> Iterator[Event]:
        match part:
            case Text():
                self._said.append(part.text)
                self._length += len(part.text)
                yield from self._tell(self._release.feed(part.text))
            case Citation():
                self._said.append(f"[^{part.id}]")
                self._release.cite(part.id)
            case ToolCall():
                self.calls.append(self._with_own_id(part))
            case Usage():
                self._usage += part
                yield TokensUsed(part)
            case Stop():
                self._stop = part

    def end_reply(self) -> Iterator[Event]:
        """Draw the line under a reply: either tools are to be called, or it was the answer."""
        if self._stop.reason == "refusal":
            raise Ended("refused")
        self._conversation.turns.append(Said("".join(self._said), tuple(self.calls), self._stop.keep))
        if self.calls and self._round < self._budget.rounds:
            self._release.discard()
            return
        if self.calls:
            raise Ended("budget", spent="rounds")
        if self._stop.reason == "length" or self._endless():
            raise Ended("budget", spent="output")
        yield from self._tell(self._release.end())
        if not self._release.released:
            self.state = "not_found"
        else:
            self.state = "partial" if self._release.gap or self._withheld else "answered"

    # A round: the tools

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

    # The end

    def end(self, ended: Ended) -> Iterator[Event]:
        """End before the model was done; a spent budget still releases what is covered."""
        if ended.state == "budget":
            yield from self._tell(self._release.end())
        self.state, self._spent, self._error = ended.state, ended.spent, ended.error

    async def finished(self) -> Finished:
        assert self.state is not None
        return Finished(
            state=self.state,
            model=self._model.name,
            rounds=self._round,
            usage=self._usage,
            tokens_read=self._conversation.tokens_read,
            dropped_citations=self._dropped,
            withheld=self._withheld,
            spent=self._spent,
            error=self._error,
            not_found=None if self._release.released or self.state == "error" else await self._not_found(),
        )

    async def _not_found(self) -> NotFound:
        reference = self._conversation.reference
        nearest: tuple[Reference, ...] = ()
        # Said even when time is up, but not at any price.
        with anyio.move_on_after(_LAST_SECOND):
            try:
                found = await anyio.to_thread.run_sync(
                    lambda: self._navigator.search_sections(self._question), abandon_on_cancel=True
                )
            except Exception:
                _log.debug("no nearest sections", exc_info=True)
            else:
                nearest = tuple(reference(hit.id) for hit in found.hits) if isinstance(found, Found) else ()
        return NotFound(tuple(map(reference, self._conversation.looked_at)), nearest)

    # Small things

    def _tell(self, outcomes: Iterator[Outcome]) -> Iterator[Event]:
        for outcome in outcomes:
            if isinstance(outcome, Dropped):
                self._dropped += 1
                yield CitationDropped(outcome.id)
            elif isinstance(outcome, Released):
                yield TextReleased(outcome.text)
                self._conversation.cite(outcome.cited)
                for id_ in outcome.cited:
                    if id_ not in self._cited:
                        self._cited.add(id_)
                        yield SectionCited(self._conversation.reference(id_))
            else:
                self._withheld += 1
                yield TextWithheld(len(outcome.text))

    def _with_own_id(self, call: ToolCall) -> ToolCall:
        """Give the call an id that no other call of this answer has: results are told apart by it."""
        name = call.id if isinstance(call.id, str) and call.id else "call"
        id_, again = name, 1
        while id_ in self._call_ids:
            again += 1
            id_ = f"{name}~{again}"
        self._call_ids.add(id_)
        return call if call.id == id_ else ToolCall(id_, call.name, call.arguments)

    def _endless(self) -> bool:
        """Tell whether a reply is far beyond its limit: a model that does not keep it is not listened to for ever."""
        return self._length > self._budget.output_tokens * _CHARS_A_TOKEN or len(self.calls) > MOST_CALLS * 4

    async def _work(self, work: Callable[[], _T]) -> _T:
        return await _ending(self._deadline.work(work), "reading the site")


_CHARS_A_TOKEN = 8  # twice what is usual: the limit itself is the model's to keep
_LAST_SECOND = 1.0
_LONGEST_ERROR = 200
_MOST_KEPT = 8  # what one call may ask for


async def _ending(waiting: Awaitable[_T], who: str) -> _T:
    """Wait for something; what it raises ends the answer."""
    try:
        return await waiting
    except OutOfTime:
        raise Ended("budget", spent="seconds") from None
    except Exception as error:
        raise _failed(error, who) from None


def _failed(error: Exception, who: str) -> Ended:
    """Give the end that an exception makes: our own errors name the cure, of others the first words are told."""
    _log.debug("%s failed", who, exc_info=error)
    what = " ".join(str(error).split())[:_LONGEST_ERROR]
    if not isinstance(error, RoamingError):
        what = f"{who} failed: {type(error).__name__}" + (f": {what}" if what else "")
    return Ended("error", error=what or type(error).__name__)

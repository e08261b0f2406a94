"""Answers to first questions, kept for as long as the site's digest stands."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

import anyio
from msgspec import structs

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.events import Event, Finished, SectionsFound
from mkdocs_roaming.answer.models.base import NO_USAGE
from mkdocs_roaming.library.tools import TOOLS
from mkdocs_roaming.manifest.lookup import SectionRef
from mkdocs_roaming.manifest.models import Manifest
from mkdocs_roaming.serve.requests import Question

MAX_CACHED_ANSWERS = 1_000


CACHEABLE_STATES = frozenset({"answered", "partial", "not_found"})


"""The ends that are worth keeping: the others may come out better the next time."""


@dataclass(frozen=True, slots=True)
class CacheKey:
    """What an answer depends on: the site's digest, which its rules count in; `how` is of prompts and budget."""

    digest: str
    question: str
    page: str
    language: str
    model: str
    how: str


class AnswerCache:
    """Answers by what they depend on, at most so many, the least recently given dropped first."""

    def __init__(self, most: int = MAX_CACHED_ANSWERS) -> None:
        self._most = most
        self._kept: OrderedDict[CacheKey, tuple[Event, ...]] = OrderedDict()

    def get(self, key: CacheKey) -> tuple[Event, ...] | None:
        """Give the events of an answer from before, which cost nothing now."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def keep(self, key: CacheKey, events: Sequence[Event]) -> None:
        """Keep an answer that ended well, and whose searches did not have to do without meaning."""
        end = events[-1] if events else None
        if not isinstance(end, Finished) or end.state not in CACHEABLE_STATES:
            return
        if any(isinstance(event, SectionsFound) and event.words_only for event in events):
            return
        self._kept[key] = tuple(map(without_cost, events))
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)


def without_cost(event: Event) -> Event:
    """Give an event as those are told it who pay nothing."""
    if isinstance(event, Finished):
        return structs.replace(event, usage=NO_USAGE, cost=None if event.cost is None else 0.0)
    return event


def make_cache_key(question: Question, page: SectionRef | None, digest: str, model: str, how: str) -> CacheKey:
    """Give what a first question's answer depends on; all names of a page are one, an unknown page is none."""
    return CacheKey(digest, " ".join(question.text.split()), page.id if page else "", question.language, model, how)


def hash_config(manifest: Manifest, budget: Budget, whole_site_tokens: int) -> str:
    """Give the digest of what is said to a model about a site, whatever is asked, and of what an answer may take."""
    said = (
        prompts.build_rules(manifest.site),
        prompts.build_rules(manifest.site, whole_site=True),
        TOOLS,
        budget,
        whole_site_tokens,
    )
    return hashlib.sha256(repr(said).encode("utf-8")).hexdigest()


# MERGED mkdocs_roaming.serve.sharing:
# Answers under way that several readers hear: who asks what is being answered at this moment joins in.
#
# It is asked and paid for once. It goes on for as long as one of them has a seat, whoever asked first.


OnEnd = Callable[[Sequence[Event]], None]


class InFlightAnswers:
    """The answers to first questions that are under way now."""

    def __init__(self) -> None:
        self._shared: dict[CacheKey, _SharedAnswer] = {}

    def join(self, key: CacheKey) -> Subscription | None:
        """Give a seat at an answer that is under way; None where there is none, or where all have left it."""
        shared = self._shared.get(key)
        return Subscription(shared) if shared is not None and shared.seats else None

    def begin(
        self, key: CacheKey | None, events: AsyncGenerator[Event, None], ended: OnEnd = lambda events: None
    ) -> Subscription:
        """Begin an answer and give the first seat; nobody joins one without a key. `ended` is told its events at its
        end, before anybody could ask for it anew.
        """

        def end(shared: _SharedAnswer) -> None:
            if key is not None and self._shared.get(key) is shared:
                del self._shared[key]
            ended(shared.events)

        shared = _SharedAnswer(events, end)
        if key is not None:
            self._shared[key] = shared
        return Subscription(shared)


class Subscription:
    """A place at an answer under way: it is not broken off while somebody has one, whether or not it is heard yet."""

    def __init__(self, shared: _SharedAnswer) -> None:
        self._shared = shared
        self._taken = True
        shared.seats += 1

    @property
    def events(self) -> Sequence[Event]:
        """What has happened so far."""
        return self._shared.events

    async def hear(self) -> AsyncGenerator[Event, None]:
        """Give what happens from the beginning."""
        shared, told = self._shared, 0
        while True:
            for event in shared.events[told:]:
                told += 1
                yield event
            if told == len(shared.events):
                if shared.over.is_set():
                    break
                await shared.news.wait()
        if shared.error is not None:
            raise shared.error

    def leave(self) -> None:
        """Give the seat back, once or more often. The last one to leave breaks the answer off."""
        if self._taken:
            self._taken = False
            self._shared.seats -= 1
            if not self._shared.seats:
                self._shared.break_off()

    async def over(self) -> None:
        """Wait until the answer has ended, for whoever still hears it, or was broken off."""
        await self._shared.over.wait()


class _SharedAnswer:
    """One answer under way; its `events` so far. It begins as soon as whoever began it waits for something."""

    def __init__(self, events: AsyncGenerator[Event, None], ended: Callable[[_SharedAnswer], None]) -> None:
        self.events: list[Event] = []
        self.error: Exception | None = None
        self.over = anyio.Event()
        self.news = anyio.Event()
        self.seats = 0
        self._ended = ended
        self._task = asyncio.get_running_loop().create_task(self._run(events))
        self._task.add_done_callback(self._end)  # which comes even if it is cancelled before it begins

    def break_off(self) -> None:
        if not self.over.is_set():
            self._task.cancel()

    async def _run(self, events: AsyncGenerator[Event, None]) -> None:
        try:
            async with aclosing(events):
                async for event in events:
                    self.events.append(event)
                    self._wake()
        except Exception as error:  # each of its readers raises it
            self.error = error

    def _end(self, task: asyncio.Task[None]) -> None:
        try:
            self._ended(self)
        finally:
            self.over.set()
            self._wake()

    def _wake(self) -> None:
        self.news.set()
        self.news = anyio.Event()

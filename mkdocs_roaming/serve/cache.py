"""Answers that several requests share: finished ones, and those still in progress.

An equal first question gets the finished answer, or joins the one in progress. Either way the model runs once.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Hashable, Sequence
from contextlib import aclosing
from math import inf

import anyio
import msgspec

from mkdocs_roaming.answer.events import Event, Finished, SectionsFound, SupportChecked
from mkdocs_roaming.answer.models.base import NO_USAGE
from mkdocs_roaming.answer.support.check import GOOD_SUPPORT

MAX_CACHED_ANSWERS = 1_000
CACHEABLE_STATES = frozenset({"answered", "partial", "results", "not_found"})
"""States of answers that are cached. The others may turn out better on the next attempt."""


class SharedAnswer:
    """An answer that runs in a task of its own. Every subscriber reads its events from the first one.

    The task is cancelled when the last subscriber leaves.
    """

    def __init__(self, finished: Sequence[Event] = ()) -> None:
        self.events = list(finished)
        self.subscribers = 0
        self._task: asyncio.Task[None] | None = None
        self._error: Exception | None = None
        self._done = anyio.Event()
        self._changed = anyio.Event()
        self._interrupted = False

    def start(self, events: AsyncGenerator[Event, None], on_end: Callable[[], None]) -> None:
        """Run a generator of events. `on_end` is called once, also if the task is cancelled before it runs."""

        def end(task: asyncio.Task[None]) -> None:
            try:
                on_end()
            finally:
                self._done.set()
                self._notify()

        self._task = asyncio.get_running_loop().create_task(self._run(events))
        self._task.add_done_callback(end)

    async def read(self, ping_seconds: float = inf) -> AsyncGenerator[Event | None, None]:
        """Yield all events, from the first one, and None after each silence of some seconds.

        Raise the error that ended the answer, if any.
        """
        position = 0
        while True:
            while position < len(self.events):
                position += 1
                yield self.events[position - 1]
            if self._task is None or self._done.is_set() or self._interrupted:
                break
            with anyio.move_on_after(ping_seconds) as silence:
                await self._changed.wait()
            if silence.cancelled_caught:
                yield None
        if self._error is not None:
            raise self._error

    @property
    def is_kept(self) -> bool:
        """Whether the answer was finished before this subscriber came."""
        return self._task is None

    def unsubscribe(self) -> None:
        """Remove a subscriber. Cancel the answer if it was the last one."""
        self.subscribers -= 1
        if not self.subscribers and self._task is not None:
            self._task.cancel()

    def interrupt(self) -> None:
        """End the readers' events here. The answer is cancelled when the last of them leaves."""
        self._interrupted = True
        self._notify()

    async def wait_done(self) -> None:
        """Wait until the answer has ended or was cancelled."""
        if self._task is not None:
            await self._done.wait()

    async def _run(self, events: AsyncGenerator[Event, None]) -> None:
        try:
            async with aclosing(events):
                async for event in events:
                    self.events.append(event)
                    self._notify()
        except Exception as error:  # raised again for every reader
            self._error = error

    def _notify(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


class AnswerCache:
    """Answers to first questions, by key: finished ones (least recently used dropped first), and those in progress."""

    def __init__(self, max_answers: int = MAX_CACHED_ANSWERS) -> None:
        self._max_answers = max_answers
        self._finished: OrderedDict[Hashable, tuple[Event, ...]] = OrderedDict()
        self._running: dict[Hashable, SharedAnswer] = {}

    def join(self, key: Hashable) -> SharedAnswer | None:
        """Subscribe to the answer with this key.

        Returns:
            None if there is no such answer, or if all its subscribers have left.
        """
        answer: SharedAnswer | None
        if key in self._finished:
            self._finished.move_to_end(key)
            answer = SharedAnswer(self._finished[key])
        else:
            answer = self._running.get(key)
            if answer is None or not answer.subscribers:
                return None
        answer.subscribers += 1
        return answer

    def start(
        self,
        key: Hashable | None,
        events: AsyncGenerator[Event, None],
        on_end: Callable[[Sequence[Event]], None] = lambda events: None,
    ) -> SharedAnswer:
        """Start an answer and subscribe to it. Without a key, it is neither shared nor cached."""
        answer = SharedAnswer()

        def end() -> None:
            if key is not None:
                self._add(key, answer)
            on_end(answer.events)

        answer.subscribers = 1
        answer.start(events, end)
        if key is not None:
            self._running[key] = answer
        return answer

    def _add(self, key: Hashable, answer: SharedAnswer) -> None:
        """Move an answer from those in progress to the finished ones, if it is worth caching."""
        if self._running.get(key) is answer:
            del self._running[key]
        if not is_shareable(answer.events):
            return
        self._finished[key] = tuple(answer.events)
        while len(self._finished) > self._max_answers:
            self._finished.popitem(last=False)


def is_shareable(events: Sequence[Event]) -> bool:
    """Return whether other readers may get an answer: it is complete, and nothing about it is doubtful."""
    end = events[-1] if events else None
    if not isinstance(end, Finished) or end.state not in CACHEABLE_STATES:
        return False
    if end.foreign_addresses:
        return False  # the model may be hostile
    if any(isinstance(event, SectionsFound) and event.words_only for event in events):
        return False  # the embeddings were not available
    return all(map(_is_well_supported, events))  # only its reader gets an answer that may be wrong


def _is_well_supported(event: Event) -> bool:
    """Return False for the result of a support check that failed or found too little support."""
    if not isinstance(event, SupportChecked) or (event.support is None and not event.skipped):
        return True
    return event.support is not None and event.support.score >= GOOD_SUPPORT


def without_cost(event: Event) -> Event:
    """Return an event as it is sent to clients whose answer was shared: without usage and cost."""
    if isinstance(event, Finished):
        return msgspec.structs.replace(event, usage=NO_USAGE, cost=None if event.cost is None else 0.0)
    return event

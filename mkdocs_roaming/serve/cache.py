"""Answers that several requests share: finished ones, and those still in progress.

An equal first question gets the finished answer, or joins the one in progress. Either way the model runs once.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Hashable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from math import inf

import anyio
import msgspec

from mkdocs_roaming.answer.events import Event, Finished, SectionsFound, SupportChecked
from mkdocs_roaming.answer.models.base import NO_USAGE
from mkdocs_roaming.answer.support.check import GOOD_SUPPORT

MAX_CACHED_ANSWERS = 1_000
CACHEABLE_STATES = frozenset({"answered", "partial", "results", "not_found"})
"""States of answers that are cached. The others may turn out better on the next attempt."""


@dataclass(slots=True, eq=False)
class SharedAnswer:
    """An answer that runs in a task of its own, or is finished. Every subscriber reads its events from the first one.

    The task is cancelled when the last subscriber leaves.

    Attributes:
        events: The events so far.
        task: The task; None if the answer was finished before its subscriber came.
        subscribers: Number of subscribers.
        done: Set when the task has ended or was cancelled.
    """

    events: list[Event] = field(default_factory=list)
    task: asyncio.Task[None] | None = None
    subscribers: int = 1
    done: anyio.Event = field(default_factory=anyio.Event)
    _error: Exception | None = None
    _changed: anyio.Event = field(default_factory=anyio.Event)
    _interrupted: bool = False

    async def run(self, events: AsyncGenerator[Event, None]) -> None:
        """Read the events of the answer. An error is raised again for every reader."""
        try:
            async with aclosing(events):
                async for event in events:
                    self.events.append(event)
                    self.notify()
        except Exception as error:
            self._error = error

    async def read(self, ping_seconds: float = inf) -> AsyncGenerator[Event | None, None]:
        """Yield all events, from the first one, and None after each silence of some seconds.

        Raise the error that ended the answer, if any.
        """
        position = 0
        while True:
            while position < len(self.events):
                position += 1
                yield self.events[position - 1]
            if self.task is None or self.done.is_set() or self._interrupted:
                break
            with anyio.move_on_after(ping_seconds) as silence:
                await self._changed.wait()
            if silence.cancelled_caught:
                yield None
        if self._error is not None:
            raise self._error

    def unsubscribe(self) -> None:
        """Remove a subscriber. Cancel the answer if it was the last one."""
        self.subscribers -= 1
        if not self.subscribers and self.task is not None:
            self.task.cancel()

    def interrupt(self) -> None:
        """End the readers' events here. The answer is cancelled when the last of them leaves."""
        self._interrupted = True
        self.notify()

    def notify(self) -> None:
        """Wake the readers up."""
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
        if key in self._finished:
            self._finished.move_to_end(key)
            return SharedAnswer(list(self._finished[key]))
        answer = self._running.get(key)
        if answer is None or not answer.subscribers:
            return None
        answer.subscribers += 1
        return answer

    def start(
        self, key: Hashable | None, events: AsyncGenerator[Event, None], on_end: Callable[[Sequence[Event]], None]
    ) -> SharedAnswer:
        """Start an answer and subscribe to it. Without a key, it is neither shared nor cached.

        `on_end` is called once, also if the answer is cancelled before it runs.
        """
        answer = SharedAnswer()

        def end(task: asyncio.Task[None]) -> None:
            try:
                if self._running.get(key) is answer:
                    del self._running[key]
                if key is not None and is_shareable(answer.events):
                    self._finished[key] = tuple(answer.events)
                while len(self._finished) > self._max_answers:
                    self._finished.popitem(last=False)
                on_end(answer.events)
            finally:
                answer.done.set()
                answer.notify()

        answer.task = asyncio.get_running_loop().create_task(answer.run(events))
        answer.task.add_done_callback(end)
        if key is not None:
            self._running[key] = answer
        return answer


def is_shareable(events: Sequence[Event]) -> bool:
    """Return whether other readers may get an answer: it is complete, and nothing about it is doubtful."""
    end = events[-1] if events else None
    if not isinstance(end, Finished) or end.state not in CACHEABLE_STATES:
        return False
    if end.foreign_addresses:
        return False  # the model may be hostile
    for event in events:
        if isinstance(event, SectionsFound) and event.words_only:
            return False  # the embeddings were not available
        if isinstance(event, SupportChecked):
            if event.support is None and event.skipped:
                return False
            if event.support is not None and event.support.score < GOOD_SUPPORT:
                return False  # only its reader gets an answer that may be wrong
    return True


def without_cost(event: Event) -> Event:
    """Return an event as it is sent to clients whose answer was shared: without usage and cost."""
    if isinstance(event, Finished):
        return msgspec.structs.replace(event, usage=NO_USAGE, cost=None if event.cost is None else 0.0)
    return event

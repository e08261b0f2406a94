"""Answers under way that several readers hear: who asks what is being answered at this moment joins in.

It is asked and paid for once. It goes on for as long as one of them listens, whoever asked first.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

import anyio

from mkdocs_roaming.answer.events import Event
from mkdocs_roaming.serve.answers import Key


class Shared:
    """One answer under way; its `events` so far. It begins at once, and ends early when nobody listens any more."""

    def __init__(self, events: AsyncGenerator[Event, None], ended: Callable[[Shared], None]) -> None:
        self.events: list[Event] = []
        self.over = anyio.Event()
        self._news = anyio.Event()
        self._seats = 0
        self._error: Exception | None = None
        self._ended = ended
        self._task = asyncio.get_running_loop().create_task(self._run(events))
        self._task.add_done_callback(self._end)  # which comes even if it is cancelled before it begins

    def sit(self) -> Shared:
        """Take a seat: it is not broken off while somebody is about to listen. `hear` gives the seat back."""
        self._seats += 1
        return self

    async def hear(self) -> AsyncGenerator[Event, None]:
        """Give what happens from the beginning. The last one to leave breaks the answer off, and waits until it is."""
        told = 0
        try:
            while True:
                for event in self.events[told:]:
                    told += 1
                    yield event
                if told == len(self.events):
                    if self.over.is_set():
                        break
                    await self._news.wait()
            if self._error is not None:
                raise self._error
        finally:
            self._seats -= 1
            if not self._seats and not self.over.is_set():
                self._task.cancel()
                with anyio.CancelScope(shield=True):
                    await self.over.wait()

    async def _run(self, events: AsyncGenerator[Event, None]) -> None:
        try:
            async with aclosing(events):
                async for event in events:
                    self.events.append(event)
                    self._wake()
        except Exception as error:  # each of its readers raises it
            self._error = error

    def _end(self, task: asyncio.Task[None]) -> None:
        self._ended(self)
        self.over.set()
        self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news = anyio.Event()


class UnderWay:
    """The answers to first questions that are under way now."""

    def __init__(self) -> None:
        self._shared: dict[Key, Shared] = {}

    def get(self, key: Key) -> Shared | None:
        """Give an answer that is under way, None where there is none that can be joined."""
        return self._shared.get(key)

    def begin(
        self, key: Key, events: AsyncGenerator[Event, None], ended: Callable[[list[Event]], None] = lambda events: None
    ) -> Shared:
        """Begin an answer; `ended` is told its events at its end, before anybody could ask for it anew."""

        def end(shared: Shared) -> None:
            if self._shared.get(key) is shared:
                del self._shared[key]
            ended(shared.events)

        self._shared[key] = shared = Shared(events, end)
        return shared

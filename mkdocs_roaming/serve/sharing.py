"""Answers under way that several readers hear: who asks what is being answered at this moment joins in.

It is asked and paid for once. It goes on for as long as one of them has a seat, whoever asked first.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

import anyio

from mkdocs_roaming.answer.events import Event
from mkdocs_roaming.serve.answers import Key

Ended = Callable[[Sequence[Event]], None]


class UnderWay:
    """The answers to first questions that are under way now."""

    def __init__(self) -> None:
        self._shared: dict[Key, _Shared] = {}

    def join(self, key: Key) -> Seat | None:
        """Give a seat at an answer that is under way; None where there is none, or where all have left it."""
        shared = self._shared.get(key)
        return Seat(shared) if shared is not None and shared.seats else None

    def begin(self, key: Key | None, events: AsyncGenerator[Event, None], ended: Ended = lambda events: None) -> Seat:
        """Begin an answer and give the first seat; nobody joins one without a key. `ended` is told its events at its
        end, before anybody could ask for it anew.
        """

        def end(shared: _Shared) -> None:
            if key is not None and self._shared.get(key) is shared:
                del self._shared[key]
            ended(shared.events)

        shared = _Shared(events, end)
        if key is not None:
            self._shared[key] = shared
        return Seat(shared)


class Seat:
    """A place at an answer under way: it is not broken off while somebody has one, whether or not it is heard yet."""

    def __init__(self, shared: _Shared) -> None:
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


class _Shared:
    """One answer under way; its `events` so far. It begins as soon as whoever began it waits for something."""

    def __init__(self, events: AsyncGenerator[Event, None], ended: Callable[[_Shared], None]) -> None:
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

"""What one answer may cost, and the clock that its seconds are counted by."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import anyio
import anyio.to_thread

from mkdocs_roaming.errors import UsageError


@dataclass(frozen=True, slots=True)
class Budget:
    """What one answer may cost: replies of the model, characters of text open at once, tokens of a reply, seconds."""

    rounds: int = 4
    open_chars: int = 60_000
    output_tokens: int = 700
    seconds: float = 45.0

    def __post_init__(self) -> None:
        if min(self.rounds, self.open_chars, self.output_tokens) < 1 or not self.seconds > 0:
            raise UsageError("a budget is at least 1 round, 1 character, 1 token and more than 0 seconds")


class OutOfTime(Exception):  # noqa: N818 -- no error: time is a budget
    """The seconds are spent."""


_T = TypeVar("_T")


class Deadline:
    """Counts from its making; `clock` tells seconds, as time.monotonic does."""

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        self.seconds = seconds
        self._clock = clock
        self._end = clock() + seconds

    @property
    def used(self) -> float:
        """The share of the seconds that is spent, from 0 to 1 and beyond."""
        return 1 - self._left() / self.seconds

    async def wait(self, wait: Callable[[], Awaitable[_T]]) -> _T:
        """Wait for something; raises OutOfTime where it takes longer than there is."""
        left = self._left()
        if left > 0:
            with anyio.move_on_after(left):
                return await wait()
        raise OutOfTime

    async def work(self, work: Callable[[], _T]) -> _T:
        """Do in a thread what may itself wait for a disk or a server; what comes too late is left to itself."""

        async def in_thread() -> _T:
            return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)

        return await self.wait(in_thread)

    def _left(self) -> float:
        return self._end - self._clock()

"""What one answer may cost, what its tokens cost in money, and the clock that its seconds are counted by."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from math import isfinite
from typing import TypeVar

import anyio

from mkdocs_roaming.answer._threads import run_in_thread
from mkdocs_roaming.answer.models.base import NO_USAGE, Usage
from mkdocs_roaming.errors import UsageError

MILLION = 1_000_000
SMALL_SITE_TOKENS = 8_000
"""A site with fewer estimated tokens is read whole: this is the size of an outline."""

_LONGEST = 86_400.0  # seconds: without an end nothing would be a deadline


@dataclass(frozen=True, slots=True)
class Prices:
    """What a million tokens of a model cost, in `currency`. No model's prices are known here: they change."""

    input: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0
    output: float = 0.0
    currency: str = "USD"

    def __post_init__(self) -> None:
        for price in (self.input, self.cache_read, self.cache_write, self.output):
            if not (isfinite(price) and price >= 0):
                raise UsageError(f"a price is 0 or more for a million tokens, not {price}")

    def cost(self, usage: Usage) -> float | None:
        """Give what this usage costs; None where nothing was counted."""
        if usage == NO_USAGE:
            return None
        return (
            usage.input * self.input
            + usage.cache_read * self.cache_read
            + usage.cache_write * self.cache_write
            + usage.output * self.output
        ) / MILLION


@dataclass(frozen=True, slots=True)
class Budget:
    """What one answer may cost: replies of the model, characters of text open at once, tokens of a reply, seconds.

    `cost` is the most money, counted by `prices`. A reply under way is heard to its end, so an answer may cost up to
    one reply more.
    """

    rounds: int = 4
    open_chars: int = 60_000
    output_tokens: int = 700
    seconds: float = 45.0
    cost: float | None = None
    prices: Prices | None = None

    def __post_init__(self) -> None:
        if min(self.rounds, self.open_chars, self.output_tokens) < 1 or not 0 < self.seconds <= _LONGEST:
            raise UsageError("a budget is at least 1 round, 1 character, 1 token, and more than 0 seconds up to a day")
        if self.cost is not None and not self.cost > 0:
            raise UsageError("a budget of money is more than 0")
        if self.cost is not None and self.prices is None:
            raise UsageError("a budget of money needs prices: what a million tokens cost")

    def spent(self, usage: Usage) -> float:
        """Give the share of the money that a usage spends, from 0 to 1 and beyond; 0 where there is no limit."""
        if self.cost is None or self.prices is None:
            return 0.0
        return (self.prices.cost(usage) or 0.0) / self.cost


class DeadlineExceededError(Exception):
    """The seconds are spent."""


_T = TypeVar("_T")


class Deadline:
    """Counts from its making; `clock` tells seconds, as time.monotonic does."""

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        self.seconds = seconds
        self.waits = 0
        self.ran_out: int | None = None
        """In which wait, counted from 1, the seconds were spent."""
        self._clock = clock
        self._end = clock() + seconds

    @property
    def used(self) -> float:
        """The share of the seconds that is spent, from 0 to 1 and beyond."""
        return 1 - self._left() / self.seconds

    async def wait(self, wait: Callable[[], Awaitable[_T]]) -> _T:
        """Wait for something; raises OutOfTime where it takes longer than there is."""
        self.waits += 1
        left = self._left()
        if left > 0:
            with anyio.move_on_after(left):
                return await wait()
        if self.ran_out is None:
            self.ran_out = self.waits
        raise DeadlineExceededError

    async def work(self, work: Callable[[], _T], limiter: anyio.CapacityLimiter | None = None) -> _T:
        """Do in a thread what may itself wait for a disk or a server; what comes too late is left to itself."""
        return await self.wait(lambda: run_in_thread(work, limiter))

    def _left(self) -> float:
        return self._end - self._clock()

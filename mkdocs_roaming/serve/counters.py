"""What was asked and spent, counted in memory or in Redis: over a moving minute, and over a day.

Counting is atomic: a number is added first and looked at after, and taken back where it was too much. So requests at
the same moment, of several processes too, never pass together where only one may.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

import anyio

from mkdocs_roaming.errors import UsageError

if TYPE_CHECKING:
    from limits.aio.storage import Storage

DAY = 86_400


class StorageDown(Exception):  # noqa: N818 -- the caller decides whether that is an error
    """The counters cannot be reached."""


@dataclass(frozen=True, slots=True)
class Window:
    """At most so many in any stretch of so many seconds."""

    name: str
    limit: int
    seconds: int = 60


class Counters:
    """Counts by key. `clock` tells seconds since 1970, as time.time does; `patience` is how long a storage is awaited.

    Without a `uri` counts live in this process; with `redis://…` all processes that are given the same one share them.
    """

    def __init__(
        self, uri: str | None = None, *, clock: Callable[[], float] = time.time, patience: float = 2.0
    ) -> None:
        from limits.errors import StorageError

        self.clock = clock
        self.shared = uri is not None and not uri.startswith("memory:")
        self._storage = _storage(uri) if uri and self.shared else _Memory(clock)
        self._failures = (StorageError, OSError)
        self._patience = patience
        self._down, self._down_until = False, float("-inf")
        self._owed: dict[str, int] = {}

    async def hit(self, windows: Sequence[tuple[Window, str]]) -> tuple[Window, float] | None:
        """Count one in every window, each under its key; where one is full, in none.

        Gives None, or the full window and the seconds until it has room again. Raises StorageDown.
        """
        now = self.clock()
        if isinstance(self._storage, _Memory):
            return self._storage.hit(windows, now)
        earlier: list[int] = []
        for window, key in windows:
            before = max(await self.count(_slot(window, key, now - window.seconds)), 0)
            here = max(await self.count(_slot(window, key, now)), 0)
            if _used(window, now, before, here + 1) > window.limit:
                return window, _wait(window, now, before, here)
            earlier.append(before)
        counted: list[tuple[Window, str]] = []
        try:
            for (window, key), before in zip(windows, earlier, strict=True):
                here = await self.add(_slot(window, key, now), 1, 2 * window.seconds + 1)
                counted.append((window, key))
                if _used(window, now, before, here) > window.limit:
                    await self.unhit(counted, now)
                    return window, _wait(window, now, before, here - 1)
        except StorageDown:
            await self.unhit(counted, now)
            raise
        return None

    async def unhit(self, windows: Sequence[tuple[Window, str]], when: float) -> None:
        """Take a count back that was made at a moment; where the storage cannot be reached it stays."""
        for window, key in windows:
            await self.give_back(_slot(window, key, when), 1, 2 * window.seconds + 1)

    async def add(self, key: str, amount: int, seconds: int) -> int:
        """Add to a number that is forgotten after so many seconds, and give what it is then. Raises StorageDown."""
        owed = self._owed.pop(key, 0)
        try:
            return await self._ask(lambda: self._storage.incr(key, seconds, amount + owed))
        except StorageDown:
            if owed:
                self._owed[key] = owed
            raise

    async def owe(self, key: str, amount: int, seconds: int) -> None:
        """Add to a number, later where the storage cannot be reached now."""
        try:
            await self.add(key, amount, seconds)
        except StorageDown:
            if len(self._owed) < _MOST_OWED:
                self._owed[key] = self._owed.get(key, 0) + amount

    async def give_back(self, key: str, amount: int, seconds: int) -> None:
        """Take from a number. Where the storage cannot be reached nothing is taken: it may have been, unheard."""
        try:
            await self.add(key, -amount, seconds)
        except StorageDown:
            return

    async def count(self, key: str) -> int:
        """Give a number, 0 where nothing was added. Raises StorageDown."""
        return await self._ask(lambda: self._storage.get(key))

    async def close(self) -> None:
        """Close the connections to a shared storage; it may be used again."""
        client = getattr(getattr(self._storage, "bridge", None), "storage", None)
        if client is not None:
            with anyio.move_on_after(self._patience), suppress(*self._failures):
                await client.aclose()

    async def _ask(self, ask: Callable[[], Awaitable[int]]) -> int:
        """Ask the storage; one that failed is left alone for a moment, so that nobody waits for it again and again."""
        if not self.shared:
            return await ask()  # memory neither fails nor keeps anybody waiting
        if self.clock() < self._down_until:
            raise StorageDown
        try:
            with anyio.fail_after(self._patience):
                count = await ask()
        except self._failures as error:  # TimeoutError is an OSError
            if not self._down:
                _log.warning("the counters cannot be reached (%s); nothing is spent meanwhile", type(error).__name__)
            self._down, self._down_until = True, self.clock() + _LEFT_ALONE
            raise StorageDown from error
        if self._down:
            _log.info("the counters can be reached again")
            self._down = False
        return count


def day_of(now: float) -> str:
    """Give the day, in UTC, as 2026-11-21."""
    return time.strftime("%Y-%m-%d", time.gmtime(now))


def seconds_left(now: float) -> float:
    """Give the seconds until the next day begins, in UTC."""
    return DAY - now % DAY


# A moving window: this stretch's count, and of the stretch before as much as is still within reach


def _slot(window: Window, key: str, now: float) -> str:
    return f"roaming/{window.name}/{key}/{int(now // window.seconds)}"


def _used(window: Window, now: float, before: int, here: int) -> float:
    return before * (1 - now % window.seconds / window.seconds) + here


def _wait(window: Window, now: float, before: int, here: int) -> float:
    """Give the seconds until one more fits, if nobody else asks."""
    gone = now % window.seconds / window.seconds
    if here < window.limit and before:
        return (1 - (window.limit - 1 - here) / before - gone) * window.seconds
    rest = max(0.0, 1 - (window.limit - 1) / here) if here else 0.0
    return (1 - gone + rest) * window.seconds


class _Memory:
    """Numbers in this process. A storage for many processes takes six times as long, and each request counts."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._numbers: dict[str, tuple[int, float]] = {}  # each with the moment at which it is forgotten
        self._sweep = _ROOM

    def hit(self, windows: Sequence[tuple[Window, str]], now: float) -> tuple[Window, float] | None:
        """Count as Counters.hit does: nobody comes between looking and adding here."""
        for window, key in windows:
            before = max(self.number(_slot(window, key, now - window.seconds)), 0)
            here = max(self.number(_slot(window, key, now)), 0)
            if _used(window, now, before, here + 1) > window.limit:
                return window, _wait(window, now, before, here)
        for window, key in windows:
            self.add(_slot(window, key, now), 2 * window.seconds + 1, 1)
        return None

    async def incr(self, key: str, seconds: int, amount: int) -> int:
        return self.add(key, seconds, amount)

    async def get(self, key: str) -> int:
        return self.number(key)

    def add(self, key: str, seconds: int, amount: int) -> int:
        now = self._clock()
        number, end = self._numbers.get(key, (0, 0.0))
        if end <= now:
            number, end = 0, now + seconds
        self._numbers[key] = number + amount, end
        if len(self._numbers) > self._sweep:
            self._numbers = {one: told for one, told in self._numbers.items() if told[1] > now}
            self._sweep = max(_ROOM, 2 * len(self._numbers))
        return number + amount

    def number(self, key: str) -> int:
        number, end = self._numbers.get(key, (0, 0.0))
        return number if end > self._clock() else 0


def _storage(uri: str) -> Storage:
    from limits.aio.storage import RedisStorage
    from limits.errors import ConfigurationError

    scheme, is_address, _ = uri.removeprefix("async+").partition("://")
    if not is_address or scheme not in _SCHEMES:  # nothing of it is told: it may hold a password
        raise UsageError(f"counters live in memory or in Redis: write an address of {', '.join(_SCHEMES)}")
    if find_spec("redis") is None:
        raise UsageError("counting in Redis needs the package redis: pip install 'mkdocs-roaming[ask,redis]'")
    try:
        return RedisStorage(
            f"async+{uri.removeprefix('async+')}",
            wrap_exceptions=True,
            implementation="redispy",
            socket_timeout=1.0,
            socket_connect_timeout=1.0,
        )
    except (ConfigurationError, ValueError):
        raise UsageError("the address of Redis cannot be read; write redis://:PASSWORD@HOST:6379/0") from None


_log = logging.getLogger("mkdocs_roaming.serve")
_SCHEMES = ("redis", "rediss", "redis+unix")
_LEFT_ALONE = 5.0
_ROOM = 4_096
_MOST_OWED = 1_000

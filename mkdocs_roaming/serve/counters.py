"""Counters by key, in this process or in a Redis that several processes share, and limits over sliding windows.

Counting is atomic: a number is added first, checked, and taken back if it was too much. So simultaneous requests never
pass together if only one of them may, also across processes.
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


class CounterStorageError(Exception):
    """The storage of the counters is unavailable."""


@dataclass(frozen=True, slots=True)
class Window:
    """A limit for every period of some seconds (a sliding window), and the setting that it comes from."""

    name: str
    limit: int
    seconds: int = 60
    setting: str = ""


class CounterStore:
    """Counters by key, in this process or in a Redis that several processes share.

    Args:
        url: The address of a Redis; None for this process.
        clock: Returns seconds since 1970.
        timeout: Seconds to wait for the storage.
    """

    def __init__(self, url: str | None = None, *, clock: Callable[[], float] = time.time, timeout: float = 2.0) -> None:
        from limits.errors import StorageError

        self.clock = clock
        self.is_shared = url is not None
        self._storage = _MemoryStorage(clock) if url is None else _open_redis(url)
        self._storage_errors = (StorageError, OSError)
        self._timeout = timeout
        self._is_down, self._down_until = False, float("-inf")
        self._postponed: dict[str, int] = {}

    async def hit(self, windows: Sequence[tuple[Window, str]]) -> tuple[Window, float] | None:
        """Count one in every window, each under its key; if one of them is full, in none.

        Returns:
            None, or the full window and the seconds until it has room.

        Raises:
            CounterStorageError: The storage is unavailable.
        """
        now = self.clock()
        counted: list[tuple[Window, str]] = []
        try:
            for window, key in windows:
                previous = max(await self.get(_slot(window, key, now - window.seconds)), 0)
                current = await self.add(_slot(window, key, now), 1, 2 * window.seconds + 1)
                counted.append((window, key))
                if _weighted_count(window, now, previous, current) > window.limit:
                    await self.undo_hit(counted, now)
                    return window, _seconds_to_wait(window, now, previous, max(current - 1, 0))
        except CounterStorageError:
            await self.undo_hit(counted, now)
            raise
        return None

    async def undo_hit(self, windows: Sequence[tuple[Window, str]], when: float) -> None:
        """Subtract an earlier count. If the storage is unavailable, the count remains."""
        for window, key in windows:
            await self.subtract(_slot(window, key, when), 1, 2 * window.seconds + 1)

    async def add(self, key: str, amount: int, seconds: int) -> int:
        """Add to a counter that expires after some seconds, and return its value. Raise CounterStorageError."""
        postponed = self._postponed.pop(key, 0)
        try:
            return await self._call(lambda: self._storage.incr(key, seconds, amount + postponed))
        except CounterStorageError:
            if postponed:
                self._postponed[key] = postponed
            raise

    async def add_eventually(self, key: str, amount: int, seconds: int) -> None:
        """Add to a counter; if the storage is unavailable, with the next addition to this counter."""
        try:
            await self.add(key, amount, seconds)
        except CounterStorageError:
            if len(self._postponed) < _MAX_POSTPONED:
                self._postponed[key] = self._postponed.get(key, 0) + amount

    async def subtract(self, key: str, amount: int, seconds: int) -> None:
        """Subtract from a counter, without effect if the storage is unavailable (the reply may have been lost)."""
        with anyio.CancelScope(shield=True), suppress(CounterStorageError):
            await self.add(key, -amount, seconds)

    async def get(self, key: str) -> int:
        """Return the value of a counter (default: 0). Raise CounterStorageError."""
        return await self._call(lambda: self._storage.get(key))

    async def close(self) -> None:
        """Close the connections to the storage; they are opened again when needed."""
        client = getattr(getattr(self._storage, "bridge", None), "storage", None)
        if client is not None:
            with anyio.move_on_after(self._timeout), suppress(*self._storage_errors):
                await client.aclose()

    async def _call(self, call: Callable[[], Awaitable[int]]) -> int:
        """Call the storage. After a failure it is not called for some seconds, so that requests do not wait for it."""
        if not self.is_shared:
            return await call()
        if self.clock() < self._down_until:
            raise CounterStorageError
        try:
            with anyio.fail_after(self._timeout):
                if self._is_down:  # a storage that hangs would carry out an addition later, although it failed here
                    await self._storage.get(_PROBE_KEY)
                count = await call()
        except self._storage_errors as error:  # TimeoutError is an OSError
            if not self._is_down:
                _log.warning("the counters cannot be reached (%s); no money is spent until then", type(error).__name__)
            self._is_down, self._down_until = True, self.clock() + _RETRY_SECONDS
            raise CounterStorageError from error
        if self._is_down:
            _log.info("the counters can be reached again")
            self._is_down = False
        return count


class _MemoryStorage:
    """Counters in this process. Its methods never suspend, so that several calls in a row are atomic.

    The in-memory storage of `limits` traverses all counters after every addition: 30 ms per answer with 50,000 clients.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._counters: dict[str, tuple[int, float]] = {}  # value and expiry time
        self._sweep_size = _MIN_SWEEP_SIZE

    async def incr(self, key: str, seconds: int, amount: int) -> int:
        now = self._clock()
        value, expires = self._counters.get(key, (0, 0.0))
        if expires <= now:
            value, expires = 0, now + seconds
        self._counters[key] = value + amount, expires
        if len(self._counters) > self._sweep_size:
            self._counters = {key: counter for key, counter in self._counters.items() if counter[1] > now}
            self._sweep_size = max(_MIN_SWEEP_SIZE, 2 * len(self._counters))
        return value + amount

    async def get(self, key: str) -> int:
        value, expires = self._counters.get(key, (0, 0.0))
        return value if expires > self._clock() else 0


# Sliding windows: the count of the current period, plus the part of the previous one that the window still covers


def _slot(window: Window, key: str, now: float) -> str:
    return f"roaming/{window.name}/{key}/{int(now // window.seconds)}"


def _weighted_count(window: Window, now: float, previous: int, current: int) -> float:
    return previous * (1 - now % window.seconds / window.seconds) + current


def _seconds_to_wait(window: Window, now: float, previous: int, current: int) -> float:
    """Return the seconds until one more fits, without requests in between."""
    elapsed = now % window.seconds / window.seconds
    if current < window.limit and previous:
        return (1 - (window.limit - 1 - current) / previous - elapsed) * window.seconds
    rest = max(0.0, 1 - (window.limit - 1) / current) if current else 0.0
    return (1 - elapsed + rest) * window.seconds


def _open_redis(url: str) -> Storage:
    from limits.aio.storage import RedisStorage
    from limits.errors import ConfigurationError

    scheme, separator, _ = url.partition("://")
    if not separator or scheme not in _REDIS_SCHEMES:  # the message must not contain the URL: it may hold a password
        raise UsageError(f"counters are kept in memory or in Redis: write a URL with {', '.join(_REDIS_SCHEMES)}")
    if find_spec("redis") is None:
        raise UsageError("counters in Redis need the package redis: pip install 'mkdocs-roaming[serve,redis]'")
    try:
        return RedisStorage(
            f"async+{url}",
            wrap_exceptions=True,
            implementation="redispy",
            socket_timeout=1.0,
            socket_connect_timeout=1.0,
        )
    except (ConfigurationError, ValueError):
        raise UsageError("the URL of Redis cannot be parsed; write redis://:PASSWORD@HOST:6379/0") from None


_log = logging.getLogger("mkdocs_roaming.serve")
_REDIS_SCHEMES = ("redis", "rediss", "redis+unix")
_RETRY_SECONDS = 5.0
_PROBE_KEY = "roaming/probe"
_MIN_SWEEP_SIZE = 4_096
_MAX_POSTPONED = 1_000

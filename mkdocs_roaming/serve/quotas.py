"""Quotas of answers: places in this process, answers per minute and per day, money per day.

The maximum cost of an answer is reserved before it starts, and the difference is returned when its cost is known. All
reservations together never exceed the money of the day, so the day is exceeded by no more than what answers in progress
cost above their reservation. Whatever is unknown counts as spent: an answer without a known cost, an answer whose
process died, and every answer while the counters are unavailable.

Counters are kept in memory or in Redis. Counting is atomic: a number is added first, checked, and taken back if it was
too much. So simultaneous requests never pass together if only one of them may, also across processes.
"""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from hashlib import blake2b
from importlib.util import find_spec
from math import ceil, isfinite
from typing import TYPE_CHECKING, Annotated

import anyio
from msgspec import Meta

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.serve.requests import ProblemError

if TYPE_CHECKING:
    from limits.aio.storage import Storage

DAY_SECONDS = 86_400

Count = Annotated[int, Meta(ge=1, le=10**15)]
Amount = Annotated[float, Meta(gt=0, le=1e15)]


@dataclass(frozen=True, slots=True)
class AnswerQuota:
    """Limits of answers and of their cost. Days are days in UTC.

    `concurrent` and `concurrent_each` count per process, the others for all processes that share counters. Limits that
    end in `_each` apply to each client.
    """

    concurrent: Count = 8
    concurrent_each: Count = 3
    answers_a_minute: Count = 60
    answers_a_minute_each: Count = 6
    answers_a_day_each: Count = 200
    money_a_day: Amount | None = None
    money_a_day_each: Amount | None = None


class QuotaLimiter:
    """Reserves answers against a quota. Clients are counted under a hash that is keyed with `secret`."""

    def __init__(self, quota: AnswerQuota, counters: CounterStore | None = None, *, secret: bytes = b"") -> None:
        self.quota = quota
        self.counters = counters or CounterStore()
        if self.counters.is_shared and not secret:
            raise UsageError("processes that share counters need the same key; set it for each of them")
        self._secret = blake2b(secret or os.urandom(32)).digest()
        self._in_progress: Counter[str] = Counter()

    @property
    def in_progress(self) -> int:
        """Number of answers in progress in this process."""
        return self._in_progress.total()

    def check_cost(self, max_cost: float | None) -> None:
        """Raise UsageError if an answer with this maximum cost (None: unlimited) may exceed the money of a day."""
        for name in ("money_a_day", "money_a_day_each"):
            money = getattr(self.quota, name)
            if money is None:
                continue
            if max_cost is None:
                raise UsageError(f"{name} needs the maximum cost of an answer; set [prices] and [budget] cost")
            if max_cost > money:
                raise UsageError(
                    f"{name} is {money:g}, but one answer may cost {max_cost:g}; raise it or lower [budget] cost"
                )

    async def reserve(self, client: str, *, max_cost: float = 0.0, spends_money: bool = False) -> Reservation:
        """Reserve a place and the maximum cost of an answer.

        Args:
            client: The network of the client.
            max_cost: The maximum cost; 0 if it is free or if prices are unknown.
            spends_money: Whether the answer costs anything, even if its maximum cost is unknown.

        Raises:
            ProblemError: 429 if a quota is exhausted, 503 if money cannot be counted.
        """
        key, now, amount = self.hash_client(client), self.counters.clock(), ceil(max_cost * _MICRO)
        purses = self._list_purses(key, now) if amount else {}
        try:
            async with AsyncExitStack() as undo:
                self._take_place(key)
                undo.callback(self._free_place, key)
                try:
                    await self._count(key, now, undo)
                except CounterStorageError:
                    if spends_money or amount:
                        raise  # a free answer needs only a place
                for purse, limit in purses.items():
                    total = await self.counters.add(purse, amount, _PURSE_SECONDS)
                    undo.push_async_callback(self.counters.subtract, purse, amount, _PURSE_SECONDS)
                    if total > limit * _MICRO:
                        detail = "Today's budget for answers is spent."
                        name = "money_a_day" if purse == _purse("all", now) else "money_a_day_each"
                        setting, retry_after = f"{name} = {limit:g}", DAY_SECONDS - now % DAY_SECONDS
                        raise ProblemError(429, "money", detail, retry_after=retry_after, setting=setting)
                undo.pop_all()
        except CounterStorageError:
            detail = "Nothing can be spent while it cannot be counted; try again soon."
            raise ProblemError(503, "counters", detail, retry_after=30) from None
        return Reservation(self.counters, list(purses), amount, lambda: self._free_place(key))

    def hash_client(self, client: str) -> str:
        """Return the name that a client is counted under."""
        return blake2b(client.encode(), key=self._secret, digest_size=12).hexdigest()

    async def spent(self) -> float:
        """Return the money spent and reserved today. Raise CounterStorageError if it is unknown."""
        return await self.counters.get(_purse("all", self.counters.clock())) / _MICRO

    async def _count(self, key: str, now: float, undo: AsyncExitStack) -> None:
        """Count an answer for its client and in total. Raise ProblemError if there are too many."""
        windows = (
            (Window("answers", self.quota.answers_a_minute_each, setting="answers_a_minute_each"), key),
            (Window("answers-day", self.quota.answers_a_day_each, DAY_SECONDS, "answers_a_day_each"), key),
            (Window("answers", self.quota.answers_a_minute, setting="answers_a_minute"), "all"),
        )
        full = await self.counters.hit(windows)
        if full is not None:
            window, seconds = full
            detail = _RATE_DETAILS[window.name]
            raise ProblemError(429, "rate", detail, retry_after=seconds, setting=f"{window.setting} = {window.limit}")
        undo.push_async_callback(self.counters.undo_hit, windows, now)

    def _list_purses(self, key: str, now: float) -> dict[str, float]:
        """Return the purses of the day with their limits: the client's and the common one."""
        limits = {key: self.quota.money_a_day_each, "all": self.quota.money_a_day}
        return {_purse(owner, now): limit for owner, limit in limits.items() if limit is not None}

    def _take_place(self, key: str) -> None:
        detail = setting = ""
        if self._in_progress[key] >= self.quota.concurrent_each:
            detail, setting = (
                "Your other questions are still being answered.",
                f"concurrent_each = {self.quota.concurrent_each}",
            )
        elif self.in_progress >= self.quota.concurrent:
            detail, setting = "All places are taken; try again in a moment.", f"concurrent = {self.quota.concurrent}"
        if detail:
            raise ProblemError(429, "busy", detail, retry_after=_BUSY_RETRY_SECONDS, setting=setting)
        self._in_progress[key] += 1

    def _free_place(self, key: str) -> None:
        self._in_progress[key] -= 1
        if self._in_progress[key] <= 0:
            del self._in_progress[key]


class Reservation:
    """A place and money for one answer, until it is settled."""

    def __init__(self, counters: CounterStore, purses: list[str], amount: int, free_place: Callable[[], None]) -> None:
        self.settled = False
        self._counters, self._purses, self._amount, self._free_place = counters, purses, amount, free_place

    async def settle(self, cost: float | None) -> None:
        """Count the actual cost and free the place. With None, the cost is unknown and the full amount is spent."""
        if self.settled:
            return
        self.settled = True
        self._free_place()
        if cost is None or not isfinite(cost):
            return
        difference = ceil(max(cost, 0.0) * _MICRO) - self._amount
        with anyio.CancelScope(shield=True):  # the money is spent even if the client has disconnected
            for purse in self._purses:
                if difference > 0:
                    await self._counters.add_eventually(purse, difference, _PURSE_SECONDS)
                elif difference < 0:
                    await self._counters.subtract(purse, -difference, _PURSE_SECONDS)


def _purse(owner: str, now: float) -> str:
    return f"roaming/money/{owner}/{time.strftime('%Y-%m-%d', time.gmtime(now))}"


_MICRO = 1_000_000
_PURSE_SECONDS = 2 * DAY_SECONDS
_BUSY_RETRY_SECONDS = 5.0
_RATE_DETAILS = {
    "answers": "Too many questions in a minute.",
    "answers-day": "Too many questions for one day.",
}


# Counters


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
_MIN_SWEEP_SIZE = 4_096
_MAX_POSTPONED = 1_000

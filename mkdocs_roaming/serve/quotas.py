"""What was asked and spent, counted in memory or in Redis: over a moving minute, and over a day.

Counting is atomic: a number is added first and looked at after, and taken back where it was too much. So requests at
the same moment, of several processes too, never pass together where only one may.
"""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from importlib.util import find_spec
from math import ceil, isfinite
from types import TracebackType
from typing import TYPE_CHECKING

import anyio

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.serve.problems import ProblemError

if TYPE_CHECKING:
    from limits.aio.storage import Storage


DAY_SECONDS = 86_400


class CounterStorageError(Exception):
    """The counters cannot be reached."""


@dataclass(frozen=True, slots=True)
class Window:
    """At most so many in any stretch of so many seconds."""

    name: str
    limit: int
    seconds: int = 60


class CounterStore:
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
        except CounterStorageError:
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
        except CounterStorageError:
            if owed:
                self._owed[key] = owed
            raise

    async def owe(self, key: str, amount: int, seconds: int) -> None:
        """Add to a number, later where the storage cannot be reached now."""
        try:
            await self.add(key, amount, seconds)
        except CounterStorageError:
            if len(self._owed) < _MOST_OWED:
                self._owed[key] = self._owed.get(key, 0) + amount

    async def give_back(self, key: str, amount: int, seconds: int) -> None:
        """Take from a number. Where the storage cannot be reached nothing is taken: it may have been, unheard."""
        try:
            await self.add(key, -amount, seconds)
        except CounterStorageError:
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
            raise CounterStorageError
        try:
            with anyio.fail_after(self._patience):
                count = await ask()
        except self._failures as error:  # TimeoutError is an OSError
            if not self._down:
                _log.warning("the counters cannot be reached (%s); nothing is spent meanwhile", type(error).__name__)
            self._down, self._down_until = True, self.clock() + _LEFT_ALONE
            raise CounterStorageError from error
        if self._down:
            _log.info("the counters can be reached again")
            self._down = False
        return count


def format_utc_day(now: float) -> str:
    """Give the day, in UTC, as 2026-11-21."""
    return time.strftime("%Y-%m-%d", time.gmtime(now))


def seconds_until_midnight(now: float) -> float:
    """Give the seconds until the next day begins, in UTC."""
    return DAY_SECONDS - now % DAY_SECONDS


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


# MERGED mkdocs_roaming.serve.gate:
# What answers cost and how many there may be: slots, answers per minute, money per day.
#
# Before an answer the most that it can cost is set aside; after it the difference is given back. What is set
# aside by
# all answers together never exceeds the day's money, so the day is overrun by no more than what answers under
# way cost
# above what was set aside for them. Whatever cannot be known counts as spent: an answer without a known cost,
# one whose
# process died, and all of them while the counters cannot be reached.


@dataclass(frozen=True, slots=True)
class AnswerQuota:
    """How many answers there may be, and what they may cost together. A day is one of UTC.

    `concurrent` counts in each process, everything else in all that share their counters. `money_each_day` is what
    one visitor may spend of `money_a_day`.
    """

    concurrent: int = 8
    concurrent_each: int = 3
    answers_a_minute: int = 60
    answers_a_minute_each: int = 6
    answers_a_day_each: int = 200
    money_a_day: float | None = None
    money_a_day_each: float | None = None

    def __post_init__(self) -> None:
        counts = (self.concurrent, self.concurrent_each, self.answers_a_minute)
        if min(*counts, self.answers_a_minute_each, self.answers_a_day_each) < 1:
            raise UsageError("a limit of answers is 1 or more; without answers, serve the site alone")
        for money in (self.money_a_day, self.money_a_day_each):
            if money is not None and not (isfinite(money) and money > 0):
                raise UsageError(f"a day's money is more than 0, not {money}; leave it out for no limit")


class QuotaLimiter:
    """Lets answers in. `secret` keeps addresses out of the counters: they are counted under a keyed hash."""

    def __init__(self, allowance: AnswerQuota, counters: CounterStore | None = None, *, secret: bytes = b"") -> None:
        self.allowance = allowance
        self.counters = counters or CounterStore()
        if self.counters.shared and not secret:
            raise UsageError("processes that share their counters need one key; set it for all of them")
        self._secret = blake2b(secret or os.urandom(32)).digest()
        self._busy: Counter[str] = Counter()

    @property
    def busy(self) -> int:
        """How many answers are under way in this process."""
        return self._busy.total()

    def check(self, most: float) -> None:
        """Raise UsageError where an answer that costs this much could never be let in."""
        for name in ("money_a_day", "money_a_day_each"):
            money = getattr(self.allowance, name)
            if money is not None and most > money:
                raise UsageError(
                    f"{name} is {money:g}, but one answer may cost {most:g}; raise it or lower [budget] cost"
                )

    async def admit(self, who: str, *, most: float = 0.0, spends: bool | None = None) -> Reservation:
        """Let an answer in that costs at most so much. `spends` is whether it costs anything: where prices are not
        known, `most` is 0 and money is spent all the same.

        Raises Refused: 429 where there is no room, 503 where money is to be spent and nobody can count it.
        """
        key = self.hashed(who)
        self._take_slot(key)
        try:
            return await self._counted(key, most, spends=most > 0 if spends is None else spends)
        except BaseException:
            self._free_slot(key)
            raise

    def hashed(self, who: str) -> str:
        """Give the name that a visitor is counted under."""
        return blake2b(who.encode(), key=self._secret, digest_size=12).hexdigest()

    async def spent(self) -> float:
        """Give the money that is spent and set aside today. Raises StorageDown."""
        return await self.counters.count(_purse("all", format_utc_day(self.counters.clock()))) / _MICRO

    async def _counted(self, key: str, most: float, *, spends: bool) -> Reservation:
        own = self.allowance
        windows = [
            (Window("answers", own.answers_a_minute_each), key),
            (Window("answers-day", own.answers_a_day_each, DAY_SECONDS), key),
            (Window("answers", own.answers_a_minute), "all"),
        ]
        money = own.money_a_day is not None and most > 0
        when = self.counters.clock()
        try:
            full = await self.counters.hit(windows)
        except CounterStorageError:
            if spends:
                raise _uncounted() from None
            full = None  # it spends nothing, and the slots hold
            windows = []
        if full is not None:
            window, wait = full
            raise ProblemError(429, "rate", _TOO_MANY[window.name], retry_after=wait)
        try:
            purses = await self._set_aside(key, most) if money else []
        except (ProblemError, anyio.get_cancelled_exc_class()):
            with anyio.CancelScope(shield=True):
                await self.counters.unhit(windows, when)
            raise
        return Reservation(self.counters, purses, ceil(most * _MICRO), lambda: self._free_slot(key))

    async def _set_aside(self, key: str, most: float) -> list[str]:
        """Set money aside in the day's purses; in all of them or in none."""
        own = self.allowance
        now = self.counters.clock()
        amount = ceil(most * _MICRO)
        taken: list[str] = []
        try:
            for who, limit in ((key, own.money_a_day_each), ("all", own.money_a_day)):
                if limit is None:
                    continue
                purse = _purse(who, format_utc_day(now))
                total = await self.counters.add(purse, amount, _PURSE_SECONDS)
                taken.append(purse)
                if total > limit * _MICRO:
                    raise ProblemError(429, "money", _SPENT, retry_after=seconds_until_midnight(now))
        except BaseException as error:
            with anyio.CancelScope(shield=True):
                for purse in taken:
                    await self.counters.give_back(purse, amount, _PURSE_SECONDS)
            if isinstance(error, CounterStorageError):
                raise _uncounted() from None
            raise
        return taken

    def _take_slot(self, key: str) -> None:
        if self._busy[key] >= self.allowance.concurrent_each:
            raise ProblemError(
                429, "busy", "Your other questions are still being answered.", retry_after=_BUSY_RETRY_SECONDS
            )
        if self.busy >= self.allowance.concurrent:
            raise ProblemError(
                429, "busy", "All places are taken; try again in a moment.", retry_after=_BUSY_RETRY_SECONDS
            )
        self._busy[key] += 1

    def _free_slot(self, key: str) -> None:
        self._busy[key] -= 1
        if self._busy[key] <= 0:
            del self._busy[key]


class Reservation:
    """An answer that was let in: a slot, and money set aside until it is settled.

    Settle it once the cost is known, whatever became of the answer; as a context manager it is settled at the end, as
    spent entirely where nobody said what it cost.
    """

    def __init__(self, counters: CounterStore, purses: list[str], aside: int, free: Callable[[], None]) -> None:
        self._counters = counters
        self._purses = purses
        self._aside = aside
        self._free = free
        self.settled = False

    async def settle(self, cost: float | None) -> None:
        """Count what the answer really cost, and free its slot. None: nobody knows, what was set aside is spent."""
        if self.settled:
            return
        self.settled = True
        self._free()
        more = 0 if cost is None or not isfinite(cost) else ceil(max(cost, 0.0) * _MICRO) - self._aside
        with anyio.CancelScope(shield=True):  # the client may have gone: the money has too
            for purse in self._purses if more else ():
                if more > 0:
                    await self._counters.owe(purse, more, _PURSE_SECONDS)
                else:
                    await self._counters.give_back(purse, -more, _PURSE_SECONDS)

    async def __aenter__(self) -> Reservation:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.settle(None)


def _purse(who: str, day: str) -> str:
    return f"roaming/money/{who}/{day}"


def _uncounted() -> ProblemError:
    return ProblemError(
        503, "counters", "Nothing can be spent while nobody can count it; try again soon.", retry_after=30
    )


_MICRO = 1_000_000


_PURSE_SECONDS = 2 * DAY_SECONDS


_BUSY_RETRY_SECONDS = 5.0


_TOO_MANY = {
    "answers": "Too many questions in a minute.",
    "answers-day": "Too many questions for one day.",
}


_SPENT = "Today's budget for answers is spent."

"""Quotas of answers: places in this process, answers per minute and per day, money per day.

Before an answer starts, the maximum cost of a model call is reserved. Before each call the reservation grows to what
the answer may have cost after it; if the money does not suffice, the model is not called. The difference is returned
when the cost is known. All reservations together never exceed the money of the day. Whatever is unknown counts as
spent: an answer whose process died, and every answer while the counters are unavailable. What this process has reserved
is also counted by itself, so that a refused client knows whether to come back in seconds or tomorrow.

Counters are in this process, or in a Redis that several processes share. Counting is atomic: a number is added first,
checked, and taken back if it was too much. So simultaneous requests never pass together if only one of them may, also
across processes.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from importlib.util import find_spec
from math import ceil, inf, isfinite
from typing import Annotated, Literal, NamedTuple

import anyio
from limits.aio.storage import RedisStorage
from limits.errors import ConfigurationError, StorageError
from msgspec import Meta

from mkdocs_roaming.answer.budget import StopAnswer
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.serve.log import SeldomLog
from mkdocs_roaming.serve.requests import ProblemError

DAY_SECONDS = 86_400
MINUTE_SECONDS = 60
UNLIMITED = "unlimited"
_PAID_WINDOWS = (
    ("answers_a_minute_each", MINUTE_SECONDS),
    ("answers_a_day_each", DAY_SECONDS),
    ("answers_a_minute", MINUTE_SECONDS),
)
_FREE_WINDOWS = (("free_answers_a_minute_each", MINUTE_SECONDS), ("free_answers_a_minute", MINUTE_SECONDS))
"""The limits that count answers, and the time that each is for."""
_MONEY_LIMITS = (("money_a_day_each", ""), ("money_a_day", "all"))
"""The limits of money, and whose it is: the client's, or that of all."""
_MIN_CLIENT_ANSWERS = 3  # the money of one client: a tenth of all, but at least that of three answers
_MICRO = 1_000_000  # money is counted in millionths
_PURSE_SECONDS = 2 * DAY_SECONDS
_BUSY_RETRY_SECONDS = 5.0
_UNCOUNTED_RETRY_SECONDS = 30.0
_REDIS_SCHEMES = ("redis", "rediss", "redis+unix")
_REDIS_SECONDS = 1.0
_STORAGE_ERRORS = (StorageError, OSError)  # TimeoutError is an OSError
_MIN_SWEEP_SIZE = 4_096

Count = Annotated[int, Meta(ge=1, le=10**15)]
Amount = Annotated[float, Meta(gt=0, le=1e15)]
Money = Amount | Literal["unlimited"]


@dataclass(frozen=True, slots=True)
class AnswerQuota:
    """Limits of answers and of their cost. Days are days in UTC.

    `concurrent` and `concurrent_each` count per process, the others for all processes that share counters. Limits that
    end in `_each` apply to each client, those that begin with `free_` to answers without a provider's model, which take
    no places from the others.
    """

    concurrent: Count = 8
    concurrent_each: Count = 3
    answers_a_minute: Count = 60
    answers_a_minute_each: Count = 6
    answers_a_day_each: Count = 200
    free_answers_a_minute: Count = 600
    free_answers_a_minute_each: Count = 30
    money_a_day: Money | None = None
    money_a_day_each: Money | None = None

    def with_client_money(self, max_cost: float) -> AnswerQuota:
        """Return the quota with a default for the money of each client: a tenth of all, and at least three answers."""
        money = self.money_a_day
        if self.money_a_day_each is not None or money is None or isinstance(money, str):
            return self
        least = _MIN_CLIENT_ANSWERS * max_cost
        return replace(self, money_a_day_each=min(money, max(money / 10, least)))


class DailyBudget(NamedTuple):
    """The money of a day, of one client or of all: the key of its counter, its limit, and the setting."""

    key: str
    limit: float
    setting: str


class QuotaLimiter:
    """Reserves answers against a quota.

    Args:
        quota: The limits.
        counters: The counters (default: in this process).
        secret: The key of the hash that clients are counted under.
    """

    def __init__(self, quota: AnswerQuota, counters: CounterStore | None = None, *, secret: bytes = b"") -> None:
        self.quota = quota
        self.counters = counters or CounterStore()
        if self.counters.is_shared and not secret:
            raise UsageError("processes that share counters need the same key; set it for each of them")
        self._secret = blake2b(secret or os.urandom(32)).digest()
        self._paid = Counter[str]()
        self._free = Counter[str]()
        self.held = Counter[str]()
        """The money that this process has reserved, by the key of the budget."""

    @property
    def in_progress(self) -> int:
        """Number of answers in progress in this process."""
        return self._paid.total() + self._free.total()

    def check_cost(self, max_cost: float | None) -> None:
        """Raise UsageError if an answer with this maximum cost (None: unlimited) may exceed the money of a day."""
        for name in ("money_a_day", "money_a_day_each"):
            money = getattr(self.quota, name)
            if money is None or money == UNLIMITED:
                continue
            if max_cost is None:
                raise UsageError(f"{name} needs the prices of the model; set [prices] in roaming.toml")
            if max_cost > money:
                raise UsageError(
                    f"{name} is {money:g}, but one answer may cost {max_cost:g}; raise it or lower [budget] cost"
                )

    async def reserve(self, client: str, cost: float | None = None) -> Reservation:
        """Reserve a place and some money for an answer.

        Args:
            client: The network of the client.
            cost: The maximum cost of a model call, 0 if it is unknown; None if no provider's model is called.

        Raises:
            ProblemError: 429 if a quota is exhausted, 503 if money cannot be counted.
        """
        key = self.hash_client(client)
        now = self.counters.clock()
        is_paid = cost is not None
        amount = ceil((cost or 0.0) * _MICRO)
        places = self._paid if is_paid else self._free
        budgets = []
        for setting, owner in _MONEY_LIMITS if is_paid else ():
            limit = getattr(self.quota, setting)
            if limit is not None:  # an unlimited budget is counted, too
                day = _money_key(owner or key, now)
                budgets.append(DailyBudget(day, inf if limit == UNLIMITED else limit, setting))
        try:
            async with AsyncExitStack() as undo:
                self._take_place(places, key)
                undo.callback(subtract, places, key, 1)
                try:
                    await self._count(key, now, undo, is_paid=is_paid)
                except CounterStorageError:
                    if is_paid:
                        raise  # a free answer needs only a place
                for budget in budgets:
                    await self.take_money(budget, amount, undo)
                undo.pop_all()
        except CounterStorageError:
            detail = "Nothing can be spent while it cannot be counted; try again soon."
            raise ProblemError("counters", detail, retry_after=_UNCOUNTED_RETRY_SECONDS) from None
        return Reservation(self, budgets, amount, lambda: subtract(places, key, 1))

    def hash_client(self, client: str) -> str:
        """Return the name that a client is counted under."""
        return blake2b(client.encode(), key=self._secret, digest_size=12).hexdigest()

    async def spent(self) -> float:
        """Return the money spent and reserved today. Raise CounterStorageError if it is unknown."""
        day = _money_key("all", self.counters.clock())
        return await self.counters.add(day, 0, _PURSE_SECONDS) / _MICRO

    async def _count(self, client: str, now: float, undo: AsyncExitStack, *, is_paid: bool) -> None:
        """Count an answer for its client and in total. Raise ProblemError if there are too many."""
        windows = []
        for setting, seconds in _PAID_WINDOWS if is_paid else _FREE_WINDOWS:
            owner = client if setting.endswith("_each") else "all"
            windows.append((Window(setting, getattr(self.quota, setting), seconds), owner))
        full = await self.counters.hit(windows)
        if full is not None:
            window, wait = full
            period = "for one day" if window.seconds == DAY_SECONDS else "in a minute"
            raise ProblemError("rate", f"Too many questions {period}.", retry_after=wait, setting=str(window))
        undo.push_async_callback(self.counters.undo_hit, windows, now)

    async def take_money(self, budget: DailyBudget, amount: int, undo: AsyncExitStack) -> None:
        """Reserve money. Raise ProblemError if there is too little, in all or at the moment."""
        # It is held before it is taken, so that of two clients at once none takes the other's money for spent.
        self.held[budget.key] += amount
        undo.callback(subtract, self.held, budget.key, amount)
        total = await self.counters.add(budget.key, amount, _PURSE_SECONDS)
        undo.push_async_callback(self.counters.subtract, budget.key, amount, _PURSE_SECONDS)
        limit = budget.limit * _MICRO
        if total <= limit:
            return
        is_spent = total - self.held[budget.key] + amount > limit  # otherwise other answers have reserved the rest
        seconds = DAY_SECONDS - self.counters.clock() % DAY_SECONDS if is_spent else _BUSY_RETRY_SECONDS
        code = "money" if is_spent else "busy"
        setting = f"{budget.setting} = {budget.limit:g}"
        raise ProblemError(code, "Answers are not available now.", retry_after=seconds, setting=setting)

    def _take_place(self, places: Counter[str], key: str) -> None:
        """Count an answer in progress. Raise ProblemError if there are too many."""
        checks = (
            ("concurrent_each", places[key], "Your other questions are still being answered."),
            ("concurrent", places.total(), "All places are taken; try again in a moment."),
        )
        for name, taken, detail in checks:
            limit = getattr(self.quota, name)
            if taken >= limit:
                setting = f"{name} = {limit}"
                raise ProblemError("busy", detail, retry_after=_BUSY_RETRY_SECONDS, setting=setting)
        places[key] += 1


@dataclass(slots=True)
class Reservation:
    """A place and money for one answer, until it is settled."""

    limiter: QuotaLimiter
    budgets: Sequence[DailyBudget]
    amount: int
    free_place: Callable[[], None]
    settled: bool = False

    async def grow(self, total: float) -> None:
        """Reserve what the answer may have cost after its next model call, if it is more than what is reserved.

        Raises:
            StopAnswer: The money does not suffice or cannot be counted, or the cost of the answer is settled.
        """
        missing = ceil(total * _MICRO) - self.amount
        try:
            async with AsyncExitStack() as undo:
                for budget in self.budgets if missing > 0 else ():
                    await self.limiter.take_money(budget, missing, undo)
                if self.settled:  # perhaps in the meantime: the client has disconnected
                    raise StopAnswer("budget", spent="cost")
                undo.pop_all()
        except (ProblemError, CounterStorageError):
            raise StopAnswer("budget", spent="cost") from None
        self.amount += max(missing, 0)

    async def settle(self, cost: float | None) -> None:
        """Count the actual cost and free the place. With None, the cost is unknown and the full amount is spent."""
        if self.settled:
            return
        self.settled = True
        self.free_place()
        unspent = 0 if cost is None or not isfinite(cost) else self.amount - ceil(cost * _MICRO)
        with anyio.CancelScope(shield=True):  # the money is spent even if the client has disconnected
            for budget in self.budgets:
                if unspent:
                    await self.limiter.counters.subtract(budget.key, unspent, _PURSE_SECONDS)
                subtract(self.limiter.held, budget.key, self.amount)


def subtract(counts: Counter[str], key: str, amount: int) -> None:
    """Subtract from a count, which is removed at 0."""
    counts[key] -= amount
    if counts[key] <= 0:
        del counts[key]


def _money_key(owner: str, now: float) -> str:
    return f"roaming/money/{owner}/{int(now // DAY_SECONDS)}"


# Counters


class CounterStorageError(Exception):
    """The storage of the counters is unavailable."""


class Window(NamedTuple):
    """The limit of a setting for every minute or day of the clock."""

    setting: str
    limit: int
    seconds: int = MINUTE_SECONDS

    def __str__(self) -> str:
        return f"{self.setting} = {self.limit}"

    def slot(self, key: str, now: float) -> str:
        """Return the counter of a period."""
        return f"roaming/{self.setting}/{key}/{int(now // self.seconds)}"


class CounterStore:
    """Counters by key, in this process or in a Redis that several processes share.

    Args:
        url: The address of a Redis; None for this process.
        clock: Returns seconds since 1970.
        timeout: Seconds to wait for the storage.
    """

    def __init__(self, url: str | None = None, *, clock: Callable[[], float] = time.time, timeout: float = 2.0) -> None:
        self.clock = clock
        self.is_shared = url is not None
        self._storage = _MemoryStorage(clock) if url is None else _open_redis(url)
        self._timeout = timeout
        self._log = SeldomLog()

    async def hit(self, windows: Sequence[tuple[Window, str]]) -> tuple[Window, float] | None:
        """Count one in every window, each under its key; if one of them is full, in none.

        Returns:
            None, or the full window and the seconds until it has room.

        Raises:
            CounterStorageError: The storage is unavailable.
        """
        now = self.clock()
        for position, (window, key) in enumerate(windows):
            if await self.add(window.slot(key, now), 1, window.seconds) > window.limit:
                await self.undo_hit(windows[: position + 1], now)
                return window, window.seconds - now % window.seconds
        return None

    async def undo_hit(self, windows: Sequence[tuple[Window, str]], when: float) -> None:
        """Subtract an earlier count. If the storage is unavailable, the count remains."""
        for window, key in windows:
            await self.subtract(window.slot(key, when), 1, window.seconds)

    async def add(self, key: str, amount: int, seconds: int) -> int:
        """Add to a counter that expires after some seconds, and return its value. Raise CounterStorageError."""
        if not self.is_shared:
            return await self._storage.incr(key, seconds, amount)
        try:
            with anyio.fail_after(self._timeout):
                return await self._storage.incr(key, seconds, amount)
        except _STORAGE_ERRORS as error:
            message = "the counters cannot be reached (%s); no money is spent: start Redis, or correct ROAMING_COUNTERS"
            self._log.warn(message, type(error).__name__)
            raise CounterStorageError from error

    async def subtract(self, key: str, amount: int, seconds: int) -> None:
        """Subtract from a counter, without effect if the storage is unavailable (the reply may have been lost)."""
        with anyio.CancelScope(shield=True), suppress(CounterStorageError):
            await self.add(key, -amount, seconds)

    async def close(self) -> None:
        """Close the connections to the storage; they are opened again when needed."""
        client = getattr(getattr(self._storage, "bridge", None), "storage", None)
        if client is not None:
            with anyio.move_on_after(self._timeout), suppress(*_STORAGE_ERRORS):
                await client.aclose()


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
            value = 0
            expires = now + seconds
        self._counters[key] = value + amount, expires
        if len(self._counters) > self._sweep_size:
            self._counters = {key: counter for key, counter in self._counters.items() if counter[1] > now}
            self._sweep_size = max(_MIN_SWEEP_SIZE, 2 * len(self._counters))
        return value + amount


def _open_redis(url: str) -> RedisStorage:
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
            socket_timeout=_REDIS_SECONDS,
            socket_connect_timeout=_REDIS_SECONDS,
        )
    except (ConfigurationError, ValueError):
        raise UsageError("the URL of Redis cannot be parsed; write redis://:PASSWORD@HOST:6379/0") from None

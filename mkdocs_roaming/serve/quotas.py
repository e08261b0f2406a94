"""Quotas of answers: places in this process, answers per minute and per day, money per day.

The maximum cost of an answer is reserved before it starts, and the difference is returned when its cost is known. All
reservations together never exceed the money of the day, so the day is exceeded by no more than what answers in progress
cost above their reservation. Whatever is unknown counts as spent: an answer whose process died, and every answer while
the counters are unavailable. What answers in progress have reserved is also counted by itself, so that a refused client
knows whether to come back in seconds or tomorrow.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from hashlib import blake2b
from math import ceil, inf, isfinite
from typing import Annotated, Literal

import anyio
from msgspec import Meta

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.serve.counters import CounterStorageError, CounterStore, Window
from mkdocs_roaming.serve.requests import ProblemError

DAY_SECONDS = 86_400

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
        return replace(self, money_a_day_each=min(money, max(money / 10, 3 * max_cost)))


class QuotaLimiter:
    """Reserves answers against a quota.

    Args:
        quota: The limits.
        counters: The counters (default: in this process).
        secret: The key of the hash that clients are counted under.
        answer_seconds: Maximum time of an answer; money that is reserved for longer belongs to a process that died.
    """

    def __init__(
        self,
        quota: AnswerQuota,
        counters: CounterStore | None = None,
        *,
        secret: bytes = b"",
        answer_seconds: float = 60.0,
    ) -> None:
        self.quota = quota
        self.counters = counters or CounterStore()
        if self.counters.is_shared and not secret:
            raise UsageError("processes that share counters need the same key; set it for each of them")
        self._secret = blake2b(secret or os.urandom(32)).digest()
        self._held_seconds = ceil(answer_seconds) + _SETTLE_SECONDS
        self._paid, self._free = Counter[str](), Counter[str]()

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
        is_paid = spends_money or amount > 0
        budgets = self._list_budgets(key, now) if is_paid else []
        places = self._paid if is_paid else self._free
        try:
            async with AsyncExitStack() as undo:
                self._take_place(places, key)
                undo.callback(_free_place, places, key)
                try:
                    await self._count(key, now, undo, is_paid=is_paid)
                except CounterStorageError:
                    if is_paid:
                        raise  # a free answer needs only a place
                for budget in budgets:
                    await self._take_money(budget, amount, now, undo)
                undo.pop_all()
        except CounterStorageError:
            detail = "Nothing can be spent while it cannot be counted; try again soon."
            raise ProblemError(503, "counters", detail, retry_after=30) from None
        return Reservation(self.counters, budgets, amount, lambda: _free_place(places, key))

    def hash_client(self, client: str) -> str:
        """Return the name that a client is counted under."""
        return blake2b(client.encode(), key=self._secret, digest_size=12).hexdigest()

    async def spent(self) -> float:
        """Return the money spent and reserved today. Raise CounterStorageError if it is unknown."""
        return await self.counters.get(_money_key("all", self.counters.clock())) / _MICRO

    async def _count(self, key: str, now: float, undo: AsyncExitStack, *, is_paid: bool) -> None:
        """Count an answer for its client and in total. Raise ProblemError if there are too many."""
        quota = self.quota
        if is_paid:
            windows = [
                (Window("answers", quota.answers_a_minute_each, setting="answers_a_minute_each"), key),
                (Window("answers-day", quota.answers_a_day_each, DAY_SECONDS, "answers_a_day_each"), key),
                (Window("answers", quota.answers_a_minute, setting="answers_a_minute"), "all"),
            ]
        else:
            windows = [
                (Window("free", quota.free_answers_a_minute_each, setting="free_answers_a_minute_each"), key),
                (Window("free", quota.free_answers_a_minute, setting="free_answers_a_minute"), "all"),
            ]
        full = await self.counters.hit(windows)
        if full is not None:
            window, seconds = full
            detail = f"Too many questions {'for one day' if window.seconds == DAY_SECONDS else 'in a minute'}."
            raise ProblemError(429, "rate", detail, retry_after=seconds, setting=f"{window.setting} = {window.limit}")
        undo.push_async_callback(self.counters.undo_hit, windows, now)

    def _list_budgets(self, key: str, now: float) -> list[DailyBudget]:
        """Return the budgets of the day: the client's and the common one, which is also counted without a limit."""
        each, total, seconds = self.quota.money_a_day_each, self.quota.money_a_day, self._held_seconds
        budgets = [] if each in (None, UNLIMITED) else [DailyBudget(key, now, seconds, float(each), "money_a_day_each")]
        if total is not None:
            limit = inf if total == UNLIMITED else float(total)
            budgets.append(DailyBudget("all", now, seconds, limit, "money_a_day"))
        return budgets

    async def _take_money(self, budget: DailyBudget, amount: int, now: float, undo: AsyncExitStack) -> None:
        """Reserve money. Raise ProblemError if there is too little, in all or at the moment."""
        counters = self.counters
        # It is held before it is taken, so that of two clients at once none takes the other's money for spent.
        for key, seconds in budget.counters:
            total = await counters.add(key, amount, seconds)
            undo.push_async_callback(counters.subtract, key, amount, seconds)
        limit, setting = budget.limit * _MICRO, f"{budget.setting} = {budget.limit:g}"
        if total <= limit:
            return
        held = sum([await counters.get(key) for key in budget.held_keys])
        if total - held + amount <= limit:
            detail = "Answers in progress may need the rest of today's budget; try again in a moment."
            raise ProblemError(429, "busy", detail, retry_after=_BUSY_RETRY_SECONDS, setting=setting)
        detail = f"Today's budget for {'answers' if budget.owner == 'all' else 'one visitor'} is spent."
        tomorrow = DAY_SECONDS - now % DAY_SECONDS
        raise ProblemError(429, "money", detail, retry_after=tomorrow, setting=setting)

    def _take_place(self, places: Counter[str], key: str) -> None:
        detail = name = ""
        if places[key] >= self.quota.concurrent_each:
            detail, name = "Your other questions are still being answered.", "concurrent_each"
        elif places.total() >= self.quota.concurrent:
            detail, name = "All places are taken; try again in a moment.", "concurrent"
        if detail:
            setting = f"{name} = {getattr(self.quota, name)}"
            raise ProblemError(429, "busy", detail, retry_after=_BUSY_RETRY_SECONDS, setting=setting)
        places[key] += 1


def _free_place(places: Counter[str], key: str) -> None:
    places[key] -= 1
    if places[key] <= 0:
        del places[key]


@dataclass(frozen=True, slots=True)
class DailyBudget:
    """The money of a day, of one client or of all, at the time of a reservation.

    One counter is for what is spent or reserved, one for what is reserved. The latter belongs to a time slot and
    expires after the next one: what a process has reserved that died counts as spent.

    Attributes:
        owner: The client, or `all`.
        now: Seconds since 1970.
        slot_seconds: Length of a time slot.
        limit: The money of a day.
        setting: The name of the limit.
    """

    owner: str
    now: float
    slot_seconds: int
    limit: float
    setting: str

    @property
    def held_keys(self) -> tuple[str, str]:
        """The counters of what is reserved, of this time slot and of the one before."""
        slot = int(self.now // self.slot_seconds)
        return f"roaming/held/{self.owner}/{slot}", f"roaming/held/{self.owner}/{slot - 1}"

    @property
    def counters(self) -> tuple[tuple[str, int], tuple[str, int]]:
        """The counters of a reservation, with the seconds after which they expire; the second one is for both."""
        return (self.held_keys[0], 2 * self.slot_seconds), (_money_key(self.owner, self.now), _PURSE_SECONDS)


class Reservation:
    """A place and money for one answer, until it is settled."""

    def __init__(
        self, counters: CounterStore, budgets: Sequence[DailyBudget], amount: int, free_place: Callable[[], None]
    ) -> None:
        self.settled = False
        self._counters, self._budgets, self._amount, self._free_place = counters, budgets, amount, free_place

    async def settle(self, cost: float | None) -> None:
        """Count the actual cost and free the place. With None, the cost is unknown and the full amount is spent."""
        if self.settled:
            return
        self.settled = True
        self._free_place()
        is_known = cost is not None and isfinite(cost)
        difference = ceil(max(cost or 0.0, 0.0) * _MICRO) - self._amount if is_known else 0
        with anyio.CancelScope(shield=True):  # the money is spent even if the client has disconnected
            for budget in self._budgets:
                (held_key, held_seconds), (key, seconds) = budget.counters
                if difference > 0:
                    await self._counters.add_eventually(key, difference, seconds)
                elif difference < 0:
                    await self._counters.subtract(key, -difference, seconds)
                await self._counters.subtract(held_key, self._amount, held_seconds)


def _money_key(owner: str, now: float) -> str:
    return f"roaming/money/{owner}/{time.strftime('%Y-%m-%d', time.gmtime(now))}"


UNLIMITED = "unlimited"
_MICRO = 1_000_000
_PURSE_SECONDS = 2 * DAY_SECONDS
_SETTLE_SECONDS = 30
_BUSY_RETRY_SECONDS = 5.0

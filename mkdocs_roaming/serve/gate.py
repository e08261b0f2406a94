"""What answers cost and how many there may be: slots, answers per minute, money per day.

Before an answer the most that it can cost is set aside; after it the difference is given back. What is set aside by
all answers together never exceeds the day's money, so the day is overrun by no more than what answers under way cost
above what was set aside for them. Whatever cannot be known counts as spent: an answer without a known cost, one whose
process died, and all of them while the counters cannot be reached.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from math import ceil, isfinite
from types import TracebackType

import anyio

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.serve.counters import DAY, Counters, StorageDown, Window, day_of, seconds_left
from mkdocs_roaming.serve.problems import Refused


@dataclass(frozen=True, slots=True)
class Allowance:
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


class Gate:
    """Lets answers in. `secret` keeps addresses out of the counters: they are counted under a keyed hash."""

    def __init__(self, allowance: Allowance, counters: Counters | None = None, *, secret: bytes = b"") -> None:
        self.allowance = allowance
        self.counters = counters or Counters()
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

    async def admit(self, who: str, *, most: float = 0.0, spends: bool | None = None) -> Admission:
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
        return await self.counters.count(_purse("all", day_of(self.counters.clock()))) / _MICRO

    async def _counted(self, key: str, most: float, *, spends: bool) -> Admission:
        own = self.allowance
        windows = [
            (Window("answers", own.answers_a_minute_each), key),
            (Window("answers-day", own.answers_a_day_each, DAY), key),
            (Window("answers", own.answers_a_minute), "all"),
        ]
        money = own.money_a_day is not None and most > 0
        when = self.counters.clock()
        try:
            full = await self.counters.hit(windows)
        except StorageDown:
            if spends:
                raise _uncounted() from None
            full = None  # it spends nothing, and the slots hold
            windows = []
        if full is not None:
            window, wait = full
            raise Refused(429, "rate", _TOO_MANY[window.name], retry_after=wait)
        try:
            purses = await self._set_aside(key, most) if money else []
        except (Refused, anyio.get_cancelled_exc_class()):
            with anyio.CancelScope(shield=True):
                await self.counters.unhit(windows, when)
            raise
        return Admission(self.counters, purses, ceil(most * _MICRO), lambda: self._free_slot(key))

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
                purse = _purse(who, day_of(now))
                total = await self.counters.add(purse, amount, _KEPT)
                taken.append(purse)
                if total > limit * _MICRO:
                    raise Refused(429, "money", _SPENT, retry_after=seconds_left(now))
        except BaseException as error:
            with anyio.CancelScope(shield=True):
                for purse in taken:
                    await self.counters.give_back(purse, amount, _KEPT)
            if isinstance(error, StorageDown):
                raise _uncounted() from None
            raise
        return taken

    def _take_slot(self, key: str) -> None:
        if self._busy[key] >= self.allowance.concurrent_each:
            raise Refused(429, "busy", "Your other questions are still being answered.", retry_after=_SOON)
        if self.busy >= self.allowance.concurrent:
            raise Refused(429, "busy", "All places are taken; try again in a moment.", retry_after=_SOON)
        self._busy[key] += 1

    def _free_slot(self, key: str) -> None:
        self._busy[key] -= 1
        if self._busy[key] <= 0:
            del self._busy[key]


class Admission:
    """An answer that was let in: a slot, and money set aside until it is settled.

    Settle it once the cost is known, whatever became of the answer; as a context manager it is settled at the end, as
    spent entirely where nobody said what it cost.
    """

    def __init__(self, counters: Counters, purses: list[str], aside: int, free: Callable[[], None]) -> None:
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
                    await self._counters.owe(purse, more, _KEPT)
                else:
                    await self._counters.give_back(purse, -more, _KEPT)

    async def __aenter__(self) -> Admission:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.settle(None)


def _purse(who: str, day: str) -> str:
    return f"roaming/money/{who}/{day}"


def _uncounted() -> Refused:
    return Refused(503, "counters", "Nothing can be spent while nobody can count it; try again soon.", retry_after=30)


_MICRO = 1_000_000
_KEPT = 2 * DAY
_SOON = 5.0
_TOO_MANY = {
    "answers": "Too many questions in a minute.",
    "answers-day": "Too many questions for one day.",
}
_SPENT = "Today's budget for answers is spent."

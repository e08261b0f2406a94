"""How many answers there may be, and that a day's money is a day's money, whatever happens at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from socket import socket
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.serve.problems import ProblemError
from mkdocs_roaming.serve.quotas import (
    DAY_SECONDS,
    AnswerQuota,
    CounterStorageError,
    CounterStore,
    QuotaLimiter,
    Window,
)

pytestmark = pytest.mark.anyio

NOON = 20_000 * DAY_SECONDS + DAY_SECONDS / 2


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Clock:
    """Time that passes when told to."""

    def __init__(self, now: float = NOON) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def gate(clock: Clock | None = None, **allowed: Any) -> QuotaLimiter:
    allowed = {"answers_a_minute": 10_000, "answers_a_minute_each": 10_000, "answers_a_day_each": 10_000, **allowed}
    return QuotaLimiter(AnswerQuota(**allowed), CounterStore(clock=clock or Clock()))


@contextmanager
def refused(status: int, code: str) -> Iterator[pytest.ExceptionInfo[ProblemError]]:
    with pytest.raises(ProblemError) as caught:
        yield caught
    assert (caught.value.status, caught.value.code) == (status, code)
    assert caught.value.retry_after


# Answers at once


async def test_eight_answers_at_once() -> None:
    """The ninth is told when to come again; as one ends, the next is let in."""
    doors = gate()
    inside = [await doors.reserve(f"192.0.2.{at}") for at in range(8)]
    with refused(429, "busy"):
        await doors.reserve("192.0.2.99")
    await inside[0].settle(0.0)
    await doors.reserve("192.0.2.99")
    assert doors.in_progress == 8


async def test_one_visitor_cannot_take_all_places() -> None:
    """Three answers at once for each."""
    doors = gate()
    for _ in range(3):
        await doors.reserve("192.0.2.1")
    with refused(429, "busy"):
        await doors.reserve("192.0.2.1")
    await doors.reserve("192.0.2.2")


async def test_a_slot_is_freed_once() -> None:
    """Settling twice, or leaving the block after settling, counts once; what was refused holds no slot."""
    doors = gate(concurrent=2, answers_a_minute_each=3, money_a_day=1.0)
    other = await doors.reserve("a", max_cost=0.2)
    async with await doors.reserve("a", max_cost=0.2) as admission:
        await admission.settle(0.1)
        await admission.settle(0.1)
        assert doors.in_progress == 1
    assert (doors.in_progress, await doors.spent()) == (1, pytest.approx(0.3))
    await other.settle(0.2)
    await (await doors.reserve("a")).settle(0.0)
    with refused(429, "rate"):
        await doors.reserve("a")
    assert doors.in_progress == 0


# Answers in time


async def test_answers_a_minute() -> None:
    """A visitor's seventh question in a minute is refused, others go on; Retry-After tells the truth."""
    clock = Clock()
    doors = gate(clock, answers_a_minute_each=6)
    for _ in range(6):
        await (await doors.reserve("a")).settle(0.0)
    with refused(429, "rate") as caught:
        await doors.reserve("a")
    await (await doors.reserve("b")).settle(0.0)
    assert caught.value.retry_after is not None
    clock.now += caught.value.retry_after - 2
    with refused(429, "rate"):
        await doors.reserve("a")
    clock.now += 2
    await doors.reserve("a")


async def test_a_minute_moves() -> None:
    """Waiting for the full minute to turn does not give twice as many: the last ones still count."""
    clock = Clock(NOON + 59)
    doors = gate(clock, answers_a_minute_each=10)
    for _ in range(10):
        await (await doors.reserve("a")).settle(0.0)
    clock.now += 2
    with refused(429, "rate"):
        await doors.reserve("a")


async def test_answers_of_all_visitors() -> None:
    """The limit of all together holds however many addresses ask; whom it stops, is not counted against."""
    doors = gate(answers_a_minute=20, answers_a_minute_each=1)
    for at in range(20):
        await (await doors.reserve(f"2001:db8:{at:x}::/64")).settle(0.0)
    with refused(429, "rate"):
        await doors.reserve("late")
    doors.counters.clock.now += 119
    await doors.reserve("late")


@settings(deadline=None, max_examples=60)
@given(st.lists(st.floats(0, 30), min_size=1, max_size=80), st.integers(1, 8))
def test_no_stretch_of_a_minute_holds_too_many(pauses: list[float], limit: int) -> None:
    """Whenever somebody asks, no minute by the clock holds more than the limit, and no 60 seconds twice as many."""
    clock = Clock()
    counters = CounterStore(clock=clock)
    passed: list[float] = []

    async def ask_on() -> None:
        for pause in pauses:
            clock.now += pause
            full = await counters.hit([(Window("x", limit), "a")])
            if full is None:
                passed.append(clock.now)
            else:
                assert 0 < full[1] <= 120

    anyio.run(ask_on)
    for moment in passed:
        assert sum(1 for other in passed if other // 60 == moment // 60) <= limit
        assert sum(1 for other in passed if moment <= other < moment + 60) < 2 * limit + 1
    assert passed


@given(st.integers(0, 50), st.integers(0, 50), st.floats(0, 59.9), st.integers(1, 40))
@settings(deadline=None, max_examples=80)
def test_coming_again_when_told_is_soon_enough(before: int, here: int, gone: float, limit: int) -> None:
    """After Retry-After a full window has room, if nobody else asked."""
    clock = Clock()
    counters = CounterStore(clock=clock)
    window = Window("x", limit)

    async def come_again() -> None:
        for _ in range(before):
            await counters.hit([(window, "a")])
        clock.now += 60 + gone
        for _ in range(here):
            await counters.hit([(window, "a")])
        full = await counters.hit([(window, "a")])
        if full is not None:
            clock.now += full[1] + 1e-6
            assert await counters.hit([(window, "a")]) is None

    anyio.run(come_again)


# Money


async def test_a_days_money() -> None:
    """When the day's money is spent nobody is let in before midnight, UTC; then everybody is."""
    clock = Clock()
    doors = gate(clock, money_a_day=1.0)
    for _ in range(4):
        await (await doors.reserve("a", max_cost=0.25)).settle(0.25)
    with refused(429, "money") as caught:
        await doors.reserve("b", max_cost=0.01)
    assert caught.value.retry_after == DAY_SECONDS / 2
    clock.now += DAY_SECONDS / 2
    await doors.reserve("b", max_cost=0.25)


async def test_what_was_not_spent_is_given_back() -> None:
    """An answer sets aside the most it may cost, and pays what it did cost."""
    doors = gate(money_a_day=1.0)
    for _ in range(90):
        await (await doors.reserve("a", max_cost=0.1)).settle(0.01)
    assert await doors.spent() == pytest.approx(0.9)


async def test_parallel_answers_cannot_overrun_the_day() -> None:
    """A hundred requests at the same moment: those let in fit into the day's money together."""
    doors = gate(money_a_day=1.0, concurrent=1000, concurrent_each=1000)
    inside: list[Any] = []

    async def ask_one(at: int) -> None:
        try:
            inside.append(await doors.reserve(f"v{at}", max_cost=0.09))
        except ProblemError as refusal:
            assert refusal.code == "money"  # noqa: PT017 -- some are let in

    async with anyio.create_task_group() as all_at_once:
        for at in range(100):
            all_at_once.start_soon(ask_one, at)
    assert len(inside) == 11
    assert await doors.spent() == pytest.approx(0.99)
    for admission in inside:
        await admission.settle(0.0)
    assert await doors.spent() == 0


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_the_day_is_overrun_by_answers_under_way_alone(data: st.DataObject) -> None:
    """However answers come and go and whatever they cost above their share, the day's money is exceeded by no more
    than what those under way at once exceed their shares by.
    """
    most, dearest, day = 0.05, 0.08, 0.4
    steps = data.draw(st.lists(st.one_of(st.none(), st.floats(0, dearest)), max_size=60))
    doors = gate(money_a_day=day, concurrent=8, concurrent_each=8)

    async def live() -> None:
        inside: list[Any] = []
        for step in steps:
            if step is None or not inside:
                with suppress(ProblemError):
                    inside.append(await doors.reserve("a", max_cost=most))
            else:
                await inside.pop(0).settle(step)
        for admission in inside:
            await admission.settle(dearest)
        assert await doors.spent() <= day + 8 * (dearest - most) + 1e-4

    anyio.run(live)


async def test_an_unknown_cost_is_the_most() -> None:
    """An answer that broke off, and one whose cost nobody knows, count with all that was set aside."""
    doors = gate(money_a_day=1.0)
    await (await doors.reserve("a", max_cost=0.25)).settle(None)
    await (await doors.reserve("a", max_cost=0.25)).settle(float("nan"))
    with pytest.raises(ZeroDivisionError):
        async with await doors.reserve("a", max_cost=0.25):
            raise ZeroDivisionError
    assert await doors.spent() == pytest.approx(0.75)
    assert doors.in_progress == 0


async def test_an_answer_over_midnight_is_paid_by_the_day_it_began() -> None:
    """What is given back is given to the day it was taken from."""
    clock = Clock(NOON + DAY_SECONDS / 2 - 1)
    doors = gate(clock, money_a_day=1.0)
    admission = await doors.reserve("a", max_cost=0.5)
    clock.now += 5
    await admission.settle(0.1)
    assert await doors.spent() == 0
    clock.now -= 5
    assert await doors.spent() == pytest.approx(0.1)


async def test_one_visitor_cannot_spend_everybodys_money() -> None:
    """With a share for each, the others still have theirs; the refused question took nothing from anybody."""
    doors = gate(money_a_day=1.0, money_a_day_each=0.2)
    for _ in range(2):
        await (await doors.reserve("a", max_cost=0.1)).settle(0.1)
    with refused(429, "money"):
        await doors.reserve("a", max_cost=0.1)
    assert await doors.spent() == pytest.approx(0.2)
    await doors.reserve("b", max_cost=0.1)


async def test_whom_money_stops_loses_no_question() -> None:
    """A refusal for money does not count against the questions of a minute."""
    doors = gate(money_a_day=0.1, answers_a_minute_each=3)
    await (await doors.reserve("b", max_cost=0.1)).settle(0.1)
    for _ in range(5):
        with refused(429, "money"):
            await doors.reserve("a", max_cost=0.1)
    for _ in range(3):
        await (await doors.reserve("a")).settle(0.0)


async def test_a_client_that_leaves_does_not_leave_without_paying() -> None:
    """Cancelled in the middle of an answer, the cost is settled all the same."""
    doors = gate(money_a_day=1.0)
    with anyio.CancelScope() as leaving:
        async with await doors.reserve("a", max_cost=0.3) as admission:
            leaving.cancel()
            try:
                await anyio.sleep(10)
            finally:
                await admission.settle(0.2)
    assert await doors.spent() == pytest.approx(0.2)
    assert doors.in_progress == 0


# Counters that cannot be reached


def dead_redis() -> str:
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"redis://127.0.0.1:{free.getsockname()[1]}/0"


async def test_no_money_is_spent_uncounted() -> None:
    """While Redis cannot be reached, answers that cost money are refused with 503, also the first one, also quickly."""
    doors = QuotaLimiter(AnswerQuota(money_a_day=1.0), CounterStore(dead_redis()), secret=b"key")
    with anyio.fail_after(5):
        for _ in range(30):
            with refused(503, "counters"):
                await doors.reserve("a", max_cost=0.1)
    assert doors.in_progress == 0
    with refused(503, "counters"):
        await QuotaLimiter(AnswerQuota(), CounterStore(dead_redis()), secret=b"key").reserve("a", max_cost=0.1)
    with refused(503, "counters"):  # without prices the cost is not known, and money is spent all the same
        await doors.reserve("a", max_cost=0.0, spends_money=True)
    with pytest.raises(CounterStorageError):
        await doors.spent()


async def test_answers_without_money_go_on() -> None:
    """An answer made offline needs no counters: the places for answers at once hold it back."""
    doors = QuotaLimiter(AnswerQuota(money_a_day=1.0), CounterStore(dead_redis()), secret=b"key")
    inside = [await doors.reserve(f"v{at}") for at in range(8)]
    with refused(429, "busy"):
        await doors.reserve("late")
    for admission in inside:
        await admission.settle(0.0)


async def test_a_storage_that_hangs_is_not_waited_for() -> None:
    """A Redis that accepts and never answers costs one visitor its patience, and the next ones nothing."""
    with socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        counters = CounterStore(f"redis://127.0.0.1:{silent.getsockname()[1]}/0", timeout=0.3)
        doors = QuotaLimiter(AnswerQuota(money_a_day=1.0), counters, secret=b"key")
        with anyio.fail_after(10):
            for _ in range(50):
                with refused(503, "counters"):
                    await doors.reserve("a", max_cost=0.1)
        await counters.close()


async def test_a_dead_storage_is_tried_again() -> None:
    """After a few seconds it is asked again."""
    clock = Clock()
    counters = CounterStore(dead_redis(), clock=clock)
    with pytest.raises(CounterStorageError) as first:
        await counters.get("x")
    with pytest.raises(CounterStorageError) as second:
        await counters.get("x")
    clock.now += 6
    with pytest.raises(CounterStorageError) as third:
        await counters.get("x")
    assert [caught.value.__cause__ is None for caught in (first, second, third)] == [False, True, False]


# What cannot be configured


@pytest.mark.parametrize(
    "allowed",
    [
        {"concurrent": 0},
        {"answers_a_minute": 0},
        {"money_a_day": 0.0},
        {"money_a_day": float("inf")},
        {"money_a_day_each": -1.0},
    ],
)
def test_a_limit_that_limits_nothing_is_refused(allowed: dict[str, Any]) -> None:
    """Zero and infinity are mistakes in a configuration, not limits."""
    with pytest.raises(UsageError):
        AnswerQuota(**allowed)


def test_a_day_must_pay_for_one_answer() -> None:
    """A day's money below one answer's cost would refuse everybody: it is found when the server starts."""
    with pytest.raises(UsageError, match=r"money_a_day is 0\.01, but one answer may cost 0\.05"):
        gate(money_a_day=0.01).check_cost(0.05)
    gate(money_a_day=0.05).check_cost(0.05)


@pytest.mark.parametrize("uri", ["mongodb://x", "memcached://x:1", "file:///x", "nonsense"])
def test_other_storages_are_refused(uri: str) -> None:
    """Counting must be atomic: what cannot do that is named, with what can."""
    with pytest.raises(UsageError, match="in memory or in Redis"):
        CounterStore(uri)


def test_shared_counters_need_a_key() -> None:
    """Several processes must name a visitor alike, or each would have limits of its own."""
    with pytest.raises(UsageError, match="the same key"):
        QuotaLimiter(AnswerQuota(), CounterStore(dead_redis()))


def test_addresses_are_counted_under_a_keyed_hash() -> None:
    """The counters hold no address; without the key none can be found by trying all four billion."""
    one, other = (QuotaLimiter(AnswerQuota(), CounterStore(), secret=secret) for secret in (b"one", b"other"))
    assert one.hash_client("192.0.2.7") != other.hash_client("192.0.2.7")
    assert one.hash_client("192.0.2.7") == QuotaLimiter(AnswerQuota(), CounterStore(), secret=b"one").hash_client(
        "192.0.2.7"
    )
    assert "192.0.2.7" not in one.hash_client("192.0.2.7")


async def test_counters_that_cannot_be_reached_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """The owner learns from the log why nothing is spent: once, and without the password."""
    clock = Clock()
    counters = CounterStore(dead_redis().replace("://", "://:hunter2@"), clock=clock)
    for _ in range(2):
        with pytest.raises(CounterStorageError):
            await counters.get("x")
        clock.now += 6
    await counters.close()
    (record,) = [record for record in caplog.records if record.name == "mkdocs_roaming.serve"]
    assert "cannot be reached" in record.getMessage()
    assert "hunter2" not in record.getMessage()

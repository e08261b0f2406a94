"""Quotas of answers and of money, also with concurrent requests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from random import Random
from socket import socket
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mkdocs_roaming.answer.budget import StopAnswer
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.serve.quotas import (
    DAY_SECONDS,
    AnswerQuota,
    CounterStorageError,
    CounterStore,
    DailyBudget,
    QuotaLimiter,
    Reservation,
)
from mkdocs_roaming.serve.requests import ProblemError
from mkdocs_roaming.settings import decode_table

pytestmark = pytest.mark.anyio

NOON = 20_000 * DAY_SECONDS + DAY_SECONDS / 2


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Clock:
    """A clock that the test advances."""

    def __init__(self, now: float = NOON) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def make_limiter(clock: Clock | None = None, **settings_: Any) -> QuotaLimiter:
    settings_ = {"answers_a_minute": 10_000, "answers_a_minute_each": 10_000, "answers_a_day_each": 10_000, **settings_}
    return QuotaLimiter(AnswerQuota(**settings_), CounterStore(clock=clock or Clock()))


@contextmanager
def raises_problem(status: int, code: str) -> Iterator[pytest.ExceptionInfo[ProblemError]]:
    with pytest.raises(ProblemError) as caught:
        yield caught
    assert (caught.value.status, caught.value.code) == (status, code)
    assert caught.value.retry_after


# Answers at once


async def test_ninth_concurrent_answer_and_fourth_of_a_client_are_refused() -> None:
    limiter = make_limiter()
    inside = [await limiter.reserve("192.0.2.1") for _ in range(3)]
    with raises_problem(429, "busy"):
        await limiter.reserve("192.0.2.1")
    inside += [await limiter.reserve(f"192.0.2.{at}") for at in range(2, 7)]
    with raises_problem(429, "busy"):
        await limiter.reserve("192.0.2.99")
    await inside[0].settle(0.0)
    await limiter.reserve("192.0.2.99")
    assert limiter.in_progress == 8


async def test_place_is_freed_once() -> None:
    limiter = make_limiter(concurrent=2, answers_a_minute_each=3, money_a_day=1.0)
    other = await limiter.reserve("a", cost=0.2)
    reservation = await limiter.reserve("a", cost=0.2)
    await reservation.settle(0.1)
    await reservation.settle(0.1)
    assert (limiter.in_progress, await limiter.spent()) == (1, pytest.approx(0.3))
    await other.settle(0.2)
    await (await limiter.reserve("a", cost=0.0)).settle(0.0)
    with raises_problem(429, "rate"):
        await limiter.reserve("a", cost=0.0)
    assert limiter.in_progress == 0


# Answers in time


async def test_answers_per_minute_of_client() -> None:
    clock = Clock()
    limiter = make_limiter(clock, answers_a_minute_each=6)
    for _ in range(6):
        await (await limiter.reserve("a", cost=0.0)).settle(0.0)
    with raises_problem(429, "rate") as caught:
        await limiter.reserve("a", cost=0.0)
    await (await limiter.reserve("b", cost=0.0)).settle(0.0)
    assert caught.value.retry_after is not None
    clock.now += caught.value.retry_after - 2
    with raises_problem(429, "rate"):
        await limiter.reserve("a", cost=0.0)
    clock.now += 2
    await limiter.reserve("a", cost=0.0)


async def test_answers_per_minute_of_all_clients() -> None:
    limiter = make_limiter(answers_a_minute=20, answers_a_minute_each=1)
    for at in range(20):
        await (await limiter.reserve(f"2001:db8:{at:x}::/64", cost=0.0)).settle(0.0)
    with raises_problem(429, "rate"):
        await limiter.reserve("late", cost=0.0)
    limiter.counters.clock.now += 119
    await limiter.reserve("late", cost=0.0)


# Money


async def test_money_of_day_is_refused_until_midnight() -> None:
    clock = Clock()
    limiter = make_limiter(clock, money_a_day=1.0)
    for _ in range(4):
        await (await limiter.reserve("a", cost=0.25)).settle(0.25)
    with raises_problem(429, "money") as caught:
        await limiter.reserve("b", cost=0.01)
    assert caught.value.retry_after == DAY_SECONDS / 2
    clock.now += DAY_SECONDS / 2
    await limiter.reserve("b", cost=0.25)


# An answer: the share of its maximum that each model call costs, and whether the client leaves in the middle of a call.
answers = st.tuples(st.lists(st.floats(0, 1), max_size=4), st.booleans())


@given(st.lists(answers, min_size=1, max_size=60), st.randoms(use_true_random=False))
def test_money_is_never_exceeded_if_reservations_grow_before_each_call(
    drawn: list[tuple[list[float], bool]], random: Random
) -> None:
    max_cost, call_cost, day = 0.05, 0.03, 0.4
    limiter = make_limiter(money_a_day=day, concurrent=8, concurrent_each=8)
    spent: list[float] = []

    async def ask(shares: list[float], leaves: bool) -> None:
        try:
            reservation = await limiter.reserve("a", cost=max_cost)
        except ProblemError:
            return
        cost = 0.0
        with suppress(StopAnswer):
            for share in shares:
                await reservation.grow(cost + call_cost)
                await checkpoints()
                cost += call_cost * (1 if leaves else share)  # the usage of a reply that broke off is unknown
        await reservation.settle(cost)
        spent.append(cost)

    async def checkpoints() -> None:
        for _ in range(random.randrange(4)):
            await anyio.lowlevel.checkpoint()
            assert await limiter.spent() <= day + 1e-9

    async def live() -> None:
        async with anyio.create_task_group() as group:
            for shares, leaves in drawn:
                group.start_soon(ask, shares, leaves)
                await checkpoints()
        assert sum(spent) - 1e-9 <= await limiter.spent() <= day + 1e-9
        assert await limiter.spent() == pytest.approx(sum(spent), abs=len(spent) * 2e-6)

    anyio.run(live)
    assert not limiter.held


async def test_reservation_grows_to_the_cost_of_the_next_call() -> None:
    limiter = make_limiter(money_a_day=1.0)
    reservation = await limiter.reserve("a", cost=0.1)
    for total, held in ((0.05, 100_000), (0.3, 300_000), (0.2, 300_000)):
        await reservation.grow(total)
        assert limiter.held.total() == held
    await reservation.settle(0.15)
    assert await limiter.spent() == pytest.approx(0.15)
    assert not limiter.held


async def test_grow_refuses_without_money_and_takes_back_what_it_added() -> None:
    limiter = make_limiter(money_a_day=1.0, money_a_day_each=0.9)
    reservation = await limiter.reserve("a", cost=0.5)
    await limiter.reserve("b", cost=0.3)
    with pytest.raises(StopAnswer) as caught:
        await reservation.grow(0.8)
    assert (caught.value.state, caught.value.spent) == ("budget", "cost")
    assert await limiter.spent() == pytest.approx(0.8)
    await reservation.grow(0.7)
    assert await limiter.spent() == pytest.approx(1.0)
    await reservation.settle(0.6)
    assert await limiter.spent() == pytest.approx(0.9)
    assert set(limiter.held.values()) == {300_000}


async def test_settled_reservation_does_not_grow() -> None:
    limiter = make_limiter(money_a_day=1.0)
    reservation = await limiter.reserve("a", cost=0.1)
    await reservation.settle(0.1)
    for total in (0.05, 0.2):
        with pytest.raises(StopAnswer):
            await reservation.grow(total)
    assert await limiter.spent() == pytest.approx(0.1)


async def test_unknown_cost_counts_full_reservation() -> None:
    limiter = make_limiter(money_a_day=1.0)
    await (await limiter.reserve("a", cost=0.25)).settle(None)
    await (await limiter.reserve("a", cost=0.25)).settle(float("nan"))
    assert await limiter.spent() == pytest.approx(0.5)
    assert limiter.in_progress == 0


async def test_answer_over_midnight_is_settled_for_first_day() -> None:
    clock = Clock(NOON + DAY_SECONDS / 2 - 1)
    limiter = make_limiter(clock, money_a_day=1.0)
    reservation = await limiter.reserve("a", cost=0.5)
    clock.now += 5
    await reservation.settle(0.1)
    assert await limiter.spent() == 0
    clock.now -= 5
    assert await limiter.spent() == pytest.approx(0.1)


async def test_client_cannot_spend_money_of_all() -> None:
    limiter = make_limiter(money_a_day=1.0, money_a_day_each=0.2)
    for _ in range(2):
        await (await limiter.reserve("a", cost=0.1)).settle(0.1)
    with raises_problem(429, "money"):
        await limiter.reserve("a", cost=0.1)
    assert await limiter.spent() == pytest.approx(0.2)
    await limiter.reserve("b", cost=0.1)


async def test_budget_exceeded_does_not_count_against_rate() -> None:
    limiter = make_limiter(money_a_day=0.1, answers_a_minute_each=3)
    await (await limiter.reserve("b", cost=0.1)).settle(0.1)
    for _ in range(5):
        with raises_problem(429, "money"):
            await limiter.reserve("a", cost=0.1)
    for _ in range(3):
        await (await limiter.reserve("a", cost=0.0)).settle(0.0)


async def test_reserved_money_refuses_for_seconds_and_spent_money_until_midnight() -> None:
    clock = Clock()
    limiter = make_limiter(clock, money_a_day=0.5)
    await (await limiter.reserve("a", cost=0.2)).settle(0.19)
    inside = [await limiter.reserve("a", cost=0.15) for _ in range(2)]
    with raises_problem(429, "busy") as caught:
        await limiter.reserve("b", cost=0.15)
    assert (caught.value.retry_after, caught.value.setting) == (5, "money_a_day = 0.5")
    for reservation in inside:
        await reservation.settle(0.15)
    with raises_problem(429, "money") as caught:
        await limiter.reserve("b", cost=0.15)
    assert caught.value.retry_after == DAY_SECONDS / 2
    assert await limiter.spent() == pytest.approx(0.49)


async def test_money_of_process_that_died_counts_as_spent() -> None:
    counters = CounterStore(clock=Clock())
    limiter, restarted = (QuotaLimiter(AnswerQuota(money_a_day=0.5), counters) for _ in range(2))
    await limiter.reserve("a", cost=0.4)
    with raises_problem(429, "busy"):
        await limiter.reserve("b", cost=0.2)
    with raises_problem(429, "money"):
        await restarted.reserve("b", cost=0.2)


async def test_money_of_client_is_a_tenth_but_at_least_three_answers() -> None:
    quotas = [AnswerQuota(money_a_day=money).with_client_money(0.1) for money in (10.0, 1.0, 0.2)]
    assert [quota.money_a_day_each for quota in quotas] == pytest.approx([1.0, 0.3, 0.2])
    for given_quota in (AnswerQuota(), AnswerQuota(money_a_day=1.0, money_a_day_each=1.0)):
        assert given_quota.with_client_money(0.1) == given_quota
    unlimited = decode_table({"money_a_day": "unlimited"}, AnswerQuota, "[limits]")
    assert unlimited.with_client_money(0.1).money_a_day_each is None
    await QuotaLimiter(unlimited).reserve("a", cost=10**9)


async def test_free_answers_leave_places_and_rate_of_paid_ones() -> None:
    limiter = make_limiter(answers_a_minute=6, answers_a_minute_each=6, free_answers_a_minute_each=30)
    free = [await limiter.reserve(f"b{at}") for at in range(8)]
    with raises_problem(429, "busy"):
        await limiter.reserve("late")
    for reservation in free:
        await reservation.settle(0.0)
    for _ in range(30):
        await (await limiter.reserve("a")).settle(0.0)
    with raises_problem(429, "rate") as caught:
        await limiter.reserve("a")
    assert caught.value.setting == "free_answers_a_minute_each = 30"
    for _ in range(6):
        await (await limiter.reserve("a", cost=0.1)).settle(0.1)


# Counters that cannot be reached


def dead_redis() -> str:
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"redis://127.0.0.1:{free.getsockname()[1]}/0"


async def test_paid_answers_are_refused_while_counters_are_down() -> None:
    limiter = QuotaLimiter(AnswerQuota(money_a_day=1.0), CounterStore(dead_redis()), secret=b"key")
    with anyio.fail_after(5):
        for _ in range(30):
            with raises_problem(503, "counters"):
                await limiter.reserve("a", cost=0.1)
    assert limiter.in_progress == 0
    with raises_problem(503, "counters"):
        await QuotaLimiter(AnswerQuota(), CounterStore(dead_redis()), secret=b"key").reserve("a", cost=0.1)
    with raises_problem(503, "counters"):  # without prices the cost is not known, and money is spent all the same
        await limiter.reserve("a", cost=0.0)
    with pytest.raises(CounterStorageError):
        await limiter.spent()


async def test_reservation_does_not_grow_while_counters_are_down() -> None:
    counters = CounterStore(dead_redis())
    limiter = QuotaLimiter(AnswerQuota(money_a_day=1.0), counters, secret=b"key")
    reservation = Reservation(limiter, [DailyBudget("day", 1.0, "money_a_day")], 100_000, lambda: None)
    await reservation.grow(0.1)
    with pytest.raises(StopAnswer):
        await reservation.grow(0.2)
    assert not limiter.held


async def test_free_answers_continue_while_counters_are_down() -> None:
    limiter = QuotaLimiter(AnswerQuota(money_a_day=1.0), CounterStore(dead_redis()), secret=b"key")
    inside = [await limiter.reserve(f"v{at}") for at in range(8)]
    with raises_problem(429, "busy"):
        await limiter.reserve("late")
    for reservation in inside:
        await reservation.settle(0.0)


async def test_hanging_storage_ends_requests_in_time() -> None:
    with socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        counters = CounterStore(f"redis://127.0.0.1:{silent.getsockname()[1]}/0", timeout=0.01)
        with anyio.fail_after(60), raises_problem(503, "counters"):
            await QuotaLimiter(AnswerQuota(money_a_day=1.0), counters, secret=b"key").reserve("a", cost=0.1)
        await counters.close()


# What cannot be configured


def test_check_cost_refuses_day_below_one_answer() -> None:
    with pytest.raises(UsageError, match=r"money_a_day is 0\.01, but one answer may cost 0\.05"):
        make_limiter(money_a_day=0.01).check_cost(0.05)
    make_limiter(money_a_day=0.05).check_cost(0.05)
    with pytest.raises(UsageError, match=r"needs the prices of the model; set \[prices\]"):
        make_limiter(money_a_day=1.0).check_cost(None)


@pytest.mark.parametrize("uri", ["mongodb://x", "memcached://x:1", "file:///x", "nonsense"])
def test_counter_store_refuses_other_storages(uri: str) -> None:
    with pytest.raises(UsageError, match="in memory or in Redis"):
        CounterStore(uri)


def test_limiter_refuses_shared_counters_without_key() -> None:
    with pytest.raises(UsageError, match="the same key"):
        QuotaLimiter(AnswerQuota(), CounterStore(dead_redis()))


def test_hash_client_is_keyed() -> None:
    first, second = (QuotaLimiter(AnswerQuota(), CounterStore(), secret=secret) for secret in (b"one", b"other"))
    assert first.hash_client("192.0.2.7") != second.hash_client("192.0.2.7")
    assert first.hash_client("192.0.2.7") == QuotaLimiter(AnswerQuota(), CounterStore(), secret=b"one").hash_client(
        "192.0.2.7"
    )
    assert "192.0.2.7" not in first.hash_client("192.0.2.7")


async def test_counter_outage_is_logged_once_without_password(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    counters = CounterStore(dead_redis().replace("://", "://:hunter2@"), clock=clock)
    for _ in range(2):
        with pytest.raises(CounterStorageError):
            await counters.add("x", 0, 60)
        clock.now += 6
    await counters.close()
    (record,) = [record for record in caplog.records if record.name == "mkdocs_roaming.serve"]
    assert "cannot be reached" in record.getMessage()
    assert "hunter2" not in record.getMessage()

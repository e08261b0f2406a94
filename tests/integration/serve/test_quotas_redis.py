"""Counters that several processes share, in a real Redis: started here, stopped here, skipped where there is none."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import anyio
import pytest

from mkdocs_roaming.serve.problems import ProblemError
from mkdocs_roaming.serve.quotas import AnswerQuota, CounterStorageError, CounterStore, QuotaLimiter, Window

if TYPE_CHECKING:
    from .conftest import Redis

REDIS = shutil.which("redis-server")
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.skipif(REDIS is None, reason="needs redis-server"),
]
MANY = AnswerQuota(
    concurrent=1000, concurrent_each=1000, answers_a_minute=1000, answers_a_minute_each=1000, money_a_day=1.0
)

ASKER = """
import anyio, json, sys
from mkdocs_roaming.serve.problems import ProblemError
from mkdocs_roaming.serve.quotas import AnswerQuota, CounterStore, QuotaLimiter

async def main(uri):
    quota = AnswerQuota(concurrent=1000, concurrent_each=1000, answers_a_minute=1000, answers_a_minute_each=1000,
                        money_a_day=1.0)
    gate = QuotaLimiter(quota, CounterStore(uri), secret=b"key")
    let_in = []
    async def ask(at):
        try:
            let_in.append(await gate.reserve(f"v{at}", max_cost=0.03))
        except ProblemError as refused:
            assert refused.code == "money", refused.code
    async with anyio.create_task_group() as group:
        for at in range(40):
            group.start_soon(ask, at)
    for admission in let_in:
        await admission.settle(0.03)
    await gate.counters.close()
    print(json.dumps(len(let_in)))

anyio.run(main, sys.argv[1])
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_processes_share_the_days_money(redis: Redis) -> None:
    """Three processes ask 120 times at once for 0.03 of 1.00: 33 answers are let in, and never one more."""
    command = [sys.executable, "-c", ASKER, redis.uri]
    askers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    let_in = [json.loads(asker.communicate(timeout=60)[0]) for asker in askers]
    assert [asker.returncode for asker in askers] == [0, 0, 0]
    # Two askers may turn each other away over the last share: both set it aside, both see that it is too much.
    assert 28 <= sum(let_in) <= 33
    counters = CounterStore(redis.uri)
    gate = QuotaLimiter(MANY, counters, secret=b"key")
    assert await gate.spent() == pytest.approx(0.03 * sum(let_in))
    await counters.close()


async def test_processes_share_a_minute(redis: Redis) -> None:
    """Two processes with one Redis let in as many as one."""
    now = 1_800_000_000.0
    pair = [CounterStore(redis.uri, clock=lambda: now) for _ in range(2)]
    passed = 0
    for at in range(20):
        passed += await pair[at % 2].hit([(Window("x", 7), "a")]) is None
    assert passed == 7
    for counters in pair:
        await counters.close()


async def test_what_one_limit_refuses_another_does_not_count(redis: Redis) -> None:
    """Thirty at the same moment, five of whom all visitors' limit lets in: the visitor's own counts five."""
    now = 1_800_000_000.0
    counters = CounterStore(redis.uri, clock=lambda: now)
    each, together = Window("each", 100), Window("all", 5)
    passed: list[bool] = []

    async def ask() -> None:
        passed.append(await counters.hit([(each, "a"), (together, "all")]) is None)

    async with anyio.create_task_group() as group:
        for _ in range(30):
            group.start_soon(ask)
    assert 1 <= sum(passed) <= 5
    left = 0
    while await counters.hit([(each, "a")]) is None:
        left += 1
    assert sum(passed) + left == 100
    await counters.close()


async def test_a_reader_that_leaves_pays(redis: Redis) -> None:
    """Cancelled in the middle of an answer, the cost reaches Redis all the same."""
    gate = QuotaLimiter(MANY, CounterStore(redis.uri), secret=b"key")
    with anyio.CancelScope() as leaving:
        async with await gate.reserve("a", max_cost=0.3) as admission:
            await gate.counters.close()  # so that settling has to wait for a connection first
            leaving.cancel()
            try:
                await anyio.sleep(10)
            finally:
                await admission.settle(0.2)
    assert await gate.spent() == pytest.approx(0.2)
    await gate.counters.close()


async def test_redis_dies_and_comes_back(redis: Redis) -> None:
    """While it is away nothing is spent, answers under way end well; what they cost above their share is counted when
    it is back, and what they left over stays counted as spent.
    """
    clock: dict[str, float] = {"now": 1_800_000_000.0}
    counters = CounterStore(redis.uri, clock=lambda: clock["now"])
    gate = QuotaLimiter(MANY, counters, secret=b"key")
    dear, cheap = await gate.reserve("a", max_cost=0.1), await gate.reserve("b", max_cost=0.1)
    redis.stop()
    with anyio.fail_after(10):
        await dear.settle(0.15)
        await cheap.settle(0.01)
        with pytest.raises(ProblemError) as caught:
            await gate.reserve("c", max_cost=0.1)
        with pytest.raises(CounterStorageError):
            await gate.spent()
    assert (caught.value.status, gate.in_progress) == (503, 0)
    redis.start()
    clock["now"] += 6
    await (await gate.reserve("c", max_cost=0.1)).settle(0.1)
    assert await gate.spent() == pytest.approx(0.15 + 0.1 + 0.1)
    await counters.close()


async def test_nothing_is_kept_for_longer_than_needed(redis: Redis) -> None:
    """Every key expires, none holds an address."""
    counters = CounterStore(redis.uri)
    gate = QuotaLimiter(MANY, counters, secret=b"key")
    await (await gate.reserve("192.0.2.77", max_cost=0.1)).settle(0.05)
    with socket.create_connection(("127.0.0.1", redis.port)) as line:

        def said(command: str) -> list[str]:
            line.sendall(command.encode() + b"\r\n")
            time.sleep(0.1)
            return line.recv(65_536).decode().split("\r\n")

        keys = [word for word in said("KEYS *") if "roaming/" in word]
        left = [int(said(f"TTL {key}")[0].removeprefix(":")) for key in keys]
    assert len(keys) >= 4
    assert not any("192.0.2.77" in key for key in keys)
    assert all(0 < seconds <= 2 * 86_400 + 1 for seconds in left)
    await counters.close()


async def test_a_wrong_password_fails_closed(redis: Redis) -> None:
    """A Redis that refuses is one that cannot be reached; its address with the password is in no message."""
    counters = CounterStore(redis.uri.replace("redis://", "redis://:hunter2@"))
    gate = QuotaLimiter(MANY, counters, secret=b"key")
    with pytest.raises(ProblemError) as caught:
        await gate.reserve("a", max_cost=0.1)
    assert caught.value.status == 503
    assert "hunter2" not in str(caught.value)
    await counters.close()

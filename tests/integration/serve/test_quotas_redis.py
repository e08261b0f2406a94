"""Counters in a Redis that several processes share; skipped without redis-server."""

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

from mkdocs_roaming.serve.quotas import AnswerQuota, CounterStorageError, CounterStore, QuotaLimiter, Window
from mkdocs_roaming.serve.requests import ProblemError

if TYPE_CHECKING:
    from .conftest import Redis

REDIS = shutil.which("redis-server")
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.skipif(REDIS is None, reason="needs redis-server"),
]
LARGE_QUOTA = AnswerQuota(
    concurrent=1000, concurrent_each=1000, answers_a_minute=1000, answers_a_minute_each=1000, money_a_day=1.0
)

CLIENT_SCRIPT = """
import anyio, json, sys
from mkdocs_roaming.serve.requests import ProblemError
from mkdocs_roaming.serve.quotas import CounterStore
from mkdocs_roaming.serve.quotas import AnswerQuota, QuotaLimiter

async def main(uri):
    quota = AnswerQuota(concurrent=1000, concurrent_each=1000, answers_a_minute=1000, answers_a_minute_each=1000,
                        money_a_day=1.0)
    limiter = QuotaLimiter(quota, CounterStore(uri), secret=b"key")
    accepted = []
    async def ask(at):
        try:
            accepted.append(await limiter.reserve(f"v{at}", cost=0.03))
        except ProblemError as refused:
            assert refused.code in ("busy", "money"), refused.code
    async with anyio.create_task_group() as group:
        for at in range(40):
            group.start_soon(ask, at)
    for reservation in accepted:
        await reservation.settle(0.03)
    await limiter.counters.close()
    print(json.dumps(len(accepted)))

anyio.run(main, sys.argv[1])
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_processes_share_money_of_day(redis: Redis) -> None:
    command = [sys.executable, "-c", CLIENT_SCRIPT, redis.uri]
    clients = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    accepted = [json.loads(client.communicate(timeout=60)[0]) for client in clients]
    assert [client.returncode for client in clients] == [0, 0, 0]
    # Two clients may turn each other away over the last share: both set it aside, both see that it is too much.
    assert 28 <= sum(accepted) <= 33
    counters = CounterStore(redis.uri)
    limiter = QuotaLimiter(LARGE_QUOTA, counters, secret=b"key")
    assert await limiter.spent() == pytest.approx(0.03 * sum(accepted))
    await counters.close()


async def test_processes_share_rate_of_minute(redis: Redis) -> None:
    now = 1_800_000_000.0
    pair = [CounterStore(redis.uri, clock=lambda: now) for _ in range(2)]
    accepted = 0
    for at in range(20):
        accepted += await pair[at % 2].hit([(Window("x", 7), "a")]) is None
    assert accepted == 7
    for counters in pair:
        await counters.close()


async def test_cancelled_answer_is_settled_in_redis(redis: Redis) -> None:
    limiter = QuotaLimiter(LARGE_QUOTA, CounterStore(redis.uri), secret=b"key")
    with anyio.CancelScope() as leaving:
        reservation = await limiter.reserve("a", cost=0.3)
        await limiter.counters.close()  # so that settling has to wait for a connection first
        leaving.cancel()
        try:
            await anyio.sleep(10)
        finally:
            await reservation.settle(0.2)
    assert await limiter.spent() == pytest.approx(0.2)
    await limiter.counters.close()


async def test_counters_that_cannot_be_reached_spend_nothing(redis: Redis) -> None:
    counters = CounterStore(redis.uri)
    limiter = QuotaLimiter(LARGE_QUOTA, counters, secret=b"key")
    reservation = await limiter.reserve("a", cost=0.1)
    redis.stop()
    await reservation.settle(0.01)
    with pytest.raises(ProblemError) as caught:
        await limiter.reserve("c", cost=0.1)
    with pytest.raises(CounterStorageError):
        await limiter.spent()
    assert (caught.value.status, limiter.in_progress) == (503, 0)
    redis.start()
    await (await limiter.reserve("c", cost=0.1)).settle(0.1)
    await counters.close()


async def test_keys_expire_and_contain_no_address(redis: Redis) -> None:
    counters = CounterStore(redis.uri)
    limiter = QuotaLimiter(LARGE_QUOTA, counters, secret=b"key")
    await (await limiter.reserve("192.0.2.77", cost=0.1)).settle(0.05)
    with socket.create_connection(("127.0.0.1", redis.port)) as line:

        def send_command(command: str) -> list[str]:
            line.sendall(command.encode() + b"\r\n")
            time.sleep(0.1)
            return line.recv(65_536).decode().split("\r\n")

        keys = [word for word in send_command("KEYS *") if "roaming/" in word]
        left = [int(send_command(f"TTL {key}")[0].removeprefix(":")) for key in keys]
    assert len(keys) >= 4
    assert not any("192.0.2.77" in key for key in keys)
    assert all(0 < seconds <= 2 * 86_400 + 1 for seconds in left)
    await counters.close()


async def test_wrong_password_refuses_paid_answers(redis: Redis) -> None:
    counters = CounterStore(redis.uri.replace("redis://", "redis://:hunter2@"))
    limiter = QuotaLimiter(LARGE_QUOTA, counters, secret=b"key")
    with pytest.raises(ProblemError) as caught:
        await limiter.reserve("a", cost=0.1)
    assert caught.value.status == 503
    assert "hunter2" not in str(caught.value)
    await counters.close()

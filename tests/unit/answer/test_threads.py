"""Work in threads: what computes takes turns, what waits does not."""

from __future__ import annotations

import threading
import time

import anyio
import pytest

from mkdocs_roaming.answer._threads import compute_limiter, run_in_thread

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def most_at_once(*, waiting: bool) -> int:
    """Give how many of five pieces of work went on at the same time at most."""
    lock, now, most = threading.Lock(), 0, 0

    def work() -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.05)
        with lock:
            now -= 1

    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(run_in_thread, work, None if waiting else compute_limiter())
    return most


async def test_what_computes_takes_turns() -> None:
    """One piece of work at a time: five threads that compute keep the loop waiting five times as long."""
    assert await most_at_once(waiting=False) == 1


async def test_what_waits_is_not_waited_for() -> None:
    """What may wait for a server goes on beside whatever else waits."""
    assert await most_at_once(waiting=True) > 1


async def test_who_is_left_does_not_keep_the_others_waiting() -> None:
    """A piece of work that ran into a deadline gives its turn to the next, though its thread goes on."""
    go = threading.Event()
    with anyio.move_on_after(0.05):
        await run_in_thread(lambda: go.wait(10), compute_limiter())
    with anyio.fail_after(2):
        assert await run_in_thread(lambda: 7, compute_limiter()) == 7
    go.set()

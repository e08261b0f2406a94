"""Worker threads."""

from __future__ import annotations

import threading
import time

import anyio
import pytest

from mkdocs_roaming.answer.budget import compute_limiter, run_in_thread

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def most_at_once(*, waiting: bool) -> int:
    """Return how many of five functions ran at the same time."""
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


async def test_compute_limiter_runs_one_function_at_a_time() -> None:
    assert await most_at_once(waiting=False) == 1


async def test_abandoned_function_does_not_block_others() -> None:
    go = threading.Event()
    with anyio.move_on_after(0.05):
        await run_in_thread(lambda: go.wait(120), compute_limiter())
    with anyio.fail_after(60):
        assert await run_in_thread(lambda: 7, compute_limiter()) == 7
    go.set()

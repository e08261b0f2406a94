"""Work in threads that nothing waits for too long: no deadline, and not the end of the program."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import TypeVar

import anyio
import anyio.to_thread

T = TypeVar("T")


async def in_thread(work: Callable[[], T], limiter: anyio.CapacityLimiter | None = None) -> T:
    """Do in a thread what may itself wait for a disk or a server; cancelled, it is left to itself.

    The threads of `anyio.to_thread` are left at a deadline too, but Python waits for them before it ends.
    """
    loop = asyncio.get_running_loop()
    done = anyio.Event()
    given: list[T] = []
    raised: list[BaseException] = []
    context = copy_context()

    def run() -> None:
        try:
            given.append(context.run(work))
        except BaseException as error:
            raised.append(error)
        with suppress(RuntimeError):  # the loop is over: nobody waits any more
            loop.call_soon_threadsafe(done.set)

    async with limiter or anyio.to_thread.current_default_thread_limiter():
        threading.Thread(target=run, name="roaming work", daemon=True).start()
        await done.wait()
    if raised:
        raise raised.pop()
    return given.pop()

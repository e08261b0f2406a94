"""Work in threads that nothing waits for too long: no deadline, and not the end of the program."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import TypeVar

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar

T = TypeVar("T")


async def run_in_thread(work: Callable[[], T], limiter: anyio.CapacityLimiter | None = None) -> T:
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
        _worker().give(run)
        await done.wait()
    if raised:
        raise raised.pop()
    return given.pop()


def compute_limiter() -> anyio.CapacityLimiter:
    """Give the limit for work that waits for nobody: one piece at a time.

    Python computes in one thread at a time whatever their number; with several, the loop, and with it every reader,
    waits for all of them at each turn.
    """
    try:
        return _computing.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(1)
        _computing.set(limiter)
        return limiter


class _Worker(threading.Thread):
    """A thread that does one piece of work after the other: to begin one, the loop would have to wait for it."""

    def __init__(self) -> None:
        super().__init__(name="roaming work", daemon=True)
        self._given: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def give(self, work: Callable[[], None]) -> None:
        """Do this next."""
        self._given.put(work)

    def run(self) -> None:
        """Work until there was nothing to do for a while."""
        while True:
            try:
                self._given.get(timeout=_PATIENCE)()
            except Empty:
                with _lock:
                    if self in _idle:
                        _idle.remove(self)
                        return
                continue  # it was taken at this moment
            with _lock:
                _idle.append(self)


def _worker() -> _Worker:
    """Give a worker that does nothing, the one that worked last, or a new one."""
    with _lock:
        if _idle:
            return _idle.pop()
    worker = _Worker()
    worker.start()
    return worker


_PATIENCE = 10.0
_lock = threading.Lock()
_idle: list[_Worker] = []
_computing: RunVar[anyio.CapacityLimiter] = RunVar("computing")

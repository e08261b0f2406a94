"""Worker threads for blocking calls that can be abandoned at a deadline and when the program exits."""

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

_IDLE_SECONDS = 10.0
_lock = threading.Lock()
_idle_workers: list[_Worker] = []
_compute_limiter: RunVar[anyio.CapacityLimiter] = RunVar("compute_limiter")


async def run_in_thread(work: Callable[[], T], limiter: anyio.CapacityLimiter | None = None) -> T:
    """Run a blocking function in a daemon thread and return its result.

    If the caller is cancelled, the thread finishes in the background. `anyio.to_thread` can abandon threads, too, but
    Python waits for them at exit.

    Args:
        work: The function.
        limiter: Limits how many functions run at once (default: the limiter of `anyio.to_thread`).
    """
    loop = asyncio.get_running_loop()
    done = anyio.Event()
    results: list[T] = []
    errors: list[BaseException] = []
    context = copy_context()

    def run() -> None:
        try:
            results.append(context.run(work))
        except BaseException as error:
            errors.append(error)
        with suppress(RuntimeError):  # the event loop is closed: the caller is gone
            loop.call_soon_threadsafe(done.set)

    async with limiter or anyio.to_thread.current_default_thread_limiter():
        _take_worker().submit(run)
        await done.wait()
    if errors:
        raise errors.pop()
    return results.pop()


def compute_limiter() -> anyio.CapacityLimiter:
    """Return the event loop's limiter for pure computation: one function at a time.

    Only one thread computes at a time in Python. With several, the event loop, and with it every client, would wait
    for all of them at each switch.
    """
    try:
        return _compute_limiter.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(1)
        _compute_limiter.set(limiter)
        return limiter


class _Worker(threading.Thread):
    """A reusable thread: the event loop would have to wait for the start of a new one."""

    def __init__(self) -> None:
        super().__init__(name="roaming worker", daemon=True)
        self._queue: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def submit(self, work: Callable[[], None]) -> None:
        self._queue.put(work)

    def run(self) -> None:
        while True:
            try:
                self._queue.get(timeout=_IDLE_SECONDS)()
            except Empty:
                with _lock:
                    if self in _idle_workers:
                        _idle_workers.remove(self)
                        return
                continue  # taken at this moment: its work is about to arrive
            with _lock:
                _idle_workers.append(self)


def _take_worker() -> _Worker:
    """Return the worker that finished last, or a new one."""
    with _lock:
        if _idle_workers:
            return _idle_workers.pop()
    worker = _Worker()
    worker.start()
    return worker

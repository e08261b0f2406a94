"""Other processes: those that read pages while a crawl goes on, and those that convert them at its end."""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice

import anyio
import anyio.to_thread

from mkdocs_roaming.page import Heading, Page
from mkdocs_roaming.publish.cache import Converted
from roaming_crawler.apart import BrokenError, Process
from roaming_crawler.fetch import Answer
from roaming_crawler.reading import Seen
from roaming_crawler.readings import (
    Readings,
    headings_packed,
    headings_unpacked,
    key_of,
    page_packed,
    page_unpacked,
)

Convert = Callable[[Page], Converted | str]
Apply = Callable[[Convert, Iterable[Page]], Iterable[Converted | str]]

_SECONDS_TO_READ = 60.0
_BREAKS = "breaks the process that reads it"


@dataclass(slots=True)
class ApartReader:
    """Reads HTML in worker processes; in a thread of this one with 0 of them, or where none can be started.

    A page that is as it was when it was read before is not read again.
    """

    site_url: str
    limiter: anyio.CapacityLimiter
    apart: bool
    kept: Readings
    worked: bool = False
    _idle: list[Process] = field(default_factory=list)

    async def page(self, answer: Answer) -> Seen:
        """Give what a page says."""
        key = key_of("page", answer.body, answer.charset, answer.url, self.site_url)
        if (data := self.kept.get(key)) is not None and (seen := page_unpacked(data)) is not None:
            return seen
        try:
            data = await self._run(page_packed, answer.body, answer.charset, answer.url, self.site_url)
        except TimeoutError:
            return Seen(left_out=f"not read within {_SECONDS_TO_READ:g} s")
        except BrokenError:
            return Seen(left_out=_BREAKS)
        self.kept.put(key, data)
        return page_unpacked(data) or Seen(left_out=_BREAKS)

    async def headings(self, seen: Seen) -> tuple[Heading, ...]:
        """Give a page's headings, with their anchors."""
        key = key_of("headings", seen.article, seen.title)
        if (data := self.kept.get(key)) is not None and (found := headings_unpacked(data)) is not None:
            return found
        try:
            data = await self._run(headings_packed, seen.article, seen.title)
        except (TimeoutError, BrokenError):
            return ()
        self.kept.put(key, data)
        return headings_unpacked(data) or ()

    def close(self) -> None:
        """End the processes."""
        while self._idle:
            self._idle.pop().end()

    async def _run(self, function: Callable[..., bytes], *arguments: str | bytes) -> bytes:
        if self.apart:
            try:
                return await self._run_apart(function, *arguments)
            except BrokenError:
                if self.worked:
                    raise
                self.apart = False  # a program that cannot be started twice
        return await anyio.to_thread.run_sync(function, *arguments, limiter=self.limiter)

    async def _run_apart(self, function: Callable[..., bytes], *arguments: str | bytes) -> bytes:
        async with self.limiter:
            process = self._idle.pop() if self._idle else Process()
            try:
                with anyio.fail_after(_SECONDS_TO_READ):
                    call = partial(process.call, function, *arguments)
                    data = await anyio.to_thread.run_sync(call, abandon_on_cancel=True)
            except BaseException:
                process.end()  # which ends the thread that waits for it, too
                raise
            self._idle.append(process)
            self.worked = True
            return data


@contextmanager
def processes(workers: int) -> Iterator[Apply]:
    """Give a `map` that works in other processes, a few pages ahead; in this one where there are few pages."""
    pools: list[ProcessPoolExecutor] = []

    def apply(convert: Convert, pages: Iterable[Page]) -> Iterable[Converted | str]:
        pages = iter(pages)
        first = list(islice(pages, _WORTH_A_PROCESS))
        if workers < 2 or len(first) < _WORTH_A_PROCESS:
            return map(convert, chain(first, pages))
        context = multiprocessing.get_context("spawn")
        pools.append(ProcessPoolExecutor(workers, context, initializer=_begin, initargs=(convert,)))
        return _ahead(pools[-1], chain(first, pages), 4 * workers)

    try:
        yield apply
    finally:
        for pool in pools:
            pool.shutdown(cancel_futures=True)


_WORTH_A_PROCESS = 400
"""Pages. A process takes as long to begin as this one takes to convert a hundred and more."""
_AT_ONCE = 8


def _ahead(pool: ProcessPoolExecutor, pages: Iterator[Page], most: int) -> Iterator[Converted | str]:
    """Give results in order; no more pages are in memory than `most` tasks hold."""
    waiting: deque[Future[list[Converted | str]]] = deque()
    while some := list(islice(pages, _AT_ONCE)):
        waiting.append(pool.submit(_converted, some))
        if len(waiting) >= most:
            yield from waiting.popleft().result()
    while waiting:
        yield from waiting.popleft().result()


_convert: Convert


def _begin(convert: Convert) -> None:
    """Take what converts once: it knows the paths of all pages."""
    global _convert
    _convert = convert


def _converted(pages: list[Page]) -> list[Converted | str]:
    return [_convert(page) for page in pages]

"""Other processes: those that read pages while a crawl goes on, and those that convert them at its end."""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from typing import TypeVar

import anyio
import anyio.to_process
import anyio.to_thread

from mkdocs_roaming.page import Heading, Page
from mkdocs_roaming.publish.cache import Converted
from roaming_crawler.fetch import Answer
from roaming_crawler.reading import Seen, headings_of, read_html

T = TypeVar("T")
Convert = Callable[[Page], Converted | str]
Apply = Callable[[Convert, Iterable[Page]], Iterable[Converted | str]]

_SECONDS_TO_READ = 60.0


@dataclass(slots=True)
class ApartReader:
    """Reads HTML in worker processes; in a thread of this one with 0 of them, or where none can be started."""

    site_url: str
    limiter: anyio.CapacityLimiter
    apart: bool
    worked: bool = False

    async def page(self, answer: Answer) -> Seen:
        """Give what a page says."""
        try:
            return await self._run(read_html, answer.body, answer.charset, answer.url, self.site_url)
        except TimeoutError:
            return Seen(left_out=f"not read within {_SECONDS_TO_READ:g} s")
        except anyio.BrokenWorkerProcess:
            return Seen(left_out="breaks the process that reads it")

    async def headings(self, seen: Seen) -> tuple[Heading, ...]:
        """Give a page's headings, with their anchors."""
        try:
            return await self._run(headings_of, seen.article, seen.title)
        except (TimeoutError, anyio.BrokenWorkerProcess):
            return ()

    async def _run(self, function: Callable[..., T], *arguments: str | bytes) -> T:
        if self.apart:
            try:
                with anyio.fail_after(_SECONDS_TO_READ):
                    done = await anyio.to_process.run_sync(function, *arguments, cancellable=True, limiter=self.limiter)
                self.worked = True
                return done
            except anyio.BrokenWorkerProcess:
                if self.worked:
                    raise
                self.apart = False  # a program that cannot be started twice
        return await anyio.to_thread.run_sync(function, *arguments, limiter=self.limiter)


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


_WORTH_A_PROCESS = 60
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

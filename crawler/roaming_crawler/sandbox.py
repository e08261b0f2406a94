"""A process that reads what others wrote: whatever a page does to it, the crawl goes on."""

from __future__ import annotations

import json
import multiprocessing
import pickle
import signal
import struct
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice

import anyio
import anyio.to_thread

from mkdocs_roaming.manifest.models import Heading, Page
from mkdocs_roaming.publish.cache import ConvertedPage
from roaming_crawler.fetch import Response
from roaming_crawler.parse_cache import (
    ParseCache,
    cache_key,
    extract_headings_to_json,
    load_headings,
    load_page,
    parse_page_to_json,
)
from roaming_crawler.parser import ParsedPage


class WorkerError(Exception):
    """The process ended, or never began."""


class WorkerProcess:
    """A process of one's own that calls functions which give bytes.

    It is told what to call in pickles, and answers with plain bytes: nothing is unpickled that comes from where hostile
    pages are read. It waits for itself, beside asyncio: whoever else waited for it would complain that it is gone.
    """

    def __init__(self) -> None:
        command = [sys.executable, "-c", _BEGIN, json.dumps(sys.path)]
        try:
            self._running = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        except OSError as error:
            raise WorkerError(str(error)) from None

    def call(self, function: Callable[..., bytes], *arguments: str | bytes) -> bytes:
        """Give what a function gives there. Raises BrokenError where the process does not come back with it."""
        assert self._running.stdin is not None
        assert self._running.stdout is not None
        try:
            pickle.dump((function, arguments), self._running.stdin, pickle.HIGHEST_PROTOCOL)
            self._running.stdin.flush()
            (size,) = struct.unpack("<Q", self._running.stdout.read(8))
            data = self._running.stdout.read(size)
        except (OSError, ValueError, struct.error) as error:
            raise WorkerError(str(error)) from None
        if len(data) < size:
            raise WorkerError("cut off")
        return data

    def end(self) -> None:
        """End it, whatever it is at."""
        self._running.kill()
        self._running.wait()
        for pipe in (self._running.stdin, self._running.stdout):
            if pipe is not None:
                with suppress(OSError):  # what was not sent yet has nowhere to go
                    pipe.close()


_BEGIN = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from roaming_crawler.sandbox import run_worker; run_worker()"


def run_worker() -> None:
    """Call what standard input asks for, until it ends; a function that raises ends the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the crawl, which ends this
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while True:
        try:
            function, arguments = pickle.load(requests)  # from the crawl
        except EOFError:
            return
        data = function(*arguments)
        answers.write(struct.pack("<Q", len(data)) + data)
        answers.flush()


# MERGED roaming_crawler.workers:
# Other processes: those that read pages while a crawl goes on, and those that convert them at its end.


Converter = Callable[[Page], ConvertedPage | str]


MapFunction = Callable[[Converter, Iterable[Page]], Iterable[ConvertedPage | str]]


_SECONDS_TO_READ = 60.0


_BREAKS = "breaks the process that reads it"


@dataclass(slots=True)
class ProcessPoolReader:
    """Reads HTML in worker processes; in a thread of this one with 0 of them, or where none can be started.

    A page that is as it was when it was read before is not read again.
    """

    site_url: str
    limiter: anyio.CapacityLimiter
    apart: bool
    kept: ParseCache
    worked: bool = False
    _idle: list[WorkerProcess] = field(default_factory=list)

    async def page(self, answer: Response) -> ParsedPage:
        """Give what a page says."""
        key = cache_key("page", answer.body, answer.charset, answer.url, self.site_url)
        if (data := self.kept.get(key)) is not None and (seen := load_page(data)) is not None:
            return seen
        try:
            data = await self._run(parse_page_to_json, answer.body, answer.charset, answer.url, self.site_url)
        except TimeoutError:
            return ParsedPage(left_out=f"not read within {_SECONDS_TO_READ:g} s")
        except WorkerError:
            return ParsedPage(left_out=_BREAKS)
        self.kept.put(key, data)
        return load_page(data) or ParsedPage(left_out=_BREAKS)

    async def headings(self, seen: ParsedPage) -> tuple[Heading, ...]:
        """Give a page's headings, with their anchors."""
        key = cache_key("headings", seen.article, seen.title)
        if (data := self.kept.get(key)) is not None and (found := load_headings(data)) is not None:
            return found
        try:
            data = await self._run(extract_headings_to_json, seen.article, seen.title)
        except (TimeoutError, WorkerError):
            return ()
        self.kept.put(key, data)
        return load_headings(data) or ()

    def close(self) -> None:
        """End the processes."""
        while self._idle:
            self._idle.pop().end()

    async def _run(self, function: Callable[..., bytes], *arguments: str | bytes) -> bytes:
        if self.apart:
            try:
                return await self._run_apart(function, *arguments)
            except WorkerError:
                if self.worked:
                    raise
                self.apart = False  # a program that cannot be started twice
        return await anyio.to_thread.run_sync(function, *arguments, limiter=self.limiter)

    async def _run_apart(self, function: Callable[..., bytes], *arguments: str | bytes) -> bytes:
        async with self.limiter:
            process = self._idle.pop() if self._idle else WorkerProcess()
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
def conversion_pool(workers: int) -> Iterator[MapFunction]:
    """Give a `map` that works in other processes, a few pages ahead; in this one where there are few pages."""
    pools: list[ProcessPoolExecutor] = []

    def apply(convert: Converter, pages: Iterable[Page]) -> Iterable[ConvertedPage | str]:
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


def _ahead(pool: ProcessPoolExecutor, pages: Iterator[Page], most: int) -> Iterator[ConvertedPage | str]:
    """Give results in order; no more pages are in memory than `most` tasks hold."""
    waiting: deque[Future[list[ConvertedPage | str]]] = deque()
    while some := list(islice(pages, _AT_ONCE)):
        waiting.append(pool.submit(_converted, some))
        if len(waiting) >= most:
            yield from waiting.popleft().result()
    while waiting:
        yield from waiting.popleft().result()


_convert: Converter


def _begin(convert: Converter) -> None:
    """Take what converts once: it knows the paths of all pages."""
    global _convert
    _convert = convert


def _converted(pages: list[Page]) -> list[ConvertedPage | str]:
    return [_convert(page) for page in pages]

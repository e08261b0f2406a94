"""Worker processes that parse untrusted pages during a crawl."""

from __future__ import annotations

import json
import pickle
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial

import anyio
import anyio.to_thread
import msgspec

from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.html.converter import convert
from mkdocs_roaming.manifest.models import Heading, NavItem
from roaming_crawler.fetch import Response
from roaming_crawler.parser import ParsedPage, parse_page

_PARSE_TIMEOUT = 60.0
_CRASH = "crashes the parser"
_CACHED_NAVS = 64
_decode_nav = lru_cache(_CACHED_NAVS)(msgspec.msgpack.Decoder(tuple[NavItem, ...]).decode)
_SIZE = struct.Struct("<Q")
"""The size of a result, which is sent before it."""
_WORKER_SCRIPT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from roaming_crawler.sandbox import run_worker; run_worker()"
)


class WorkerError(Exception):
    """A worker process died."""


class WorkerProcess:
    """A subprocess that calls functions which return bytes.

    Requests are pickled, results are plain bytes: nothing is unpickled that comes from a process that reads untrusted
    pages. It waits for the process itself and not through asyncio, whose child watcher would complain.
    """

    def __init__(self) -> None:
        """Start the process.

        Raises:
            RoamingError: It cannot be started.
        """
        command = [sys.executable, "-c", _WORKER_SCRIPT, json.dumps(sys.path)]
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        except OSError as error:
            raise RoamingError(f"cannot start a worker process ({error}); leave it out with --workers 0") from None

    def call(self, function: Callable[..., bytes], *arguments: object) -> bytes:
        """Return the result of a function.

        Raises:
            WorkerError: The process died.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            pickle.dump((function, arguments), self._process.stdin, pickle.HIGHEST_PROTOCOL)
            self._process.stdin.flush()
            size = _SIZE.unpack(self._process.stdout.read(_SIZE.size))[0]
            data = self._process.stdout.read(size)
        except (OSError, ValueError, struct.error) as error:
            raise WorkerError(str(error)) from None
        if len(data) < size:
            raise WorkerError("truncated result")
        return data

    def kill(self) -> None:
        """Kill the process."""
        with suppress(OSError), self._process:  # unsent data cannot be flushed
            self._process.kill()


def run_worker() -> None:
    """Serve calls from standard input until it is closed. An exception in a function ends the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the crawl, which kills this process
    requests = sys.stdin.buffer
    results = sys.stdout.buffer
    while True:
        try:
            function, arguments = pickle.load(requests)  # written by the crawl
        except EOFError:
            return
        data = function(*arguments)
        results.write(_SIZE.pack(len(data)) + data)
        results.flush()


@dataclass(slots=True)
class PageParser:
    """Parses pages, and converts them for a comparison: in worker processes, or with `--workers 0` in threads."""

    site_url: str
    limiter: anyio.CapacityLimiter
    use_processes: bool
    _idle: list[WorkerProcess] = field(default_factory=list)

    async def parse(self, response: Response) -> ParsedPage:
        """Return the parsed page, with a reason to skip it if it cannot be parsed."""
        try:
            data = await self._run(parse_encoded_page, response, self.site_url)
            nav, page = msgspec.msgpack.decode(data, type=tuple[bytes, ParsedPage])
            return replace(page, nav=_decode_nav(nav))
        except TimeoutError:
            return ParsedPage(skip_reason=f"not parsed within {_PARSE_TIMEOUT:g} s")
        except (WorkerError, msgspec.MsgspecError):
            return ParsedPage(skip_reason=_CRASH)

    async def convert_to_compare(self, page: ParsedPage) -> tuple[str, tuple[Heading, ...]]:
        """Return the Markdown of a page's HTML, to compare its own Markdown with, and its headings with their anchors.

        This Markdown is not published: of a page whose HTML holds more, the article is converted by `publish_crawl`,
        without what all pages repeat.
        """
        try:
            data = await self._run(convert_encoded_article, page.article, page.title)
            return msgspec.msgpack.decode(data, type=tuple[str, tuple[Heading, ...]])
        except (TimeoutError, WorkerError, msgspec.MsgspecError):
            return "", ()

    def close(self) -> None:
        """Kill the processes."""
        while self._idle:
            self._idle.pop().kill()

    async def _run(self, function: Callable[..., bytes], *arguments: object) -> bytes:
        if not self.use_processes:
            return await anyio.to_thread.run_sync(function, *arguments, limiter=self.limiter)
        async with self.limiter:
            process = self._idle.pop() if self._idle else WorkerProcess()
            try:
                with anyio.fail_after(_PARSE_TIMEOUT):
                    call = partial(process.call, function, *arguments)
                    data = await anyio.to_thread.run_sync(call, abandon_on_cancel=True)
            except BaseException:
                process.kill()  # also ends the thread that waits for it
                raise
            self._idle.append(process)
            return data


def parse_encoded_page(response: Response, site_url: str) -> bytes:
    """Return the encoded form of a parsed page, with its navigation apart, which pages have in common."""
    page = parse_page(response, site_url)
    return msgspec.msgpack.encode((msgspec.msgpack.encode(page.nav), replace(page, nav=())))


def convert_encoded_article(article: str, title: str) -> bytes:
    """Return the encoded Markdown of an article, and its headings with their anchors."""
    try:
        converted = convert(article, title=title)
    except Exception:  # the conversion for publication reports the problem
        return msgspec.msgpack.encode(("", ()))
    return msgspec.msgpack.encode((converted.markdown, converted.headings))

"""A process that reads what others wrote: whatever a page does to it, the crawl goes on."""

from __future__ import annotations

import json
import pickle
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress


class BrokenError(Exception):
    """The process ended, or never began."""


class Process:
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
            raise BrokenError(str(error)) from None

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
            raise BrokenError(str(error)) from None
        if len(data) < size:
            raise BrokenError("cut off")
        return data

    def end(self) -> None:
        """End it, whatever it is at."""
        self._running.kill()
        self._running.wait()
        for pipe in (self._running.stdin, self._running.stdout):
            if pipe is not None:
                with suppress(OSError):  # what was not sent yet has nowhere to go
                    pipe.close()


_BEGIN = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from roaming_crawler.apart import serve; serve()"


def serve() -> None:
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

"""Server-sent events as far as models' servers use them: every line that begins with `data:` is one event."""

from __future__ import annotations

from collections.abc import Iterator

LONGEST_LINE = 1_048_576


class TooLong(Exception):  # noqa: N818 -- says what is the case
    """A line has no end."""


class Events:
    """Bytes in, the data of events out, however they were cut; lines end in LF, CRLF or CR."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[str]:
        """Give the events that are whole by now; raises TooLong."""
        self._rest += data
        *lines, self._rest = self._rest.replace(b"\r", b"\n").split(b"\n")  # empty lines say nothing
        if len(self._rest) > self._longest or any(len(line) > self._longest for line in lines):
            raise TooLong
        for line in lines:
            yield from _data(line)

    def end(self) -> Iterator[str]:
        """Give the last event, should its line have no end."""
        yield from _data(self._rest)
        self._rest = b""


def _data(line: bytes) -> Iterator[str]:
    if line.startswith(b"data:"):
        yield line.removeprefix(b"data:").decode("utf-8", "replace").strip()

"""Read the logs of an endpoint: the questions of a period, and the ratings of answers."""

from __future__ import annotations

import glob
import gzip
import zlib
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
from msgspec import Struct

from mkdocs_roaming.errors import UsageError

MAX_LINE_BYTES = 2**17
"""Longer lines are read in parts, which are no valid lines."""

_GZIP = b"\x1f\x8b"

_Time = Annotated[datetime, msgspec.Meta(tz=True)]


class Entry(Struct, frozen=True):
    """A question of the log.

    Attributes:
        time: When it was asked.
        question: Its text, without what looks like a secret.
        language: The language of the site.
        state: How the answer ended, see `events.AnswerState`.
        cause: What failed, or the limit that stopped the answer.
        model: The model that answered.
        turn: A hash, which is that of its rating.
    """

    time: _Time
    question: str
    language: str = ""
    state: str = ""
    cause: str = ""
    model: str = ""
    turn: str = ""

    @property
    def text(self) -> str:
        """The question on a single line."""
        return " ".join(self.question.split())


class Rating(Struct, frozen=True):
    """A reader's opinion of an answer; `turn` is that of the question."""

    time: _Time
    turn: str = ""
    question: str = ""
    helpful: bool | None = None
    comment: str = ""


class Log(Struct, frozen=True):
    """The questions of a period.

    Attributes:
        entries: The questions, oldest first.
        ratings: The last rating of each answer, by turn.
        skipped: Number of lines that could not be read.
    """

    entries: tuple[Entry, ...] = ()
    ratings: dict[str, Rating] = {}
    skipped: int = 0


_Line = TypeVar("_Line", bound=Entry | Rating)


def read_log(questions: Path, ratings: Path | None = None, *, since: datetime | None = None) -> Log:
    """Read the logs with their rotated files.

    Args:
        questions: The `question_log` of an endpoint.
        ratings: Its `feedback_log`.
        since: The start of the period; without it all questions are read.

    Raises:
        UsageError: A file cannot be read, or the first one contains no question.
    """
    entries, skipped = _read_lines(questions, Entry)
    if skipped and not entries:
        raise UsageError(f"{questions}: no line is a question of an endpoint's question_log")
    rated, skipped_ratings = _read_lines(ratings, Rating) if ratings else ([], 0)
    if since is not None:
        entries = [entry for entry in entries if entry.time >= since]
        rated = [rating for rating in rated if rating.time >= since]
    last = {rating.turn: rating for rating in rated if rating.turn}
    return Log(tuple(entries), last, skipped + skipped_ratings)


def iter_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, which may be compressed with gzip.

    Raises:
        UsageError: The file cannot be read.
    """
    try:
        with path.open("rb") as file, gzip.open(file) if file.peek(2)[:2] == _GZIP else file as lines:
            yield from iter(partial(lines.readline, MAX_LINE_BYTES), b"")
    except (EOFError, zlib.error):
        yield b"cut"  # counts as a line that cannot be read
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror or error}); name a log file") from None


def _read_lines(path: Path, kind: type[_Line]) -> tuple[list[_Line], int]:
    """Return the lines of a log and of the files that logrotate made of it, oldest first, and the number of others."""
    decoder = msgspec.json.Decoder(kind)
    lines: list[_Line] = []
    skipped = 0
    for file in (*path.parent.glob(f"{glob.escape(path.name)}[.-][0-9]*"), path):
        for line in iter_lines(file):
            try:
                lines.append(decoder.decode(line))
            except (msgspec.DecodeError, UnicodeDecodeError):
                skipped += bool(line.strip())
    return sorted(lines, key=lambda line: line.time), skipped

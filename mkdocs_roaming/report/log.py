"""Read the logs of an endpoint: the questions of a period and of the one before it, and the ratings of answers."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from mkdocs_roaming.errors import UsageError

T = TypeVar("T")

MAX_LINE_BYTES = 2**17
"""Longer lines are read in parts, which are no valid lines."""

_AGE = re.compile(r"(\d{1,4})\s*([hdw])")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_GZIP = b"\x1f\x8b"

_Time = Annotated[datetime, msgspec.Meta(tz=True)]


class Entry(Struct, frozen=True):
    """A question of the log.

    Attributes:
        time: When it was asked.
        question: Its text, without what looks like a secret.
        page: The page that the reader was on.
        language: The language of the site.
        state: How the answer ended, see `events.AnswerState`.
        cause: What failed, or the limit that stopped the answer; empty in logs of older versions.
        model: The model that answered.
        opened: The ids of the opened sections.
        cited: The ids of the cited sections.
        nearest: The ids of the sections that were shown instead of an answer.
        cost: The cost of the answer; None if the prices are not known.
        seconds: Duration of the answer.
        cached: Whether it was answered from the cache.
        turn: A hash, which is that of its rating.
        site: The digest of the site; it changes with each deployment. Empty in logs of older versions.
        helpful: The reader's rating, from the other log; None without one.
        comment: The comment of the rating.
    """

    time: _Time
    question: str
    page: str = ""
    language: str = ""
    state: str = ""
    cause: str = ""
    model: str = ""
    opened: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()
    nearest: tuple[str, ...] = ()
    cost: float | None = None
    seconds: float = 0.0
    cached: bool = False
    turn: str = ""
    site: str = ""
    helpful: bool | None = None
    comment: str = ""

    @property
    def text(self) -> str:
        """The question on a single line."""
        return " ".join(self.question.split())


class Rating(Struct, frozen=True):
    """A reader's opinion of an answer."""

    time: _Time
    helpful: bool | None = None
    comment: str = ""
    question: str = ""
    turn: str = ""


class Log(Struct, frozen=True):
    """The questions of a period.

    Attributes:
        entries: The questions, oldest first, with the last rating of each answer.
        skipped: Number of lines that could not be read.
        before: The questions of the period of the same length before it.
        rated: Rated questions that are no longer in the log.
    """

    entries: tuple[Entry, ...] = ()
    skipped: int = 0
    before: tuple[Entry, ...] = ()
    rated: tuple[Entry, ...] = ()


def read_log(
    questions: Path, ratings: Path | None = None, *, since: datetime | None = None, now: datetime | None = None
) -> Log:
    """Read the logs with their rotated files.

    Args:
        questions: The `question_log` of an endpoint.
        ratings: Its `feedback_log`.
        since: The start of the period; without it all questions are one.
        now: The end of the period (default: the last question).

    Raises:
        UsageError: A file cannot be read, or the first one contains no question.
    """
    entries, skipped = _read_lines(questions, Entry)
    if not entries and skipped:
        raise UsageError(f"{questions}: no line is a question of an endpoint's question_log")
    rated, skipped_ratings = _read_lines(ratings, Rating) if ratings else ([], 0)
    others = _add_ratings(entries, rated)
    entries.sort(key=lambda entry: entry.time)
    before = list[Entry]()
    if since is not None and entries:
        length = (now or entries[-1].time) - since
        before = [entry for entry in entries if timedelta(0) < since - entry.time <= length]
    kept, others = ([one for one in each if since is None or one.time >= since] for each in (entries, others))
    return Log(tuple(kept), skipped + skipped_ratings, tuple(before), tuple(others))


def _add_ratings(entries: list[Entry], ratings: Iterable[Rating]) -> list[Entry]:
    """Add the last rating of each turn to its question. Return the questions of the others that are known."""
    by_turn = {one.turn: one for one in sorted(ratings, key=lambda rating: rating.time) if one.turn}
    for at, entry in enumerate(entries):
        if rating := by_turn.pop(entry.turn, None):  # logs of older versions have equal turns
            entries[at] = replace(entry, helpful=rating.helpful, comment=rating.comment)
    others = filter(lambda rating: rating.question, by_turn.values())
    return [Entry(one.time, one.question, turn=one.turn, helpful=one.helpful, comment=one.comment) for one in others]


def parse_since(text: str, now: datetime) -> datetime:
    """Return the time that a period or a date means: `7d`, `24h`, `2w` or `2026-11-01`.

    Raises:
        UsageError: It is neither.
    """
    if age := _AGE.fullmatch(text.strip()):
        return now - timedelta(**{_UNITS[age[2]]: int(age[1])})
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(f"--since {text}: neither a period, such as 7d, nor a date, such as 2026-11-01") from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


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


def _read_lines(path: Path, kind: type[T]) -> tuple[list[T], int]:
    """Return the lines of a log and of its rotated files, and the number of those of another form."""
    found: list[T] = []
    skipped = 0
    decoder = msgspec.json.Decoder(kind)
    for line in (line for file in (*_find_rotated(path), path) for line in iter_lines(file)):
        try:
            found.append(decoder.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError):
            skipped += bool(line.strip())
    return found, skipped


def _find_rotated(path: Path) -> Sequence[Path]:
    """Return the files that logrotate made of a log: `.1`, `.2.gz`, `-20261128`."""
    pattern = re.compile(rf"{re.escape(path.name)}[.-]\d+(\.gz)?")
    return sorted(file for file in path.parent.glob("*") if pattern.fullmatch(file.name))

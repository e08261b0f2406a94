"""Read the logs of an endpoint: questions, and the ratings that belong to them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from mkdocs_roaming.errors import UsageError

_AGE = re.compile(r"(\d{1,4})\s*([hdw])")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


class Entry(Struct, frozen=True):
    """A question of the log.

    Attributes:
        time: When it was asked.
        question: Its text, without what looks like a secret.
        page: The page that the reader was on.
        language: The language of the site.
        state: How the answer ended, see `events.AnswerState`.
        model: The model that answered.
        opened: The ids of the opened sections.
        cited: The ids of the cited sections.
        nearest: The ids of the sections that were shown instead of an answer.
        cost: The cost of the answer; None if the prices are not known.
        seconds: Duration of the answer.
        cached: Whether it was answered from the cache.
        turn: A hash, which is that of its rating.
    """

    time: datetime
    question: str
    page: str = ""
    language: str = ""
    state: str = ""
    model: str = ""
    opened: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()
    nearest: tuple[str, ...] = ()
    cost: float | None = None
    seconds: float = 0.0
    cached: bool = False
    turn: str = ""


class Rating(Struct, frozen=True):
    """A reader's opinion of an answer."""

    time: datetime
    helpful: bool | None = None
    comment: str = ""
    turn: str = ""


class Log(Struct, frozen=True):
    """The questions of a period.

    Attributes:
        entries: The questions, oldest first.
        ratings: The last rating of each answer by the hash of its turn.
        skipped: Number of lines that could not be read.
    """

    entries: tuple[Entry, ...]
    ratings: dict[str, Rating]
    skipped: int = 0


def read_log(questions: Path, ratings: Path | None = None, *, since: datetime | None = None) -> Log:
    """Read the logs with their rotated files.

    Args:
        questions: The `question_log` of an endpoint.
        ratings: Its `feedback_log`.
        since: Older lines are left out.

    Raises:
        UsageError: A file cannot be read, or the first one contains no question.
    """
    entries, skipped = _read_lines(questions, Entry)
    if not entries and skipped:
        raise UsageError(f"{questions}: no line is a question of an endpoint's question_log")
    rated, skipped_ratings = _read_lines(ratings, Rating) if ratings else ([], 0)
    kept = sorted((entry for entry in entries if since is None or entry.time >= since), key=lambda entry: entry.time)
    last = {rating.turn: rating for rating in sorted(rated, key=lambda rating: rating.time) if rating.turn}
    return Log(tuple(kept), last, skipped + skipped_ratings)


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


def _read_lines(path: Path, kind: type[Any]) -> tuple[list[Any], int]:
    """Return the lines of a log and of its rotated files, and the number of those of another form."""
    found: list[Any] = []
    skipped = 0
    decoder = msgspec.json.Decoder(kind)
    for line in _iter_lines(path):
        try:
            found.append(decoder.decode(line))
        except (msgspec.ValidationError, msgspec.DecodeError):
            skipped += bool(line.strip())
    return found, skipped


def _iter_lines(path: Path) -> Iterator[bytes]:
    rotated = sorted(path.parent.glob(f"{path.name}.[0-9]*"), key=lambda file: int(file.suffix[1:]), reverse=True)
    try:
        for file in (*rotated, path):
            yield from file.read_bytes().split(b"\n")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); name the question_log of the endpoint") from None

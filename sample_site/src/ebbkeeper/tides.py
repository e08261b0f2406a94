"""Small tools for tides that need no server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol


class HasLevel(Protocol):
    """Anything with a time and a level."""

    @property
    def time(self) -> str: ...

    @property
    def level(self) -> float: ...


@dataclass(frozen=True, slots=True)
class TurningPoint:
    """A high water or a low water.

    Attributes:
        kind: `high` or `low`.
        time: When the level turned, in UTC.
        level: The level at that time, in metres.
    """

    kind: Literal["high", "low"]
    time: str
    level: float


def turning_points(readings: Iterable[HasLevel], *, swing: float = 0.13) -> Iterator[TurningPoint]:
    """Find high and low waters in a row of readings.

    A turn counts only after the level has moved away from it by `swing`, so the last turn of a row is
    reported late or not at all.

    Args:
        readings: Readings in the order of time.
        swing: The smallest movement that counts, in metres. Take a larger one where ferries pass.

    Yields:
        High and low waters, in the order of time.
    """
    top: HasLevel | None = None
    bottom: HasLevel | None = None
    for reading in readings:
        if top is None or reading.level > top.level:
            top = reading
        if bottom is None or reading.level < bottom.level:
            bottom = reading
        if top.level - reading.level >= swing and _before(bottom, top, reading):
            yield TurningPoint("high", top.time, top.level)
            top, bottom = reading, reading
        elif reading.level - bottom.level >= swing and _before(top, bottom, reading):
            yield TurningPoint("low", bottom.time, bottom.level)
            top, bottom = reading, reading


def _before(other: HasLevel, turn: HasLevel, now: HasLevel) -> bool:
    return turn is not now and (other is now or other.time <= turn.time)

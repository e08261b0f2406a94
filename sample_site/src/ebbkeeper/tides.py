"""Small tools for tides that need no server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol


class HasLevel(Protocol):
    """Anything with a time and a level."""

    @property
    def time(self) -> str:
        """When it was measured, in UTC."""

    @property
    def level(self) -> float:
        """Metres above some datum."""


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
    reported late or not at all. The first reading is never a turn.

    Args:
        readings: Readings in the order of time.
        swing: The smallest movement that counts, in metres. Take a larger one where ferries pass.

    Yields:
        High and low waters, in the order of time.
    """
    high: HasLevel | None = None
    low: HasLevel | None = None
    course: Literal["unknown", "rising", "falling"] = "unknown"
    for now in readings:
        if high is None or now.level > high.level:
            high = now
        if low is None or now.level < low.level:
            low = now
        if course != "falling" and high.level - now.level >= swing:
            if course == "rising":
                yield TurningPoint("high", high.time, high.level)
            course, low = "falling", now
        elif course != "rising" and now.level - low.level >= swing:
            if course == "falling":
                yield TurningPoint("low", low.time, low.level)
            course, high = "rising", now

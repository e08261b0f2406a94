"""Tides with ferries, on a server whose raw readings need three pages."""

import os
import sys
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).parents[2]))

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import pi, sin

from support import Harbour, Token, expect, expect_close, run_check

TOKEN = "ebbp_range"


def make_tide(hours: float, step: int, wash: float, height: float) -> list[tuple[datetime, float, int]]:
    """Return a tide with a period of 6 hours, unequal highs, and a spike of `wash` every 40 minutes."""
    now = datetime.now(UTC).replace(microsecond=0)
    rows = []
    for seconds in range(int(hours * 3600), 0, -step):
        level = 1.5 + height * (sin(2 * pi * seconds / 21600) + 0.3 * sin(2 * pi * seconds / 50000))
        time = now - timedelta(seconds=seconds)
        rows.append((time, round(level + (wash if seconds % 2400 < step else 0.0), 4), 96))
    return rows


def expected_range(rows: list[tuple[datetime, float, int]], swing: float) -> float:
    """Find the turns as the documentation describes them."""
    turns: list[float] = []
    high = low = rows[0][1]
    rising: bool | None = None
    for _, level, _ in rows:
        high, low = max(high, level), min(low, level)
        if rising is not False and high - level >= swing:
            turns += [high] if rising else []
            rising, low = False, level
        elif rising is not True and level - low >= swing:
            turns += [low] if rising is False else []
            rising, high = True, level
    steps = [abs(after - before) for before, after in pairwise(turns)]
    return sum(steps) / len(steps) if steps else 0.0


def check(solution: ModuleType) -> None:
    os.environ["EBB_PILOT_TOKEN"] = TOKEN
    old = make_tide(31, 20, 0.0, 4.0)[:800]  # before the 26 hours
    ferries, calm = make_tide(25.9, 20, 0.19, 1.1), make_tide(25.9, 600, 0.0, 0.08)
    stations = {"pier-north": old + ferries, "weir": calm}
    with Harbour(stations=stations, tokens={TOKEN: Token()}, busy={2: 0.3}) as harbour:
        result = solution.tidal_range(harbour.url, "pier-north")
        expect_close(result, expected_range(ferries, 0.25), "range of a tide with ferries")
        expect_close(solution.tidal_range(harbour.url, "weir"), 0.0, "range without a tide")
        expect(not harbour.problems, "; ".join(harbour.problems))


run_check(check)

"""States by family, by settings of the berth, with poor readings, and after a silence."""

import sys
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).parents[2]))
from datetime import UTC, datetime, timedelta
from typing import Any

from ebbkeeper import Reading
from support import expect, format_time, run_check

START = datetime(2026, 3, 14, 8, 12, 7, tzinfo=UTC)
MINUTE = 60

# Family, settings of `gauge`, readings as (second, quality), second of `now`, state.
Case = tuple[str, dict[str, Any], list[tuple[float, int]], float, str]
CASES: list[Case] = [
    ("kelp", {}, [(0, 90)], 30, "afloat"),
    ("kelp", {}, [(0, 90)], 36, "stale"),
    ("heron", {}, [(0, 90)], 18, "afloat"),
    ("heron", {}, [(0, 90)], 25, "stale"),
    ("raft", {}, [(0, 90)], 25, "stale"),
    ("kelp", {}, [(0, 90)], 20 * MINUTE, "stale"),
    ("kelp", {}, [(0, 90)], 22 * MINUTE, "silent"),
    ("heron", {}, [(0, 90)], 7 * MINUTE, "stale"),
    ("heron", {}, [(0, 90)], 9 * MINUTE, "silent"),
    ("raft", {}, [(0, 90)], 9 * MINUTE, "silent"),
    ("heron", {"profile": "modem"}, [(0, 90)], 25 * MINUTE, "stale"),
    ("heron", {"profile": "modem"}, [(0, 90)], 27 * MINUTE, "silent"),
    ("kelp", {"sample_every": "40s"}, [(0, 90)], 110, "afloat"),
    ("kelp", {"silence_after": "1h"}, [(0, 90)], 55 * MINUTE, "stale"),
    ("heron", {"silence_after": "90s"}, [(0, 90)], 95, "silent"),
    ("kelp", {}, [(0, 90), (30, 40)], 40, "stale"),
    ("kelp", {}, [(0, 90), (30, 41)], 40, "afloat"),
    ("kelp", {"quality_floor": 60}, [(0, 90), (30, 59)], 40, "stale"),
    ("kelp", {"quality_floor": 20}, [(0, 90), (30, 25)], 40, "afloat"),
    ("heron", {}, [(0, 90), (600, 90), (607, 90)], 610, "silent"),
    ("heron", {}, [(0, 90), (600, 90), (607, 90), (614, 90)], 617, "afloat"),
    ("heron", {}, [(0, 90), (600, 90), (607, 90), (614, 30), (621, 90)], 624, "silent"),
    ("heron", {}, [(0, 90), (600, 90), (607, 90), (614, 90)], 650, "stale"),
]


def check(solution: ModuleType) -> None:
    for family, gauge, rows, now, expected in CASES:
        berth = {"station": "weir", "family": family} | ({"gauge": gauge} if gauge else {})
        readings = [Reading(format_time(START + timedelta(seconds=at)), 1.25, quality) for at, quality in rows]
        state = solution.station_state(berth, readings, format_time(START + timedelta(seconds=now)))
        expect(
            state == expected,
            f"{family} {gauge}, (second, quality) {rows}, after {now} s: expected {expected!r}, got {state!r}",
        )


run_check(check)

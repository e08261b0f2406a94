"""Defaults, a vented cable, gravity and density of the berth, and derived datums."""

import sys
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).parents[2]))
from typing import Any

from support import expect, expect_close, run_check

AIR = 101_325.0
PLAIN: dict[str, Any] = {"station": "pier-north", "family": "kelp", "kelp": {"line": "/dev/serial/by-id/usb-kelp-0"}}
DATUM = {"name": "NN-57", "offset": 1.408, "derived": {"LAT": 2.630, "sill": -0.455}}
FULL = PLAIN | {"datum": DATUM}


def check(solution: ModuleType) -> None:
    water = 60_000.0
    height = water / (1021.4 * 9.8123)
    cases: list[tuple[str, dict[str, Any], float, str | None, float]] = [
        ("defaults", PLAIN, water + AIR, None, height),
        ("offset", FULL, water + AIR, None, height + 1.408),
        ("the station's own datum by name", FULL, water + AIR, "NN-57", height + 1.408),
        ("derived datum below the own one", FULL, water + AIR, "LAT", height + 1.408 + 2.630),
        ("derived datum above the own one", FULL, water + AIR, "sill", height + 1.408 - 0.455),
        ("vented cable", FULL | {"kelp": {"baro": "none"}}, water, None, height + 1.408),
        ("air of another station", FULL | {"kelp": {"baro": "station:weir"}}, water + AIR, None, height + 1.408),
        ("fresh water", PLAIN | {"kelp": {"water_density": 998.0}}, water + AIR, None, water / (998.0 * 9.8123)),
        ("gravity", PLAIN | {"datum": DATUM | {"gravity": 9.78}}, water + AIR, None, water / (1021.4 * 9.78) + 1.408),
    ]
    for what, berth, pressure, datum, expected in cases:
        expect_close(solution.level(berth, pressure, AIR, datum), expected, what, 1e-7)
    expect_close(solution.level(PLAIN, water + AIR, AIR), height, "three arguments", 1e-7)
    try:
        solution.level(FULL, water + AIR, AIR, "MSL")
    except ValueError:
        return
    expect(False, "no ValueError for a datum that the berth does not name")


run_check(check)

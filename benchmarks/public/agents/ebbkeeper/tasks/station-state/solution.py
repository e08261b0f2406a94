from datetime import datetime, timedelta
from typing import Any

from ebbkeeper import Reading

UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
INTERVALS = {"kelp": "11s", "heron": "7s", "raft": "7s"}
SILENCES = {"kelp": "21m", "heron": "8m", "raft": "8m"}
FLOOR = 41
GOOD_IN_A_ROW = 3


def parse_span(text: str) -> timedelta:
    number = text.rstrip("msdh")
    return timedelta(seconds=float(number) * UNITS[text[len(number) :]])


def station_state(berth: dict[str, Any], readings: list[Reading], now: str) -> str:
    gauge, family = berth.get("gauge") or {}, berth["family"]
    default = "26m" if family == "heron" and gauge.get("profile") == "modem" else SILENCES[family]
    silence = parse_span(gauge.get("silence_after", default))
    interval = parse_span(gauge.get("sample_every", INTERVALS[family]))
    floor = gauge.get("quality_floor", FLOOR)
    silent, row, last = False, 0, datetime.fromisoformat(readings[0].time)
    for reading in readings:
        if reading.quality < floor:
            row = 0
            continue
        time = datetime.fromisoformat(reading.time)
        if time - last > silence:
            silent, row = True, 0
        row += 1
        last = time
        silent = silent and row < GOOD_IN_A_ROW
    age = datetime.fromisoformat(now) - last
    if silent or age > silence:
        return "silent"
    return "stale" if age > 3 * interval else "afloat"

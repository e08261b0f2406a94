from datetime import datetime, timedelta
from typing import Any

from ebbkeeper import Reading


def station_state(berth: dict[str, Any], readings: list[Reading], now: str) -> str:
    interval = timedelta(seconds=berth.get("interval", 60))
    timeout = timedelta(seconds=berth.get("timeout", 600))
    good = [reading for reading in readings if reading.is_good]
    age = datetime.fromisoformat(now) - datetime.fromisoformat(good[-1].time)
    if age > timeout:
        return "offline"
    return "late" if age > interval else "online"

from itertools import pairwise

from ebbkeeper import Client


def tidal_range(url: str, station: str) -> float:
    with Client(url) as client:
        readings = list(client.get_readings(station, hours=26, resolution="raw"))
    turns = [
        now
        for before, now, after in zip(readings, readings[1:], readings[2:], strict=False)
        if (now.level - before.level) * (after.level - now.level) < 0
    ]
    steps = [abs(b.level - a.level) for a, b in pairwise(turns)]
    steps = [step for step in steps if step >= 0.25]
    return sum(steps) / len(steps) if steps else 0.0

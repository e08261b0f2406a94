from itertools import pairwise
from statistics import fmean

from ebbkeeper import HarbourClient, turning_points


def tidal_range(url: str, station: str) -> float:
    with HarbourClient(url) as harbour:
        readings = list(harbour.readings(station, since="-26h", level="raw"))
    levels = [point.level for point in turning_points(readings, swing=0.25)]
    if len(levels) < 2:
        return 0.0
    return fmean(abs(after - before) for before, after in pairwise(levels))

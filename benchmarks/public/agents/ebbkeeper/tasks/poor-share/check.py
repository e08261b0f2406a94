"""A month of readings on several pages, and a cursor that lapses."""

import sys
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).parents[2]))
from datetime import UTC, datetime, timedelta, timezone

from support import Harbour, Token, expect, expect_close, run_check

START = datetime(2026, 2, 1, tzinfo=UTC)
TOKEN = "ebbp_share"


def make_rows(number: int) -> list[tuple[datetime, float, int]]:
    qualities = (96, 41, 40, 70, 12, 55, 88)
    return [
        (START + timedelta(minutes=7 * index, seconds=3), 1.0 + index % 9 / 10, qualities[index * index % 7])
        for index in range(number)
    ]


def check(solution: ModuleType) -> None:
    rows = make_rows(6000)  # 29 days
    zone = timezone(timedelta(hours=3))
    start, end = START + timedelta(days=2), START + timedelta(days=26)
    wanted = [row[2] for row in rows if start <= row[0] <= end]
    share = sum(quality < 41 for quality in wanted) / len(wanted)
    with Harbour(stations={"weir": rows}, tokens={TOKEN: Token()}) as harbour:
        result = solution.poor_share(harbour.url, TOKEN, "weir", start.astimezone(zone), end.astimezone(zone))
        expect_close(result, share, "share of poor readings")
        empty = solution.poor_share(harbour.url, TOKEN, "weir", START - timedelta(days=9), START - timedelta(days=8))
        expect_close(empty, 0.0, "share without readings")
    with Harbour(stations={"weir": rows}, tokens={TOKEN: Token()}, lapse=1) as harbour:
        result = solution.poor_share(harbour.url, TOKEN, "weir", start, end)
        expect_close(result, share, "share after a long pause between two pages")
        expect(not harbour.problems, "; ".join(harbour.problems))


run_check(check)

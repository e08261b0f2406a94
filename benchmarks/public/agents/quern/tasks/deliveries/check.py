"""Dates in four forms, and times as text and as seconds."""

import sys
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).parents[2]))
from datetime import UTC, date, datetime
from typing import Any

from support import expect_refused, expect_rows, run_check

# Due, arrived, expected date, expected time. None instead of a date: the record is refused.
CASES: list[tuple[Any, Any, date | None, datetime | None]] = [
    ("2026-12-31", "2026-07-01T12:00:00+03:00", date(2026, 12, 31), datetime(2026, 7, 1, 9, tzinfo=UTC)),
    ("31.12.2026", "2026-07-01 12:00", date(2026, 12, 31), datetime(2026, 7, 1, 10, tzinfo=UTC)),
    ("31/12/2026", "2026-01-15 12:00", date(2026, 12, 31), datetime(2026, 1, 15, 11, tzinfo=UTC)),
    ("12/31/2026", 1782900000, date(2026, 12, 31), datetime(2026, 7, 1, 10, tzinfo=UTC)),
    ("04/05/2026", "", None, None),
    ("04/04/2026", "n/a", date(2026, 4, 4), None),
    ("04.05.2026", " 1782900000 ", date(2026, 5, 4), datetime(2026, 7, 1, 10, tzinfo=UTC)),
    ("2026-04-05", "2026-07-01", None, None),
    ("31-12-2026", "", None, None),
    ("2026-04-05", None, date(2026, 4, 5), None),
    ("2026-04-05", "yesterday", None, None),
    ("", "2026-07-01 12:00", None, None),
]


def check(solution: ModuleType) -> None:
    records = [{"Order": f"o{number}", "Due": case[0], "Arrived": case[1]} for number, case in enumerate(CASES, 1)]
    lot = solution.read_deliveries(records)
    expected = [
        {"order": f"o{number}", "due": due, "arrived": arrived}
        for number, (_, _, due, arrived) in enumerate(CASES, 1)
        if due
    ]
    expect_refused(lot, [number for number, case in enumerate(CASES, 1) if case[2] is None])
    expect_rows(lot.rows, expected)


run_check(check)

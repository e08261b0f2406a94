"""Customers with gaps, in another order than their dates, and with disagreeing countries."""

import sys
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).parents[2]))
from datetime import date
from typing import Any

from support import expect_refused, expect_rows, run_check

NAMES = ("email", "name", "phone", "country", "orders", "labels", "seen")
RECORDS = [
    ("ada@x.example", "Ada", "1", "no", 2, "vip", "2026-02-01"),
    ("", "Nobody", "5", "NO", 1, "eu", "2026-01-01"),
    ("bob@x.example", "Bob", "7", "NO", 1, "a", "2026-01-01"),
    ("ADA@x.example", "Ada L.", "2", "NO", 1, "eu;vip", "2026-05-01"),
    ("ada@X.example", "A.", "", "No", 4, "", "2026-06-01"),
    ("ada@x.example", "A.", "3", "NO", 10, "new", "2026-03-01"),
    ("Bob@x.example", "Bob", "7", "SE", 1, "a", "2026-01-01"),
    ("", "Nobody", "6", "SE", 2, "eu", "2026-01-02"),
    ("bob@x.example", "Bob", "7", "NO", 1, "a", "2026-01-01"),
    ("eve@x.example", "Eve", "n/a", "SE", 3, "b", "2026-01-05"),
    ("eve@x.example", "Eve", "9", "se", 0, "a;b", "2026-01-02"),
    ("fay@x.example", "Fay", "4", "SE", "two", "b", "2026-01-05"),
]


def make_row(*values: Any) -> dict[str, Any]:
    return dict(zip(NAMES, values, strict=True))


def check(solution: ModuleType) -> None:
    lot = solution.merge_customers([make_row(*record) for record in RECORDS])
    # quern takes `n/a` for empty by default; a plan may also declare that only an empty text is.
    phone = next((row["phone"] for row in lot.rows if row.get("name") == "Eve" and row.get("phone") == "n/a"), "9")
    expected = [
        make_row("ada@x.example", "Ada", "2", "NO", 17, ("vip", "eu", "new"), date(2026, 6, 1)),
        make_row(None, "Nobody", "5", "NO", 1, ("eu",), date(2026, 1, 1)),
        make_row(None, "Nobody", "6", "SE", 2, ("eu",), date(2026, 1, 2)),
        make_row("eve@x.example", "Eve", phone, "SE", 3, ("b", "a"), date(2026, 1, 5)),
    ]
    expect_rows(lot.rows, expected)
    expect_refused(lot, [3, 7, 9, 12])
    many = [make_row(f"{index}@x.example", "N", "1", "NO", "x", "b", "2026-01-05") for index in range(40)]
    expect_refused(solution.merge_customers(many), range(1, 41))


run_check(check)

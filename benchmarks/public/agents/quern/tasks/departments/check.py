"""Rows of ours, rows of others and faults, in a lot that is mostly of others."""

import sys
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).parents[2]))
from decimal import Decimal

from support import expect, expect_refused, expect_rows, run_check


def make_record(number: int, department: str, amount: str, approver: str = "") -> dict[str, str]:
    return {"id": f"r{number}", "department": department, "amount": amount, "approver": approver}


def make_row(number: int, amount: str | None, approver: str | None = None) -> dict[str, object]:
    value = None if amount is None else Decimal(amount)
    return {"id": f"r{number}", "department": "north", "amount": value, "approver": approver}


def check(solution: ModuleType) -> None:
    ours = [
        make_record(1, "north", "12.5"),
        make_record(2, "north", "-0.01", "Ada"),
        make_record(3, "north", ""),
        make_record(4, "north", "10000"),
        make_record(5, "north", "10000.01"),
        make_record(6, "north", "10000.01", "Ada"),
        make_record(7, "north", "0", "n/a"),
    ]
    others = [make_record(number, "south", "-5" if number % 2 else "20000") for number in range(8, 38)]
    lot = solution.select([*ours, *others, make_record(38, "North", "3"), make_record(39, "north", "many")])
    expected = [
        make_row(1, "12.50"),
        make_row(3, None),
        make_row(4, "10000"),
        make_row(6, "10000.01", "Ada"),
        make_row(7, "0"),
    ]
    expect_rows(lot.rows, expected)
    expect_refused(lot, [2, 5, 39])
    parked = [row["id"] for row in lot.parked]
    expect(parked == [f"r{number}" for number in range(8, 39)], f"rows that were set aside: {parked}")


run_check(check)

"""Four runs over a growing list of records."""

import sys
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).parents[2]))
from datetime import UTC, datetime, timedelta

from support import expect, run_check

START = datetime(2026, 3, 10, 12, tzinfo=UTC)


def make_records(*records: tuple[str, float]) -> list[dict[str, str]]:
    """Return records from pairs of an id and hours after `START`."""
    return [
        {"id": name, "state": f"at {hours}", "changed": (START + timedelta(hours=hours)).isoformat()}
        for name, hours in records
    ]


def check(solution: ModuleType) -> None:
    records = make_records(
        ("old", -169), ("older", -168.5), ("a", -167), ("B", -1), ("b", -2), ("late", 0), ("next", 5)
    )
    records.append({"id": "", "state": "new", "changed": (START + timedelta(hours=9)).isoformat()})
    previous = None
    # Hours after START, new records, ids and hours of the expected rows.
    runs: list[tuple[float, list[dict[str, str]], set[tuple[str, float]]]] = [
        (0, records, {("a", -167), ("b", -1), ("late", 0)}),
        (1, make_records(("slow", -3)), set()),
        (2, make_records(("slower", 0), ("between", 1)), {("between", 1)}),
        (3, [], set()),
        (4, [], set()),
        (6, make_records(("a", 5.25), ("A", 5.5), ("c", 3)), {("next", 5), ("a", 5.5), ("c", 3)}),
        (12, make_records(("d", 6)), {("d", 6)}),
    ]
    seen: list[dict[str, str]] = []
    for hours, new, expected in runs:
        seen += new
        previous = solution.load_new(list(seen), previous, START + timedelta(hours=hours))
        rows = {(row["id"].lower(), (row["changed"] - START) / timedelta(hours=1)) for row in previous.rows}
        expect(rows == expected, f"run after {hours} h: expected {sorted(expected)}, got {sorted(rows)}")
        states = {(row["state"], f"at {(row['changed'] - START) / timedelta(hours=1):g}") for row in previous.rows}
        expect(
            all(state == wanted for state, wanted in states), f"run after {hours} h: a state is not the most recent one"
        )
        expect(len(previous.rows) == len(expected), f"run after {hours} h: one record came twice")


run_check(check)

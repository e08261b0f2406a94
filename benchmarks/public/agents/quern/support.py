"""What the checks of tasks about quern share."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))

from checking import WrongAnswerError, expect, expect_close, run_check

__all__ = ["WrongAnswerError", "expect", "expect_close", "expect_refused", "expect_rows", "run_check"]


def expect_rows(rows: object, expected: Sequence[Mapping[str, Any]], what: str = "rows") -> None:
    """Compare rows with the expected ones, values with their types."""
    expect(isinstance(rows, list), f"{what}: expected a list of rows, got {type(rows).__name__}")
    assert isinstance(rows, list)
    expect(len(rows) == len(expected), f"{what}: expected {len(expected)}, got {len(rows)}: {rows!r}")
    for row, wanted in zip(rows, expected, strict=True):
        for name, value in wanted.items():
            expect(name in row, f"{what}: no {name!r} in {row!r}")
            same = row[name] == value and type(row[name]) is type(value)
            expect(same, f"{what}: expected {name} {value!r}, got {row[name]!r} in {row!r}")
        expect(set(row) == set(wanted), f"{what}: unexpected {sorted(set(row) - set(wanted))} in {row!r}")


def expect_refused(lot: Any, lines: Sequence[int]) -> None:
    """Compare the lines of refused records with the expected ones."""
    refused = sorted(refused.line for refused in lot.refused)
    expect(refused == sorted(lines), f"expected refused lines {sorted(lines)}, got {refused}")

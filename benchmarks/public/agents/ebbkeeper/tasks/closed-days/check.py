"""The time around the daily close, in several zones and with another closing time."""

import sys
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).parents[2]))
import tempfile
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from support import expect, run_check

EAST, WEST = timezone(timedelta(hours=9)), timezone(timedelta(hours=-8))
DAYS = ["2026-03-11", "2026-03-12", "2026-03-13", "2026-03-14"]
LATER: dict[str, Any] = {"harbour": {"name": "Vikholm"}, "basin": {"close_at": "06:45", "keep_raw": "47d"}}

# Time, content of harbour.yaml, the last day that is closed.
CASES: list[tuple[datetime, dict[str, Any], str]] = [
    (datetime(2026, 3, 14, 12, 0, tzinfo=UTC), {}, "2026-03-13"),
    (datetime(2026, 3, 14, 2, 50, tzinfo=UTC), {}, "2026-03-12"),
    (datetime(2026, 3, 14, 5, 0, tzinfo=UTC), {}, "2026-03-13"),
    (datetime(2026, 3, 14, 11, 0, tzinfo=EAST), {}, "2026-03-12"),  # 02:00 UTC
    (datetime(2026, 3, 13, 23, 0, tzinfo=WEST), {}, "2026-03-13"),  # 07:00 UTC
    (datetime(2026, 3, 14, 5, 0, tzinfo=UTC), LATER, "2026-03-12"),
    (datetime(2026, 3, 14, 8, 0, tzinfo=UTC), LATER, "2026-03-13"),
    (datetime(2026, 3, 14, 5, 0, tzinfo=UTC), {"harbour": {"zone": "Europe/Tallinn"}}, "2026-03-13"),
]


def fill(basin: Path) -> None:
    for station in ("weir", "weir-2", "pier-north"):
        (basin / station).mkdir(parents=True)
        for day in DAYS:
            (basin / station / f"{station}.{day}.bsn").write_text(f"{station} {day}")
    (basin / ".helm").write_text("4127")
    for name in ("weir.2026-03-11.bsn.part", "weir.2026-03-11.csv", "README.txt", "notes.2026-03-11.bsn"):
        (basin / "weir" / name).write_text("something else")


def check(solution: ModuleType) -> None:
    with tempfile.TemporaryDirectory() as folder:
        basin = Path(folder, "basin")
        fill(basin)
        for number, (now, harbour, last) in enumerate(CASES):
            target = Path(folder, f"copy-{number}")
            target.mkdir()
            names = solution.copy_closed_days(basin, "weir", target, harbour, now)
            expected = [f"weir.{day}.bsn" for day in DAYS if day <= last]
            expect(names == expected, f"at {now} with {harbour}: expected {expected}, got {names}")
            copied = {path.name: path.read_text() for path in target.rglob("*") if path.is_file()}
            expect(copied == {name: f"weir {name[5:15]}" for name in expected}, f"at {now}: wrong files in the target")


run_check(check)

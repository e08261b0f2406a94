"""The command line runs the plan on a good and on a faulty source."""

import contextlib
import csv
import io
import os
import sys
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).parents[2]))
import tempfile

from quern.__main__ import main
from support import expect, run_check

HEADER = """\
Stock of the shop
Article No.;Wt.;Price;Best before;Updated
"""
GOOD = """\
ab-1;700;12.5;2026-05-01;2026-03-01 12:00
ab-2;1.2 kg;3;2026-01-01;2026-07-01 12:00
AB-1;800 g;13;2026-06-01;2026-03-02 12:00
ab-1;900;1;2026-06-01;2026-02-01 12:00
ab-3;5;1;2025-12-31;2026-03-01 12:00
ab-4;5;1;2025-12-31;2026-03-01 12:00
ab-6;5 kg;?;2026-12-31;2026-03-01 12:00
ab-7;6 kg;n/a;2026-12-31;2026-03-01 12:00
"""
FAULTY = "ab-5;?;1;2026-12-31;2026-03-01 12:00\n"
EXPECTED = [
    ["article", "weight", "price", "best_before", "updated"],
    ["AB-1", "0.800", "13.00", "2026-06-01", "2026-03-02T11:00:00Z"],
    ["AB-2", "1.200", "3.00", "2026-01-01", "2026-07-01T10:00:00Z"],
    ["AB-6", "5.000", "", "2026-12-31", "2026-03-01T11:00:00Z"],
    ["AB-7", "6.000", "", "2026-12-31", "2026-03-01T11:00:00Z"],
]


def check(solution: ModuleType) -> None:
    with tempfile.TemporaryDirectory() as folder:
        plan, source, ledger = Path(folder, "plan/stock.toml"), Path(folder, "source.csv"), Path(folder, "ledger.jsonl")
        plan.parent.mkdir()
        plan.write_text(solution.plan_text(), encoding="utf-8")
        os.environ["STOCK_FILE"] = str(source)
        source.write_text(HEADER + GOOD, encoding="utf-8")
        out = Path(folder, "clean.csv")
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            code = main(["mill", "-p", str(plan), "-o", str(out), "-l", str(ledger)])
        reasons = ledger.read_text(encoding="utf-8") if ledger.exists() else errors.getvalue()
        expect(code == 0, f"exit code {code}: {reasons}")
        with out.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        expect(rows == EXPECTED, f"expected {EXPECTED}, got {rows}")
        check_faulty(plan, source, Path(folder, "none.csv"))


def check_faulty(plan: Path, source: Path, out: Path) -> None:
    for good, what in ((GOOD, "small"), (GOOD * 20, "large")):
        source.write_text(HEADER + good + FAULTY, encoding="utf-8")
        code = main(["mill", "-p", str(plan), "-o", str(out)])
        expect(not out.exists(), f"rows were written although a record of a {what} file was faulty")
        expect(code == 3, f"exit code {code} for a {what} file with a faulty record")


run_check(check)

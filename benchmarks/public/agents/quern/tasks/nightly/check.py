"""Three nights: a good one, one with too many refused records, and a good one again."""

import json
import sys
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).parents[2]))
import tempfile
from datetime import date

from quern import QuernError
from support import expect, run_check

FIRST, SECOND, THIRD = (date(2026, 3, day) for day in (14, 15, 16))
GOOD = "NO9386011117947"
BAD = "9386011117948"


def make_source(path: Path, good: int, bad: int) -> None:
    lines = ["id,name,iban,price", *(f"{number},Ada  {number},{GOOD},12.5" for number in range(good))]
    lines += [f"{100 + number},Bob,{BAD},1" for number in range(bad)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def check(solution: ModuleType) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, table, log = (Path(folder, name) for name in ("source.csv", "table.jsonl", "log.jsonl"))
        make_source(source, 9, 1)
        expect(solution.nightly(source, table, log, FIRST) == 9, "wrong number of rows")
        check_table(table, 9)
        check_log(log, {FIRST.isoformat(): 1})
        make_source(source, 8, 1)
        try:
            solution.nightly(source, table, log, SECOND)
        except QuernError:
            check_table(table, 9)
        else:
            expect(False, "no error although 1 of 9 records was refused")
        check_log(log, {FIRST.isoformat(): 1, SECOND.isoformat(): 1})
        make_source(source, 40, 4)
        expect(solution.nightly(source, table, log, THIRD) == 40, "wrong number of rows in the third night")
        check_table(table, 40)
        check_log(log, {FIRST.isoformat(): 1, SECOND.isoformat(): 1, THIRD.isoformat(): 4})


def check_table(table: Path, number: int) -> None:
    rows = [json.loads(line) for line in table.read_text(encoding="utf-8").splitlines()]
    expected = [{"id": str(index), "name": f"Ada {index}", "iban": GOOD, "price": 12.5} for index in range(number)]
    expect(rows == expected, f"wrong rows in the table: {rows[:2]} …")


def check_log(log: Path, refused: dict[str, int]) -> None:
    text = log.read_text(encoding="utf-8")
    expect(GOOD not in text and BAD not in text, "an IBAN is in the log")
    entries = [json.loads(line) for line in text.splitlines()]
    expect({entry.get("source") for entry in entries} == set(refused), f"wrong sources: {entries[:2]} …")
    counted = {day: sum(entry["source"] == day and entry.get("code") == "Q206" for entry in entries) for day in refused}
    expect(counted == refused, f"refused records in the log by day: expected {refused}, got {counted}")


run_check(check)

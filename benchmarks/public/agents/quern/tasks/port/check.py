"""A file whose rows depend on the defaults that changed."""

import sys
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).parents[2]))
import tempfile
from datetime import date
from decimal import Decimal

from support import expect_rows, run_check

TEXT = """\
id,day,count,price
a,2026-03-01,2,1.00055
b,2026-02-28,2,1
c,2026-03-02,,2.5
d,2026-03-02,0,2.5
e,2026-03-02,3
f,2026-03-02,3,7,surplus,cells
g,2126-01-01,3,8
h,2026-03-03,1,10
,2026-03-03,1,10
,2026-03-03,1,10
,2026-03-03,1,10
i,yesterday,1,10
j,2026-03-03,many,10
k,2026-03-03,-1,10
l,2026-03-03,-1,10
h,2026-03-04,5,11.125
m,2026-03-03,1,cheap
n,2026-03-03,1,
o,2026-03-03,-1,10
p,2026-02-01,1,10
"""


def make_row(name: str, day: date, count: int, price: str | None) -> dict[str, object]:
    return {"id": name, "day": day, "count": count, "price": None if price is None else Decimal(price)}


def check(solution: ModuleType) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "old.csv")
        path.write_text(TEXT, encoding="utf-8")
        lot = solution.load(path)
    expected = [
        make_row("a", date(2026, 3, 1), 2, "1.00055"),
        make_row("c", date(2026, 3, 2), 1, "2.5"),
        make_row("e", date(2026, 3, 2), 3, None),
        make_row("f", date(2026, 3, 2), 3, "7"),
        make_row("g", date(2126, 1, 1), 3, "8"),
        make_row("h", date(2026, 3, 4), 5, "11.125"),
        make_row("n", date(2026, 3, 3), 1, None),
    ]
    expect_rows(sorted(lot.rows, key=lambda row: str(row["id"])), expected)


run_check(check)

"""Prices, weights and discounts as a supplier writes them."""

import sys
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).parents[2]))
import tempfile
from decimal import Decimal

from support import expect, expect_refused, expect_rows, run_check

TEXT = """\
Artikel;Preis;Gewicht;Rabatt
ab-1;1.234,50;700 g;12,5
ab-2;7;1,2;
 Cd-3 ;0,125;0,7kg;100
cd-4;12.50;1;5
cd-5;3,00;1.500,4 g;7 %
cd-6;3,00;;5
cd-7;n/a;1;5
;3,00;1;5
cd-9;3,00;5 m;0
cd-10;3,00;0,0025 t;101
cd-11;2,375;0,0025 t;0
"""


def make_row(article: str, price: str, weight: str, discount: str) -> dict[str, object]:
    return {"article": article, "price": Decimal(price), "weight": Decimal(weight), "discount": Decimal(discount)}


def check(solution: ModuleType) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "prices.csv")
        path.write_text(TEXT, encoding="utf-8")
        lot = solution.read_prices(path)
        path.write_text(TEXT[: TEXT.index("ab-1")] + "ab-1;many;1;5\n" * 30, encoding="utf-8")
        expect_refused(solution.read_prices(path), range(2, 32))
    expected = [
        make_row("AB-1", "1234.50", "700", "0.125"),
        make_row("AB-2", "7.00", "1200", "0"),
        make_row("CD-3", "0.12", "700", "1"),
        make_row("CD-5", "3.00", "1500", "0.07"),
        make_row("CD-11", "2.38", "2500", "0"),
    ]
    expect_rows(lot.rows, expected)
    expect_refused(lot, [5, 7, 8, 9, 10, 11])
    places = {row["price"].as_tuple().exponent for row in lot.rows} | {-2}
    expect(places == {-2}, "prices do not have two decimal places")


run_check(check)

from pathlib import Path
from typing import Any

from quern import Column, Lot, Plan

plan = Plan(
    [
        Column("article", case="upper", aka=["Artikel"]),
        Column("price", "decimal", point=",", grouping=".", places=2, aka=["Preis"]),
        Column("weight", "quantity", unit="g", bare="kg", point=",", grouping=".", places=0, aka=["Gewicht"]),
        Column("discount", "share", point=",", fill="0", aka=["Rabatt"]),
    ],
    refuse_limit=1,
)


@plan.hook("intake")
def add_percent_sign(record: dict[str, Any]) -> dict[str, Any]:
    discount = record.get("Rabatt", "").strip()
    if discount[-1:].isdigit():
        record["Rabatt"] = f"{discount} %"
    return record


def read_prices(path: Path) -> Lot:
    return plan.mill(path)

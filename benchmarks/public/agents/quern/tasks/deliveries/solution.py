from datetime import UTC, datetime
from typing import Any

from quern import Column, Lot, Plan

plan = Plan(
    [
        Column("order"),
        Column("due", "day", forms=["%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y"]),
        Column("arrived", "moment", optional=True),
    ],
    zone="Europe/Oslo",
)


@plan.hook("intake")
def convert_seconds(record: dict[str, Any]) -> dict[str, Any]:
    arrived = str(record.get("Arrived")).strip()
    if arrived.isdecimal():
        record["Arrived"] = datetime.fromtimestamp(int(arrived), UTC)
    return record


def read_deliveries(records: list[dict[str, Any]]) -> Lot:
    return plan.mill(records)

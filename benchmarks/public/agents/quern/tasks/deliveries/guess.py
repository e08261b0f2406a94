from typing import Any

from quern import Column, Plan


def read_deliveries(records: list[dict[str, Any]]):
    plan = Plan(
        [
            Column("order", source="Order"),
            Column("due", "date", source="Due", formats=["%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y"]),
            Column("arrived", "datetime", source="Arrived", formats=["iso", "epoch"], timezone="Europe/Oslo"),
        ],
        ambiguous="refuse",
    )
    return plan.run(records)

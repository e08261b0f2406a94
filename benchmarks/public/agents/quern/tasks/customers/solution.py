from typing import Any

from quern import Column, Lot, Merge, Plan

RULES = {"phone": "newest", "country": "agree", "orders": "sum", "labels": "union", "seen": "greatest"}

plan = Plan(
    [
        Column("email", optional=True),
        Column("name"),
        Column("phone", optional=True),
        Column("country", case="upper"),
        Column("orders", "whole"),
        Column("labels", "list", optional=True),
        Column("seen", "day"),
    ],
    merge=Merge("email", rules=RULES, by="seen"),
    refuse_limit=1,
)


def merge_customers(records: list[dict[str, Any]]) -> Lot:
    return plan.mill(records)

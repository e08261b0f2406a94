from typing import Any

from quern import Column, Lot, Park, Plan

plan = Plan(
    [
        Column("id"),
        Column("department"),
        Column("amount", "decimal", places=2, optional=True),
        Column("approver", optional=True),
    ]
)


@plan.sieve()
def ours(row: dict[str, Any]) -> Park | None:
    return None if row["department"] == "north" else Park("another department")


@plan.sieve("amount")
def plausible(row: dict[str, Any]) -> str | None:
    return "negative amount" if row["amount"] < 0 else None


@plan.sieve("amount")  # not "approver": rows without one have to come here
def approved(row: dict[str, Any]) -> str | None:
    return "not approved" if row["amount"] > 10_000 and row["approver"] is None else None


def select(records: list[dict[str, Any]]) -> Lot:
    return plan.mill(records)

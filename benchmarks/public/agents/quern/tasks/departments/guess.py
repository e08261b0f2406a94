from typing import Any

from quern import Column, Plan, Sieve


def select(records: list[dict[str, Any]]):
    plan = Plan(
        [Column("id"), Column("department"), Column("amount", "decimal"), Column("approver")],
        sieves=[
            Sieve("department", lambda row: row["department"] == "north"),
            Sieve("negative", lambda row: row["amount"] >= 0),
            Sieve("approver", lambda row: row["amount"] <= 10_000 or bool(row["approver"])),
        ],
    )
    return plan.mill(records)

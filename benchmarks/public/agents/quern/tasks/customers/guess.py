from typing import Any

from quern import Column, Merge, Plan


def merge_customers(records: list[dict[str, Any]]):
    plan = Plan(
        [
            Column("email", str, lower=True),
            Column("name", str),
            Column("phone", str),
            Column("country", str, upper=True),
            Column("orders", int),
            Column("labels", list, separator=";"),
            Column("seen", "date"),
        ],
        merge=Merge(on="email", name="first", phone="last", orders="sum", labels="union", seen="max", country="refuse"),
    )
    return plan.run(records)

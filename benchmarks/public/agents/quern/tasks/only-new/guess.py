from datetime import datetime, timedelta
from typing import Any

from quern import Column, Merge, Plan, Window


def load_new(records: list[dict[str, Any]], previous, now: datetime):
    start = max(row["changed"] for row in previous) if previous else now - timedelta(days=7)
    plan = Plan(
        [Column("id"), Column("state"), Column("changed", "datetime")],
        window=Window("changed", start=start, end=now),
        merge=Merge("id", keep="latest"),
    )
    return plan.run(records)

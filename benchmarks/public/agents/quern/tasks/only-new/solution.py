from datetime import datetime
from typing import Any

from quern import Column, Lot, Merge, Plan, Window

plan = Plan(
    [Column("id"), Column("state"), Column("changed", "moment")],
    merge=Merge("id", rest="newest", by="changed"),
)


def load_new(records: list[dict[str, Any]], previous: Lot | None, now: datetime) -> Lot:
    window = Window("changed", since="-7d") if previous is None else Window.after(previous, "changed")
    return plan.mill(records, window=window, now=now)

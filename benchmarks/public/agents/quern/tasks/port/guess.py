from pathlib import Path

from quern import Column, Merge, Plan, Sieve, Window


def load(path: Path):
    plan = Plan(
        [
            Column("id"),
            Column("day", "day", optional=True),
            Column("count", "whole", fill=1),
            Column("price", "decimal", optional=True),
        ],
        sieves=[Sieve("positive", lambda row: row["count"] > 0)],
        window=Window("day", since="2026-03-01"),
        merge=Merge("id"),
    )
    return plan.mill(path)

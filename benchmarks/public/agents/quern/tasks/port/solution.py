from pathlib import Path

from quern import Column, CsvHopper, Lot, Merge, Plan, Sieve, Window

plan = Plan(
    [
        Column("id"),
        Column("day", "day", optional=True),
        Column("count", "whole", fill="1"),
        Column("price", "decimal", places=None, optional=True),
    ],
    sieves=[Sieve("positive", lambda row: None if row["count"] > 0 else "not positive", ["count"])],
    # A window begins after `since`, and without `until` it would end now.
    window=Window("day", since="2026-02-28", until="9999-12-31"),
    merge=Merge("id", rest="last"),
    refuse_limit=1,
)


def load(path: Path) -> Lot:
    return plan.mill(CsvHopper(path, ragged="pad"))

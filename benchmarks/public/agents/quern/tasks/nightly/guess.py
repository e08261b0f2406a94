import json
from datetime import date
from pathlib import Path

from quern import Column, Plan


def nightly(source: Path, table: Path, log: Path, day: date) -> int:
    plan = Plan(
        [
            Column("id"),
            Column("name"),
            Column("iban", pattern=r"NO\d{13}", secret=True),
            Column("price", "decimal", places=2),
        ],
        max_refused=0.1,
    )
    lot = plan.mill(source, label=day.isoformat())
    with log.open("a") as file:
        for entry in lot.ledger:
            file.write(json.dumps(entry.as_dict()) + "\n")
    lot.write(table, numbers="float")
    return len(lot.rows)

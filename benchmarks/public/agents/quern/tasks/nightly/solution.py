from datetime import date
from pathlib import Path

from quern import Column, CsvHopper, Plan, SpoiledLotError

plan = Plan(
    [
        Column("id"),
        Column("name"),
        Column("iban", secret=True, pattern="NO[0-9]{13}"),
        Column("price", "decimal", places=2),
    ],
    grace=0,
)


def nightly(source: Path, table: Path, log: Path, day: date) -> int:
    hopper = CsvHopper(source)
    hopper.label = day.isoformat()
    try:
        lot = plan.mill(hopper)
    except SpoiledLotError as error:
        error.lot.ledger.write(log)
        raise
    lot.ledger.write(log)
    lot.write(table, replace=True, numbers="float")
    return len(lot)

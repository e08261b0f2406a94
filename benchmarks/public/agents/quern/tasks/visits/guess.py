from pathlib import Path

from quern import Column, CsvHopper, Plan


def read_visits(path: Path):
    plan = Plan(
        [
            Column("region", header="Region, Gebiet", fill="forward"),
            Column("town", header="Ort, Stadt"),
            Column("visits", "int", header="Besuche, gesamt", thousands=" "),
            Column("note", header="Notiz", optional=True),
        ],
        blanks=["?", "k.A."],
    )
    return plan.run(CsvHopper(path, delimiter="|", skip=2, encoding="cp1252", ragged="fill"))

from pathlib import Path

from quern import BLANKS, Column, CsvHopper, Lot, Plan

plan = Plan(
    [
        Column("region", carry=True, aka=["Region, Gebiet"]),
        Column("town", aka=["Ort, Stadt"]),
        Column("visits", "whole", grouping=" ", aka=["Besuche, gesamt"]),
        Column("note", optional=True, aka=["Notiz"]),
    ],
    blanks=[*BLANKS, "?", "k.A."],
)


def read_visits(path: Path) -> Lot:
    return plan.mill(CsvHopper(path, delimiter="|", skip=2, ragged="pad", encoding="cp1252"))

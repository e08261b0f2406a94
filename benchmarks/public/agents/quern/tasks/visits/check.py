"""A report with title lines, gaps and lines of several lengths."""

import sys
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).parents[2]))
import tempfile

from support import expect_refused, expect_rows, run_check

TEXT = """\
Besuche 2026
Stand: 1. November
Region, Gebiet|Ort, Stadt|Besuche, gesamt|Notiz
Nord|Alta|1 234|neu
|Bodø|7
?|Hamar|k.a.|
Süd|Kragerø|many|
|Risør|12 345 678|n/a|x|y
-|?|4|
|Halden

West|Moss|-3|K.A.
|Ås|0|null
"""


def make_row(region: str, town: str, visits: int, note: str | None = None) -> dict[str, object]:
    return {"region": region, "town": town, "visits": visits, "note": note}


def check(solution: ModuleType) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "besuche.txt")
        path.write_text(TEXT, encoding="cp1252")
        lot = solution.read_visits(path)
    expected = [
        make_row("Nord", "Alta", 1234, "neu"),
        make_row("Nord", "Bodø", 7),
        make_row("Süd", "Risør", 12345678),
        make_row("West", "Moss", -3),
        make_row("West", "Ås", 0),
    ]
    expect_rows(lot.rows, expected)
    expect_refused(lot, [6, 7, 9, 10])


run_check(check)

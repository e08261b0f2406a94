"""Turn messy tabular records into clean, typed, deduplicated rows by a declared plan."""

from __future__ import annotations

from typing import Any

from quern import units
from quern.columns import BLANKS, Column
from quern.errors import (
    CODES,
    LotError,
    PlanError,
    QuernError,
    Refusal,
    RenamedError,
    RunError,
    SourceBusy,
    SpoiledLotError,
)
from quern.hoppers import CsvHopper, FetchHopper, Hopper, JsonLinesHopper, Page, Patience, RowsHopper, open_hopper
from quern.ledger import Entry, Ledger, Lot, Refused
from quern.merge import Merge
from quern.plan import Plan
from quern.sieves import Between, Compare, Matches, Park, Sieve, Single, Window

__version__ = "2.3.0"

__all__ = [
    "BLANKS",
    "CODES",
    "Between",
    "Column",
    "Compare",
    "CsvHopper",
    "Entry",
    "FetchHopper",
    "Hopper",
    "JsonLinesHopper",
    "Ledger",
    "Lot",
    "LotError",
    "Matches",
    "Merge",
    "Page",
    "Park",
    "Patience",
    "Plan",
    "PlanError",
    "QuernError",
    "Refusal",
    "Refused",
    "RenamedError",
    "RowsHopper",
    "RunError",
    "Sieve",
    "Single",
    "SourceBusy",
    "SpoiledLotError",
    "Window",
    "open_hopper",
    "units",
]

_OLD = {
    "Schema": "Plan",
    "Field": "Column",
    "Filter": "Sieve",
    "Dedupe": "Merge",
    "Retry": "Patience",
    "Source": "Hopper",
    "CsvSource": "CsvHopper",
    "JsonSource": "JsonLinesHopper",
    "Result": "Lot",
    "TooManyErrors": "SpoiledLotError",
    "SkipRow": "Refusal",
}


def __getattr__(name: str) -> Any:
    if name in _OLD:
        raise RenamedError("Q901", f"quern.{name} is quern.{_OLD[name]} in quern 2")
    raise AttributeError(f"module 'quern' has no attribute {name!r}")

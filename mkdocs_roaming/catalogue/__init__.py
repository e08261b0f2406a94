"""Which sites a store holds, how each of them fares, and the words by which the right one is found."""

from __future__ import annotations

from mkdocs_roaming.catalogue.building import Built, rebuild, records_in
from mkdocs_roaming.catalogue.ranking import Ranking
from mkdocs_roaming.catalogue.records import (
    HEAD,
    RECORDS,
    Entry,
    Record,
    entry_of,
    read_record,
    write_record,
)

__all__ = [
    "HEAD",
    "RECORDS",
    "Built",
    "Entry",
    "Ranking",
    "Record",
    "entry_of",
    "read_record",
    "rebuild",
    "records_in",
    "write_record",
]

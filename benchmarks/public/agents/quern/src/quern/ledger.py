"""The ledger of a run, and the lot that it returns."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quern.errors import LotError
from quern.hoppers import format_of

if TYPE_CHECKING:
    from quern.plan import Plan

ACTS = ("tidied", "converted", "filled", "dropped", "merged", "parked", "refused")
_QUIET = {"tidied", "converted"}


@dataclass(frozen=True)
class Entry:
    """One entry of the ledger.

    Attributes:
        source: Label of the hopper.
        line: Line in the source.
        act: `"tidied"`, `"converted"`, `"filled"`, `"dropped"`, `"merged"`, `"parked"` or `"refused"`.
        column: Column of the plan; for `"dropped"` the normalised header; None if the whole record is meant.
        before: Raw value as text, or None.
        after: New value as text. For `"merged"`, the line of the row that absorbed this one.
        code: Code of the reason, or None.
        note: The reason in words, or None.
    """

    source: str
    line: int
    act: str
    column: str | None = None
    before: str | None = None
    after: str | None = None
    code: str | None = None
    note: str | None = None


class Ledger:
    """Everything that a run changed or refused, in the order in which it happened.

    Args:
        detail: `"brief"` or `"full"`. A brief ledger counts the acts `tidied` and `converted` but has no entries of them.

    Attributes:
        entries: The entries.
        counts: Number of acts by name, in both details.
    """

    def __init__(self, detail: str = "brief") -> None:
        self.detail = detail
        self.entries: list[Entry] = []
        self.counts: Counter[str] = Counter()

    def add(self, entry: Entry) -> None:
        """Count an entry, and keep it unless the ledger is brief and the act is quiet."""
        self.counts[entry.act] += 1
        if self.detail == "full" or entry.act not in _QUIET:
            self.entries.append(entry)

    def of(self, act: str, column: str | None = None) -> list[Entry]:
        """Return the entries of one act.

        Args:
            act: One of `ACTS`.
            column: Only entries of this column. None: all.
        """
        return [entry for entry in self.entries if entry.act == act and column in {None, entry.column}]

    def codes(self) -> dict[str, int]:
        """Return how often each code occurs, the most frequent first."""
        return dict(Counter(entry.code for entry in self.entries if entry.code).most_common())

    def write(self, path: str | Path) -> None:
        """Append the entries to a file, one JSON object a line. Attributes that are None are left out.

        Args:
            path: The file. A ledger only ever grows: an existing file is continued, in contrast to `Lot.write`.
        """
        with Path(path).open("a", encoding="utf-8") as file:
            for entry in self.entries:
                data = {key: value for key, value in asdict(entry).items() if value is not None}
                file.write(json.dumps(data, ensure_ascii=False) + "\n")

    @classmethod
    def read(cls, path: str | Path) -> Ledger:
        """Return the ledger of a file that `write` made."""
        ledger = cls("full")
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            ledger.add(Entry(**json.loads(line)))
        return ledger


@dataclass(frozen=True)
class Refused:
    """A record that became no row.

    Attributes:
        line: Line in the source.
        record: The raw record as the hopper read it (after intake hooks), with the headers of the source.
        code: Code of the reason.
        reason: The reason in words.
        column: Name of the column, or None.
    """

    line: int
    record: dict[str, Any]
    code: str
    reason: str
    column: str | None = None


@dataclass
class Lot:
    """The result of one run.

    Attributes:
        rows: The clean rows, as dictionaries in the order of the plan's columns.
        refused: The refused records.
        parked: The parked rows, typed as clean rows are.
        ledger: The ledger.
        taken: Number of records that the hopper fed.
        plan: The plan.
        since: Start of the window of this run, resolved; None without a window.
    """

    plan: Plan
    ledger: Ledger
    rows: list[dict[str, Any]] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    parked: list[dict[str, Any]] = field(default_factory=list)
    taken: int = 0
    since: Any = None
    marks: dict[str, Any] = field(default_factory=dict)

    @property
    def tally(self) -> dict[str, int]:
        """Counts of what became of the records: `rows`, `refused`, `parked` and `merged` add up to `taken`."""
        gone = {"rows": len(self.rows), "refused": len(self.refused), "parked": len(self.parked)}
        return {"taken": self.taken, **gone, "merged": self.ledger.counts["merged"]}

    def mark(self, column: str) -> Any:
        """Return the latest value of a column of kind `day` or `moment`, or None.

        Rows count that passed all sieves, before duplicates are merged; parked and refused ones do not.

        Args:
            column: Name of the column.
        """
        return self.marks.get(column)

    def write(self, path: str | Path, *, replace: bool = False, numbers: str = "text") -> None:
        """Write the clean rows to a file, which appears when it is complete.

        Args:
            path: A file that ends in `.csv`, `.tsv`, `.jsonl` or `.ndjson`.
            replace: Whether an existing file is replaced.
            numbers: How JSON lines show a `Decimal`: `"text"` keeps all digits in a string, `"float"` writes a number.

        Raises:
            LotError: Q501 if the file exists, Q502 if the suffix is unknown.
        """
        path = Path(path)
        format = format_of(path)
        if path.exists() and not replace:
            raise LotError("Q501", f"{path} exists. Pass replace=True")
        if format == "jsonl":
            text = "".join(
                json.dumps({key: _plain(value, numbers) for key, value in row.items()}, ensure_ascii=False) + "\n"
                for row in self.rows
            )
        else:
            buffer = io.StringIO()
            writer = csv.writer(buffer, delimiter="\t" if format == "tsv" else ",", lineterminator="\n")
            writer.writerow(self.plan.names)
            writer.writerows([as_text(row[name]) or "" for name in self.plan.names] for row in self.rows)
            text = buffer.getvalue()
        partial = path.with_name(path.name + ".part")
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)

    @classmethod
    def gather(cls, lots: Sequence[Lot]) -> Lot:
        """Combine lots of the same plan, such as those of several files, and merge duplicates across them.

        The limit of refusals is not checked again.

        Args:
            lots: One or more lots. Of two duplicates, the one in the earlier lot is the first.

        Raises:
            LotError: Q402 if the lots are of different plans, or there is none.
        """
        if not lots or any(lot.plan is not lots[0].plan for lot in lots):
            raise LotError("Q402", "only lots of one plan can be gathered")
        gathered = cls(lots[0].plan, Ledger(lots[0].plan.detail), since=lots[0].since)
        for lot in lots:
            gathered.rows += lot.rows
            gathered.refused += lot.refused
            gathered.parked += lot.parked
            gathered.taken += lot.taken
            gathered.ledger.entries += lot.ledger.entries
            gathered.ledger.counts += lot.ledger.counts
            for name, mark in lot.marks.items():
                gathered.marks[name] = max(mark, gathered.marks.get(name, mark))
        places = [("gathered", position) for position in range(1, len(gathered.rows) + 1)]
        merge_rows(gathered, places)
        return gathered

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


def merge_rows(lot: Lot, places: Sequence[tuple[str, int]]) -> None:
    """Merge the duplicates of a lot in place.

    Args:
        lot: The lot.
        places: Source and line of each of its rows.
    """
    merge = lot.plan.merge
    if merge is None:
        return
    groups: dict[Any, list[int]] = {}
    for index, row in enumerate(lot.rows):
        key = merge.key_of(row)
        groups.setdefault(("alone", index) if key is None else ("key", key), []).append(index)
    rows = []
    for indices in groups.values():
        members = [lot.rows[index] for index in indices]
        row, disagreeing = merge.combine(members) if len(members) > 1 else (members[0], [])
        for index in indices if disagreeing else ():
            source, line = places[index]
            reason = f"duplicates disagree in {', '.join(disagreeing)}"
            record = lot.plan.masked(lot.rows[index])
            lot.refused.append(Refused(line, record, "Q230", reason, disagreeing[0]))
            lot.ledger.add(Entry(source, line, "refused", disagreeing[0], code="Q230", note=reason))
        if not disagreeing:
            rows.append(row)
            for index in indices[1:]:
                lot.ledger.add(Entry(*places[index], "merged", after=str(places[indices[0]][1])))
    lot.rows = rows


def as_text(value: Any) -> str | None:
    """Return a typed value as it is written: flags as `yes` and `no`, moments with `Z`, lists joined with `;`."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, Iterable) and not isinstance(value, dict):
        return ";".join(str(item) for item in value)
    return str(value)


def _plain(value: Any, numbers: str) -> Any:
    if isinstance(value, Decimal) and numbers == "float":
        return float(value)
    if isinstance(value, tuple):
        return list(value)
    return value if value is None or isinstance(value, str | int | float) else as_text(value)

"""Sieves, which let rows pass, refuse or park them, and the window of time."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any

from quern.errors import PlanError

if TYPE_CHECKING:
    from quern.ledger import Lot

Row = dict[str, Any]
_SPAN = re.compile(r"-(\d+)([mhdw])")
_STEPS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_COMPARE = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Park:
    """Result of a sieve that sets a row aside.

    A parked row is valid but not wanted now. It goes to `lot.parked` and does not count as refused.

    Args:
        reason: The reason in words, for the ledger.
    """

    reason: str


Verdict = None | str | Park


class Sieve:
    """Base of sieves, and the sieve that a function makes.

    Args:
        name: Name for the ledger.
        test: Function of a row. It returns None if the row passes, a reason as text if it is refused, or a `Park`.
        columns: Names of the columns that the function reads. If one of them is None in a row, the row passes and the
            function is not called.
    """

    def __init__(self, name: str, test: Callable[[Row], Verdict], columns: Sequence[str] = ()) -> None:
        self.name = name
        self.test = test
        self.columns = tuple(columns)

    def start(self) -> Callable[[Row], Verdict]:
        """Return the function for one lot. Sieves with a memory return a new one for each lot."""
        return self.test


class Between(Sieve):
    """Refuse values outside of a range. Both limits belong to the range.

    Args:
        column: Name of the column.
        low: Least allowed value. None: no limit.
        high: Greatest allowed value. None: no limit.
        park: Whether rows are parked instead of refused.
    """

    def __init__(self, column: str, low: Any = None, high: Any = None, *, park: bool = False) -> None:
        def test(row: Row) -> Verdict:
            value = row[column]
            if (low is None or value >= low) and (high is None or value <= high):
                return None
            reason = f"{column} is {value}, not between {low} and {high}"
            return Park(reason) if park else reason

        super().__init__(f"between:{column}", test, [column])


class Matches(Sieve):
    """Refuse text that a regular expression does not match as a whole.

    Args:
        column: Name of the column.
        pattern: Regular expression, for `re.fullmatch`.
    """

    def __init__(self, column: str, pattern: str) -> None:
        def test(row: Row) -> Verdict:
            return None if re.fullmatch(pattern, row[column]) else f"{column} does not match {pattern!r}"

        super().__init__(f"matches:{column}", test, [column])


class Compare(Sieve):
    """Refuse rows in which two columns do not compare as they should.

    Args:
        left: Name of a column.
        sign: `"<"`, `"<="`, `"="`, `"!="`, `">"` or `">="`.
        right: Name of the other column.
    """

    def __init__(self, left: str, sign: str, right: str) -> None:
        if sign not in _COMPARE:
            raise PlanError("Q102", f"unknown sign {sign!r}")

        def test(row: Row) -> Verdict:
            return None if _COMPARE[sign](row[left], row[right]) else f"not {left} {sign} {right}"

        super().__init__(f"compare:{left}", test, [left, right])


class Single(Sieve):
    """Refuse rows whose value occurred in an earlier row of the lot that reached this sieve.

    Sieves run before the merge, so a lot with duplicates needs a merge instead of this sieve. Text is compared with its
    case, in contrast to the key of a merge.

    Args:
        column: Name of the column.
    """

    def __init__(self, column: str) -> None:
        super().__init__(f"single:{column}", lambda row: None, [column])

    def start(self) -> Callable[[Row], Verdict]:
        """Return a function with a memory of its own."""
        column, seen = self.columns[0], set()

        def test(row: Row) -> Verdict:
            if row[column] in seen:
                return f"{column} {row[column]!r} occurred before"
            seen.add(row[column])
            return None

        return test


class Window:
    """The span of time that a lot covers. Rows outside of it are parked with Q221.

    `since` does not belong to the window, `until` does, so that the end of one window is the start of the next.

    Args:
        column: Name of a column of kind `day` or `moment`.
        since: Start: a `datetime` or `date`, ISO text, or a span before now such as `"-6h"` (units `m`, `h`, `d`, `w`).
            None: no start.
        until: End, in the same forms. None means now, not the end of time: rows from the future are parked.
    """

    def __init__(self, column: str, since: Any = None, until: Any = None) -> None:
        self.column = column
        self.since = since
        self.until = until
        for bound in (since, until):
            self._resolve(bound, datetime.now(UTC), None)

    @classmethod
    def after(cls, lot: Lot, column: str) -> Window:
        """Return the window that starts where a lot ended.

        Args:
            lot: The previous lot. If no row of it reached the merge, its own window's start is used again.
            column: Name of the column.
        """
        mark = lot.mark(column)
        return cls(column, since=mark if mark is not None else lot.since)

    @staticmethod
    def _resolve(bound: Any, now: datetime, zone: tzinfo | None) -> datetime | date | None:
        if not isinstance(bound, str):
            value: datetime | date | None = bound
        elif match := _SPAN.fullmatch(bound):
            value = now - timedelta(**{_STEPS[match[2]]: int(match[1])})
        else:
            try:
                value = date.fromisoformat(bound) if len(bound) == 10 else datetime.fromisoformat(bound)
            except ValueError:
                raise PlanError("Q102", f"window: {bound!r} is no moment, day or span") from None
        if isinstance(value, datetime) and value.tzinfo is None:
            value = value.replace(tzinfo=zone or UTC)
        return value

    def bounds(self, kind: str, now: datetime, zone: tzinfo | None) -> tuple[Any, Any]:
        """Return both bounds as values that compare with the column.

        Args:
            kind: `"day"` or `"moment"`. For days, moments become the day in the zone of the plan; for moments, a day
                becomes its midnight in that zone.
            now: The current moment, aware.
            zone: Zone of the plan; None is UTC.
        """
        bounds: list[Any] = []
        for bound in (self.since, self.until if self.until is not None else now):
            value = self._resolve(bound, now, zone)
            if isinstance(value, datetime):
                bounds.append(value.astimezone(zone or UTC).date() if kind == "day" else value)
            elif value is not None and kind == "moment":
                bounds.append(datetime(value.year, value.month, value.day, tzinfo=zone or UTC))
            else:
                bounds.append(value)
        return bounds[0], bounds[1]


def sieve_from(table: Mapping[str, Any]) -> Sieve:
    """Return the sieve that a `[[sieves]]` table of a plan file declares."""
    makers: dict[str, tuple[Callable[..., Sieve], set[str]]] = {
        "between": (Between, {"low", "high", "park"}),
        "matches": (Matches, {"pattern"}),
        "compare": (Compare, {"sign", "right"}),
        "single": (Single, set()),
    }
    names = [name for name in makers if name in table]
    if len(names) != 1 or table.keys() - makers[names[0]][1] - set(names):
        raise PlanError("Q102", f"sieve {dict(table)!r}: expected one of {', '.join(makers)} and its options")
    maker, _ = makers[names[0]]
    try:
        return maker(table[names[0]], **{key: value for key, value in table.items() if key != names[0]})
    except TypeError as error:
        raise PlanError("Q102", f"sieve {names[0]}: {error}") from None

"""Merge rules for duplicates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from quern.columns import Column
from quern.errors import PlanError

Row = dict[str, Any]
_NUMBERS = {"whole", "decimal", "quantity"}
_RULES: dict[str, Callable[[list[Any]], Any]] = {
    "first": lambda values: values[0],
    "last": lambda values: values[-1],
    "newest": lambda values: values[-1],  # the caller sorts the rows
    "least": min,
    "greatest": max,
    "sum": sum,
    "union": lambda values: tuple(dict.fromkeys(item for value in values for item in value)),
    "agree": lambda values: values[0],
}


class Merge:
    """What makes rows duplicates, and what becomes of them.

    Rows with equal keys become one row, at the place of the first of them. Text in keys is compared without case. A row
    with None in its key has no duplicates.

    None never wins: a rule chooses among the values that are not None.

    Args:
        key: Name of a column, or names of several that together are the key.
        rules: Rule of each column that differs from `rest`: `"first"`, `"last"`, `"newest"`, `"least"`, `"greatest"`,
            `"sum"`, `"union"` (only `list`) or `"agree"`.
        rest: Rule of the columns that `rules` does not name. The columns of the key always use `"first"`.
        by: Name of the column that `"newest"` compares. Rows with None there are the oldest; of two equal ones the later
            in the source is the newer.

    Raises:
        PlanError: Q107 if a rule is unknown, or is `"newest"` and there is no `by`.
    """

    def __init__(
        self,
        key: str | Sequence[str],
        *,
        rules: Mapping[str, str] | None = None,
        rest: str = "first",
        by: str | None = None,
    ) -> None:
        self.key = (key,) if isinstance(key, str) else tuple(key)
        self.rules = dict(rules or {})
        self.rest = rest
        self.by = by
        for rule in (*self.rules.values(), rest):
            if rule not in _RULES:
                raise PlanError("Q107", f"unknown merge rule {rule!r}")
            if rule == "newest" and by is None:
                raise PlanError("Q107", "the rule newest needs by")

    def rule_of(self, name: str) -> str:
        """Return the rule of a column."""
        if name in self.key:
            return "first"
        return self.rules.get(name, "greatest" if name == self.by else self.rest)

    def check(self, columns: Mapping[str, Column]) -> None:
        """Check that the rules fit the kinds of the columns. Derived columns have no kind and are not checked."""
        for name, column in columns.items():
            rule = self.rule_of(name)
            if (rule == "union" and column.kind != "list") or (rule == "sum" and column.kind not in _NUMBERS):
                raise PlanError("Q107", f"merge: the rule {rule} does not fit column {name!r} of kind {column.kind!r}")

    def key_of(self, row: Row) -> tuple[Any, ...] | None:
        """Return the key of a row, or None if a part of it is None."""
        values = [row[name] for name in self.key]
        if any(value is None for value in values):
            return None
        return tuple(value.casefold() if isinstance(value, str) else value for value in values)

    def combine(self, rows: Sequence[Row]) -> tuple[Row, list[str]]:
        """Combine duplicates.

        Args:
            rows: Two or more rows with the same key, in the order of the source.

        Returns:
            The combined row, and the names of the columns with the rule `agree` whose values differ.
        """
        by = self.by
        aged = (
            sorted(rows, key=lambda row: (row[by] is not None, row[by] if row[by] is not None else 0)) if by else rows
        )
        combined: Row = {}
        disagreeing = []
        for name in dict.fromkeys(name for row in rows for name in row):
            rule = self.rule_of(name)
            values = [row[name] for row in (aged if rule == "newest" else rows) if row.get(name) is not None]
            combined[name] = _RULES[rule](values) if values else None
            if rule == "agree" and any(value != values[0] for value in values):
                disagreeing.append(name)
        return combined, disagreeing

"""Errors and their codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quern.ledger import Lot

CODES = {
    "Q101": "The kind of a column is unknown.",
    "Q102": "An option is unknown, has an impossible value, or does not belong to the kind of the column.",
    "Q103": "Two columns claim the same header.",
    "Q104": "A sieve, the window or the merge names a column that the plan does not declare.",
    "Q105": "The plan file has no `quern = 2`, or is no valid TOML.",
    "Q106": "The unit is unknown.",
    "Q107": "A merge rule is unknown, or needs `by`, or does not fit the kind of the column.",
    "Q108": "An environment variable that the plan file names is not set.",
    "Q109": "The `fill` of a column cannot be converted.",
    "Q201": "A required value is blank or absent.",
    "Q202": "The value is not a number of this kind.",
    "Q203": "The line is not a JSON object.",
    "Q204": "The line has more or fewer cells than the header.",
    "Q205": "The quantity has no unit, or its unit is of another dimension.",
    "Q206": "The value is not among the choices.",
    "Q207": "The value is not a flag.",
    "Q208": "The value is not a day or moment in any of the forms.",
    "Q209": "The value fits two forms that disagree.",
    "Q210": "The moment has no offset and the plan has no zone.",
    "Q211": "The record has a header that no column claims, and `extras` is `refuse`.",
    "Q212": "Two headers of the record belong to one column and differ.",
    "Q220": "A sieve refused the row.",
    "Q221": "The row is outside of the window (parked).",
    "Q222": "A sieve parked the row.",
    "Q230": "Duplicates disagree in a column with the rule `agree`.",
    "Q301": "A plan with a merge cannot stream.",
    "Q302": "The source did not recover.",
    "Q303": "A coroutine function was used in a synchronous run.",
    "Q304": "A sieve returned something else than None, a reason or Park.",
    "Q305": "A hook has an unknown event or returned something else than a record or None.",
    "Q306": "The run has no source, or its file does not exist.",
    "Q401": "Too many records of the lot were refused.",
    "Q402": "The lots come from different plans.",
    "Q501": "The output file exists.",
    "Q502": "The suffix of the file says no known format.",
    "Q901": "The name is from quern 1.x.",
}


class QuernError(Exception):
    """Base of all errors of quern.

    Args:
        code: Code of the error, one of the keys of `CODES`.
        detail: What happened, with names and values.

    Attributes:
        code: Code of the error, such as `"Q104"`.
        detail: What happened.
    """

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail


class PlanError(QuernError):
    """The plan or the plan file is wrong (Q1xx). Raised when a plan is made, never while it runs."""


class Refusal(QuernError):  # noqa: N818
    """A record cannot become a row (Q2xx).

    Quern catches it and writes it to the ledger; a run continues with the next record. Raise it in an intake hook or
    in a derived column to refuse the record with a code of your own, which must not start with `Q`.

    Args:
        code: Code of the reason.
        detail: The reason in words.
        column: Name of the column, if the reason lies in one column.
    """

    def __init__(self, code: str, detail: str, column: str | None = None) -> None:
        super().__init__(code, detail)
        self.column = column


class RunError(QuernError):
    """A run cannot start or continue (Q3xx)."""


class SourceBusy(RunError):  # noqa: N818
    """Raised by a fetch function to ask for another attempt.

    Args:
        wait: Seconds to wait instead of the pause of the `Patience`. A wait above its `ceiling` ends the run at once,
            because a source that asks for that long is better tried by the next run.
    """

    def __init__(self, wait: float | None = None) -> None:
        super().__init__("Q302", "the source is busy")
        self.wait = wait


class SpoiledLotError(QuernError):
    """Too many records were refused (Q401).

    Attributes:
        lot: The complete lot, with all its rows and its ledger. Nothing is lost; it is only not returned.
    """

    def __init__(self, code: str, detail: str, lot: Lot) -> None:
        super().__init__(code, detail)
        self.lot = lot


class LotError(QuernError):
    """Lots cannot be gathered or written (Q402, Q5xx)."""


class RenamedError(QuernError):
    """A name of quern 1.x was used (Q901). The message says the name of 2.x."""

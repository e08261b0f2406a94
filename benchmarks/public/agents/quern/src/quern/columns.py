"""Columns: how raw values become typed values."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, tzinfo
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from functools import partial
from typing import Any

from quern import units
from quern.errors import PlanError, Refusal, RenamedError

BLANKS = ("", "-", "n/a", "null")
_OPTIONS = {
    "text": {"case", "pattern"},
    "whole": {"grouping"},
    "decimal": {"grouping", "point", "places"},
    "share": {"point", "places"},
    "quantity": {"grouping", "point", "places", "unit", "bare"},
    "flag": {"yes", "no"},
    "choice": {"among"},
    "day": {"forms"},
    "moment": {"forms"},
    "list": {"split", "among"},
}
_OLD = {"type": "kind", "required": "optional", "default": "fill", "aliases": "aka", "rename": "aka"}


def header_key(header: str) -> str:
    """Return the form in which headers are compared: lower case, with each run of other characters than letters and digits as one underscore."""
    return re.sub(r"[^\w]+|_+", "_", unicodedata.normalize("NFC", header).casefold()).strip("_")


class Column:
    """One column of the clean rows.

    Every column is required: a record whose value is blank is refused with Q201, unless the column has `optional`,
    `fill` or `carry`. These three exclude each other.

    Args:
        name: Name in the clean rows. It also claims the headers that are equal to it after normalisation.
        kind: `"text"`, `"whole"`, `"decimal"`, `"share"`, `"quantity"`, `"flag"`, `"choice"`, `"day"`, `"moment"` or
            `"list"`.
        aka: Further headers that the column claims. They are normalised as headers are.
        optional: Whether a blank becomes None.
        fill: Raw value for blanks. It is converted like a value from a source, once, when the plan is made.
        carry: Whether a blank takes the latest value of this column earlier in the same lot, even if the record with
            that value was refused later. A blank with nothing to carry is refused with Q201.
        secret: Whether the ledger and the refused records show `***` instead of values of this column.
        case: Of `text`: `"keep"` (default), `"lower"`, `"upper"`.
        pattern: Of `text`: regular expression that the whole tidied value must match; otherwise Q206.
        grouping: Of `whole`, `decimal` and `quantity`: the thousands separator. Without it, a separator is refused with
            Q202; with it, groups must have three digits.
        point: Of `decimal`, `share` and `quantity`: the decimal point, `"."` (default) or `","`.
        places: Of `decimal`, `share` and `quantity`: decimal places of the result, default 3 (`share`: 4). Halves are
            rounded to the even digit. None keeps all digits.
        unit: Of `quantity`, and required there: unit of the result.
        bare: Of `quantity`: unit of values that have none. Without it they are refused with Q205.
        yes: Of `flag`: words for true, instead of `yes` and `true`. Case does not matter.
        no: Of `flag`: words for false, instead of `no` and `false`.
        among: Of `choice` (required) and `list`: the allowed values, or a mapping from raw value to value. Values are
            compared without case; the result has the spelling of the declaration.
        forms: Of `day` and `moment`: `strptime` formats instead of ISO 8601. All are tried, see Q209.
        split: Of `list`: the separator, default `";"`.

    Raises:
        PlanError: Q101, Q102, Q106 or Q109.
    """

    def __init__(
        self,
        name: str,
        kind: str = "text",
        *,
        aka: Sequence[str] = (),
        optional: bool = False,
        fill: Any = None,
        carry: bool = False,
        secret: bool = False,
        **options: Any,
    ) -> None:
        for old in options.keys() & _OLD.keys():
            raise RenamedError("Q901", f"Column({old}=…) is Column({_OLD[old]}=…) in quern 2")
        if kind not in _OPTIONS:
            raise PlanError("Q101", f"column {name!r}: unknown kind {kind!r}")
        if wrong := options.keys() - _OPTIONS[kind]:
            raise PlanError("Q102", f"column {name!r}: {', '.join(sorted(wrong))} does not belong to kind {kind!r}")
        if optional + carry + (fill is not None) > 1:
            raise PlanError("Q102", f"column {name!r}: optional, fill and carry exclude each other")
        self.name = name
        self.kind = kind
        self.claims = [header_key(header) for header in (name, *aka)]
        self.optional = optional
        self.carry = carry
        self.secret = secret
        self.options = options
        self.raw_fill = fill
        self._check_options()

    def _check_options(self) -> None:
        options = self.options
        if self.kind == "quantity":
            dimension = units.dimension_of(options.get("unit", ""))
            if options.get("bare") and units.dimension_of(options["bare"]) != dimension:
                raise PlanError("Q102", f"column {self.name!r}: bare is of another dimension than unit")
        if self.kind == "choice" and not options.get("among"):
            raise PlanError("Q102", f"column {self.name!r}: a choice needs among")
        if options.get("case", "keep") not in {"keep", "lower", "upper"} or options.get("point", ".") not in {".", ","}:
            raise PlanError("Q102", f"column {self.name!r}: impossible value of case or point")
        if options.get("grouping") and options["grouping"] == options.get("point", "."):
            raise PlanError("Q102", f"column {self.name!r}: grouping and point are the same character")

    def convert(self, raw: Any, zone: tzinfo | None = None) -> Any:
        """Convert one raw value that is not blank.

        Args:
            raw: Value from a source: text, or a Python value from a `RowsHopper`.
            zone: Zone of moments without offset.

        Returns:
            The typed value: `str`, `int`, `Decimal`, `bool`, `date`, an aware `datetime` in UTC, or a tuple of strings.

        Raises:
            Refusal: Q202 to Q210, with the name of the column.
        """
        try:
            return getattr(self, f"_to_{self.kind}")(raw, zone)
        except Refusal as error:
            raise Refusal(error.code, error.detail, self.name) from None

    def _to_text(self, raw: Any, zone: tzinfo | None) -> str:
        text = tidy(raw)
        case = self.options.get("case", "keep")
        text = text if case == "keep" else text.lower() if case == "lower" else text.upper()
        pattern = self.options.get("pattern")
        if pattern and not re.fullmatch(pattern, text):
            raise Refusal("Q206", f"{text!r} does not match {pattern!r}")
        return text

    def _number(self, raw: Any) -> Decimal:
        if isinstance(raw, bool):
            raise Refusal("Q202", f"{raw!r} is a flag, not a number")
        text = tidy(raw)
        if isinstance(raw, str):
            grouping, point = self.options.get("grouping"), self.options.get("point", ".")
            digits = rf"\d{{1,3}}(?:{re.escape(grouping)}\d{{3}})+|\d+" if grouping else r"\d+"
            if not re.fullmatch(rf"[+-]?(?:{digits})(?:{re.escape(point)}\d+)?", text, re.ASCII):
                raise Refusal("Q202", f"{raw!r} is not a number")
            text = text.replace(grouping or "\0", "").replace(point, ".")
        try:
            number = Decimal(text)
        except InvalidOperation:
            number = Decimal("NaN")
        if not number.is_finite():
            raise Refusal("Q202", f"{raw!r} is not a number")
        return number

    def _rounded(self, number: Decimal, default: int = 3) -> Decimal:
        places = self.options.get("places", default)
        return number if places is None else number.quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN)

    def _to_whole(self, raw: Any, zone: tzinfo | None) -> int:
        number = self._number(raw)
        if number != number.to_integral_value():
            raise Refusal("Q202", f"{raw!r} is not a whole number")
        return int(number)

    def _to_decimal(self, raw: Any, zone: tzinfo | None) -> Decimal:
        return self._rounded(self._number(raw))

    def _to_share(self, raw: Any, zone: tzinfo | None) -> Decimal:
        percent = isinstance(raw, str) and raw.rstrip().endswith("%")
        number = self._number(raw.rstrip()[:-1]) / 100 if percent else self._number(raw)
        if not 0 <= number <= 1:
            raise Refusal("Q202", f"{raw!r} is not between 0 and 1 (0 % and 100 %)")
        return self._rounded(number, 4)

    def _to_quantity(self, raw: Any, zone: tzinfo | None) -> Decimal:
        match = re.fullmatch(r"(.*?[\d.,])\s*([^\W\d]\w*)?", tidy(raw)) if isinstance(raw, str) else None
        symbol = (match and match[2]) or self.options.get("bare")
        number = self._number(match[1] if match else raw)
        target = self.options["unit"]
        if symbol is None:
            raise Refusal("Q205", f"{raw!r} has no unit")
        try:
            return self._rounded(units.convert(number, symbol, target))
        except PlanError as error:
            raise Refusal("Q205", error.detail) from None

    def _to_flag(self, raw: Any, zone: tzinfo | None) -> bool:
        if isinstance(raw, bool):
            return raw
        word = tidy(raw).casefold()
        for value, words in (
            (True, self.options.get("yes", ("yes", "true"))),
            (False, self.options.get("no", ("no", "false"))),
        ):
            if word in {tidy(item).casefold() for item in words}:
                return value
        raise Refusal("Q207", f"{raw!r} is not a flag")

    def _chosen(self, raw: Any) -> str:
        among: Mapping[str, str] | Sequence[str] = self.options["among"]
        pairs = among.items() if isinstance(among, Mapping) else zip(among, among, strict=True)
        word = tidy(raw).casefold()
        for key, value in pairs:
            if tidy(key).casefold() == word:
                return value
        raise Refusal("Q206", f"{raw!r} is not among the choices")

    def _to_choice(self, raw: Any, zone: tzinfo | None) -> str:
        return self._chosen(raw)

    def _to_list(self, raw: Any, zone: tzinfo | None) -> tuple[str, ...]:
        parts = raw.split(self.options.get("split", ";")) if isinstance(raw, str) else list(raw)
        items = [tidy(part) for part in parts if tidy(part)]
        return tuple(dict.fromkeys(self._chosen(item) if "among" in self.options else item for item in items))

    def _to_day(self, raw: Any, zone: tzinfo | None) -> date:
        if isinstance(raw, datetime):
            raise Refusal("Q208", f"{raw!r} is a moment, not a day")
        if isinstance(raw, date):
            return raw
        found: date = self._parse(
            raw, lambda text: date.fromisoformat(text), lambda text, form: datetime.strptime(text, form).date()
        )
        return found

    def _to_moment(self, raw: Any, zone: tzinfo | None) -> datetime:
        if isinstance(raw, datetime):
            found = raw
        else:
            found = self._parse(raw, datetime.fromisoformat, datetime.strptime)
            if isinstance(raw, str) and "forms" not in self.options and len(tidy(raw)) <= 10:
                raise Refusal("Q208", f"{raw!r} is a day, not a moment")
        if found.tzinfo is None:
            if zone is None:
                raise Refusal("Q210", f"{raw!r} has no offset, and the plan has no zone")
            found = found.replace(tzinfo=zone)
        return found.astimezone(UTC)

    def _parse(self, raw: Any, iso: Callable[[str], Any], strptime: Callable[[str, str], Any]) -> Any:
        forms = self.options.get("forms")
        readers: list[Callable[[str], Any]] = [partial(_with_form, strptime, form) for form in forms or ()] or [iso]
        found = set()
        for reader in readers:
            try:
                found.add(reader(tidy(raw)))
            except ValueError:
                continue
        if len(found) != 1:
            raise Refusal(
                "Q209" if found else "Q208", f"{raw!r} {'fits forms that disagree' if found else 'fits no form'}"
            )
        return found.pop()


def _with_form(strptime: Callable[[str, str], Any], form: str, text: str) -> Any:
    return strptime(text, form)


def tidy(raw: Any) -> str:
    """Return a value as text in NFC, without outer white space, with each inner run of white space as one space."""
    return " ".join(unicodedata.normalize("NFC", str(raw)).split())

"""Units of quantities."""

from __future__ import annotations

from decimal import Decimal

from quern.errors import PlanError

_FACTORS: dict[str, tuple[str, Decimal, Decimal]] = {}


def register(symbol: str, dimension: str, factor: Decimal | str | int, offset: Decimal | str | int = 0) -> None:
    """Add a unit for all plans of this process.

    The value in the base unit of the dimension is `value * factor + offset`. The base units are `kg`, `m`, `l`, `s`
    and `K`; a new dimension has the unit with factor 1 as its base.

    Args:
        symbol: Symbol as it stands in the data. Case counts: `"Mg"` and `"mg"` are two symbols.
        dimension: `"mass"`, `"length"`, `"volume"`, `"span"` (of time), `"heat"` (temperature), or a new name.
        factor: Size of the unit in base units. Pass a string or a `Decimal`; floats are refused.
        offset: Value of zero of this unit in base units.

    Raises:
        PlanError: Q102 if the factor is a float or not positive, or if the symbol exists with another meaning.
    """
    if not all(isinstance(value, Decimal | str | int) for value in (factor, offset)) or Decimal(factor) <= 0:
        raise PlanError("Q102", f"unit {symbol!r}: factor and offset must be exact, and the factor positive")
    unit = (dimension, Decimal(factor), Decimal(offset))
    if _FACTORS.setdefault(symbol, unit) != unit:
        raise PlanError("Q102", f"unit {symbol!r} exists with another meaning")


def dimension_of(symbol: str) -> str:
    """Return the dimension of a unit.

    Args:
        symbol: Symbol of the unit.

    Raises:
        PlanError: Q106 if the unit is unknown.
    """
    if symbol not in _FACTORS:
        raise PlanError("Q106", f"unknown unit {symbol!r}. Add it with quern.units.register")
    return _FACTORS[symbol][0]


def convert(value: Decimal, source: str, target: str) -> Decimal:
    """Convert a value from one unit to another, without rounding.

    Args:
        value: Value in the source unit.
        source: Symbol of its unit.
        target: Symbol of the unit of the result.

    Returns:
        The value in the target unit.

    Raises:
        PlanError: Q106 if a unit is unknown, Q102 if the units are of different dimensions.
    """
    if dimension_of(source) != dimension_of(target):
        raise PlanError("Q102", f"{source!r} and {target!r} are of different dimensions")
    if source == target:
        return value
    _, factor, offset = _FACTORS[source]
    _, target_factor, target_offset = _FACTORS[target]
    return (value * factor + offset - target_offset) / target_factor


for _dimension, _units in {
    "mass": "mg:0.000001 g:0.001 kg:1 t:1000 oz:0.028349523125 lb:0.45359237",
    "length": "mm:0.001 cm:0.01 m:1 km:1000 in:0.0254 ft:0.3048 mi:1609.344",
    "volume": "ml:0.001 cl:0.01 l:1 m3:1000 gal:3.785411784",
    "span": "ms:0.001 s:1 min:60 h:3600 d:86400",
}.items():
    for _unit in _units.split():
        register(_unit.split(":")[0], _dimension, _unit.split(":")[1])
register("K", "heat", "1")
register("C", "heat", "1", "273.15")
register("F", "heat", Decimal(5) / 9, Decimal("459.67") * 5 / 9)

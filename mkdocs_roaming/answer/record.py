"""Dataclasses as JSON and back: whatever is read is checked against the types that they declare.

A field that has its default is left out. Where several dataclasses may stand, `type` names the one that does.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from mkdocs_roaming.errors import UsageError

T = TypeVar("T")

NOT_WRITTEN = "keep"
"""What a model's adapter keeps for itself has this name; it is nobody else's, and may be no JSON."""


DEEPEST = 60
"""How deep a model may nest what it passes to a tool; what lies deeper is not kept."""


def written(value: object, *, named: bool = False, deep: int = 0) -> Any:
    """Give what JSON holds of a value; `named` says its type too."""
    if deep > DEEPEST:
        return "…"
    if is_dataclass(value) and not isinstance(value, type):
        found = {"type": type(value).__name__} if named else {}
        hints = _hints(type(value))
        for field in fields(value):
            one, kind = getattr(value, field.name), hints[field.name]
            if field.name == NOT_WRITTEN or (_default(field) is not MISSING and one == _default(field)):
                continue
            if isinstance(one, int) and (kind is float or float in get_args(kind)):
                one = float(one)  # 1 and 1.0 are the same value, and the same bytes
            found[field.name] = written(one, named=_is_choice(kind), deep=deep + 1)
        return found
    if isinstance(value, Mapping):
        return {str(name): written(one, deep=deep + 1) for name, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [written(one, named=named, deep=deep + 1) for one in value]
    if value is None or isinstance(value, (str, int, float)):
        return value
    return repr(value)


def read(kind: type[T], data: object, where: str) -> T:
    """Give the value of a type that JSON holds; raises UsageError naming the place in it that is wrong."""
    return cast(T, _read(kind, data, where))


def _read(kind: Any, data: object, where: str) -> Any:
    origin = get_origin(kind)
    if kind is object or kind is Any:
        return data
    if origin in (Union, types.UnionType):
        return _read_choice(get_args(kind), data, where)
    if origin is Literal:
        return data if data in get_args(kind) else _wrong(where, f"one of {', '.join(map(str, get_args(kind)))}")
    if origin is tuple:
        if not isinstance(data, list):
            return _wrong(where, "a list")
        return tuple(_read(get_args(kind)[0], one, f"{where}[{at}]") for at, one in enumerate(data))
    if is_dataclass(kind):
        return _read_fields(cast(type, kind), data, where)
    if kind is float and isinstance(data, (int, float)) and not isinstance(data, bool):
        return float(data) if abs(data) <= _GREATEST else _wrong(where, "a number of usual size")
    if not isinstance(data, kind) or (isinstance(data, bool) and kind is not bool):
        return _wrong(where, _NAMES.get(kind, kind.__name__))
    return data


def _read_choice(kinds: tuple[Any, ...], data: object, where: str) -> Any:
    if data is None and type(None) in kinds:
        return None
    left = [kind for kind in kinds if kind is not type(None)]
    if len(left) == 1:
        return _read(left[0], data, where)
    by_name: dict[str, type] = {kind.__name__: kind for kind in left if isinstance(kind, type) and is_dataclass(kind)}
    name = data.get("type") if isinstance(data, dict) else None
    if not isinstance(name, str) or name not in by_name:
        return _wrong(where, f"of a type among {', '.join(by_name)}")
    return _read_fields(by_name[name], {key: value for key, value in cast(Any, data).items() if key != "type"}, where)


def _read_fields(kind: type, data: object, where: str) -> Any:
    if not isinstance(data, dict):
        return _wrong(where, "an object")
    hints = _hints(kind)
    given: dict[str, object] = {}
    for field in fields(kind):
        place = f"{where}.{field.name}" if where else field.name
        if field.name in data:
            given[field.name] = _read(hints[field.name], data[field.name], place)
        elif _default(field) is MISSING:
            return _wrong(place, "there")
    return kind(**given)  # other fields are a newer version's: not ours to refuse


def _is_choice(kind: Any) -> bool:
    """Tell whether several dataclasses may stand where this type is declared, itself or in a list."""
    if get_origin(kind) is tuple:
        return _is_choice(get_args(kind)[0])
    return get_origin(kind) in (Union, types.UnionType) and sum(map(is_dataclass, get_args(kind))) > 1


def _default(field: Field[Any]) -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default


_hints_of: dict[type, dict[str, Any]] = {}


def _hints(kind: type) -> dict[str, Any]:
    if kind not in _hints_of:
        _hints_of[kind] = get_type_hints(kind)
    return _hints_of[kind]


_GREATEST = 1e15  # and NaN is not less
_NAMES = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


def _wrong(where: str, what: str) -> Any:
    raise UsageError(f"{where} is not {what}")

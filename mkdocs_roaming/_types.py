"""Types of msgspec: their information, built under a lock, and the decoding of configuration tables."""

from __future__ import annotations

import threading
from inspect import signature
from typing import Any, TypeVar

from mkdocs_roaming.errors import UsageError

T = TypeVar("T")

_lock = threading.Lock()
_prepared: set[Any] = set()


def prepare(kind: type[T]) -> type[T]:
    """Return a type that several threads may decode into, or describe as a JSON Schema.

    msgspec collects the fields of a class when the class is first decoded, in a cache that other threads see while it
    is incomplete: with msgspec 0.22 the process crashes with a segmentation fault.
    """
    if kind not in _prepared:
        import msgspec

        with _lock:
            msgspec.json.Decoder(kind)
            _prepared.add(kind)
    return kind


def decode_table(value: object, kind: type[T], where: str) -> T:
    """Decode a table of a configuration into a struct or a dataclass.

    Args:
        value: The table.
        kind: The class.
        where: The place of the table, for messages.

    Raises:
        UsageError: A key is unknown, or a value has a wrong type or range.
    """
    import msgspec

    if not isinstance(value, dict):
        raise UsageError(f"{where}: expected a table, got {value!r}")
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, OverflowError) as error:
        message, _, path = str(error).replace("Object contains unknown field", "unknown key").partition(" - at `$")
        if message.startswith("unknown key"):
            message = f"{message}. Known keys: {', '.join(table_keys(kind))}"
        key = path.rstrip("`").removeprefix(".")
        raise UsageError(f"{where}: {key}: {message}" if key else f"{where}: {message}") from None


def table_keys(kind: type) -> tuple[str, ...]:
    """Return the keys of a table's class."""
    return tuple(signature(kind).parameters)

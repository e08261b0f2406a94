"""Type information of msgspec, built under a lock."""

from __future__ import annotations

import threading
from typing import Any, TypeVar

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

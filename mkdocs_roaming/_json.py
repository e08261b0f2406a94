"""JSON with text that others wrote, such as the manifest of a third-party site: it may have unpaired surrogates.

Several threads decode it at once, into types that are prepared for that.
"""

from __future__ import annotations

import json
import threading
from mmap import mmap
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_lock = threading.Lock()
_prepared: set[Any] = set()


def prepare(kind: type[T]) -> type[T]:
    """Return a type that several threads may decode into, or describe as a JSON Schema.

    msgspec collects the fields of a class when the class is first decoded, in a cache that other threads see while it
    is incomplete: with msgspec 0.22 the process crashes with a segmentation fault.
    """
    if kind not in _prepared:
        with _lock:
            msgspec.json.Decoder(kind)
            _prepared.add(kind)
    return kind


def decode_json(data: bytes | mmap | msgspec.Raw, kind: type[T] = object) -> T:  # type: ignore[assignment]
    """Decode JSON, also with unpaired surrogates, which msgspec refuses.

    Raises:
        msgspec.ValidationError: The value is not of this kind.
        ValueError: Anything else, such as numbers with too many digits and deep nesting.
    """
    try:
        return msgspec.json.decode(data, type=prepare(kind))
    except (ValueError, RecursionError):
        pass
    try:
        return msgspec.convert(json.loads(bytes(data), parse_constant=_refuse_constant), prepare(kind))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def encode_json(data: object) -> bytes:
    """Return compact JSON. Unlike the encoder of msgspec, this one accepts unpaired surrogates."""
    return _ENCODER.encode(msgspec.to_builtins(data)).encode("utf-8", "replace")


def encode_text(text: str) -> bytes:
    """Return UTF-8. Unpaired surrogates become question marks."""
    return text.encode("utf-8", "replace")


def replace_invalid(text: str) -> str:
    """Return text with question marks instead of unpaired surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8")

"""JSON that others wrote, such as the manifest of a third-party site."""

from __future__ import annotations

import json
from mmap import mmap
from typing import TypeVar

import msgspec

from mkdocs_roaming.settings import prepare

T = TypeVar("T")


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

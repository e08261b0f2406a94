"""What wires want: ids of plain characters, each once, arguments that are an object, text of whole characters."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from mkdocs_roaming.answer.models import ToolCall

LONGEST_ARGUMENTS = 65_536
"""Characters of a call's arguments; no call of ours needs a hundredth of them."""


class Ids:
    """The ids of calls within one request; the same turns get the same ids each time."""

    def __init__(self) -> None:
        self._given: dict[str, str] = {}
        self._taken: set[str] = set()

    def of(self, call: ToolCall) -> str:
        """Give the id that a call has on the wire."""
        if call.id not in self._given:
            plain = re.sub(r"[^a-zA-Z0-9_-]", "_", str(call.id))[:60] or "call"
            id_, again = plain, 1
            while id_ in self._taken:
                again += 1
                id_ = f"{plain}_{again}"
            self._taken.add(id_)
            self._given[call.id] = id_
        return self._given[call.id]


def read_arguments(text: str) -> object:
    """Give what a model wrote as arguments: an object where it is JSON, else the text itself."""
    if not text.strip():
        return {}
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def as_object(arguments: object) -> dict[str, object]:
    """Give arguments as the object that they must be when they are told again."""
    if isinstance(arguments, str):
        arguments = read_arguments(arguments)
    if isinstance(arguments, dict):
        return {str(name): value for name, value in arguments.items()}
    return {"arguments": arguments if not isinstance(arguments, str) else arguments[:_SHOWN]}


def sendable(value: Any) -> Any:
    """Give what can be sent: halves of characters, which a page may hold, have no bytes."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {sendable(name): sendable(one) for name, one in value.items()}
    return [sendable(one) for one in value] if isinstance(value, (list, tuple)) else value


_SHOWN = 500

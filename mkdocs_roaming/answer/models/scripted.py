"""A model that replays prepared replies, for tests and demonstrations.

A script is a JSON file with a list of replies; a reply is a list of parts. A part is an object with one of these keys:
`text`, `cite` (an id), `call` (`{"name": …, "arguments": {…}}`), `usage` (`{"input": …, "cache_read": …,
"cache_write": …, "output": …}`), or `stop` (`end`, `tools`, `length` or `refusal`).
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from mkdocs_roaming.answer.models.base import (
    Citation,
    ModelConfig,
    Part,
    Request,
    Stop,
    StopReason,
    Text,
    ToolCall,
    Usage,
)
from mkdocs_roaming.errors import UsageError


class ScriptedModel:
    """Replays replies in order, and records the requests."""

    def __init__(self, replies: Iterable[Sequence[Part]], *, name: str = "scripted") -> None:
        """Create a model with its replies."""
        self.name = name
        self.requests: list[Request] = []
        self._replies = [tuple(reply) for reply in replies]

    @classmethod
    def from_config(cls, config: ModelConfig) -> ScriptedModel:
        """Read the script that `scripted:FILE` names."""
        if not config.name:
            raise UsageError("the scripted model needs a script; choose scripted:FILE")
        return cls(read_script(Path(config.name)))

    async def reply(self, request: Request) -> AsyncIterator[Part]:
        """Stream the next reply of the script.

        Raises:
            UsageError: The script has no further reply.
        """
        self.requests.append(request)
        if len(self.requests) > len(self._replies):
            raise UsageError(f"the script has {len(self._replies)} replies; the answer needs one more")
        for part in self._replies[len(self.requests) - 1]:
            yield part


class _Call(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    id: str = ""
    arguments: Any = {}


_PARTS: Mapping[str, tuple[Any, Callable[[Any], Part]]] = {
    "text": (str, Text),
    "cite": (str, Citation),
    "call": (_Call, lambda call: ToolCall(call.id, call.name, call.arguments)),
    "usage": (dict[Literal["input", "cache_read", "cache_write", "output"], int], lambda usage: Usage(**usage)),
    "stop": (StopReason, Stop),
}


def read_script(path: Path) -> list[list[Part]]:
    """Read a script.

    Raises:
        UsageError: The file cannot be read or is not a script; the message names the reply and the part.
    """
    try:
        replies = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); name the file of a script") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not JSON ({error}); a script is a list of replies") from None
    if not isinstance(replies, list) or not all(isinstance(reply, list) for reply in replies):
        raise UsageError(f"{path}: not a script; it must be a list of replies, each a list of parts")
    return [
        [_parse_part(part, f"{path}: reply {number}, part {position}") for position, part in enumerate(reply, 1)]
        for number, reply in enumerate(replies, 1)
    ]


def _parse_part(part: object, where: str) -> Part:
    keys = ", ".join(_PARTS)
    if not isinstance(part, dict) or len(part) != 1:
        raise UsageError(f"{where}: must be an object with one of the keys {keys}")
    ((key, value),) = part.items()
    if key not in _PARTS:
        raise UsageError(f"{where}: unknown key {key!r}; use one of {keys}")
    try:
        kind, create = _PARTS[key]
        return create(msgspec.convert(value, kind))
    except msgspec.ValidationError as error:
        raise UsageError(f"{where}: {error}") from None

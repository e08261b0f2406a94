"""A model that says what it was told to say: for tests and recorded demos."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mkdocs_roaming.answer.models.base import Citation, Part, Request, Stop, Text, ToolCall, Usage
from mkdocs_roaming.errors import UsageError


class ScriptedModel:
    """Replays replies one after the other, part by part, and remembers the requests it got."""

    def __init__(self, replies: Iterable[Sequence[Part]], *, name: str = "scripted") -> None:
        self.name = name
        self.requests: list[Request] = []
        self._replies = [tuple(reply) for reply in replies]

    async def reply(self, request: Request) -> AsyncIterator[Part]:
        """Give the next reply of the script; raises UsageError where the script has ended."""
        self.requests.append(request)
        if len(self.requests) > len(self._replies):
            raise UsageError(f"the script has {len(self._replies)} replies and was asked for one more")
        for part in self._replies[len(self.requests) - 1]:
            yield part


# MERGED mkdocs_roaming.answer.models.script_file:
# Scripts for the scripted model, in files: a JSON list of replies, each a list of parts.
#
# A part is an object with one of these names: `text`, `cite` (an id), `call` (`{"name": …, "arguments": {…}}`),
# `usage` (`{"input": …, "cache_read": …, "cache_write": …, "output": …}`), `stop` (end, tools, length,
# refusal).


def read_script(path: Path) -> list[list[Part]]:
    """Read a script; raises UsageError with the place of what is wrong."""
    try:
        replies = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); name a script's file") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not JSON ({error}); a script is a list of replies") from None
    if not isinstance(replies, list) or not all(isinstance(reply, list) for reply in replies):
        raise UsageError(f"{path}: not a script; it is a list of replies, each a list of parts")
    return [
        [_part(part, f"{path}: reply {number}, part {at}") for at, part in enumerate(reply, 1)]
        for number, reply in enumerate(replies, 1)
    ]


def _part(part: object, where: str) -> Part:
    if isinstance(part, dict) and len(part) == 1:
        ((kind, value),) = part.items()
        try:
            if kind in _PARTS:
                return _PARTS[kind](value)
        except (TypeError, ValueError, KeyError, AttributeError):
            pass
    raise UsageError(f"{where}: is none of {', '.join(_PARTS)}, or not as it should be")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _call(value: Mapping[str, Any]) -> Part:
    return ToolCall(_text(value.get("id", "")), _text(value["name"]), value.get("arguments", {}))


def _usage(value: Mapping[str, int]) -> Part:
    if not all(isinstance(count, int) for count in value.values()):
        raise TypeError
    return Usage(**value)


def _stop(value: Any) -> Part:
    if value not in ("end", "tools", "length", "refusal"):
        raise ValueError
    return Stop(value)


_PARTS: Mapping[str, Callable[[Any], Part]] = {
    "text": lambda value: Text(_text(value)),
    "cite": lambda value: Citation(_text(value)),
    "call": _call,
    "usage": _usage,
    "stop": _stop,
}

"""A model that replays prepared replies, for tests and demonstrations.

A script is a JSON file with a list of replies; a reply is a list of parts. A part is an object with one of these keys:
`text`, `cite` (an id), `call` (`{"name": …, "arguments": {…}}`), `usage` (`{"input": …, "cache_read": …,
"cache_write": …, "output": …}`), or `stop` (`end`, `tools`, `length` or `refusal`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from mkdocs_roaming.answer.models.base import (
    Citation,
    ModelConfig,
    ModelRequest,
    Part,
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
        self.requests: list[ModelRequest] = []
        self._replies = [tuple(reply) for reply in replies]

    @classmethod
    def from_config(cls, config: ModelConfig) -> ScriptedModel:
        """Read the script that `scripted:FILE` names."""
        if not config.name:
            raise UsageError("the scripted model needs a script; choose scripted:FILE")
        return cls(read_script(Path(config.name)))

    async def reply(self, request: ModelRequest) -> AsyncIterator[Part]:
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


class _Part(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    text: str | None = None
    cite: str | None = None
    call: _Call | None = None
    usage: dict[Literal["input", "cache_read", "cache_write", "output"], int] | None = None
    stop: StopReason | None = None

    def __post_init__(self) -> None:
        """Check that there is one part."""
        if sum(value is not None for value in msgspec.structs.astuple(self)) != 1:
            raise ValueError(f"must have one of the keys {', '.join(self.__struct_fields__)}")

    def to_part(self) -> Part:
        if self.text is not None:
            return Text(self.text)
        if self.cite is not None:
            return Citation(self.cite)
        if self.call is not None:
            return ToolCall(self.call.id, self.call.name, self.call.arguments)
        return Usage(**self.usage) if self.usage is not None else Stop(self.stop or "end")


def read_script(path: Path) -> list[list[Part]]:
    """Read a script.

    Raises:
        UsageError: The file cannot be read or is not a script; the message names the place in the file.
    """
    try:
        return parse_script(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); name the file of a script") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: {error}; a script is a list of replies, each a list of parts") from None


def parse_script(data: bytes) -> list[list[Part]]:
    """Return the replies of a script. Raise ValueError or RecursionError if it is none."""
    return [[part.to_part() for part in reply] for reply in msgspec.json.decode(data, type=list[list[_Part]])]

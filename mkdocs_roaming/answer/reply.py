"""One reply of a model while it is heard: within the deadline, and not for ever."""

from __future__ import annotations

import logging

import anyio
import anyio.lowlevel

from mkdocs_roaming.answer.budget import Deadline
from mkdocs_roaming.answer.ending import ending, failed
from mkdocs_roaming.answer.models import Citation, Model, Part, Request, Stop, Text, ToolCall

MOST_CALLS = 8
"""The most tool calls that are made of one reply."""


class Reply:
    """What a model says to one request: its text, its calls, how it stopped. Raises Ended where it fails."""

    def __init__(self, model: Model, request: Request, deadline: Deadline) -> None:
        self.said: list[str] = []
        self.calls: list[ToolCall] = []
        self.stop = Stop()
        self._model, self._deadline = model, deadline
        self._most = request.output_tokens * _CHARS_A_TOKEN
        self._length = 0
        try:
            self._parts = model.reply(request)
        except Exception as error:
            raise failed(error, model.name) from None

    @property
    def endless(self) -> bool:
        """Whether it is far beyond its limit: a model that does not keep it is not listened to for ever."""
        return self._length > self._most or len(self.calls) > MOST_CALLS * 4

    async def part(self) -> Part | None:
        """Give the next part, None at the end."""
        if self.endless:
            return None

        async def next_part() -> Part | None:
            await anyio.lowlevel.checkpoint()  # a model that never waits must not keep the deadline from being seen
            try:
                return await self._parts.__anext__()
            except StopAsyncIteration:
                return None

        return await ending(self._deadline.wait(next_part), self._model.name)

    def keep(self, part: Part) -> None:
        """Add a part to what was said."""
        match part:
            case Text():
                self.said.append(part.text)
                self._length += len(part.text)
            case Citation():
                self.said.append(f"[^{part.id}]")
            case ToolCall():
                self.calls.append(part)
            case Stop():
                self.stop = part
            case _:
                pass

    async def close(self) -> None:
        """Break it off: its connection is closed even while we are being cancelled ourselves."""
        close = getattr(self._parts, "aclose", None)
        if close is None:
            return
        with anyio.move_on_after(_CLOSING, shield=True):
            try:
                await close()
            except Exception:
                _log.debug("closing a reply failed", exc_info=True)


_log = logging.getLogger(__name__)
_CLOSING = 1.0  # seconds
_CHARS_A_TOKEN = 8  # twice what is usual: the limit itself is the model's to keep

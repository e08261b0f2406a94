"""A model that says what it was told to say: for tests and recorded demos."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence

from mkdocs_roaming.answer.models import Part, Request
from mkdocs_roaming.errors import UsageError


class Scripted:
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

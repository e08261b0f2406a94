"""A brain that says what it is told to say, one reply after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from messages_api.parts import Part, Say, View

Reply = Sequence[Part] | Callable[[View], Iterable[Part]]


class Script:
    """Exact replies; a function is given the request as its reader sees it. The last one is repeated if `again`."""

    def __init__(self, *replies: Reply, again: bool = False) -> None:
        self.views: list[View] = []
        self._replies, self._again = replies, again

    def reply(self, view: View) -> Iterable[Part]:
        """Give the next reply."""
        self.views.append(view)
        at = len(self.views) - 1
        if self._again:
            at = min(at, len(self._replies) - 1)
        if at >= len(self._replies):
            return [Say("The script is over.")]
        reply = self._replies[at]
        return reply(view) if callable(reply) else reply

"""A brain with prepared replies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from messages_api.parts import Part, Say, View

Reply = Sequence[Part] | Callable[[View], Iterable[Part]]


class Script:
    """Returns the replies in order; a reply may be a function of the request. `again` repeats the last one."""

    def __init__(self, *replies: Reply, again: bool = False) -> None:
        self.views: list[View] = []
        self._replies, self._again = replies, again

    def reply(self, view: View) -> Iterable[Part]:
        """Return the next reply."""
        self.views.append(view)
        at = len(self.views) - 1
        if self._again:
            at = min(at, len(self._replies) - 1)
        if at >= len(self._replies):
            return [Say("The script is over.")]
        reply = self._replies[at]
        return reply(view) if callable(reply) else reply

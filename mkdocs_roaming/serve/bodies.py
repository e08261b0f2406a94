"""Bodies of sections as they were sent, kept for as long as a deployment stands: the same ones are asked for again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

ROOM = 4 * 2**20


class Bodies:
    """Bodies by what was asked for, the least recently sent dropped when they are too many bytes."""

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._size = 0
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()

    def get(self, key: Hashable) -> bytes | None:
        """Give a body, None where it is not kept."""
        body = self._kept.get(key)
        if body is not None:
            self._kept.move_to_end(key)
        return body

    def keep(self, key: Hashable, body: bytes) -> None:
        """Keep a body, and no longer what there is no room for beside it."""
        self._size += len(body) - len(self._kept.pop(key, b""))
        self._kept[key] = body
        while self._size > self._room:
            self._size -= len(self._kept.popitem(last=False)[1])

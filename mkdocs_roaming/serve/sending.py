"""Answers on their way to a reader: what is still being made stops when its reader leaves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, MutableMapping
from math import inf
from typing import Any, TypeVar

import anyio

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

PING_SECONDS = 15.0
"""The seconds of silence after which a comment is sent: what stands between closes silent connections."""

_T = TypeVar("_T")


async def send_stream(
    receive: Receive,
    send: Send,
    pieces: AsyncGenerator[bytes, None],
    headers: Mapping[str, str],
    *,
    ping: float = PING_SECONDS,
) -> None:
    """Send server-sent events as they come; where the reader leaves, what makes them is closed at once."""
    turn = anyio.Lock(fast_acquire=True)  # the first bytes leave before anything else has its turn
    pings = False

    async def put(data: bytes, *, more: bool = True) -> None:
        async with turn:
            await send({"type": "http.response.body", "body": data, "more_body": more})

    async def pinging() -> None:
        while True:
            await anyio.sleep(ping)
            await put(b": ping\n\n")

    async with anyio.create_task_group() as group:
        group.start_soon(_cancel_when_left, receive, group.cancel_scope)
        try:
            await send({"type": "http.response.start", "status": 200, "headers": _encoded(headers)})
            async for piece in pieces:
                await put(piece)
                if not pings:  # begun after the first piece, which is there at once, and need not wait for it
                    pings = True
                    group.start_soon(pinging)
            await put(b"", more=False)
        finally:
            with anyio.move_on_after(_CLOSING, shield=True):
                await pieces.aclose()
        group.cancel_scope.cancel()


async def run_until_disconnect(receive: Receive, work: Callable[[], Awaitable[_T]]) -> _T | None:
    """Wait for work and give what it gives; None where the client leaves before it is done."""
    result: _T | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(_cancel_when_left, receive, group.cancel_scope)
        result = await work()
        group.cancel_scope.cancel()
    return result


class SendTimeout:
    """Ends what takes too long, one message after the other. One timer is set for all of them, not one for each: of an
    answer there are many, and nearly none has to be waited for.
    """

    def __init__(self, seconds: float, end: Callable[[], None]) -> None:
        self._seconds, self._give_up = seconds, end
        self._loop = asyncio.get_running_loop()
        self._since = inf
        self._timer = self._loop.call_later(seconds, self._look)

    def __enter__(self) -> None:
        self._since = self._loop.time()

    def __exit__(self, *raised: object) -> None:
        self._since = inf

    def end(self) -> None:
        """Wait for nothing any more."""
        self._timer.cancel()

    def _look(self) -> None:
        left = self._since + self._seconds - self._loop.time()
        if left <= 0:
            self._give_up()
        else:
            self._timer = self._loop.call_later(min(left, self._seconds), self._look)


async def _cancel_when_left(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]


_CLOSING = 2.0

"""Answers on their way to a reader: what is still being made stops when its reader leaves."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, MutableMapping
from typing import Any, TypeVar

import anyio

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

PING = 15.0
"""The seconds of silence after which a comment is sent: what stands between closes silent connections."""

_T = TypeVar("_T")


async def send_stream(
    receive: Receive,
    send: Send,
    pieces: AsyncGenerator[bytes, None],
    headers: Mapping[str, str],
    *,
    ping: float = PING,
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


async def unless_left(receive: Receive, work: Callable[[], Awaitable[_T]]) -> _T | None:
    """Wait for work and give what it gives; None where the client leaves before it is done."""
    result: _T | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(_cancel_when_left, receive, group.cancel_scope)
        result = await work()
        group.cancel_scope.cancel()
    return result


async def _cancel_when_left(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]


_CLOSING = 2.0

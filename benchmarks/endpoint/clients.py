"""Clients that send one question per connection."""

from __future__ import annotations

import asyncio
import json


async def send_question(port: int, address: str, question: str) -> None:
    """Send one question over a new connection and read the response.

    Raises:
        RuntimeError: The server refuses the question.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        body = json.dumps({"question": question}).encode()
        head = f"POST /v1/ask HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: {address}\r\nConnection: close\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        response = await reader.read(-1)
    finally:
        writer.close()
        await writer.wait_closed()
    if not response.startswith(b"HTTP/1.1 200 "):
        raise RuntimeError(response[:300].decode("latin-1"))


async def run_stream_clients(port: int) -> None:
    """Send questions from eight concurrent clients without end."""

    async def run_client(client: int) -> None:
        number = 0
        while True:
            number += 1
            await send_question(port, f"10.9.{client}.1", f"Which {client} {number}?")

    await asyncio.gather(*(run_client(client) for client in range(8)))

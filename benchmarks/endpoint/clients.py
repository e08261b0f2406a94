"""Readers: each asks one question over a connection of its own, and judges what comes."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter
from contextlib import suppress

IMPATIENCE = 1.0
"""The seconds after which a reader comes again at the latest, whatever was said."""


class Tally:
    """What came of the answers that were asked for."""

    def __init__(self) -> None:
        self.ends: Counter[str] = Counter()
        self.failed: list[str] = []
        self.seconds: list[float] = []


async def read(port: int, who: str, question: str, tally: Tally, *, leaves: bool = False) -> float:
    """Ask one question over a connection of its own; gives the seconds to wait before the next."""
    began = time.monotonic()
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError as error:
        tally.failed.append(f"no connection: {error}")
        return 0.1
    try:
        body = json.dumps({"question": question}).encode()
        head = f"POST /v1/ask HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: {who}\r\nConnection: close\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        if leaves:
            await reader.readuntil(b'"tool-output-available"')
            tally.ends["left"] += 1
            return 0.0
        answer = await reader.read(-1)
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        answer = getattr(error, "partial", b"")
        if not leaves or b"429" not in answer:
            tally.failed.append(f"{type(error).__name__}: {error}")
            return 0.1
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
    status = answer[9:12].decode("latin-1")
    again = re.search(rb"\r\nretry-after: (\d+)\r\n", answer, re.IGNORECASE)
    if (
        status == "200"
        and b"data: [DONE]" in answer
        and re.search(rb'"data-status","data":{"state":"answered"', answer)
    ):
        tally.ends["answered"] += 1
        tally.seconds.append(time.monotonic() - began)
        return 0.0
    if status == "429" and again:
        tally.ends["429"] += 1
        return min(float(again[1]), IMPATIENCE)
    tally.failed.append(answer[:300].decode("latin-1"))
    return 0.1


async def eight(port: int) -> None:
    """Ask eight at a time, for ever."""

    async def one(at: int) -> None:
        number = 0
        while True:
            await read(port, f"10.9.{at}.1", f"Which {at} {(number := number + 1)}?", Tally())

    await asyncio.gather(*(one(at) for at in range(8)))

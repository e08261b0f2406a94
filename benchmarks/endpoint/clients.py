"""Clients that send one question per connection and check the response."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

MAX_RETRY_SECONDS = 1.0
"""Maximum wait before a retry, also with a larger Retry-After."""


class RequestTally:
    """Outcomes of the requests."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.failures: list[str] = []
        self.seconds: list[float] = []


async def send_question(port: int, address: str, question: str, tally: RequestTally) -> float:
    """Send one question over a new connection and return the seconds to wait before the next."""
    started = time.monotonic()
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError as error:
        tally.failures.append(f"no connection: {error}")
        return 0.1
    try:
        body = json.dumps({"question": question}).encode()
        head = f"POST /v1/ask HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: {address}\r\nConnection: close\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        response = await reader.read(-1)
    except OSError as error:
        tally.failures.append(f"{type(error).__name__}: {error}")
        return 0.1
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
    status = response[9:12].decode("latin-1")
    retry_after = re.search(rb"\r\nretry-after: (\d+)\r\n", response, re.IGNORECASE)
    if (
        status == "200"
        and b"data: [DONE]" in response
        and re.search(rb'"data-status","data":{"state":"answered"', response)
    ):
        tally.outcomes["answered"] += 1
        tally.seconds.append(time.monotonic() - started)
        return 0.0
    if status == "429" and retry_after:
        tally.outcomes["429"] += 1
        return min(float(retry_after[1]), MAX_RETRY_SECONDS)
    tally.failures.append(response[:300].decode("latin-1"))
    return 0.1


async def run_stream_clients(port: int) -> None:
    """Send questions from eight concurrent clients without end."""

    async def run_client(client: int) -> None:
        number = 0
        while True:
            number += 1
            await send_question(port, f"10.9.{client}.1", f"Which {client} {number}?", RequestTally())

    await asyncio.gather(*(run_client(client) for client in range(8)))


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which the given share of the sorted values lies."""
    return values[min(int(len(values) * share), len(values) - 1)] if values else float("nan")

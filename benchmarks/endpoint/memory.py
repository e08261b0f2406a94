"""Resident size of the endpoint over many answers, and over minutes of mixed traffic."""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from endpoint.clients import RequestTally, send_question, send_request
from endpoint.servers import get_resident_megabytes, start_server
from endpoint.site import open_built_library, random_word

CLIENTS = 8
SAMPLE_SECONDS = 60.0


def measure_memory(folder: Path, answers: int) -> Iterator[str]:
    """Yield the resident size after each tenth of the answers."""
    with start_server("endpoint", folder, "none", "0") as (port, process):
        sent = 0

        async def send_questions(count: int) -> RequestTally:
            tally = RequestTally()
            slots = asyncio.Semaphore(8)

            async def send(number: int) -> None:
                async with slots:
                    await send_question(port, f"10.0.{number % 200}.1", f"Where is number {number}?", tally)

            await asyncio.gather(*(send(sent + offset) for offset in range(count)))
            return tally

        sizes = [get_resident_megabytes(process)]
        for _ in range(10):
            tally = asyncio.run(send_questions(answers // 10))
            sent += answers // 10
            sizes.append(get_resident_megabytes(process))
            if tally.failures:
                yield f"  other responses: {len(tally.failures)}, {tally.failures[0]!r}"
        yield f"memory before and after each tenth of {sent} answers: {', '.join(f'{size:.0f}' for size in sizes)} MB"


def measure_soak(folder: Path, minutes: float) -> Iterator[str]:
    """Yield the resident size after each minute of mixed traffic, and by how much it changes in the last half."""
    with start_server("endpoint", folder, "none", "0") as (port, process):
        traffic = MixedTraffic(port, [section.id for section in open_built_library(folder).sections])
        sizes = [get_resident_megabytes(process)]
        yield f"{CLIENTS} clients, 0 min: {sizes[0]:.1f} MB"
        for minute in range(1, max(round(minutes), 1) + 1):
            asyncio.run(traffic.run(SAMPLE_SECONDS))
            sizes.append(get_resident_megabytes(process))
            yield f"{minute} min, {traffic.outcomes.total()} requests: {sizes[-1]:.1f} MB"
    half = sizes[len(sizes) // 2 :]
    mean = sum(half) / len(half)
    deviation = max(abs(size - mean) for size in half) / mean
    yield f"last half: {mean:.1f} MB ± {100 * deviation:.1f} %"
    yield "requests: " + ", ".join(f"{name} {count}" for name, count in sorted(traffic.outcomes.items()))


class MixedTraffic:
    """Clients that send all kinds of requests, in random order and from random addresses."""

    def __init__(self, port: int, ids: list[str]) -> None:
        self.outcomes = Counter[str]()
        self._port, self._ids = port, ids
        self._random = random.Random(3)
        self._turns: list[str] = []
        self._requests = {
            "ask": (self._ask, 4),
            "follow-up": (self._follow_up, 2),
            "kept answer": (self._ask_again, 4),
            "abort": (self._abort, 2),
            "without a model": (self._ask_offline, 1),
            "feedback": (self._rate, 2),
            "search": (self._search, 2),
            "section": (self._read, 3),
            "MCP": (self._call_tool, 2),
        }

    async def run(self, seconds: float) -> None:
        """Send requests for some seconds."""
        end = time.monotonic() + seconds
        await asyncio.gather(*(self._send_until(end) for _ in range(CLIENTS)))

    async def _send_until(self, end: float) -> None:
        names, weights = list(self._requests), [weight for _, weight in self._requests.values()]
        while time.monotonic() < end:
            (name,) = self._random.choices(names, weights)
            status = await self._requests[name][0]()
            self.outcomes[name if status in ("200", "204") else f"{name}: {status or 'nothing'}"] += 1

    async def _send(self, method: str, path: str, body: object = None, accept: str = "*/*") -> str:
        """Send a request from a random address, note the turn of its answer, and return its status."""
        address = f"10.{self._random.randrange(250)}.{self._random.randrange(250)}.1"
        response = await send_request(self._port, address, method, path, body, accept)
        if turn := _TURN.search(response):
            self._turns = [*self._turns[-99:], turn[1].decode()]
        return response[9:12].decode()

    def _question(self, number: int) -> str:
        return f"Where is the {random_word(random.Random(number), most_common=20)} of number {number}?"

    async def _ask(self) -> str:
        return await self._send("POST", "/v1/ask", {"question": self._question(self._random.randrange(10**9))})

    async def _ask_again(self) -> str:
        return await self._send("POST", "/v1/ask", {"question": self._question(self._random.randrange(100))})

    async def _follow_up(self) -> str:
        turns = self._turns[-self._random.randrange(1, 4) :]
        return await self._send("POST", "/v1/ask", {"question": "And where is the other?", "turns": turns})

    async def _abort(self) -> str:
        tally = RequestTally()
        await send_question(self._port, "10.1.1.1", self._question(self._random.randrange(10**9)), tally, aborts=True)
        return "200" if tally.outcomes["aborted"] else "failed"

    async def _ask_offline(self) -> str:
        return await self._send("GET", f"/ask?q={quote(self._question(self._random.randrange(10**9)))}")

    async def _rate(self) -> str:
        if not self._turns:
            return "200"
        body = {"turn": self._random.choice(self._turns), "helpful": True, "comment": "x" * self._random.randrange(900)}
        return await self._send("POST", "/v1/feedback", body)

    async def _search(self) -> str:
        words = f"{random_word(self._random)} {random_word(self._random, most_common=20)}"
        return await self._send("GET", f"/v1/search?q={quote(words)}")

    async def _read(self) -> str:
        return await self._send("GET", f"/v1/sections/{self._random.choice(self._ids)}")

    async def _call_tool(self) -> str:
        arguments = {"ids": self._random.sample(self._ids, 3)}
        call = {"name": "expand_sections", "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        return await self._send("POST", "/mcp", message, "application/json, text/event-stream")


_TURN = re.compile(rb'"turn":"([^"]+)"')

"""Resident size of the endpoint over many answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

from endpoint.clients import RequestTally, send_question
from endpoint.servers import get_resident_megabytes, start_server


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

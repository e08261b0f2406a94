"""How much memory the endpoint takes, answer after answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

from endpoint.clients import Tally, read
from endpoint.servers import resident, running


def memory(folder: Path, answers: int) -> Iterator[str]:
    """Give the resident size after each thousandth of so many answers."""
    with running("endpoint", folder, "none", "0") as (port, process):
        asked = 0

        async def some(count: int) -> Tally:
            tally = Tally()
            places = asyncio.Semaphore(8)

            async def one(number: int) -> None:
                async with places:
                    await read(port, f"10.0.{number % 200}.1", f"Where is number {number}?", tally)

            await asyncio.gather(*(one(asked + at) for at in range(count)))
            return tally

        sizes = [resident(process)]
        for _ in range(10):
            tally = asyncio.run(some(answers // 10))
            asked += answers // 10
            sizes.append(resident(process))
            if tally.failed:
                yield f"  failed: {len(tally.failed)}, {tally.failed[0]!r}"
        yield f"memory after {asked} answers, a tenth at a time: {', '.join(f'{size:.0f}' for size in sizes)} MB"

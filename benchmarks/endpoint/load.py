"""How the endpoint bears many readers."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator
from pathlib import Path

from scale import WORDS

from endpoint.clients import Tally, read
from endpoint.figures import at
from endpoint.servers import resident, running


def readers(folder: Path, count: int, seconds: float) -> Iterator[str]:
    """Give what came of many readers, within the default limits and without limits."""
    for limits in ("default", "none"):
        with running("endpoint", folder, limits, "0.005") as (port, process):
            before = resident(process)
            tally = asyncio.run(crowd(port, count, seconds))
            took = sorted(tally.seconds)
            yield (
                f"{count} readers, {seconds:g} s, limits {limits}: {tally.ends['answered']} answered, "
                f"{tally.ends['left']} left in the middle, {tally.ends['429']} told to come again, "
                f"{len(tally.failed)} failed; an answer took {at(took, 0.5):.2f} s, {at(took, 0.99):.2f} s (p99); "
                f"{before:.0f} -> {resident(process):.0f} MB"
            )
            for failure in tally.failed[:3]:
                yield f"  {failure!r}"


async def crowd(port: int, readers: int, seconds: float) -> Tally:
    """Let so many readers ask for so long."""
    tally, end = Tally(), time.monotonic() + seconds

    async def one(at: int) -> None:
        draw = random.Random(at)
        asked = 0
        while time.monotonic() < end:
            question = f"Where is the {draw.choice(WORDS)} of the {draw.choice(WORDS)} {at} {(asked := asked + 1)}?"
            who = f"10.{at // 250}.{at % 250}.7"
            await asyncio.sleep(await read(port, who, question, tally, leaves=draw.random() < 0.1))

    await asyncio.gather(*(one(at) for at in range(readers)))
    return tally

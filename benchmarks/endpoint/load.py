"""Load of many concurrent clients on the endpoint."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator
from pathlib import Path

from scale import WORDS

from endpoint.clients import RequestTally, percentile, send_question
from endpoint.servers import get_resident_megabytes, start_server


def measure_load(folder: Path, clients: int, seconds: float) -> Iterator[str]:
    """Yield the outcomes with the default limits and without limits."""
    for limits in ("default", "none"):
        with start_server("endpoint", folder, limits, "0.005") as (port, process):
            before = get_resident_megabytes(process)
            tally = asyncio.run(run_clients(port, clients, seconds))
            durations = sorted(tally.seconds)
            yield f"{clients} clients for {seconds:g} seconds, {'default' if limits == 'default' else 'no'} limits"
            yield f"  complete answers: {tally.outcomes['answered']}"
            yield f"  aborted answers: {tally.outcomes['aborted']}"
            yield f"  429 with Retry-After: {tally.outcomes['429']}"
            yield f"  other responses: {len(tally.failures)}"
            p50, p99 = (percentile(durations, share) for share in (0.5, 0.99))
            yield f"  seconds per answer, p50 and p99: {p50:.2f}, {p99:.2f}"
            yield f"  memory before and after: {before:.0f}, {get_resident_megabytes(process):.0f} MB"
            for failure in tally.failures[:3]:
                yield f"  {failure!r}"


async def run_clients(port: int, clients: int, seconds: float) -> RequestTally:
    """Send questions from concurrent clients for a duration and return the outcomes."""
    tally, end = RequestTally(), time.monotonic() + seconds

    async def run_client(client: int) -> None:
        rng = random.Random(client)
        number = 0
        while time.monotonic() < end:
            number += 1
            question = f"Where is the {rng.choice(WORDS)} of the {rng.choice(WORDS)} {client} {number}?"
            address = f"10.{client // 250}.{client % 250}.7"
            await asyncio.sleep(await send_question(port, address, question, tally, aborts=rng.random() < 0.1))

    await asyncio.gather(*(run_client(client) for client in range(clients)))
    return tally

"""CPU time of the server for one answer: without a model, from the cache, and of a bare Starlette stream."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

from endpoint.clients import RequestTally, send_question
from endpoint.servers import start_server
from endpoint.site import random_word

ANSWERS = 400
_TICKS = os.sysconf("SC_CLK_TCK")


def measure_cpu(folder: Path) -> Iterator[str]:
    """Yield milliseconds of CPU time per answer, and how many times those of the bare stream they are."""
    rng = random.Random(11)
    questions = [
        f"How do I {random_word(rng)} the {random_word(rng, most_common=200)} of the {random_word(rng)}?"
        for _ in range(2 * ANSWERS)
    ]
    with (
        start_server("endpoint", folder, "none", "0", "offline") as (roaming, roaming_process),
        start_server("bare", folder, "0") as (bare, bare_process),
    ):
        _run(roaming, questions[ANSWERS:])  # earlier questions of other readers
        _run(bare, questions[ANSWERS:])
        streams = _measure(bare, bare_process, questions[:ANSWERS])
        offline = _measure(roaming, roaming_process, questions[:ANSWERS])
        cached = _measure(roaming, roaming_process, [questions[0]] * ANSWERS)
    yield "| answer | CPU time | relative to the bare stream |"
    yield "| --- | --: | --: |"
    for name, seconds in {"bare stream": streams, "cached": cached, "without a model": offline}.items():
        yield f"| {name} | {1000 * seconds:.1f} ms | {seconds / streams:.0f} |"


def _measure(port: int, process: subprocess.Popen[bytes], questions: list[str]) -> float:
    before = _read_cpu_seconds(process)
    _run(port, questions)
    return (_read_cpu_seconds(process) - before) / len(questions)


def _run(port: int, questions: list[str]) -> None:
    async def send_all() -> None:
        for number, question in enumerate(questions):
            await send_question(port, f"10.0.{number % 200}.1", question, RequestTally())

    asyncio.run(send_all())


def _read_cpu_seconds(process: subprocess.Popen[bytes]) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS

"""CPU time of the server for one answer: without a model, from the cache, and of a bare Starlette stream."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

from endpoint.clients import send_question
from endpoint.servers import start_server
from endpoint.site import random_word

ANSWERS = 400
ROUNDS, ROUND = 20, 100
"""Number of rounds in which cached answers and bare streams alternate, and of the answers in a round."""
_TICKS = os.sysconf("SC_CLK_TCK")


def measure_cpu(folder: Path) -> Iterator[str]:
    """Yield milliseconds of CPU time per answer, and how many times those of the bare stream they are."""
    bare, cached = measure_cached(folder)
    yield "| answer | CPU time | relative to the bare stream |"
    yield "| --- | --: | --: |"
    for name, seconds in {"bare stream": bare, "cached": cached, "without a model": _measure_offline(folder)}.items():
        yield f"| {name} | {1000 * seconds:.2f} ms | {seconds / bare:.2f} |"


def measure_cached(folder: Path) -> tuple[float, float]:
    """Return seconds of CPU time for a bare stream and for the cached answer of a model, measured in alternate rounds."""
    servers = start_server("bare", folder, "0"), start_server("endpoint", folder, "0")
    with servers[0] as bare, servers[1] as roaming:
        for port, _ in (bare, roaming):
            _run(port, [_QUESTION] * ROUND)  # the first answer is cached
        before = [_read_cpu_seconds(process) for _, process in (bare, roaming)]
        for _ in range(ROUNDS):
            for port, _ in (bare, roaming):
                _run(port, [_QUESTION] * ROUND)
        after = [_read_cpu_seconds(process) for _, process in (bare, roaming)]
    bare_seconds, cached_seconds = ((end - start) / ROUNDS / ROUND for start, end in zip(before, after, strict=True))
    return bare_seconds, cached_seconds


def _measure_offline(folder: Path) -> float:
    """Return seconds of CPU time for an answer without a model."""
    rng = random.Random(11)
    questions = [
        f"How do I {random_word(rng)} the {random_word(rng, most_common=200)} of the {random_word(rng)}?"
        for _ in range(2 * ANSWERS)
    ]
    with start_server("endpoint", folder, "0", "offline") as (port, process):
        _run(port, questions[ANSWERS:])  # earlier questions of other readers
        return _measure(port, process, questions[:ANSWERS])


def _measure(port: int, process: subprocess.Popen[bytes], questions: list[str]) -> float:
    before = _read_cpu_seconds(process)
    _run(port, questions)
    return (_read_cpu_seconds(process) - before) / len(questions)


def _run(port: int, questions: list[str]) -> None:
    async def send_all() -> None:
        for number, question in enumerate(questions):
            await send_question(port, f"10.0.{number % 200}.1", question)

    asyncio.run(send_all())


def _read_cpu_seconds(process: subprocess.Popen[bytes]) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


_QUESTION = "Where is the word?"

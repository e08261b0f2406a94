"""Cached answers for many readers at once, beside clients that never read and idle connections."""

from __future__ import annotations

import asyncio
import json
import resource
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from endpoint.clients import percentile
from endpoint.servers import get_resident_megabytes, start_server

READERS, STALLED, IDLE = 200, 20, 1_000
ROUNDS = 6
QUESTION = "Where is the word?"


def measure_crowd(folder: Path) -> Iterator[str]:
    """Yield the table: seconds per answer and memory of both servers, whose rounds alternate."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8_192, hard), hard))
    with (
        start_server("endpoint", folder, "none", "0") as (roaming, roaming_process),
        start_server("bare", folder, "0") as (bare, bare_process),
    ):
        ports = {"roaming": roaming, "bare": bare}
        processes = {"roaming": roaming_process, "bare": bare_process}
        before = {name: get_resident_megabytes(process) for name, process in processes.items()}
        seconds, failures = asyncio.run(_run(ports))
        yield f"{READERS} readers, {STALLED} that never read, {IDLE} idle connections; {ROUNDS} rounds"
        yield "| server | answers | failed | p50 | p95 | p99 | memory before and after |"
        yield "| --- | --: | --: | --: | --: | --: | --: |"
        for name, process in processes.items():
            times = sorted(seconds[name])
            shown = " | ".join(f"{1000 * percentile(times, share):.0f} ms" for share in (0.5, 0.95, 0.99))
            sizes = f"{before[name]:.0f}, {get_resident_megabytes(process):.0f} MB"
            yield f"| {name} | {len(times)} | {failures[name]} | {shown} | {sizes} |"
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def _run(ports: dict[str, int]) -> tuple[dict[str, list[float]], dict[str, int]]:
    seconds: dict[str, list[float]] = {name: [] for name in ports}
    failures = dict.fromkeys(ports, 0)
    for port in ports.values():
        await _ask(port, 0)  # the first answer is cached
    crowds = [await _open_crowd(port) for port in ports.values()]
    for number in range(ROUNDS):
        for name in ports if number % 2 else reversed(ports):
            results = await asyncio.gather(*(_ask(ports[name], reader) for reader in range(READERS)))
            if number:  # the first round opens files and imports modules
                seconds[name] += [result for result in results if result is not None]
                failures[name] += results.count(None)
    for writer in (writer for crowd in crowds for writer in crowd):
        writer.close()
    return seconds, failures


async def _open_crowd(port: int) -> list[asyncio.StreamWriter]:
    """Open connections that send nothing more after one request, and such that never read their answer."""
    writers: list[asyncio.StreamWriter] = []
    for number in range(IDLE + STALLED):
        _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1_024)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" if number < IDLE else _format_request(number))
        writers.append(writer)
        if number % 100 == 0:
            await asyncio.sleep(0.05)
    return writers


async def _ask(port: int, reader_number: int) -> float | None:
    """Return the seconds until an answer is complete; None if it is not."""
    started = time.perf_counter()
    response = b""
    with suppress(OSError):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(_format_request(reader_number))
        response = await reader.read(-1)
        writer.close()
    is_complete = response[9:12] == b"200" and (b'"state":"answered"' in response or b"text-delta" in response)
    return time.perf_counter() - started if is_complete and b'"errorText"' not in response else None


def _format_request(client: int) -> bytes:
    body = json.dumps({"question": QUESTION}).encode()
    head = (
        f"POST /v1/ask HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 10.{client // 250}.{client % 250}.7\r\n"
        f"Connection: close\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body

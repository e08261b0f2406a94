"""Latency of the endpoint's routes relative to bare routes, requested alternately."""

from __future__ import annotations

import http.client
import json
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from urllib.parse import quote

from endpoint.servers import SCRIPT, start_server
from endpoint.site import random_word
from mkdocs_roaming.library.targets import open_library

ROUNDS = 600
PACE = 0.02
"""Seconds between two parts of a concurrent stream."""


def measure_ratios(folder: Path) -> Iterator[str]:
    """Yield the table of latencies."""
    ids = [section.id for section in open_library(folder).sections]
    rng = random.Random(5)
    queries = [
        " ".join([random_word(rng), random_word(rng, most_common=20), random_word(rng, most_common=200)])
        for _ in range(ROUNDS)
    ]
    with (
        start_server("endpoint", folder, str(PACE)) as (roaming, _),
        start_server("bare", folder, str(PACE)) as (bare, _),
    ):

        def time_first(number: int, port: int) -> float:
            return time_first_event(port, queries[number])

        yield "| request | p50 | roaming | bare |"
        yield "| --- | --: | --: | --: |"
        with run_streams(roaming), run_streams(bare):
            yield compare("first event of an answer, eight others running", time_first, roaming, bare, ROUNDS // 2)
        connections = {port: http.client.HTTPConnection("127.0.0.1", port, timeout=30) for port in (roaming, bare)}

        def time_get(port: int, path: str) -> float:
            started = time.perf_counter()
            connections[port].request("GET", path)
            response = connections[port].getresponse()
            response.read()
            duration = time.perf_counter() - started
            assert response.status == 200, (path, response.status)
            return duration

        def time_section(number: int, port: int) -> float:
            return time_get(port, f"/v1/sections/{ids[number * 7]}")

        def time_search(number: int, port: int) -> float:
            return time_get(port, f"/v1/search?q={quote(queries[number])}")

        yield compare("`GET /v1/sections/{id}`, first request of each", time_section, roaming, bare)
        yield compare("`GET /v1/search`, compared with one FTS5 query", time_search, roaming, bare)
        for connection in connections.values():
            connection.close()


def compare(label: str, measure: Callable[[int, int], float], roaming: int, bare: int, rounds: int = ROUNDS) -> str:
    """Measure both alternately, ignore the first twentieth, and return a row of the table."""
    seconds: dict[int, list[float]] = {roaming: [], bare: []}
    for number in range(rounds):
        for port in (roaming, bare) if number % 2 else (bare, roaming):
            duration = measure(number, port)
            if number >= rounds // 20:
                seconds[port].append(duration)
    ours, base = median(seconds[roaming]), median(seconds[bare])
    return f"| {label} | {ours / base:.2f} | {1000 * ours:.2f} ms | {1000 * base:.2f} ms |"


def time_first_event(port: int, question: str) -> float:
    """Send a question over a new connection and return the seconds until the first event."""
    body = json.dumps({"question": f"{question} {time.monotonic()}"}).encode()
    head = "POST /v1/ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        started = time.perf_counter()
        connection.sendall(head.encode() + b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        received = b""
        while b"data: {" not in received:
            received += connection.recv(65_536)
        return time.perf_counter() - started


@contextmanager
def run_streams(port: int) -> Iterator[None]:
    """Keep eight answers running."""
    with subprocess.Popen([sys.executable, str(SCRIPT), "--run", "stream_clients", str(port)]) as process:
        time.sleep(1.0)
        try:
            yield
        finally:
            process.kill()

"""What the endpoint's routes cost beside bare ones, asked in turn."""

from __future__ import annotations

import http.client
import json
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from endpoint.figures import at
from endpoint.servers import SCRIPT, Table, running
from endpoint.site import library_of, one_of

ROUNDS = 600
PACE = 0.02
"""The seconds between two pieces of an answer that streams beside others."""


def ratios(folder: Path) -> Iterator[str]:
    """Give the latencies of our routes as ratios to bare ones."""
    ids = [place.id for place in library_of(folder).sections]
    draw = random.Random(5)
    asked = [" ".join([one_of(draw), one_of(draw, commonest=20), one_of(draw, commonest=200)]) for _ in range(ROUNDS)]
    with (
        running("endpoint", folder, "none", str(PACE)) as (ours, _),
        running("bare", folder, str(PACE)) as (theirs, _),
    ):
        yield "| asked for | p50 | p99 | ours p50 | bare p50 |"
        yield "| --- | --: | --: | --: | --: |"
        with streaming(ours), streaming(theirs):
            yield compared("first event", lambda at, port: first_event(port, asked[at]), ours, theirs, ROUNDS // 2)
        gets = {port: http.client.HTTPConnection("127.0.0.1", port, timeout=30) for port in (ours, theirs)}

        def got(port: int, path: str) -> float:
            began = time.perf_counter()
            gets[port].request("GET", path)
            answer = gets[port].getresponse()
            answer.read()
            took = time.perf_counter() - began
            assert answer.status == 200, (path, answer.status)
            return took

        yield compared("sections", lambda at, port: got(port, f"/v1/sections/{ids[at * 7]}"), ours, theirs)
        yield compared("sections again", lambda at, port: got(port, f"/v1/sections/{ids[at * 7]}"), ours, theirs)
        yield compared("search", lambda at, port: got(port, f"/v1/search?q={quote(asked[at])}"), ours, theirs)
        for connection in gets.values():
            connection.close()
    yield _searches(folder, asked)


def _searches(folder: Path, asked: Sequence[str]) -> str:
    from mkdocs_roaming.library.search import Search

    table, search = Table(folder), Search(library_of(folder))
    search.find("warm")  # the index is made by the first

    def took(work: Callable[[str], Any], words: str) -> float:
        began = time.perf_counter()
        work(words)
        return time.perf_counter() - began

    works = {1: lambda words: search.find(words, limit=5), 2: table.find}
    return compared("search, no HTTP", lambda at, which: took(works[which], asked[at]), 1, 2)


def compared(name: str, ask: Callable[[int, int], float], ours: int, theirs: int, rounds: int = ROUNDS) -> str:
    """Ask both in turn, the first twentieth for nothing; gives a row of the table."""
    took: dict[int, list[float]] = {ours: [], theirs: []}
    for number in range(rounds):
        for port in (ours, theirs) if number % 2 else (theirs, ours):
            seconds = ask(number, port)
            if number >= rounds // 20:
                took[port].append(seconds)
    mine, bare_ones = sorted(took[ours]), sorted(took[theirs])
    half, most = (at(mine, share) / at(bare_ones, share) for share in (0.5, 0.99))
    return f"| {name} | {half:.2f} | {most:.2f} | {at(mine, 0.5) * 1000:.2f} ms | {at(bare_ones, 0.5) * 1000:.2f} ms |"


def first_event(port: int, question: str) -> float:
    """Ask over a new connection; gives the seconds until the first event is there."""
    body = json.dumps({"question": f"{question} {time.monotonic()}"}).encode()
    head = "POST /v1/ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=30) as line:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        began = time.perf_counter()
        line.sendall(head.encode() + b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        told = b""
        while b"data: {" not in told:
            told += line.recv(65_536)
        return time.perf_counter() - began


@contextmanager
def streaming(port: int) -> Iterator[None]:
    """Keep eight answers under way."""
    with subprocess.Popen([sys.executable, str(SCRIPT), "--run", "eight", str(port)]) as process:
        time.sleep(1.0)
        try:
            yield
        finally:
            process.kill()

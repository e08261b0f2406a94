"""How the answer endpoint bears many readers, and what it costs beside a server that does nothing else.

    python benchmarks/serve.py [readers] [memory] [ratios] [--readers 200] [--seconds 60] [--answers 10000]

A site of 834 pages and 5,004 sections is made and built once, of 5,000 words as frequent and as rare as words are. A
model that needs no network opens two sections and says three paragraphs. The endpoint runs in a process of its own, as
`roaming serve` runs it.

readers  So many readers ask without a pause for so many seconds, each from an address of its own, and leave every tenth
         answer in the middle: once within the default limits, once with room for all. Every answer has to be whole,
         every refusal a 429 that says when to come again; anything else has failed.
memory   The resident size of the endpoint after each thousandth of so many answers, all to different questions.
ratios   Latencies as ratios to bare Starlette routes in another process that runs the same way. The two are asked in
         turn by one client on one connection, so that the machine's moods meet both; p50 and p99 of all rounds.
         first event   of a stream, while eight others are under way at the same pace; the bare route reads the body as
                       JSON and streams prepared bytes
         sections      `GET /v1/sections/{id}`, each time another; the bare route gives prepared bytes
         search        `GET /v1/search`; the bare route asks an FTS5 table with porter stemming for ids, snippets and
                       bm25. `search, no HTTP` is the same within one process
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import random
import re
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from scale import WORDS, make

PAGES, SECTIONS = 834, 6
ROUNDS = 600
PACE = 0.02
"""The seconds between two pieces of an answer that streams beside others."""
PIECES = 6
IMPATIENCE = 1.0
"""The seconds after which a reader comes again at the latest, whatever was said."""


# The servers, each in a process of its own


def endpoint(folder: str, limits: str, pace: str) -> None:
    """Run the endpoint; `limits` are `default` or `none`."""
    from mkdocs_roaming.answer.budget import Budget
    from mkdocs_roaming.serve.answering import Way
    from mkdocs_roaming.serve.app import Serving, create_app
    from mkdocs_roaming.serve.gate import Allowance
    from mkdocs_roaming.serve.guard import Policy
    from mkdocs_roaming.serve.running import run

    many = 10**9
    allowance, policy = Allowance(), Policy(proxies=1)
    if limits == "none":
        allowance = Allowance(many, many, many, many, many)
        policy = Policy(proxies=1, requests_a_minute=many, requests_a_minute_each=many)
    way = Way(Telling(Path(folder), float(pace)), Budget(), 0)
    run(create_app(Serving(folder, way, allowance=allowance, policy=policy)), "127.0.0.1", _port())


def bare(folder: str, pace: str) -> None:
    """Run routes that do nothing but give what is prepared, or ask FTS5."""
    from anyio import to_thread
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response, StreamingResponse
    from starlette.routing import Route

    from mkdocs_roaming.serve.running import run

    body = b'{"text":"' + b"x" * 1_500 + b'"}'
    library = _library(Path(folder))
    sections = {place.id: library.text(place).encode() for place in library.places}
    table = Table(Path(folder))

    async def stream(request: Request) -> Response:
        await request.json()

        async def pieces() -> AsyncIterator[bytes]:
            yield b'data: {"type":"start"}\n\n'
            for _ in range(PIECES * 3):
                await asyncio.sleep(float(pace))
                yield b'data: {"type":"text-delta","id":"text-1","delta":"word "}\n\n'

        return StreamingResponse(pieces(), media_type="text/event-stream")

    async def section(request: Request) -> Response:
        return Response(sections.get(request.path_params["id"], body), media_type="application/json")

    async def search(request: Request) -> Response:
        words = request.query_params["q"]
        return JSONResponse(await to_thread.run_sync(lambda: table.find(words)))

    async def health(request: Request) -> Response:
        return Response(b"ok")

    routes = [
        Route("/v1/ask", stream, methods=["POST"]),
        Route("/v1/sections/{id}", section),
        Route("/v1/search", search),
        Route("/healthz", health),
    ]
    run(Starlette(routes=routes), "127.0.0.1", _port())


class Telling:
    """A model that opens two sections of the site and says three paragraphs, a piece at a time."""

    name = "scripted"

    def __init__(self, folder: Path, pace: float) -> None:
        self._ids = [place.id for place in _library(folder).places]
        self._pace = pace
        self._asked = 0

    async def reply(self, request: Any) -> AsyncIterator[Any]:
        """Give the parts of a reply."""
        from mkdocs_roaming.answer.models import Citation, Said, Text, ToolCall, Usage

        calls = [call for turn in request.turns if isinstance(turn, Said) for call in turn.calls]
        if not calls:
            self._asked += 1
            at = self._asked % len(self._ids), self._asked * 7 % len(self._ids)
            yield ToolCall("call", "expand_sections", {"ids": [self._ids[one] for one in at]})
            return
        for id_ in (calls[-1].arguments["ids"] * 2)[:3]:
            for at in range(PIECES):
                yield Text(f"The {WORDS[at]} is at the {WORDS[-at]}, and ")
                await asyncio.sleep(self._pace)
            yield Text("that is all")
            yield Citation(id_)
            yield Text(".\n\n")
        yield Usage(input=900, output=120)


class Table:
    """All sections' texts in an FTS5 table, as anybody would make one."""

    def __init__(self, folder: Path) -> None:
        self._table = sqlite3.connect(":memory:", check_same_thread=False)
        self._table.execute("create virtual table s using fts5(id unindexed, title, text, tokenize='porter unicode61')")
        library = _library(folder)
        rows = ((place.id, place.section.title, library.text(place)) for place in library.places)
        self._table.executemany("insert into s values (?, ?, ?)", rows)

    def find(self, words: str) -> list[dict[str, Any]]:
        """Give the five best sections."""
        wanted = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", words))
        rows = self._table.execute(
            "select id, title, snippet(s, 2, '', '', '…', 32), bm25(s) from s where s match ? order by bm25(s) limit 5",
            (wanted,),
        )
        return [{"id": id_, "title": title, "snippet": text, "score": score} for id_, title, text, score in rows]


# Readers


class Tally:
    """What came of the answers that were asked for."""

    def __init__(self) -> None:
        self.ends: Counter[str] = Counter()
        self.failed: list[str] = []
        self.seconds: list[float] = []


async def read(port: int, who: str, question: str, tally: Tally, *, leaves: bool = False) -> float:
    """Ask one question over a connection of its own; gives the seconds to wait before the next."""
    began = time.monotonic()
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError as error:
        tally.failed.append(f"no connection: {error}")
        return 0.1
    try:
        body = json.dumps({"question": question}).encode()
        head = f"POST /v1/ask HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: {who}\r\nConnection: close\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        if leaves:
            await reader.readuntil(b'"tool-output-available"')
            tally.ends["left"] += 1
            return 0.0
        answer = await reader.read(-1)
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        if not leaves or b"429" not in getattr(error, "partial", b""):
            tally.failed.append(f"{type(error).__name__}: {error}")
            return 0.1
        answer = error.partial
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
    status = answer[9:12].decode("latin-1")
    again = re.search(rb"\r\nretry-after: (\d+)\r\n", answer, re.IGNORECASE)
    if (
        status == "200"
        and b"data: [DONE]" in answer
        and re.search(rb'"data-status","data":{"state":"answered"', answer)
    ):
        tally.ends["answered"] += 1
        tally.seconds.append(time.monotonic() - began)
        return 0.0
    if status == "429" and again:
        tally.ends["429"] += 1
        return min(float(again[1]), IMPATIENCE)
    tally.failed.append(answer[:300].decode("latin-1"))
    return 0.1


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


# Ratios


def ratios(folder: Path) -> Iterator[str]:
    """Give the latencies of our routes as ratios to bare ones."""
    ids = [place.id for place in _library(folder).places]
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
        yield compared("search", lambda at, port: got(port, f"/v1/search?q={quote(asked[at])}"), ours, theirs)
        for connection in gets.values():
            connection.close()
    yield _searches(folder, asked)


def _searches(folder: Path, asked: Sequence[str]) -> str:
    from mkdocs_roaming.roam.search import Search

    table, search = Table(folder), Search(_library(folder))
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
    with subprocess.Popen([sys.executable, __file__, "--run", "eight", str(port)]) as process:
        time.sleep(1.0)
        try:
            yield
        finally:
            process.kill()


async def eight(port: int) -> None:
    """Ask eight at a time, for ever."""

    async def one(at: int) -> None:
        number = 0
        while True:
            await read(port, f"10.9.{at}.1", f"Which {at} {(number := number + 1)}?", Tally())

    await asyncio.gather(*(one(at) for at in range(8)))


# Processes


@contextmanager
def running(name: str, *arguments: object) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Run one of the servers; gives its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [sys.executable, __file__, "--run", name, *map(str, arguments)]
    with subprocess.Popen(command, env={**os.environ, "PORT": str(port)}) as process:
        try:
            for _ in range(600):
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
                with suppress(OSError):
                    connection.request("GET", "/healthz")
                    if connection.getresponse().status == 200:
                        break
                connection.close()
                time.sleep(0.1)
            yield port, process
        finally:
            process.terminate()


def resident(process: subprocess.Popen[bytes]) -> float:
    """Give the resident size of a process in MB."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def at(values: Sequence[float], share: float) -> float:
    """Give the value below which such a share of sorted values lies."""
    return values[min(int(len(values) * share), len(values) - 1)] if values else float("nan")


def one_of(draw: random.Random, rarest: int = 5_000, commonest: int = 0) -> str:
    """Give a word, made of syllables; the n-th is about n times as rare as the first."""
    rank = min(int((rarest - commonest + 1) ** draw.random()) - 1 + commonest, rarest)
    syllables = "ka", "ri", "to", "ne", "lu", "mo", "se", "vi", "da", "pu"
    return "".join(syllables[int(digit)] for digit in f"{rank * 7919 % 10_007:04}")


_DULL = re.compile(rf"\b(?:{'|'.join(WORDS)})\b")


def _port() -> int:
    return int(os.environ["PORT"])


def _library(folder: Path) -> Any:
    from mkdocs_roaming.roam.library import open_library

    return open_library(folder)


@contextmanager
def site() -> Iterator[Path]:
    """Build the site."""
    with tempfile.TemporaryDirectory(prefix="roaming-serve-") as folder:
        make(Path(folder), PAGES, SECTIONS)
        draw = random.Random(7)
        for file in sorted(Path(folder, "docs").rglob("*.md")):
            file.write_text(_DULL.sub(lambda found: one_of(draw), file.read_text("utf-8")), "utf-8")
        command = [sys.executable, "-m", "mkdocs", "build", "-q", "-f", "roaming.yml", "-d", "built"]
        quiet = {"NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
        subprocess.run(command, cwd=folder, env={**os.environ, **quiet}, check=True)
        yield Path(folder) / "built"


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help="readers, memory, ratios; all when left out")
    parser.add_argument("--readers", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--answers", type=int, default=10_000)
    parser.add_argument("--run", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.run:
        name, *given = options.run
        if name == "eight":
            asyncio.run(eight(int(given[0])))
        else:
            {"endpoint": endpoint, "bare": bare}[name](*given)
        return 0
    parts = options.parts or ["readers", "memory", "ratios"]
    with site() as folder:
        told = {
            "readers": lambda: readers(folder, options.readers, options.seconds),
            "memory": lambda: memory(folder, options.answers),
            "ratios": lambda: ratios(folder),
        }
        for part in parts:
            for line in told[part]():
                print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

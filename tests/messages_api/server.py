"""An asyncio HTTP server in a thread."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any

from messages_api import anthropic_wire, chat_wire
from messages_api.cache import Cache, prefix
from messages_api.chat_wire import Dialect
from messages_api.parts import Brain, Cut, Status, Wait
from messages_api.script import Script

PROBES = ("/api/ps", "/api/v0/models", "/props", "/v1/models")
"""What is asked about the context of a model; these requests are not recorded."""

WIRES = {"/v1/messages": anthropic_wire, "/v1/chat/completions": chat_wire}
REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 405: "Method Not Allowed"}


@dataclass
class Exchange:
    """A request and its response; times are from `time.monotonic`."""

    path: str
    headers: Mapping[str, str]
    body: Any
    begun: float
    connection: int
    """Number of the connection."""
    status: int = 0
    usage: Mapping[str, int] = field(default_factory=dict)
    ended: float | None = None
    left: float | None = None
    """When the client disconnected during the reply."""
    cut: bool = False
    """Whether the server cut the connection."""


@dataclass
class MessagesApi:
    """The settings of the server, and its requests."""

    brain: Brain = field(default_factory=Script)
    dialect: Dialect = field(default_factory=Dialect)
    budget: int | None = None
    """Maximum output tokens of a request."""
    key: str = "test-key"
    url: str = ""
    cache: Cache = field(default_factory=Cache)
    exchanges: list[Exchange] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    _connections: Iterator[int] = field(default_factory=count)

    @property
    def requests(self) -> list[Any]:
        """The bodies of all requests."""
        return [exchange.body for exchange in self.exchanges if exchange.path in WIRES]

    def prefixes(self) -> set[str]:
        """Return the distinct prefixes (tools, rules, outline) of all requests."""
        return {prefix(exchange.body) for exchange in self.exchanges}

    def idle(self, seconds: float = 5.0) -> bool:
        """Wait until no request is active; return whether that happened in time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if all(exchange.ended for exchange in self.exchanges):
                return True
            time.sleep(0.005)
        return False

    # Connections

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            connection = next(self._connections)
            while (received := await _receive(reader, connection)) is not None:
                await self._answer(received, reader, writer)
                if received.left or received.cut:
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            with suppress(Exception):
                writer.close()
                await writer.wait_closed()

    async def _answer(self, exchange: Exchange, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if exchange.path not in PROBES:
            self.exchanges.append(exchange)
        sending = asyncio.ensure_future(self._send(exchange, writer))
        leaving = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            failed = sending.exception() if sending.done() else None
            if not sending.done() or isinstance(failed, ConnectionError):
                exchange.left = time.monotonic()
            elif failed is not None:
                self.faults.append(f"the server itself failed: {failed!r}")
        finally:
            for task in (sending, leaving):
                task.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await task
            exchange.ended = time.monotonic()

    async def _send(self, exchange: Exchange, writer: asyncio.StreamWriter) -> None:
        wire = WIRES.get(exchange.path)
        if wire is None:
            return await _whole(exchange, writer, Status(404, message=f"no {exchange.path}"), b"{}")
        refused = self._refusal(exchange, wire)
        if refused is not None:
            return await _whole(exchange, writer, refused, wire.error(refused))
        exchange.usage = self.cache.count(exchange.body)
        replied = iter(self.brain.reply(wire.view(exchange.body)))
        first = next(replied, None)
        while isinstance(first, Wait):
            await asyncio.sleep(first.seconds)
            first = next(replied, None)
        if isinstance(first, Status):
            return await _whole(exchange, writer, first, first.body or wire.error(first))
        started = replied if first is None else chain([first], replied)
        exchange.status = 200
        writer.write(_head(200, {"Content-Type": wire.CONTENT_TYPE, "Transfer-Encoding": "chunked"}))
        for piece in wire.frames(started, exchange.body, exchange.usage, self.dialect):
            if isinstance(piece, Wait):
                await asyncio.sleep(piece.seconds)
            elif isinstance(piece, Cut):
                if not piece.clean:
                    exchange.cut = True
                    writer.write(b"20\r\nhalf")
                    await writer.drain()
                    return None
                break
            else:
                writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                await writer.drain()
                await asyncio.sleep(0)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return None

    def _refusal(self, exchange: Exchange, wire: Any) -> Status | None:
        """Return the response to an invalid request, and record its faults."""
        body = exchange.body
        if exchange.headers.get("authorization") != f"Bearer {self.key}":
            return Status(401, kind="authentication_error", message="invalid key")
        found = wire.faults(body, self.budget) if isinstance(body, dict) else ["the body is not a JSON object"]
        if found:
            self.faults += found
            return Status(400, kind="invalid_request_error", message="; ".join(found))
        return None


async def _receive(reader: asyncio.StreamReader, connection: int) -> Exchange | None:
    line = await reader.readline()
    if not line.strip():
        return None
    path = line.split()[1].decode()
    headers: dict[str, str] = {}
    while (line := await reader.readline()).strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    data = await reader.readexactly(int(headers.get("content-length", 0)))
    try:
        body = json.loads(data)
    except ValueError:
        body = None
    return Exchange(path.partition("?")[0], headers, body, time.monotonic(), connection)


async def _whole(exchange: Exchange, writer: asyncio.StreamWriter, status: Status, body: bytes) -> None:
    exchange.status = status.code
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), **status.headers}
    writer.write(_head(status.code, headers) + body)
    await writer.drain()


def _head(code: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {code} {REASONS.get(code, 'Status')}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


# Thread


@contextmanager
def serving(api: MessagesApi, port: int = 0) -> Iterator[MessagesApi]:
    """Run the server within the block at `api.url`."""
    loop = asyncio.new_event_loop()
    ready = threading.Event()
    connections: set[asyncio.Task[None]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connections.add(task)
        task.add_done_callback(connections.discard)
        await api.handle(reader, writer)

    async def run() -> None:
        server = await asyncio.start_server(handle, "127.0.0.1", port)
        api.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        ready.set()
        await stop.wait()
        server.close()
        for task in list(connections):
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
        await server.wait_closed()

    stop = asyncio.Event()
    thread = threading.Thread(target=lambda: loop.run_until_complete(run()), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield api
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()

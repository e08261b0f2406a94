"""A server that sends exact bytes and ends connections as a test says."""

from __future__ import annotations

import re
import socket
import socketserver
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

Responder = Callable[[str, Mapping[str, str]], "RawResponse"]


@dataclass(frozen=True)
class RawResponse:
    """What is sent, and whether the connection is then reset, or kept open without data."""

    data: bytes
    reset: bool = False
    silent: float = 0.0


@dataclass
class RawServer:
    """The server: a function that answers requests, and the recorded requests."""

    port: int
    answer: Responder
    requests: list[str] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)


def http_response(status: str, body: bytes = b"", **headers: str) -> RawResponse:
    """Return a valid HTTP response."""
    fields = {"Content-Length": str(len(body)), "Connection": "close", **headers}
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items())
    return RawResponse(f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + body)


def range_response(data: bytes, headers: Mapping[str, str]) -> RawResponse:
    """Return an object or the requested range of it."""
    fields = {"ETag": '"1"', "Last_Modified": "Sat, 21 Nov 2026 12:00:00 GMT"}
    if match := re.fullmatch(r"bytes=(\d+)-(\d*)", headers.get("range", "")):
        start, end = int(match[1]), int(match[2] or len(data) - 1)
        part = data[start : end + 1]
        return http_response("206 Partial Content", part, Content_Range=f"bytes {start}-{end}/{len(data)}", **fields)
    return http_response("200 OK", data, **fields)


class _Handler(socketserver.StreamRequestHandler):
    raw: RawServer

    def handle(self) -> None:
        first = self.rfile.readline().decode().strip()
        headers: dict[str, str] = {}
        while line := self.rfile.readline().decode().strip():
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        self.rfile.read(int(headers.get("content-length", 0)))
        self.raw.requests.append(first)
        answer = self.raw.answer(first, headers)
        self.wfile.write(answer.data)
        self.wfile.flush()
        if answer.silent:
            self.raw.ended.wait(answer.silent)
        if answer.reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True

    def handle_error(self, request: object, client_address: object) -> None: ...


@contextmanager
def serving(answer: Responder, certificate: Path | None = None) -> Iterator[RawServer]:
    """Serve until the block ends; with TLS if a file with key and certificate is given."""
    handler = type("Handler", (_Handler,), {})
    with _Server(("127.0.0.1", 0), handler) as server:
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        handler.raw = raw = RawServer(server.server_address[1], answer)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield raw
        raw.ended.set()
        server.shutdown()

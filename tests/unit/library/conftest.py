"""A web server on this machine, for libraries that are read over HTTP."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import pytest


@dataclass
class Reply:
    """What an address answers."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    stall: threading.Event | None = None
    """Waited for in the middle of the body."""


@dataclass
class LocalServer:
    """Answers what `replies` holds for a path with its query, else for the path alone; keeps what was asked."""

    url: str
    replies: dict[str, Reply] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def put(self, files: dict[str, str], below: str = "/") -> None:
        for path, text in files.items():
            self.replies[below + path] = Reply(text.encode())


@pytest.fixture
def server() -> Iterator[LocalServer]:
    """Give a server without any answers yet."""
    local = LocalServer("")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            local.asked.append(self.path)
            path = unquote(self.path)
            reply = local.replies.get(path) or local.replies.get(path.partition("?")[0]) or Reply(status=404)
            self.send_response(reply.status)
            for name, value in {"Content-Length": str(len(reply.body)), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            half = len(reply.body) // 2 if reply.stall else len(reply.body)
            self.wfile.write(reply.body[:half])
            if reply.stall:
                self.wfile.flush()
                reply.stall.wait(20)

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        local.url = f"http://127.0.0.1:{httpd.server_address[1]}/"
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield local
        httpd.shutdown()
        thread.join()


@pytest.fixture
def refused() -> Callable[[], str]:
    """Give an address at which nothing listens."""
    import socket

    def address() -> str:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            return f"http://127.0.0.1:{free.getsockname()[1]}/"

    return address


@pytest.fixture
def reply() -> type[Reply]:
    """Give the kind of answer that a server's `replies` hold."""
    return Reply

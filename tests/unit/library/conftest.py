"""A local web server, for libraries that are read over HTTP."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import pytest


@dataclass
class Reply:
    """A response."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class LocalServer:
    """Serves `replies` by path and query, or else by path; `asked` is the requested paths."""

    url: str
    replies: dict[str, Reply] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def put(self, files: dict[str, str], below: str = "/") -> None:
        for path, text in files.items():
            self.replies[below + path] = Reply(text.encode())


@pytest.fixture
def server() -> Iterator[LocalServer]:
    """A server without responses."""
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
            self.wfile.write(reply.body)

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
    """Returns a URL whose port is closed."""
    import socket

    def address() -> str:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            return f"http://127.0.0.1:{free.getsockname()[1]}/"

    return address


@pytest.fixture
def reply() -> type[Reply]:
    """The class of the server's responses."""
    return Reply

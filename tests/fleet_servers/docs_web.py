"""A web of documentation sites on loopback addresses: one host per site, several versions each."""

from __future__ import annotations

import socket
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

S = TypeVar("S", bound="LoopbackServer")
_TEXT = "It is called with the name of the reader, and returns what was found within a second or two, as a list. "


class LoopbackServer(ThreadingHTTPServer):
    """A server of all loopback addresses.

    Attributes:
        delay: Seconds before each response.
        forbidden: Beginnings of hosts and paths that are answered with 403.
        down: Hosts that close each connection.
        requests: Numbers of requests by host and path.
        max_open: Largest numbers of concurrent requests by host.
        max_open_in_total: The largest number of all concurrent requests.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def __init__(self) -> None:
        super().__init__(("0.0.0.0", 0), _Handler)
        self.port, self.delay, self.max_open_in_total = self.server_address[1], 0.0, 0
        self.forbidden: set[str] = set()
        self.down: set[str] = set()
        self.requests: Counter[str] = Counter()
        self.max_open: Counter[str] = Counter()
        self._open: Counter[str] = Counter()
        self._lock = threading.Lock()

    def handle_error(self, request: Any, client_address: Any) -> None: ...

    def server_bind(self) -> None:
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().server_bind()

    def body(self, host: str, path: str) -> bytes | None:
        """Return the body of a response; one that begins with `->` is a redirect."""
        raise NotImplementedError

    @contextmanager
    def counted(self, host: str, path: str) -> Iterator[None]:
        """Count a request."""
        with self._lock:
            self.requests[f"{host}{path}"] += 1
            self._open[host] += 1
            self.max_open[host] = max(self.max_open[host], self._open[host])
            self.max_open_in_total = max(self.max_open_in_total, self._open.total())
        yield
        with self._lock:
            self._open[host] -= 1


class DocsWeb(LoopbackServer):
    """A server of many hosts.

    Attributes:
        responses: Bodies by host and path.
        when: Functions that are called after a request of a host and path.
    """

    def __init__(self) -> None:
        super().__init__()
        self.responses: dict[str, bytes] = {}
        self.when: dict[str, Callable[[], object]] = {}

    def body(self, host: str, path: str) -> bytes | None:
        """Return what was added."""
        body = self.responses.get(f"{host}{path}")
        self.when.get(f"{host}{path}", int)()
        return body

    def url(self, host: str, path: str = "/") -> str:
        """Return the URL of a path of a host, such as `1.2` for 127.0.1.2."""
        return f"http://127.0.{host}:{self.port}{path}"

    def put(self, host: str, path: str, body: str | bytes) -> None:
        """Add a response."""
        self.responses[f"127.0.{host}{path}"] = body if isinstance(body, bytes) else body.encode()

    def put_version(self, host: str, name: str, folder: str = "/", *, version: str = "", pages: int = 3) -> None:
        """Add the pages of a version; with its name, an inventory of Sphinx names it."""
        links = "".join(f'<a href="{folder}p{at}/">part {at}</a> ' for at in range(1, pages))
        for at in range(pages):
            title = f"{name.title()}, part {at}" if at else f"{name.title()} for readers"
            text = f"<p>{name} {version} has the function {name}_part_{at}. {_TEXT * 2}</p>"
            code = f"<h2 id=call>Call of {name} in {version or 'any version'}</h2><p>{_TEXT}</p>"
            body = f"<main><h1 id=top>{title}</h1>{text}{links}{code}</main>"
            page = f"<!doctype html><html lang=en><head><title>{title}</title></head><body>{body}</body></html>"
            self.put(host, f"{folder}p{at}/" if at else folder, page)
        if version:
            head = f"# Sphinx inventory version 2\n# Project: {name}\n# Version: {version}\n# The rest is compressed.\n"
            self.put(host, f"{folder}objects.inv", head.encode() + zlib.compress(b""))

    def put_sitemap(self, host: str, *paths: str) -> None:
        """Add a sitemap, as on Read the Docs."""
        listed = "".join(f"<url><loc>https://docs.example{path}</loc></url>" for path in paths)
        self.put(host, "/sitemap.xml", f'<?xml version="1.0"?><urlset>{listed}</urlset>')

    def pages(self, host: str) -> Counter[str]:
        """Return the numbers of requests by path of a host, without those of lists."""
        prefix = f"127.0.{host}"
        found = {
            url.removeprefix(prefix): count for url, count in self.requests.items() if url.startswith(f"{prefix}/")
        }
        return Counter({path: count for path, count in found.items() if path.endswith("/")})


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: LoopbackServer

    def log_message(self, *args: Any) -> None: ...

    def do_GET(self) -> None:
        web, host = self.server, self.headers["Host"].partition(":")[0]
        with web.counted(host, self.path):
            time.sleep(web.delay)
            if host.removeprefix("127.0.") in web.down:
                self.close_connection = True
                return
            body = web.body(host, self.path)
            is_forbidden = any(f"{host}{self.path}".startswith(url) for url in web.forbidden)
        target = body[2:].decode() if body and body.startswith(b"->") else ""
        self.send_response(302 if target else 403 if is_forbidden else 404 if body is None else 200)
        if target:
            self.send_header("Location", target)
        kind = "text/xml" if self.path.endswith(".xml") else "text/html; charset=utf-8"
        data = b"" if target else body or b"nothing here"
        self.send_header("Content-Type", kind if not self.path.endswith(".inv") else "application/octet-stream")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def serving(server: S) -> Iterator[S]:
    """Run a server until the block ends."""
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()

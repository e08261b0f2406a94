"""Servers for tests: a process of `roaming serve`, and a thread that serves any application."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

import httpx2
import uvicorn
import yaml

from mkdocs_roaming.serve.server import bind_socket

CASES = Path(__file__).parent / "golden/http/cases.yml"


@cache
def read_tables() -> dict[str, Any]:
    """Return the tables of cases of HTTP requests and settings."""
    tables: dict[str, Any] = yaml.safe_load(CASES.read_text("utf-8"))
    return tables


def load_cases(name: str) -> Any:
    """Return a table of cases."""
    return read_tables()[name]


def read_kettle_pages() -> list[tuple[str, str]]:
    """Return the documentation of Kettle as pages of a site."""
    titles = {"Install": "install/", "Settings": "settings/", "Troubleshooting": "trouble/"}
    parts = (Path(__file__).parent / "golden/answer/kettle.md").read_text("utf-8").split("\n# ")
    texts = {part.lstrip("# ").partition("\n")[0]: "# " + part.lstrip("# ").strip() + "\n" for part in parts}
    return [(path, texts[title]) for title, path in titles.items()]


@contextmanager
def process(
    *arguments: object,
    env: dict[str, str] | None = None,
    cwd: Path | None = None,
    stdout: Any = None,
    interpreter: Path | str = sys.executable,
    interpreter_options: Sequence[str] = ("-m", "mkdocs_roaming"),
) -> Iterator[Any]:
    """Start `roaming serve` on a free port; yield the process and its URL."""
    command = [str(interpreter), *interpreter_options, "serve", *map(str, arguments), "--port", "0"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", **(env or {})}
    running = subprocess.Popen(command, stdout=stdout, stderr=subprocess.PIPE, text=True, env=environment, cwd=cwd)
    try:
        assert running.stderr is not None
        line = ""
        while "listening on" not in line:
            line = running.stderr.readline()
            assert line, "it ended before it listened"
        url = line.rsplit(" ", 1)[1].strip()
        end = time.monotonic() + 20
        while time.monotonic() < end:
            try:
                if httpx2.get(f"{url}/healthz").status_code == 200:
                    break
            except httpx2.HTTPError:
                pass
            time.sleep(0.05)
        yield running, url
    finally:
        running.kill()
        running.wait()
        if running.stderr is not None:
            running.stderr.close()


@contextmanager
def serve_app(app: Any, **options: Any) -> Iterator[int]:
    """Serve an application with options of uvicorn; yield the port."""
    listener = bind_socket("127.0.0.1", 0)
    values: dict[str, Any] = {
        "log_level": "critical",
        "proxy_headers": False,
        "lifespan": "off",
        "ws": "none",
    } | options
    server = uvicorn.Server(uvicorn.Config(app, **values))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def exchange(port: int, *pieces: bytes, pause: float = 0.0) -> bytes:
    """Send bytes and return everything that the server sends until it closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:

        def write() -> None:
            try:
                for piece in pieces:
                    connection.sendall(piece)
                    if pause:
                        time.sleep(pause)
            except OSError:
                pass  # the server has closed the connection

        writer = threading.Thread(target=write)
        writer.start()
        reply = b""
        try:
            while piece := connection.recv(65_536):
                reply += piece
        except ConnectionResetError:
            pass
        writer.join()
        return reply


class _Server(ThreadingHTTPServer):
    """Ignores disconnects of clients."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def serve_requests(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve requests with a handler; yield the URL."""
    with _Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


class _StaticHandler(SimpleHTTPRequestHandler):
    """A static host that serves a folder below a path."""

    protocol_version = "HTTP/1.1"
    extensions_map: ClassVar = {**SimpleHTTPRequestHandler.extensions_map, ".md": "text/markdown; charset=utf-8"}

    def __init__(self, *arguments: Any, mount: str, **options: Any) -> None:
        self.mount = mount
        super().__init__(*arguments, **options)

    def translate_path(self, path: str) -> str:
        outside = not path.startswith(self.mount)
        return super().translate_path("/nowhere" if outside else path.removeprefix(self.mount.rstrip("/")))

    def log_message(self, *_: object) -> None:
        """Disable the request log."""


@contextmanager
def serve_static(folder: Path, site_url: str) -> Iterator[str]:
    """Serve a folder like a static host, below the path of a site's URL; yield its local URL."""
    mount = urlsplit(site_url).path.rstrip("/") + "/"
    with serve_requests(partial(_StaticHandler, directory=str(folder), mount=mount)) as url:
        yield url.removesuffix("/") + mount

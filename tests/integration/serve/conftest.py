"""The endpoint on a real port, a web server for its site, and readers that come and go."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn

from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.models.base import Model
from mkdocs_roaming.answer.models.extractive import ExtractiveModel
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Finder, Search
from mkdocs_roaming.serve._uvicorn import bind_socket
from mkdocs_roaming.serve.app import AppConfig, create_app
from mkdocs_roaming.serve.quotas import AnswerQuota
from mkdocs_roaming.serve.service import AnswerConfig

sys.path.insert(0, str(Path(__file__).parents[2]))

KETTLE = Path(__file__).parents[2] / "golden" / "answer" / "kettle.md"
KEY = b"a key for tests, nothing else"
PLENTY = AnswerQuota(
    concurrent_each=8, answers_a_minute=10_000, answers_a_minute_each=10_000, answers_a_day_each=100_000
)


@pytest.fixture
def pages() -> list[tuple[str, str]]:
    """The docs of Kettle as pages of a site."""
    titles = {"Install": "install/", "Settings": "settings/", "Troubleshooting": "trouble/"}
    parts = KETTLE.read_text("utf-8").split("\n# ")
    texts = {part.lstrip("# ").partition("\n")[0]: "# " + part.lstrip("# ").strip() + "\n" for part in parts}
    return [(path, texts[title]) for title, path in titles.items()]


@pytest.fixture
def folder(tmp_path: Path, make_site: Callable[..., Any], pages: list[tuple[str, str]]) -> Path:
    """Kettle's site, published into a folder."""
    published: Path = make_site(pages).publish(tmp_path / "site")
    return published


# The endpoint


@dataclass
class Endpoint:
    """An endpoint that runs, and a client of it."""

    url: str
    http: httpx2.Client
    port: int

    def ask(self, question: str, **body: Any) -> list[dict[str, Any]]:
        """Ask and give all parts."""
        return parts_of(self.http.post("/v1/ask", json={"question": question, **body}).raise_for_status().content)

    def status(self, question: str, **body: Any) -> dict[str, Any]:
        """Ask and give how it ended."""
        (part,) = [part for part in self.ask(question, **body) if part["type"] == "data-status"]
        data: dict[str, Any] = part["data"]
        return data

    def metric(self, line: str) -> float:
        """Give a counter by its name and labels."""
        for told in self.http.get("/metrics").text.splitlines():
            if told.startswith(line + " "):
                return float(told.rpartition(" ")[2])
        return 0.0


def parts_of(body: bytes) -> list[dict[str, Any]]:
    """Give the parts of a whole stream; comments are left out."""
    lines = [line for line in body.decode("utf-8").split("\n\n") if line and not line.startswith(":")]
    assert lines[-1] == "data: [DONE]"
    return [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]


def wait_for(true: Callable[[], object], seconds: float = 10.0) -> Any:
    """Wait until something is so, and give it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := true():
            return found
        time.sleep(0.01)
    raise AssertionError("it never came about")


_ending: list[threading.Thread] = []


def ended() -> None:
    """Wait until all servers of earlier tests are gone."""
    for thread in _ending:
        thread.join(10)
    assert [thread.name for thread in _ending if thread.is_alive()] == []
    _ending.clear()


@pytest.fixture(scope="session", autouse=True)
def _all_servers_end() -> Iterator[None]:
    """Each takes 0.2 seconds to end. Nobody waits for one alone: it ends while the next tests run."""
    yield
    ended()


@pytest.fixture(autouse=True)
def _nobody_else_logs(request: pytest.FixtureRequest) -> None:
    """A test that reads the log waits for the servers of those before it."""
    if "caplog" in request.fixturenames:
        ended()


@contextmanager
def running(app: Any, *, ready: bool = True) -> Iterator[Endpoint]:
    listening = bind_socket("127.0.0.1", 0)
    port = listening.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="on", timeout_graceful_shutdown=1))
    name = f"server of {os.environ.get('PYTEST_CURRENT_TEST')}"
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True, name=name)
    thread.start()
    wait_for(lambda: server.started)
    url = f"http://127.0.0.1:{port}"
    with httpx2.Client(base_url=url, timeout=30) as http:
        if ready:
            wait_for(lambda: http.get("/healthz").status_code == 200)
        yield Endpoint(url, http, port)
    server.should_exit = True
    _ending.append(thread)


Start = Callable[..., Endpoint]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start an endpoint over a site; it is stopped at the end of the test."""
    with ExitStack() as stack:

        def start(
            where: str | Path,
            model: Model | None = None,
            *,
            ready: bool = True,
            budget: Budget | None = None,
            whole_site_tokens: int = 0,
            finding: Callable[[Library], Finder] = Search,
            **given: Any,
        ) -> Endpoint:
            way = AnswerConfig(model or ExtractiveModel(), budget or Budget(), whole_site_tokens, finding)
            serving = AppConfig(str(where), way, **{"key": KEY, "allowance": PLENTY, **given})
            return stack.enter_context(running(create_app(serving), ready=ready))

        yield start


# The site's own server


@dataclass
class Host:
    """A web server over files that may change, with entity tags; it counts what it is asked for."""

    url: str
    files: dict[str, bytes]
    asked: list[tuple[str, int]] = field(default_factory=list)
    down: bool = False

    def count(self, path: str, status: int | None = None) -> int:
        return sum(1 for one, code in self.asked if one == path and status in (None, code))


@contextmanager
def hosting(files: dict[str, bytes], port: int = 0) -> Iterator[Host]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0].lstrip("/")
            body = host.files.get(path)
            tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"' if body is not None else ""
            status = 503 if host.down else 404 if body is None else 200
            if status == 200 and self.headers.get("If-None-Match") == tag:
                status = 304
            host.asked.append((path, status))
            self.send_response(status)
            if status in (200, 304):
                self.send_header("ETag", tag)
            data = body if status == 200 and body is not None else b""
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *given: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    host = Host(f"http://127.0.0.1:{server.server_port}/", files)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield host
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def host() -> Callable[..., AbstractContextManager[Host]]:
    """Give what hosts a site."""
    return hosting


@pytest.fixture
def files_of() -> Callable[[Path], dict[str, bytes]]:
    """Give a folder's files."""
    return lambda folder: {
        str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


@pytest.fixture
def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def until() -> Callable[..., Any]:
    """Wait until something is so."""
    return wait_for


# A Redis of one's own


class Redis:
    """A Redis of one's own, that can be stopped and started again."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.uri = f"redis://127.0.0.1:{self.port}/0"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = ["redis-server", "--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self._folder)]
        command += ["--appendonly", "yes", "--appendfsync", "always", "--save", ""]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        for _ in range(500):
            try:
                with socket.create_connection(("127.0.0.1", self.port)) as line:
                    line.sendall(b"PING\r\n")
                    if line.recv(7) == b"+PONG\r\n":
                        return
            except OSError:
                pass
            time.sleep(0.01)
        raise AssertionError("Redis does not start")

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Redis]:
    server = Redis(tmp_path)
    server.start()
    yield server
    server.stop()

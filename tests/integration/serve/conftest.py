"""Fixtures: an endpoint on a real port, a web server for its site, and a Redis."""

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
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from prometheus_client.parser import text_string_to_metric_families
from serving import read_kettle_pages

from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.models.anthropic import AnthropicModel
from mkdocs_roaming.answer.models.base import AssistantTurn, Model, ModelRequest
from mkdocs_roaming.answer.models.openai import OpenAIModel
from mkdocs_roaming.answer.prepare import REOPEN_CALL_ID
from mkdocs_roaming.answer.results import Offline
from mkdocs_roaming.library.navigator import PREFETCH_CALL_ID
from mkdocs_roaming.library.rules import RULES_CALL_ID
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.targets import SearchFactory
from mkdocs_roaming.serve.app import AppConfig, ServeTable, create_app
from mkdocs_roaming.serve.middleware import RequestPolicy
from mkdocs_roaming.serve.quotas import AnswerQuota
from mkdocs_roaming.serve.server import bind_socket
from mkdocs_roaming.serve.service import AnswerConfig

sys.path.insert(0, str(Path(__file__).parents[2]))

KEY = b"a key for tests, nothing else"
LARGE_QUOTA = AnswerQuota(
    concurrent_each=8,
    answers_a_minute=10_000,
    answers_a_minute_each=10_000,
    answers_a_day_each=100_000,
    free_answers_a_minute=10_000,
    free_answers_a_minute_each=10_000,
)


@pytest.fixture(scope="session")
def pages() -> list[tuple[str, str]]:
    return read_kettle_pages()


@pytest.fixture
def folder(tmp_path: Path, make_site: Callable[..., Any], pages: list[tuple[str, str]]) -> Path:
    """Return a folder with the published site of Kettle."""
    published: Path = make_site(pages).publish(tmp_path / "site")
    return published


# The endpoint


@dataclass
class Endpoint:
    """A running endpoint and a client for it."""

    url: str
    http: httpx2.Client
    port: int
    metrics_url: str = ""

    def ask(self, question: str, **body: Any) -> list[dict[str, Any]]:
        """Ask a question and return all parts of the answer."""
        return parts_of(self.http.post("/v1/ask", json={"question": question, **body}).raise_for_status().content)

    def status(self, question: str, **body: Any) -> dict[str, Any]:
        """Ask a question and return the status of the answer."""
        (part,) = [part for part in self.ask(question, **body) if part["type"] == "data-status"]
        data: dict[str, Any] = part["data"]
        return data

    def read_metrics(self) -> str:
        """Return all metrics."""
        return httpx2.get(self.metrics_url).text

    def metric(self, name: str, **labels: str) -> float:
        """Return the value of a metric (default: 0)."""
        for family in text_string_to_metric_families(self.read_metrics()):
            for sample in family.samples:
                if sample.name == name and sample.labels == labels:
                    return sample.value
        return 0.0


def make_model(wire: str, url: str, **options: Any) -> Model:
    """Return a model of a provider with an API at a URL."""
    if wire == "claude":
        return AnthropicModel(key="test-key", base_url=url, **options)
    return OpenAIModel("qwen3", key="test-key", base_url=url, **options)


def find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def has_called(request: ModelRequest) -> bool:
    """Return whether the model has called a tool; the calls that the loop records before do not count."""
    recorded = {REOPEN_CALL_ID, RULES_CALL_ID, PREFETCH_CALL_ID}
    return any(
        call.id not in recorded for turn in request.turns if isinstance(turn, AssistantTurn) for call in turn.calls
    )


def parts_of(body: bytes) -> list[dict[str, Any]]:
    """Return the parts of a complete stream, without comments."""
    lines = [line for line in body.decode("utf-8").split("\n\n") if line and not line.startswith(":")]
    assert lines[-1] == "data: [DONE]"
    return [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]


def wait_for(condition: Callable[[], object], seconds: float = 20.0) -> Any:
    """Wait until a condition is true and return its value."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.01)
    raise AssertionError("the condition did not become true")


_stopping: list[threading.Thread] = []


def join_servers() -> None:
    """Wait until the servers of earlier tests have stopped."""
    for thread in _stopping:
        thread.join(30)
    assert [thread.name for thread in _stopping if thread.is_alive()] == []
    _stopping.clear()


@pytest.fixture(scope="session", autouse=True)
def _join_all_servers() -> Iterator[None]:
    """Wait for all servers at the end. Each needs 0.2 seconds to stop, while the next tests run."""
    yield
    join_servers()


@pytest.fixture(autouse=True)
def _join_servers_before_log_tests(request: pytest.FixtureRequest) -> None:
    """Wait for earlier servers, which may write to the log."""
    if "caplog" in request.fixturenames:
        join_servers()


@contextmanager
def running(app: Any, *, ready: bool = True) -> Iterator[Endpoint]:
    listener = bind_socket("127.0.0.1", 0)
    port = listener.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="on", timeout_graceful_shutdown=1))
    name = f"server of {os.environ.get('PYTEST_CURRENT_TEST')}"
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True, name=name)
    thread.start()
    wait_for(lambda: server.started)
    url = f"http://127.0.0.1:{port}"
    with httpx2.Client(base_url=url, timeout=30) as http:
        if ready:
            wait_for(lambda: http.get("/healthz").status_code == 200)
        yield Endpoint(url, http, port)
    server.should_exit = True
    _stopping.append(thread)


Start = Callable[..., Endpoint]


@contextmanager
def starting() -> Iterator[Start]:
    """Return the context of a function that starts endpoints."""
    with ExitStack() as stack:

        def start(
            target: str | Path,
            model: Model | None = None,
            *,
            ready: bool = True,
            budget: Budget | None = None,
            search_factory: SearchFactory = Search,
            **settings: Any,
        ) -> Endpoint:
            limits = replace(budget or Budget(), whole_site_tokens=0)
            answers = AnswerConfig(model or Offline(), limits, search_factory)
            place = f"127.0.0.1:{find_free_port()}"
            table = {name: settings.pop(name) for name in ServeTable.__struct_fields__ if name in settings}
            serve = ServeTable(**{"metrics": place, **table})
            config = AppConfig(str(target), answers, serve, **{"key": KEY, "quota": LARGE_QUOTA, **settings})
            endpoint = stack.enter_context(running(create_app(config), ready=ready))
            endpoint.metrics_url = f"http://{place}/metrics"
            return endpoint

        yield start


@pytest.fixture
def start() -> Iterator[Start]:
    """Return a function that starts an endpoint; it stops at the end of the test."""
    with starting() as start_endpoint:
        yield start_endpoint


@pytest.fixture(scope="session")
def kettle(tmp_path_factory: pytest.TempPathFactory, make_site: Callable[..., Any], pages: Any) -> Path:
    """Return a folder with the published site of Kettle, for tests that change nothing."""
    published: Path = make_site(pages).publish(tmp_path_factory.mktemp("kettle") / "site")
    return published


@pytest.fixture(scope="module")
def shared(kettle: Path) -> Iterator[Endpoint]:
    """Return an endpoint without a provider's model, for tests that change nothing."""
    with starting() as start_endpoint:
        policy = RequestPolicy(requests_a_minute=10_000, requests_a_minute_each=10_000)
        yield start_endpoint(kettle, policy=policy)


# The web server of a site


@dataclass
class Host:
    """A web server for files that may change, with entity tags and a log of requests."""

    url: str
    files: dict[str, bytes]
    requests: list[tuple[str, int]] = field(default_factory=list)
    down: bool = False

    def count(self, path: str, status: int | None = None) -> int:
        return sum(1 for requested, code in self.requests if requested == path and status in (None, code))


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
            host.requests.append((path, status))
            self.send_response(status)
            if status in (200, 304):
                self.send_header("ETag", tag)
            data = body if status == 200 and body is not None else b""
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *arguments: Any) -> None:
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
    """Return a function that starts a web server for files."""
    return hosting


@pytest.fixture
def files_of() -> Callable[[Path], dict[str, bytes]]:
    """Return a function that reads the files of a folder."""
    return lambda folder: {
        str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


@pytest.fixture
def free_port() -> int:
    return find_free_port()


@pytest.fixture
def wait_until() -> Callable[..., Any]:
    """Return a function that waits for a condition."""
    return wait_for


# Redis


class Redis:
    """A Redis server that can be stopped and started again."""

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
        raise AssertionError("Redis did not start")

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

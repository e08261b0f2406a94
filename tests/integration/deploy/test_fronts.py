"""nginx and Caddy with the configuration of their recipes.

Each runs on local ports and is skipped if it is not installed.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from messages_api import MessagesApi, serving
from messages_api.parts import Say, Wait
from serving import process, serve_app

from mkdocs_roaming.serve.metrics import Metrics
from mkdocs_roaming.serve.middleware import RequestGuard, RequestPolicy

from .conftest import free_port, run_web_server

DEPLOY = Path(__file__).parents[3] / "deploy"
pytestmark = pytest.mark.slow
PIECES, PAUSE = 4, 0.4


class Streaming:
    """An application that streams events with pauses and records a disconnect."""

    def __init__(self) -> None:
        self.left = threading.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await receive()
        kind = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": kind})
        async with anyio.create_task_group() as group:

            async def watch() -> None:
                while (await receive())["type"] != "http.disconnect":
                    pass
                self.left.set()
                group.cancel_scope.cancel()

            group.start_soon(watch)
            for at in range(PIECES):
                await send({"type": "http.response.body", "body": f"data: {at}\n\n".encode(), "more_body": True})
                await anyio.sleep(PAUSE)
            await send({"type": "http.response.body"})
            group.cancel_scope.cancel()


@dataclass
class Front:
    """A reverse proxy and the application behind it."""

    origin: str
    port: int
    context: ssl.SSLContext | None
    app: Streaming = field(default_factory=Streaming)
    lines: list[Any] = field(default_factory=list)

    def leave(self) -> None:
        """Close all connections."""
        while self.lines:
            self.lines.pop().close()

    def ask(self, path: str = "/v1/ask", body: bytes = b"{}", **headers: str) -> http.client.HTTPResponse:
        """Send a question and return the response without reading its body."""
        line: socket.socket = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        if self.context is not None:
            line = self.context.wrap_socket(line, server_hostname="ask.example")
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.sock = line
        named = {"Host": self.origin.partition("://")[2]} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        connection.request("POST", path, body, named)
        answer = connection.getresponse()
        self.lines += [connection, answer]
        return answer


@contextmanager
def run_front(kind: str, upstream: int, folder: Path) -> Iterator[Front]:
    """Run the recipe of a proxy in front of a port."""
    port = free_port()
    if kind == "caddy":
        origin = f"http://ask.example:{port}"
        names = {"NAME": origin, "UPSTREAM_NAME": "127.0.0.1", "UPSTREAM_PORT": str(upstream)}
        environment = {f"ROAMING_{name}": text for name, text in names.items()}
        with run_web_server(kind, (DEPLOY / "Caddyfile").read_text("utf-8"), {}, folder, port, **environment):
            yield Front(origin, port, None)
        return
    certificate = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    certificate += ["-days", "2", "-subj", "/CN=ask.example", "-addext", "subjectAltName=DNS:ask.example"]
    certificate += ["-keyout", str(folder / "privkey.pem"), "-out", str(folder / "fullchain.pem")]
    subprocess.run(certificate, check=True, capture_output=True)
    places = {
        "127.0.0.1:8000": f"127.0.0.1:{upstream}",
        "listen 443 ssl;": f"listen 127.0.0.1:{port} ssl;",
        "/etc/ssl/ask.example/": f"{folder}/",
    }
    with run_web_server(kind, (DEPLOY / "nginx.conf").read_text("utf-8"), places, folder, port):
        yield Front(f"https://ask.example:{port}", port, ssl.create_default_context(cafile=folder / "fullchain.pem"))


@pytest.fixture(params=["nginx", "caddy"])
def front(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Front]:
    """Return the recipe's proxy in front of an application that accepts four requests of each client."""
    app = Streaming()
    policy = RequestPolicy(
        hosts=("ask.example",), origins=("https://docs.example",), proxies=1, requests_a_minute_each=4
    )
    guard = RequestGuard(app, policy, Metrics(()))
    with serve_app(guard) as port, run_front(request.param, port, tmp_path) as running:
        running.app = app
        yield running
        running.leave()


def test_proxy_forwards_disconnect_of_client(front: Front) -> None:
    answer = front.ask()
    assert answer.readline() == b"data: 0\n"
    front.leave()
    assert front.app.left.wait(5)


def test_proxy_replaces_forged_x_forwarded_for(front: Front) -> None:
    statuses = [front.ask(X_Forwarded_For=f"198.51.100.{at}").status for at in range(6)]
    assert statuses == [200] * 4 + [429] * 2


def test_proxy_forwards_scheme_and_host(front: Front) -> None:
    assert front.ask(Origin=front.origin).status == 200
    allowed = front.ask(Origin="https://docs.example")
    assert allowed.getheader("Access-Control-Allow-Origin") == "https://docs.example"
    assert front.ask(Origin="https://evil.example").status == 403
    other = front.origin.replace("https:", "x:").replace("http:", "https:").replace("x:", "http:")
    assert front.ask(Origin=other).status == 403


@pytest.mark.parametrize("kind", ["nginx", "caddy"])
@pytest.mark.parametrize("there", [True, False])
def test_proxy_logs_contain_no_questions(kind: str, there: bool, tmp_path: Path) -> None:
    guard = RequestGuard(Streaming(), RequestPolicy(hosts=("ask.example",), proxies=1), Metrics(()))
    with serve_app(guard) as port, run_front(kind, port if there else free_port(), tmp_path) as front:
        assert front.ask("/ask?q=whispered").status == (200 if there else 502)
        front.leave()
    logs = [file for file in tmp_path.iterdir() if file.is_file()]
    assert logs
    assert not [file.name for file in logs if b"whispered" in file.read_bytes()]


# The endpoint itself behind them


class Pausing:
    """A provider that waits before its answer."""

    def reply(self, view: Any) -> list[Any]:
        return [Wait(3 * PAUSE), Say("Nothing is said of that.")]


@contextmanager
def roaming(folder: Path) -> Iterator[int]:
    """Run `roaming serve` with a slow model; yield its port."""
    (folder / "site.md").write_text("# Kettle\n\n## Server\n\nIt listens on port 8642.\n", "utf-8")
    options = ("--proxies", "1", "--allow-host", "ask.example", "--model", "openai:qwen3")
    with serving(MessagesApi(Pausing(), key="x")) as api:
        environment = {"OPENAI_BASE_URL": api.url, "OPENAI_API_KEY": "x"}
        with process(folder / "site.md", *options, env=environment) as (_, url):
            yield int(url.rpartition(":")[2])


@pytest.mark.parametrize("kind", ["nginx", "caddy"])
def test_answer_streams_through_proxy(kind: str, tmp_path: Path) -> None:
    with roaming(tmp_path) as port, run_front(kind, port, tmp_path) as front:
        answer = front.ask(body=b'{"question": "Which port?"}', Content_Type="application/json")
        assert answer.getheader("X-Vercel-AI-UI-Message-Stream") == "v1"
        arrived: dict[bytes, float] = {}
        while line := answer.readline():
            arrived.setdefault(line.strip(), time.monotonic())
        front.leave()
    assert arrived[b"data: [DONE]"] - arrived[b'data: {"type":"start"}'] > 2 * PAUSE

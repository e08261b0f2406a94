"""The middleware: which requests reach the application, and how the others are refused."""

from __future__ import annotations

import json
from collections.abc import MutableMapping
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import generate_latest
from serving import exchange, load_cases, serve_app

from mkdocs_roaming.serve.metrics import Metrics
from mkdocs_roaming.serve.middleware import RequestGuard, RequestPolicy

pytestmark = pytest.mark.anyio

Message = MutableMapping[str, Any]
DOCS = "https://docs.example"
HOST = ("host", "ask.example")
POLICY = RequestPolicy(body_bytes=65_536, hosts=("ask.example", "127.0.0.1"), origins=(DOCS,))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Answer:
    """The response that a client received."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: list[tuple[str, str]] = []
        self.body = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = [(name.decode(), value.decode("latin-1")) for name, value in message["headers"]]
        else:
            self.body += message.get("body", b"")

    def header(self, name: str) -> str | None:
        return ", ".join(value for key, value in self.headers if key == name) or None

    def problem(self) -> dict[str, Any]:
        assert self.header("content-type") == "application/problem+json"
        problem: dict[str, Any] = json.loads(self.body)
        assert problem["status"] == self.status
        assert problem["title"]
        assert problem["detail"].endswith(".")
        assert str(problem.get("retry_after") or "") == (self.header("retry-after") or "")
        return problem


class App:
    """An application that returns the body of the request and records it."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.paths: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        self.paths.append(scope["path"])
        message = await receive()
        assert message["more_body"] is False
        self.bodies.append(message["body"])
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
        await send({"type": "http.response.body", "body": message["body"]})


def make_guard(app: Any, policy: RequestPolicy = POLICY) -> RequestGuard:
    return RequestGuard(app, policy, Metrics(()))


def make_scope(
    path: str, *headers: tuple[str, str], method: str = "GET", client: str = "192.0.2.1", root: str = ""
) -> dict[str, Any]:
    """Return the scope of a request."""
    encoded = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    values = {"type": "http", "method": method, "scheme": "https", "path": path, "root_path": root}
    return {**values, "client": (client, 4711), "headers": encoded}


async def request(
    guard: RequestGuard,
    path: str = "/v1/outline",
    *,
    method: str = "GET",
    host: str | None = "ask.example",
    body: tuple[bytes, ...] = (),
    client: str = "192.0.2.1",
    headers: tuple[tuple[str, str], ...] = (),
    root: str = "",
) -> Answer:
    pieces = list(body) or [b""]
    all_headers = [("host", host)] if host is not None else []
    scope = make_scope(path, *all_headers, *headers, method=method, client=client, root=root)

    async def receive() -> Message:
        if not pieces:
            return {"type": "http.disconnect"}
        piece = pieces.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

    answer = Answer()
    await guard(scope, receive, answer.send)
    return answer


# Paths


@pytest.mark.parametrize("path", ["/ask\n", "/mcp\n", "/v1/ask\n", "/\n/ask"])
async def test_path_with_newline_is_refused(path: str) -> None:
    app = App()
    answer = await request(make_guard(app), path, headers=(("origin", "https://evil.example"),))
    assert (answer.status, answer.problem()["code"]) == (404, "not_found")
    assert app.bodies == []


# Names


@pytest.mark.parametrize("host", ["ask.example", "ASK.example:8080", "ask.example.", "127.0.0.1:99"])
async def test_configured_hosts_are_accepted(host: str) -> None:
    assert (await request(make_guard(App()), host=host)).status == 200


@pytest.mark.parametrize("host", ["evil.example", "ask.example.evil.example", "localhost", "[::1]"])
async def test_unknown_host_returns_421(host: str) -> None:
    app = App()
    for path in ("/v1/outline", "/", "/guide/"):
        answer = await request(make_guard(app), path, host=host)
        assert (answer.status, answer.problem()["code"]) == (421, "host")
    assert app.bodies == []


@pytest.mark.parametrize("host", [None, "", "a b", "ask.example:x", "ask.example\x00", "ask.example, evil.example"])
async def test_malformed_host_returns_400(host: str | None) -> None:
    assert (await request(make_guard(App()), host=host)).problem()["status"] == 400
    twice = await request(make_guard(App()), headers=(("host", "ask.example"),))
    assert twice.status == 400


async def test_health_has_no_host_check_and_no_rate_limit() -> None:
    guard = make_guard(App(), RequestPolicy(hosts=("ask.example",), requests_a_minute_each=1))
    for _ in range(5):
        assert (await request(guard, "/healthz", host="10.0.0.7")).status == 200


# Origins


async def test_configured_origin_gets_cors_headers() -> None:
    answer = await request(make_guard(App()), headers=(("origin", DOCS),))
    assert answer.status == 200
    assert answer.header("access-control-allow-origin") == DOCS
    assert answer.header("vary") == "Origin"
    assert "retry-after" in (answer.header("access-control-expose-headers") or "")
    assert answer.header("access-control-allow-credentials") is None


@pytest.mark.parametrize("origin", load_cases("foreign origins"))
async def test_foreign_origin_returns_403(origin: str) -> None:
    app = App()
    answer = await request(make_guard(app), "/v1/ask", method="POST", headers=(("origin", origin),))
    assert (answer.status, answer.problem()["code"]) == (403, "origin")
    assert answer.header("access-control-allow-origin") is None
    assert answer.header("vary") == "Origin"
    assert app.bodies == []


async def test_own_origin_is_accepted() -> None:
    own = (("origin", "https://ask.example"),)
    assert (await request(make_guard(App()), headers=own)).status == 200
    result = RequestPolicy(hosts=("ask.example",), proxies=1)
    through = (("origin", "http://ask.example"), ("x-forwarded-proto", "http"), ("x-forwarded-for", "203.0.113.1"))
    assert (await request(make_guard(App(), result), headers=through)).status == 200
    assert (await request(make_guard(App()), headers=through)).status == 403


async def test_own_origin_is_refused_if_any_host_is_accepted() -> None:
    anyone = make_guard(App(), RequestPolicy(hosts=("*",), origins=(DOCS,)))
    rebound = await request(anyone, host="evil.example", headers=(("origin", "https://evil.example"),))
    assert rebound.status == 403
    assert (await request(anyone, host="evil.example")).status == 200
    assert (await request(anyone, host="evil.example", headers=(("origin", DOCS),))).status == 200


async def test_preflight_is_answered_by_middleware() -> None:
    app = App()
    guard = make_guard(app)
    ask = ("access-control-request-method", "POST")
    answer = await request(guard, "/v1/ask", method="OPTIONS", headers=(("origin", DOCS), ask))
    assert answer.status == 204
    assert answer.header("access-control-allow-origin") == DOCS
    assert "content-type" in (answer.header("access-control-allow-headers") or "")
    assert "POST" in (answer.header("access-control-allow-methods") or "")
    assert (answer.header("vary") or "").startswith("Origin, Access-Control-Request-Method")
    refused = await request(guard, "/v1/ask", method="OPTIONS", headers=(("origin", "https://evil.example"), ask))
    assert refused.status == 403
    assert app.bodies == []


async def test_refusal_has_cors_headers() -> None:
    guard = make_guard(App(), RequestPolicy(hosts=("ask.example",), origins=(DOCS,), requests_a_minute_each=1))
    await request(guard, headers=(("origin", DOCS),))
    answer = await request(guard, headers=(("origin", DOCS),))
    assert answer.problem()["code"] == "rate"
    assert answer.header("access-control-allow-origin") == DOCS


@given(st.text(st.characters(max_codepoint=255), max_size=60), st.text(st.characters(max_codepoint=255), max_size=60))
def test_random_host_and_origin_never_reach_application(origin: str, host: str) -> None:
    app = App()

    async def ask() -> None:
        answer = await request(make_guard(app), host=host, headers=(("origin", origin),))
        assert answer.status in (400, 421, 403)
        answer.problem()

    anyio.run(ask)
    assert app.bodies == []


# Numbers


async def test_request_rate_counts_each_client() -> None:
    guard = make_guard(App(), RequestPolicy(hosts=("ask.example",), requests_a_minute_each=3))
    for at in range(3):
        assert (await request(guard, client=f"2001:db8::{at + 1:x}")).status == 200
    answer = await request(guard, client="2001:db8::99", headers=(("x-forwarded-for", "198.51.100.1"),))
    assert (answer.status, answer.problem()["code"]) == (429, "rate")
    assert 1 <= answer.problem()["retry_after"] <= 120
    assert (await request(guard, client="2001:db8:0:1::1")).status == 200


async def test_request_rate_ignores_static_site() -> None:
    guard = make_guard(App(), RequestPolicy(hosts=("ask.example",), requests_a_minute_each=1))
    for path in ("/", "/asking/", "/v1.html", "/mcp-guide/", "/v10/x"):
        for _ in range(3):
            assert (await request(guard, path, headers=(("origin", "https://evil.example"),))).status == 200
    assert (await request(guard, "/docs/v1/outline", root="/docs")).status == 200
    assert (await request(guard, "/docs/v1/outline", root="/docs")).status == 429


class Waiting:
    """An application whose requests last until they are released."""

    def __init__(self) -> None:
        self.release = anyio.Event()
        self.started = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.started += 1
        await self.release.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


async def test_requests_in_progress_of_one_visitor_are_limited_behind_proxy(caplog: pytest.LogCaptureFixture) -> None:
    app = Waiting()
    guard = make_guard(app, RequestPolicy(hosts=("ask.example",), proxies=1, connections_each=3))
    statuses: dict[str, list[int]] = {"192.0.2.1": [], "192.0.2.2": []}

    async def ask(visitor: str, path: str = "/page/") -> None:
        answer = await request(guard, path, client="10.0.0.1", headers=(("x-forwarded-for", visitor),))
        statuses[visitor].append(answer.status)
        if answer.status == 429:
            assert (answer.problem()["code"], answer.problem()["retry_after"]) == ("busy", 5)

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            for visitor in ("192.0.2.1",) * 5 + ("192.0.2.2",) * 2:
                group.start_soon(ask, visitor)
            while app.started < 5:
                await anyio.sleep(0)
            group.start_soon(ask, "192.0.2.1", "/healthz")  # never refused
            while app.started < 6:
                await anyio.sleep(0)
            app.release.set()
        await ask("192.0.2.1")
    assert sorted(statuses["192.0.2.1"]) == [200] * 5 + [429] * 2
    assert statuses["192.0.2.2"] == [200, 200]
    assert caplog.text.count("the limit is [limits] connections_each = 3") == 1


@pytest.mark.parametrize(("proxies", "status"), [(0, 200), (1, 429)])
async def test_clients_of_unix_socket_share_no_limit_of_requests_in_progress(proxies: int, status: int) -> None:
    app = Waiting()
    guard = make_guard(app, RequestPolicy(hosts=("ask.example",), proxies=proxies, connections_each=1))
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: request(guard, "/page/", client=""))
            while not app.started:
                await anyio.sleep(0)
            if status == 200:
                app.release.set()  # the first request ends only after the second one was accepted
            assert (await request(guard, "/page/", client="")).status == status
            app.release.set()


async def test_refusals_are_counted_by_code() -> None:
    metrics = Metrics(())
    guard = RequestGuard(App(), POLICY, metrics)
    await request(guard, host="evil.example")
    await request(guard, headers=(("origin", "null"),))
    await request(guard, method="POST", body=(b"x" * 70_000,))
    counted = generate_latest(metrics.registry).decode()
    for code, status in (("host", 421), ("origin", 403), ("size", 413)):
        assert f'roaming_refused_total{{code="{code}",status="{status}"}} 1.0' in counted


async def test_request_is_counted_before_its_response_is_sent() -> None:
    metrics = Metrics(())
    guard = RequestGuard(App(), POLICY, metrics)
    counted = []

    async def send(message: Any) -> None:
        counted.append(generate_latest(metrics.registry).decode().count('status="200"} 1.0'))

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    await guard(make_scope("/v1/outline", HOST), receive, send)
    assert counted == [1, 1]


# Bodies


async def test_body_is_passed_on_in_one_message() -> None:
    app = App()
    guard = make_guard(app)
    await request(guard, method="POST", body=(b"a" * 30_000, b"b" * 35_536))
    assert app.bodies == [b"a" * 30_000 + b"b" * 35_536]


@pytest.mark.parametrize("length", [(), (("content-length", "12"),)])
async def test_large_body_returns_413(length: tuple[tuple[str, str], ...]) -> None:
    app = App()
    answer = await request(make_guard(app), method="POST", body=(b"a" * 65_536, b"b"), headers=length)
    assert (answer.status, answer.problem()["code"]) == (413, "size")
    assert answer.header("connection") == "close"
    assert app.bodies == []


async def test_body_that_nothing_reads_has_at_most_4_kilobytes() -> None:
    app = App()
    for size, status in ((4_096, 200), (4_097, 413)):
        answer = await request(make_guard(app), "/other", method="POST", body=(b"a" * size,))
        assert answer.status == status
    assert app.bodies == [b"a" * 4_096]


@pytest.mark.parametrize(("length", "status"), [("65537", 413), ("9" * 5000, 413)])
async def test_invalid_content_length_is_refused(length: str, status: int) -> None:
    answer = await request(make_guard(App()), method="POST", headers=(("content-length", length),))
    assert answer.status == status


async def test_application_receives_disconnect() -> None:
    received: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        received.extend([(await receive())["type"] for _ in range(2)])

    await request(make_guard(app), method="POST", body=(b"{}",))
    assert received == ["http.request", "http.disconnect"]


async def test_disconnect_during_body_sends_nothing() -> None:
    app = App()

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    answer = Answer()
    await make_guard(app)(make_scope("/v1/ask", HOST, method="POST"), receive, answer.send)
    assert (answer.status, app.bodies) == (0, [])


async def test_send_timeout_cancels_application(caplog: pytest.LogCaptureFixture) -> None:
    policy = RequestPolicy(hosts=("ask.example",), send_seconds=0.05)
    ended: list[bool] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        try:
            async with anyio.create_task_group() as group:  # as streams do
                group.start_soon(send, {"type": "http.response.start", "status": 200, "headers": []})
        finally:
            ended.append(True)

    async def stuck(message: Message) -> None:
        await anyio.sleep(30)

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    guard = make_guard(app, policy)
    scope = make_scope("/v1/ask", HOST, method="POST")
    with anyio.fail_after(5):
        await guard(scope, receive, stuck)
        await guard(scope, receive, stuck)
    assert len(ended) == 2
    assert caplog.text.count("read nothing for [limits] send_seconds and was disconnected: the client is at fault") == 1
    assert "192.0.2.1" not in caplog.text


async def test_websocket_is_closed() -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await make_guard(App())({"type": "websocket", "path": "/v1/ask", "headers": []}, receive, send)
    assert [message["type"] for message in sent] == ["websocket.close"]


# Over a real port


HEAD = b"POST /v1/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


def test_slow_body_returns_408() -> None:
    with serve_app(make_guard(App(), RequestPolicy(hosts=("127.0.0.1",), body_seconds=0.3))) as port:
        reply = exchange(port, HEAD + b"Content-Length: 100\r\n\r\n", *[b"x"] * 8, pause=0.1)
        assert reply.startswith(b"HTTP/1.1 408 ")


def test_expect_continue_with_large_body_returns_413() -> None:
    with serve_app(make_guard(App())) as port:
        reply = exchange(port, HEAD + b"Content-Length: 10000000\r\nExpect: 100-continue\r\n\r\n")
        assert reply.startswith(b"HTTP/1.1 413 ")

"""The guard: what reaches the application, and how everything else is told."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

import anyio
import pytest
import uvicorn
from hypothesis import given, settings
from hypothesis import strategies as st

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.serve.metrics import Metrics
from mkdocs_roaming.serve.middleware import RequestGuard, RequestPolicy, reserve_answer
from mkdocs_roaming.serve.problems import ProblemError, send_problem
from mkdocs_roaming.serve.quotas import AnswerQuota, CounterStore, QuotaLimiter

pytestmark = pytest.mark.anyio

Message = MutableMapping[str, Any]
DOCS = "https://docs.example"
POLICY = RequestPolicy(hosts=("ask.example", "127.0.0.1"), origins=(DOCS,))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Answer:
    """What a client was sent."""

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
        said: dict[str, Any] = json.loads(self.body)
        assert said["status"] == self.status
        assert said["title"]
        assert said["detail"].endswith(".")
        assert str(said.get("retry_after") or "") == (self.header("retry-after") or "")
        return said


class App:
    """Answers with what it was sent; keeps the requests that reached it."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        message = await receive()
        assert message["more_body"] is False
        self.bodies.append(message["body"])
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
        await send({"type": "http.response.body", "body": message["body"]})


def guarded(app: Any, policy: RequestPolicy = POLICY, **allowed: Any) -> RequestGuard:
    return RequestGuard(app, policy, QuotaLimiter(AnswerQuota(**allowed), CounterStore()))


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
    all_headers += list(headers)
    scope = {
        "type": "http",
        "method": method,
        "scheme": "https",
        "path": path,
        "root_path": root,
        "client": (client, 4711),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in all_headers],
    }

    async def receive() -> Message:
        if not pieces:
            return {"type": "http.disconnect"}
        piece = pieces.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

    answer = Answer()
    await guard(scope, receive, answer.send)
    return answer


# Paths


@pytest.mark.parametrize("path", ["/ask\n", "/mcp\n", "/metrics\n", "/v1/ask\n", "/\n/ask"])
async def test_no_spelling_of_a_path_goes_around_the_guard(path: str) -> None:
    """A line's end behind a path, which routers overlook, hides it from no check of origins and numbers."""
    app = App()
    answer = await request(guarded(app), path, headers=(("origin", "https://evil.example"),))
    assert (answer.status, answer.problem()["code"]) == (404, "not_found")
    assert app.bodies == []


# Names


@pytest.mark.parametrize("host", ["ask.example", "ASK.example:8080", "ask.example.", "127.0.0.1:99"])
async def test_the_configured_names_are_answered_to(host: str) -> None:
    """With any port, in any case."""
    assert (await request(guarded(App()), host=host)).status == 200


@pytest.mark.parametrize("host", ["evil.example", "ask.example.evil.example", "localhost", "[::1]"])
async def test_other_names_are_not_answered_to(host: str) -> None:
    """A page that has its own name point here (DNS rebinding) gets nothing; the static site neither."""
    app = App()
    for path in ("/v1/outline", "/", "/guide/"):
        answer = await request(guarded(app), path, host=host)
        assert (answer.status, answer.problem()["code"]) == (421, "host")
    assert app.bodies == []


@pytest.mark.parametrize("host", [None, "", "a b", "ask.example:x", "ask.example\x00", "ask.example, evil.example"])
async def test_a_malformed_name_is_a_bad_request(host: str | None) -> None:
    """No Host, a strange one, or two of them."""
    assert (await request(guarded(App()), host=host)).problem()["status"] == 400
    twice = await request(guarded(App()), headers=(("host", "ask.example"),))
    assert twice.status == 400


async def test_health_is_asked_by_any_name_and_as_often_as_one_likes() -> None:
    """Balancers ask by address."""
    guard = guarded(App(), RequestPolicy(hosts=("ask.example",), requests_a_minute_each=1))
    for _ in range(5):
        assert (await request(guard, "/healthz", host="10.0.0.7")).status == 200


# Origins


async def test_a_configured_site_may_ask() -> None:
    """Its browser is told so, exactly; caches are told that it depends on who asks."""
    answer = await request(guarded(App()), headers=(("origin", DOCS),))
    assert answer.status == 200
    assert answer.header("access-control-allow-origin") == DOCS
    assert answer.header("vary") == "Origin"
    assert "retry-after" in (answer.header("access-control-expose-headers") or "")
    assert answer.header("access-control-allow-credentials") is None


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "http://docs.example",
        "https://docs.example.evil.example",
        "https://docs.example:8443",
        "https://DOCS.example",
        "https://docs.example/",
        "null",
        "",
        "*",
        "https://docs.example, https://evil.example",
        "http://ask.example",
        "https://ask.example:8443",
    ],
)
async def test_pages_of_other_sites_may_not_ask(origin: str) -> None:
    """403, no word of permission, and the application never hears of it."""
    app = App()
    answer = await request(guarded(app), "/v1/ask", method="POST", headers=(("origin", origin),))
    assert (answer.status, answer.problem()["code"]) == (403, "origin")
    assert answer.header("access-control-allow-origin") is None
    assert answer.header("vary") == "Origin"
    assert app.bodies == []


async def test_two_origins_are_none() -> None:
    """A request with the header twice is refused, though one of them is right."""
    answer = await request(guarded(App()), headers=(("origin", DOCS), ("origin", "https://evil.example")))
    assert answer.status == 403


async def test_what_is_no_browser_may_ask() -> None:
    """Without an Origin there is nothing to check; the answer is not shared with pages."""
    answer = await request(guarded(App()))
    assert (answer.status, answer.header("access-control-allow-origin")) == (200, None)
    assert answer.header("vary") == "Origin"


async def test_the_servers_own_pages_may_ask() -> None:
    """The site that this server serves needs no configuration; behind a proxy its https counts."""
    own = (("origin", "https://ask.example"),)
    assert (await request(guarded(App()), headers=own)).status == 200
    told = RequestPolicy(hosts=("ask.example",), proxies=1)
    through = (("origin", "http://ask.example"), ("x-forwarded-proto", "http"), ("x-forwarded-for", "203.0.113.1"))
    assert (await request(guarded(App(), told), headers=through)).status == 200
    assert (await request(guarded(App()), headers=through)).status == 403


async def test_where_any_name_is_answered_to_no_page_is_ones_own() -> None:
    """With `*` for names, an attacker's name that points here would be one's own: its pages may not ask."""
    anyone = guarded(App(), RequestPolicy(hosts=("*",), origins=(DOCS,)))
    rebound = await request(anyone, host="evil.example", headers=(("origin", "https://evil.example"),))
    assert rebound.status == 403
    assert (await request(anyone, host="evil.example")).status == 200
    assert (await request(anyone, host="evil.example", headers=(("origin", DOCS),))).status == 200


async def test_a_browser_that_asks_first_is_told() -> None:
    """Preflight: 204 for a configured site without troubling the application, 403 for others."""
    app = App()
    guard = guarded(app)
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


async def test_refusals_can_be_read_by_the_site_that_asked() -> None:
    """The widget must see the status and Retry-After of a 429."""
    guard = guarded(App(), RequestPolicy(hosts=("ask.example",), origins=(DOCS,), requests_a_minute_each=1))
    await request(guard, headers=(("origin", DOCS),))
    answer = await request(guard, headers=(("origin", DOCS),))
    assert answer.problem()["code"] == "rate"
    assert answer.header("access-control-allow-origin") == DOCS


@settings(deadline=None)
@given(st.text(st.characters(max_codepoint=255), max_size=60), st.text(st.characters(max_codepoint=255), max_size=60))
def test_no_header_gets_through_by_being_strange(origin: str, host: str) -> None:
    """Whatever stands in Host and Origin: it is one of the configured, or the application never sees it."""
    app = App()

    async def ask() -> None:
        answer = await request(guarded(app), host=host, headers=(("origin", origin),))
        assert answer.status in (400, 421, 403)
        answer.problem()

    anyio.run(ask)
    assert app.bodies == []


# Numbers


async def test_requests_a_minute() -> None:
    """Each address has its own count; a /64 is one address; one that spoofs X-Forwarded-For stays itself."""
    guard = guarded(App(), RequestPolicy(hosts=("ask.example",), requests_a_minute_each=3))
    for at in range(3):
        assert (await request(guard, client=f"2001:db8::{at + 1:x}")).status == 200
    answer = await request(guard, client="2001:db8::99", headers=(("x-forwarded-for", "198.51.100.1"),))
    assert (answer.status, answer.problem()["code"]) == (429, "rate")
    assert 1 <= answer.problem()["retry_after"] <= 120
    assert (await request(guard, client="2001:db8:0:1::1")).status == 200


async def test_requests_of_all_addresses() -> None:
    """The limit of all together holds."""
    guard = guarded(App(), RequestPolicy(hosts=("ask.example",), requests_a_minute=5))
    answers = [await request(guard, client=f"192.0.2.{at}") for at in range(7)]
    assert [answer.status for answer in answers] == [200] * 5 + [429] * 2


async def test_the_static_site_is_not_counted() -> None:
    """A page brings dozens of files; a page called /asking/ is no endpoint; below a root path the endpoint is one."""
    guard = guarded(App(), RequestPolicy(hosts=("ask.example",), requests_a_minute_each=1))
    for path in ("/", "/asking/", "/v1.html", "/mcp-guide/", "/v10/x"):
        for _ in range(3):
            assert (await request(guard, path, headers=(("origin", "https://evil.example"),))).status == 200
    assert (await request(guard, "/docs/v1/outline", root="/docs")).status == 200
    assert (await request(guard, "/docs/v1/outline", root="/docs")).status == 429


async def test_every_refusal_is_heard_of() -> None:
    """Whoever counts refusals learns of each, by its code."""
    metrics = Metrics(())
    guard = RequestGuard(App(), POLICY, QuotaLimiter(AnswerQuota(), CounterStore()), metrics)
    await request(guard, host="evil.example")
    await request(guard, headers=(("origin", "null"),))
    await request(guard, method="POST", body=(b"x" * 70_000,))
    counted = metrics.render().decode()
    for code, status in (("host", 421), ("origin", 403), ("size", 413)):
        assert f'roaming_refused_total{{code="{code}",status="{status}"}} 1.0' in counted


# Bodies


async def test_a_body_arrives_whole() -> None:
    """In one piece, however many it came in; up to the limit."""
    app = App()
    guard = guarded(app)
    await request(guard, method="POST", body=(b"a" * 30_000, b"b" * 35_536))
    assert app.bodies == [b"a" * 30_000 + b"b" * 35_536]


@pytest.mark.parametrize("length", [(), (("content-length", "12"),)])
async def test_a_large_body_is_refused(length: tuple[tuple[str, str], ...]) -> None:
    """One byte more than 64 KiB is too much, also without a Content-Length or with one that lies."""
    app = App()
    answer = await request(guarded(app), method="POST", body=(b"a" * 65_536, b"b"), headers=length)
    assert (answer.status, answer.problem()["code"]) == (413, "size")
    assert answer.header("connection") == "close"
    assert app.bodies == []


@pytest.mark.parametrize(
    ("length", "status"), [("65537", 413), ("9" * 5000, 413), ("-1", 400), ("1e3", 400), ("²", 400)]
)
async def test_a_length_is_believed_when_it_is_too_large(length: str, status: int) -> None:
    """A body that says that it is too large is not waited for."""
    answer = await request(guarded(App()), method="POST", headers=(("content-length", length),))
    assert answer.status == status


async def test_the_application_hears_that_its_client_left() -> None:
    """After the body, what the server says next."""
    heard: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        for _ in range(2):
            heard.append((await receive())["type"])  # noqa: PERF401 -- one after the other

    await request(guarded(app), method="POST", body=(b"{}",))
    assert heard == ["http.request", "http.disconnect"]


async def test_a_client_that_leaves_early_is_let_go() -> None:
    """Half a body is nobody's request."""
    app = App()
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/ask",
        "client": None,
        "scheme": "http",
        "headers": [(b"host", b"ask.example")],
    }

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    answer = Answer()
    await guarded(app)(scope, receive, answer.send)
    assert (answer.status, app.bodies) == (0, [])


async def test_a_reader_that_takes_nothing_does_not_hold_its_place() -> None:
    """An answer that nobody reads ends, its slot is free again, and what it set aside is spent."""
    policy = RequestPolicy(hosts=("ask.example",), send_seconds=0.05)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await reserve_answer(scope, max_cost=0.5)
        async with anyio.create_task_group() as group:  # as streams do
            group.start_soon(send, {"type": "http.response.start", "status": 200, "headers": []})

    async def stuck(message: Message) -> None:
        await anyio.sleep(30)

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    guard = guarded(app, policy, money_a_day=1.0)
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/ask",
        "client": ("192.0.2.1", 1),
        "scheme": "http",
        "headers": [(b"host", b"ask.example")],
    }
    with anyio.fail_after(5):
        await guard(scope, receive, stuck)
    assert guard.limiter.in_progress == 0
    assert await guard.limiter.spent() == 0.5


async def test_a_fault_of_the_application_is_not_hidden() -> None:
    """It comes out as it is, and the place is free again."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await reserve_answer(scope)
        raise ZeroDivisionError

    guard = guarded(app)
    with pytest.raises(ZeroDivisionError):
        await request(guard)
    assert guard.limiter.in_progress == 0


async def test_a_refusal_of_the_gate_is_said_by_the_application() -> None:
    """The handler lets itself in before the first byte; refused, it says so as the guard does."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        try:
            async with await reserve_answer(scope, max_cost=0.6) as admission:
                await admission.settle(0.6)
        except ProblemError as refusal:
            await send_problem(send, refusal)
        else:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body"})

    guard = guarded(app, money_a_day=1.0)
    assert (await request(guard)).status == 200
    answer = await request(guard, headers=(("origin", DOCS),))
    assert (answer.status, answer.problem()["code"]) == (429, "money")
    assert answer.header("access-control-allow-origin") == DOCS


async def test_websockets_are_closed() -> None:
    """There are none here."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await guarded(App())({"type": "websocket", "path": "/v1/ask", "headers": []}, receive, send)
    assert [message["type"] for message in sent] == ["websocket.close"]


@pytest.mark.parametrize(
    "values", [{"body_bytes": 0}, {"requests_a_minute": 0}, {"body_seconds": 0.0}, {"proxies": -1}]
)
def test_a_policy_that_cannot_be_is_refused(values: dict[str, Any]) -> None:
    """Found when the server starts."""
    with pytest.raises(UsageError):
        RequestPolicy(**values)


# Over a real port


@contextmanager
def running(app: Any) -> Iterator[int]:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(100)
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", proxy_headers=False, lifespan="off", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def spoken(port: int, *pieces: bytes, pause: float = 0.0) -> bytes:
    """Give all that a server answers to these bytes, until it closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as line:
        try:
            for piece in pieces:
                line.sendall(piece)
                time.sleep(pause)
        except OSError:
            pass  # it has heard enough
        heard = b""
        try:
            while piece := line.recv(65_536):
                heard += piece
        except ConnectionResetError:
            pass
        return heard


HEAD = b"POST /v1/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


def test_a_chunked_body_is_measured() -> None:
    """A body without a length is cut off as soon as it is too long, and the connection closed."""
    piece = b"4000\r\n" + b"x" * 0x4000 + b"\r\n"
    with running(guarded(App())) as port:
        heard = spoken(port, HEAD + b"Transfer-Encoding: chunked\r\n\r\n", *[piece] * 5, pause=0.01)
        assert heard.startswith(b"HTTP/1.1 413 ")
        assert b"application/problem+json" in heard
        small = HEAD + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        assert spoken(port, small, b"3\r\nabc\r\n", b"0\r\n\r\n", pause=0.01).endswith(b"abc\r\n0\r\n\r\n")


def test_a_slow_body_is_not_waited_for() -> None:
    """A client that sends a byte now and then is told 408 when its seconds are over."""
    with running(guarded(App(), RequestPolicy(hosts=("127.0.0.1",), body_seconds=0.3))) as port:
        began = time.monotonic()
        heard = spoken(port, HEAD + b"Content-Length: 100\r\n\r\n", *[b"x"] * 8, pause=0.1)
        assert heard.startswith(b"HTTP/1.1 408 ")
        assert time.monotonic() - began < 15


def test_a_large_body_is_refused_before_it_is_sent() -> None:
    """A client that asks first (Expect: 100-continue) never sends it."""
    with running(guarded(App())) as port:
        heard = spoken(port, HEAD + b"Content-Length: 10000000\r\nExpect: 100-continue\r\n\r\n")
        assert heard.startswith(b"HTTP/1.1 413 ")


def test_many_askers_at_once() -> None:
    """Forty askers at the same moment, eight places: eight answers, thirty-two refusals that say when to come again."""
    gone = threading.Event()
    codes: list[bytes] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        try:
            admission = await reserve_answer(scope, max_cost=0.01)
        except ProblemError as refusal:
            await send_problem(send, refusal)
            return
        while not gone.is_set():
            await anyio.sleep(0.01)
        await admission.settle(0.01)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"done"})

    guard = guarded(app, concurrent_each=100, answers_a_minute_each=100, answers_a_minute=100, money_a_day=1.0)

    def ask() -> None:
        codes.append(spoken(port, HEAD + b"Content-Length: 0\r\nConnection: close\r\n\r\n").partition(b"\r\n")[0])
        if sum(b"429" in code for code in codes) == 32:
            gone.set()

    with running(guard) as port:
        threads = [threading.Thread(target=ask) for _ in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(codes) == [b"HTTP/1.1 200 OK"] * 8 + [b"HTTP/1.1 429 Too Many Requests"] * 32
    assert guard.limiter.in_progress == 0

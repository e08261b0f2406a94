"""HTTP/1.1 over raw sockets: which bytes are requests, how others are refused, and that order and content are kept."""

from __future__ import annotations

import hashlib
import json
import logging
import random
import re
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from prometheus_client import generate_latest
from serving import exchange, load_cases, process, serve_app
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mkdocs_roaming.serve.metrics import Metrics
from mkdocs_roaming.serve.middleware import RequestGuard, RequestPolicy
from mkdocs_roaming.serve.server import make_protocol

POLICY = RequestPolicy(hosts=("127.0.0.1",))
HEAD = b"POST /echo HTTP/1.1\r\nHost: 127.0.0.1\r\n"
GET = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Return method, path and a hash of the body; `/large` adds 300 KB, `/early` does not wait for the body."""
    body = b""
    while scope["path"] != "/early":
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    if scope["path"] == "/slow":
        await anyio.sleep(0.01)
    text = f"{scope['method']} {scope['path']} {len(body)} {hashlib.sha256(body).hexdigest()}\n".encode()
    text += b"x" * 300_000 if scope["path"] == "/large" else b""
    length = (b"content-length", str(len(text)).encode())
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    await send({"type": "http.response.body", "body": text})


async def stream(scope: Any, receive: Any, send: Any) -> None:
    """Begin a response before the body of the request is complete."""
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(100):
        await send({"type": "http.response.body", "body": b"part", "more_body": True})
        await anyio.sleep(0.02)


@contextmanager
def serve_limited(app: Any, policy: RequestPolicy = POLICY) -> Iterator[tuple[int, Metrics]]:
    """Serve an application with our protocol; yield the port and the metrics."""
    metrics = Metrics(())
    with serve_app(
        app, timeout_graceful_shutdown=1, log_config=None, http=make_protocol(RequestGuard(app, policy, metrics), 1_000)
    ) as port:
        yield port, metrics


@pytest.fixture(scope="module")
def echo_port() -> Iterator[int]:
    """Return the port of an endpoint that describes each request."""
    with serve_limited(echo) as (port, _):
        yield port


def check_refused(reply: bytes) -> None:
    """Check that a reply is one problem, and that the connection was closed after it."""
    head, _, body = reply.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert b"application/problem+json" in head
    assert b"connection: close" in head
    problem = json.loads(body)
    assert (problem["code"], problem["status"]) == ("malformed", 400)


@pytest.mark.parametrize(
    "request_bytes",
    [
        *(text.encode() for text in load_cases("ambiguous requests")),
        HEAD + CHUNKED + b"0\r\n" + b"a: b\r\n" * 200 + b"\r\n",
        HEAD + CHUNKED + b"0\r\na: " + b"b" * 40_000,
        b"\r\n" * 20_000,
    ],
)
@pytest.mark.parametrize("is_split", [False, True])
def test_ambiguous_request_is_refused_and_closed(echo_port: int, request_bytes: bytes, is_split: bool) -> None:
    pieces = [request_bytes[at : at + 1] for at in range(len(request_bytes))]
    check_refused(exchange(echo_port, *(pieces if is_split and len(pieces) < 300 else [request_bytes])))


def test_trailers_are_dropped(echo_port: int) -> None:
    trailers = b"0\r\nConnection: keep-alive\r\nX: a\r\n\r\n"
    reply = exchange(echo_port, HEAD + b"Connection: close\r\n" + CHUNKED + trailers)
    assert reply.startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize(
    "framing",
    [
        b"Content-Length: 6\r\n\r\na\n\nb\nc",
        CHUNKED + b"6\r\na\n\nb\nc\r\n0\r\n\r\n",
        CHUNKED + b"3;x=y\r\na\n\n\r\n3\r\nb\nc\r\n000\r\nX: a\r\n\r\n",
    ],
)
def test_line_feeds_in_body_are_accepted_wherever_data_are_split(echo_port: int, framing: bytes) -> None:
    data = HEAD + framing + GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    for at in range(len(HEAD), len(data)):
        reply = exchange(echo_port, data[:at], data[at:], pause=0.002)
        assert hashlib.sha256(b"a\n\nb\nc").hexdigest().encode() in reply
        assert reply.count(b"HTTP/1.1 200 OK") == 2


def test_pipelined_head_is_checked_too(echo_port: int) -> None:
    reply = exchange(echo_port, GET + b"GET /smuggled HTTP/1.1\nHost: a\n\n")
    assert b"HTTP/1.1 400" in reply
    assert b"/smuggled" not in reply


def test_path_of_absolute_url_is_routed(echo_port: int) -> None:
    reply = exchange(echo_port, b"GET http://evil.example/a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    assert b"GET /a " in reply


def test_requests_after_upgrade_are_not_read(echo_port: int) -> None:
    reply = exchange(echo_port, HEAD + b"Connection: upgrade\r\nUpgrade: h2c\r\n\r\n", GET, pause=0.05)
    assert b"POST /echo 0" in reply
    assert b"/healthz" not in reply


@pytest.mark.parametrize(("lines", "status"), [(90, b"200"), (100, b"400"), (2_000, b"400")])
def test_head_with_many_lines_is_refused(echo_port: int, lines: int, status: bytes) -> None:
    head = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" + b"a:\r\n" * lines
    assert exchange(echo_port, head + b"\r\n").startswith(b"HTTP/1.1 " + status)


@pytest.mark.parametrize(("size", "status"), [(16_000, b"200"), (40_000, b"400")])
def test_large_head_is_refused(echo_port: int, size: int, status: bytes) -> None:
    head = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: "
    assert exchange(echo_port, head + b"x" * size, b"\r\n\r\n", pause=0.05).startswith(b"HTTP/1.1 " + status)


def test_error_in_body_after_start_of_response_only_closes() -> None:
    with serve_limited(stream) as (port, metrics):
        reply = exchange(port, HEAD + CHUNKED + b"1\r\na\r\n", b"!\r\n", pause=0.2)
        counted = generate_latest(metrics.registry).decode()
    assert reply.startswith(b"HTTP/1.1 200 OK")
    assert b"400" not in reply
    assert 'roaming_refused_total{code="malformed",status="400"} 1.0' in counted


def test_malformed_request_with_much_data_after_it_is_counted_once() -> None:
    with serve_limited(echo) as (port, metrics):
        exchange(port, b"!\r\n\r\n" + GET * 1_000)
        counted = generate_latest(metrics.registry).decode()
    assert 'roaming_refused_total{code="malformed",status="400"} 1.0' in counted


def test_malformed_requests_are_counted_and_logged_once(folder: Path, tmp_path: Path, free_port: int) -> None:
    (tmp_path / "roaming.toml").write_text(f'[serve]\nmetrics = "127.0.0.1:{free_port}"\n')
    with process(folder, "--config", tmp_path / "roaming.toml") as (running, url):
        port = int(url.rpartition(":")[2])
        for _ in range(300):
            check_refused(exchange(port, b"\x16\x03\x01 this is not HTTP\r\n\r\n"))
        counted = httpx2.get(f"http://127.0.0.1:{free_port}/metrics").text
        running.send_signal(signal.SIGTERM)
        logged = running.stderr.read()
    assert 'roaming_refused_total{code="malformed",status="400"} 300.0' in counted
    assert re.findall("malformed request of client [0-9a-f]{8} refused .400.: the client is at fault", logged)
    assert logged.count("malformed") == 1
    assert logged.count("\n") <= 5


def test_malformed_request_behind_proxy_names_the_proxy(caplog: pytest.LogCaptureFixture) -> None:
    policy = RequestPolicy(hosts=("127.0.0.1",), proxies=1)
    with serve_limited(echo, policy) as (port, _):
        check_refused(exchange(port, b"x\r\n\r\n"))
    assert "check the reverse proxy 127.0.0.1" in caplog.text


def test_upgrade_request_is_an_ordinary_request_and_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    upgrade = b"GET /v1 HTTP/1.1\r\nHost: a\r\nConnection: upgrade, close\r\nUpgrade: websocket\r\n\r\n"
    with caplog.at_level(logging.WARNING), serve_limited(echo) as (port, _):
        assert exchange(port, upgrade).startswith(b"HTTP/1.1 200 OK")
    assert caplog.messages == []


def test_failure_of_application_is_still_logged(caplog: pytest.LogCaptureFixture) -> None:

    async def fail(scope: Any, receive: Any, send: Any) -> None:
        raise ZeroDivisionError

    with serve_limited(fail) as (port, _):
        assert exchange(port, GET).startswith(b"HTTP/1.1 500 ")
    assert "Exception in ASGI application" in caplog.text


# Pieces


def make_requests(source: random.Random) -> bytes:
    """Return random pipelined requests; the last one closes the connection."""
    requests = []
    for is_last in [False] * source.randrange(1, 8) + [True]:
        path = source.choice([b"/echo", b"/echo", b"/slow", b"/early", b"/large", b"/echo?" + b"q" * 3_000])
        path = b"/echo" if is_last else path  # a connection that is closed before its data is read is reset
        method = source.choice([b"GET", b"POST", b"PUT", b"HEAD"])
        body = source.randbytes(source.choice([0, 1, 100, 2_047, 2_048, 2_049, 5_000, 70_000, 200_000]))
        if source.random() < 0.5:
            framing, data = b"Content-Length: %d" % len(body), body
        else:
            framing, data = b"Transfer-Encoding: chunked", encode_chunks(source, body[:20_000])
        close = b"Connection: close\r\n" if is_last else b""
        requests.append(b"%s %s HTTP/1.1\r\nHost: a\r\n%s%s\r\n\r\n%s" % (method, path, close, framing, data))
    return b"".join(requests)


def encode_chunks(source: random.Random, body: bytes) -> bytes:
    """Return a body in chunks of random sizes, most of them tiny."""
    chunks, at = [], 0
    while at < len(body):
        size = source.choice([1, 1, 2, 3, 50, 3_000])
        chunks.append(b"%x\r\n%s\r\n" % (len(body[at : at + size]), body[at : at + size]))
        at += size
    return b"".join(chunks) + b"0\r\n\r\n"


def split(source: random.Random, data: bytes) -> list[bytes]:
    """Return data in random pieces."""
    sizes = source.choice([(1_000_000,), (1, 5, 100_000), (500, 2_048, 4_096), (2_047, 2_049, 65_536)])
    pieces, at = [], 0
    while at < len(data):
        size = source.choice(sizes)
        pieces.append(data[at : at + size])
        at += size
    return pieces


@pytest.mark.parametrize("seed", range(12))
def test_random_pieces_get_the_responses_of_plain_uvicorn(plain_port: int, echo_port: int, seed: int) -> None:
    source = random.Random(seed)
    data = make_requests(source)
    pause = source.choice([0, 0, 0.0002])
    pieces = split(source, data)
    expected, reply = (
        re.sub(rb"date: [^\r]*\r\n|server: uvicorn\r\n", b"", exchange(port, *pieces, pause=pause))
        for port in (plain_port, echo_port)
    )
    assert reply == expected
    assert reply.startswith(b"HTTP/1.1 200 OK")


@pytest.fixture(scope="module")
def plain_port() -> Iterator[int]:
    """Return the port of the same endpoint with the protocol of uvicorn."""
    with serve_app(echo, timeout_graceful_shutdown=1, log_config=None, http=HttpToolsProtocol) as port:
        yield port


# Attacks


PATHS = [b"/", b"/healthz", b"/ask?q=port", b"/v1/ask", b"/v1/search?q=port", b"/v1/outline", b"/v1/feedback", b"/mcp"]
BODY = b'{"question":"Which port?","messages":[{"role":"user","parts":[{"type":"text","text":"Which port?"}]}]}'
FRAGMENTS = [
    b"\r\n", b"\n", b"\r", b"\0", b" ", b"\t", b":", b",", b"%", b"%00", b"%ff", b"%2e%2e/", b"../", b"\xff", b"\xc3\xa9",
    b"Content-Length: 99999999999999999999\r\n", b"Content-Length: -1\r\n", b"Content-Length: 5, 5\r\n", b"HTTP/9.9",
    b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: gzip\r\n", b"Expect: 100-continue\r\n", b"Host: evil\r\n",
    b"Connection: upgrade\r\nUpgrade: websocket\r\n", b"Accept: */*;q=x\r\n", b"Origin: null\r\n", b"Cookie: a=b\r\n",
    b"If-None-Match: W/\r\n", b"Accept-Language: \xe9\r\n", b"X-Forwarded-For: ::1, 1\r\n", b"Range: bytes=-1\r\n",
    b"a" * 17_000, b"[" * 3_000, b'"\\ud800"', b"1e999", b"0\r\n\r\n", b"ffffffffffffffff\r\n",
]  # fmt: skip


def make_hostile_request(source: random.Random) -> bytes:
    """Return a request with random changes, or random bytes."""
    if source.random() < 0.05:
        return source.randbytes(source.randrange(1, 3_000)) + b"\r\n\r\n"
    method = source.choice([b"GET", b"POST", b"HEAD", b"PUT", b"OPTIONS", b"CONNECT", b"TRACE", b"PRI"])
    body = BODY if method == b"POST" else b""
    target = source.choice([b"", b"", b"", b"http://evil.example", b"*"]) + source.choice(PATHS)
    head = b"%s %s HTTP/1.%d\r\nHost: localhost\r\n" % (method, target, source.random() < 0.9)
    head += b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    request = bytearray(head + body)
    for _ in range(source.choice([0, 1, 1, 2, 5])):
        at = source.randrange(len(request))
        match source.randrange(4):
            case 0:
                request[at] = source.randrange(256)
            case 1:
                del request[at : at + source.choice([1, 2, 20])]
            case 2:
                request[at:at] = source.choice(FRAGMENTS)
            case _:
                line = request.find(b"\r\n", at) + 2
                request[line:line] = source.choice(FRAGMENTS)
    return bytes(request) * source.choice([1, 1, 1, 3])


@pytest.mark.slow
def test_ten_thousand_hostile_requests_get_no_5xx_and_log_little(folder: Path, tmp_path: Path) -> None:
    limits = "requests_a_minute = 1000000\nrequests_a_minute_each = 1000000\nheader_seconds = 0.5\nbody_seconds = 0.5\n"
    limits += "free_answers_a_minute = 1000000\nfree_answers_a_minute_each = 1000000\n"
    (tmp_path / "roaming.toml").write_text(f"[limits]\n{limits}")
    source = random.Random(42)
    statuses: Counter[str] = Counter()

    async def attack(port: int) -> None:
        slots = anyio.CapacityLimiter(100)

        async def send(data: bytes) -> None:
            async with slots:
                reply = b""
                try:
                    with anyio.move_on_after(1.5):
                        async with await anyio.connect_tcp("127.0.0.1", port) as connection:
                            await connection.send(data)
                            while True:
                                reply += await connection.receive()
                except (anyio.EndOfStream, anyio.BrokenResourceError):
                    pass
            statuses.update(found.decode() for found in re.findall(rb"(?:\A|\n|\})HTTP/1\.1 (\d+) ", reply))

        async with anyio.create_task_group() as group:
            for _ in range(10_500):
                group.start_soon(send, make_hostile_request(source))

    with process(folder, "--config", tmp_path / "roaming.toml", "--metrics", "off") as (running, url):
        anyio.run(attack, int(url.rpartition(":")[2]))
        assert httpx2.get(f"{url}/healthz").status_code == 200
        running.send_signal(signal.SIGTERM)
        logged = running.stderr.read()
    print(statuses, logged.count("\n"))
    assert sum(statuses.values()) > 8_000
    assert not [status for status in statuses if status >= "500"]
    assert {"200", "400"} <= set(statuses)
    assert "Exception" not in logged
    assert logged.count("\n") <= 70

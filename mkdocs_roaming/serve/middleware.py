"""The middleware in front of the application: it checks hosts, origins, sizes, time limits and request rates.

    app = RequestGuard(Starlette(…), RequestPolicy(hosts=("docs.example",)), metrics)

It wraps the whole application, because it reads the body first and sends its own error responses. Run the server with
`proxy_headers=False`: the middleware decides which forwarded addresses to trust, by `RequestPolicy.proxies`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mkdocs_roaming.serve.log import RefusalLog, SeldomLog, name_client
from mkdocs_roaming.serve.metrics import Metrics
from mkdocs_roaming.serve.quotas import Amount, Count, CounterStore, Window, subtract
from mkdocs_roaming.serve.requests import (
    CLIENT_KEY,
    LOOPBACK,
    PROBLEM_KEY,
    UNKNOWN_CLIENT,
    AllowedHosts,
    Header,
    ProblemError,
    format_origin,
    get_header_values,
    parse_origin,
    resolve_client,
    resolve_scheme,
    send_problem,
)

HEALTH_PATH = "/healthz"
"""Never refused: load balancers check it by any name and at any rate."""
GUARDED_PATHS = ("/v1", "/ask", "/mcp")
"""They, and everything below, count towards the request rates and are closed to other origins."""
DRAIN_SECONDS = 55
"""Time for answers in progress to end after SIGTERM."""
CANCEL_SECONDS = 1
"""Time for the errors of those that did not."""


@dataclass(frozen=True, slots=True)
class RequestPolicy:
    """Which requests are accepted.

    Attributes:
        hosts: Names that the server answers to; `*` is any name.
        origins: Other sites whose pages may send requests. Browsers enforce this; it is no authentication.
        proxies: Number of trusted reverse proxies.
        connections: Maximum number of connections. The server enforces it.
        connections_each: The same per client; behind proxies, the maximum number of its requests in progress.
        header_seconds: Time limit for the headers. The server enforces it.
        body_bytes: Maximum size of a body; `useChat` sends the whole conversation, some 10 KB for each answer.
    """

    hosts: tuple[str, ...] = LOOPBACK
    origins: tuple[str, ...] = ()
    proxies: int = 0
    requests_a_minute: Count = 3_000
    requests_a_minute_each: Count = 120
    connections: Count = 10_000
    connections_each: Count = 256
    header_seconds: Amount = 10.0
    body_bytes: Count = 1_048_576
    body_seconds: Amount = 10.0
    send_seconds: Amount = 20.0


class RequestGuard:
    """ASGI middleware that refuses requests against the policy and passes the others on with their body read.

    Requests are counted in this process only, so that reading continues while shared counters are unavailable.
    """

    def __init__(
        self,
        app: ASGIApp,
        policy: RequestPolicy,
        metrics: Metrics,
        *,
        on_drain: Callable[[float], None] = lambda seconds: None,
    ) -> None:
        self.app = app
        self._on_drain = on_drain
        self._in_progress: set[anyio.CancelScope] = set()
        self._in_progress_each: Counter[str] = Counter()
        self.policy = policy
        self.metrics = metrics
        self._refusals = RefusalLog(policy.proxies)
        self._log = SeldomLog()
        self._hosts = AllowedHosts(policy.hosts)
        self._origins = frozenset(map(parse_origin, policy.origins))
        self._requests = CounterStore()
        self._client_window = Window("requests_a_minute_each", policy.requests_a_minute_each)
        self._total_window = Window("requests_a_minute", policy.requests_a_minute)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        with anyio.CancelScope() as cancel_scope:
            self._in_progress.add(cancel_scope)
            client = resolve_client(scope, self.policy.proxies)
            self._in_progress_each[client] += 1
            response = _Response(send, self.policy.send_seconds, cancel_scope, partial(self._record, scope, client))
            try:
                if scope["path"] == HEALTH_PATH:
                    await self.app(scope, receive, response.send)
                    return
                try:
                    await self._check(scope, client, response)
                    if response.status:  # the preflight was answered
                        return
                    body = await self._read_body(scope, receive)
                except ProblemError as problem:
                    scope[PROBLEM_KEY] = problem
                    await _send_refusal(problem, response)
                    return
                if body is not None:
                    scope[CLIENT_KEY] = client
                    await self.app(scope, _replay(body, receive), response.send)
            except Exception:
                if not cancel_scope.cancel_called:
                    raise
            finally:
                self._in_progress.discard(cancel_scope)
                subtract(self._in_progress_each, client, 1)
                response.close()
        if response.timed_out:
            message = "client %s read nothing for [limits] send_seconds and was disconnected: the client is at fault"
            self._log.warn(message, name_client(client))

    def drain(self, seconds: float) -> None:
        """Give the application some seconds for requests in progress, then cancel what is still there."""
        self._on_drain(seconds)
        asyncio.get_running_loop().call_later(seconds + CANCEL_SECONDS, self._cancel_requests)

    def _cancel_requests(self) -> None:
        for cancel_scope in self._in_progress:
            cancel_scope.cancel()

    def _record(self, scope: Scope, client: str, status: int) -> None:
        """Count a request, and log it if it was refused."""
        problem = scope.get(PROBLEM_KEY)
        self.metrics.count_request(scope["path"], scope["method"], status)
        if problem is not None:
            self.metrics.count_refusal(problem)
            self._refusals.warn(problem, scope, client)

    async def _check(self, scope: Scope, client: str, response: _Response) -> None:
        """Check the host, the origin and the request rate. Raise ProblemError if the request is refused."""
        host = self._hosts.check(get_header_values(scope, b"host"))
        each = self.policy.connections_each
        # Without proxies, clients without an address come over a Unix socket, from any number of visitors.
        if self._in_progress_each[client] > each and (client != UNKNOWN_CLIENT or self.policy.proxies):
            detail = "Too many of your requests are in progress."
            setting = f"connections_each = {each}"
            raise ProblemError("busy", detail, retry_after=5, setting=setting)
        if "\n" in scope["path"]:  # a router may match `/ask\n` as `/ask`, which is not in the guarded paths
            raise ProblemError("not_found", "There is nothing at this address.")
        if not _is_guarded(scope):
            return
        response.headers.append((b"vary", b"Origin"))
        origin = self._check_origin(scope, *host)
        if origin is not None:
            response.headers += [(b"access-control-allow-origin", origin.encode("latin-1")), _EXPOSED_HEADERS]
            if scope["method"] == "OPTIONS" and get_header_values(scope, b"access-control-request-method"):
                response.headers += _PREFLIGHT_HEADERS
                await response.send({"type": "http.response.start", "status": 204, "headers": []})
                await response.send({"type": "http.response.body"})
                return
        full = await self._requests.hit([(self._client_window, client), (self._total_window, "all")])
        if full is not None:
            window, seconds = full
            detail = "Too many requests in a minute."
            raise ProblemError("rate", detail, retry_after=seconds, setting=str(window))

    def _check_origin(self, scope: Scope, name: str, port: str) -> str | None:
        """Return the origin of an allowed other site; None for the server's own origin and for other clients."""
        values = get_header_values(scope, b"origin")
        if not values:
            return None
        if len(values) == 1 and values[0] in self._origins:
            return values[0]
        # If any host is accepted, the own name proves nothing: an attacker's name may resolve to this server.
        own = None if self._hosts.any else format_origin(resolve_scheme(scope, self.policy.proxies), name, port)
        if values == [own]:
            return None
        raise ProblemError("origin", "Pages of that site may not send requests here.")

    async def _read_body(self, scope: Scope, receive: Receive) -> bytes | None:
        """Return the body, None if the client disconnected."""
        max_bytes = self.policy.body_bytes
        setting = f"body_bytes = {self.policy.body_bytes}"
        if not _is_guarded(scope):
            max_bytes = min(max_bytes, _MAX_OTHER_BYTES)
            setting = ""
        too_large = ProblemError("size", f"The maximum size of a body is {max_bytes} bytes.", setting=setting)
        for length in get_header_values(scope, b"content-length"):
            if len(length) > 15 or int(length) > max_bytes:  # the server has checked that it is a number
                raise too_large
        body = bytearray()
        with anyio.move_on_after(self.policy.body_seconds):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    return None
                body += message.get("body", b"")
                if len(body) > max_bytes:
                    raise too_large
                if not message.get("more_body", False):
                    return bytes(body)
        seconds = f"{self.policy.body_seconds:g}"
        detail = f"The body did not arrive within {seconds} seconds."
        raise ProblemError("slow", detail, setting=f"body_seconds = {seconds}")


async def _send_refusal(problem: ProblemError, response: _Response) -> None:
    if problem.status in (408, 413):  # the rest of the body is not read
        response.headers.append((b"connection", b"close"))
    await send_problem(response.send, problem)


class _Response:
    """Sends a response with additional headers, and cancels it if the client reads nothing for some seconds.

    There is one timer for all messages of a response: an answer has many, and hardly any of them has to wait.
    `on_start` is called with the status before anything is sent, because a client that has the response may read the
    metrics next; without a response it is called at the end, with 0.
    """

    def __init__(
        self, send: Send, seconds: float, cancel_scope: anyio.CancelScope, on_start: Callable[[int], None]
    ) -> None:
        self.status = 0
        self._on_start = on_start
        self.timed_out = False
        self.headers: list[Header] = [(b"x-content-type-options", b"nosniff")]
        self._send = send
        self._seconds = seconds
        self._cancel_scope = cancel_scope
        self._loop = asyncio.get_running_loop()
        self._waiting_since = inf
        self._timer = self._loop.call_later(seconds, self._check_timeout)

    async def send(self, message: Message) -> None:
        """Send a message of the application."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self._on_start(self.status)
            message = {**message, "headers": [*message.get("headers", ()), *self.headers]}
        self._waiting_since = self._loop.time()
        try:
            await self._send(message)
        finally:
            self._waiting_since = inf

    def close(self) -> None:
        """Stop the timer."""
        self._timer.cancel()
        if not self.status:
            self._on_start(0)

    def _check_timeout(self) -> None:
        remaining = self._waiting_since + self._seconds - self._loop.time()
        if remaining <= 0:
            self.timed_out = True
            self._cancel_scope.cancel()
        else:
            self._timer = self._loop.call_later(min(remaining, self._seconds), self._check_timeout)


def _is_guarded(scope: Scope) -> bool:
    path = scope["path"].removeprefix(scope.get("root_path", ""))
    return any(path == guarded or path.startswith(guarded + "/") for guarded in GUARDED_PATHS)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that returns the body, then the messages after it: the disconnect of the client."""
    is_sent = False

    async def receive_again() -> Message:
        nonlocal is_sent
        if is_sent:
            return await receive()
        is_sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again


_MAX_OTHER_BYTES = 4_096
"""Maximum size of a body elsewhere: nothing there needs one."""
_EXPOSED_HEADERS: Header = (
    b"access-control-expose-headers",
    b"retry-after, x-vercel-ai-ui-message-stream, mcp-session-id",
)
_PREFLIGHT_HEADERS: tuple[Header, ...] = (
    (b"access-control-allow-methods", b"GET, POST"),
    (
        b"access-control-allow-headers",
        b"accept, content-type, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id",
    ),
    (b"access-control-max-age", b"600"),
    (b"vary", b"Access-Control-Request-Method, Access-Control-Request-Headers"),
)

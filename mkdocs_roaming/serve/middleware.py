"""The middleware in front of the application: it checks hosts, origins, sizes, time limits and request rates.

    app = RequestGuard(Starlette(…), RequestPolicy(hosts=("docs.example",)), metrics)

It wraps the whole application, because it reads the body first and sends its own error responses. Run the server with
`proxy_headers=False`: the middleware decides which forwarded addresses to trust, by `RequestPolicy.proxies`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
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
_BUSY_RETRY_SECONDS = 5.0
_MAX_LENGTH_DIGITS = 15
_MAX_OTHER_BYTES = 4_096  # maximum size of a body outside of the guarded paths: nothing there needs one
_CLOSING_CODES = ("slow", "size")  # codes of refusals after which the rest of the body is not read
_NO_SNIFF: Header = (b"x-content-type-options", b"nosniff")
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
        self.policy = policy
        self.metrics = metrics
        self._on_drain = on_drain
        self._in_progress: set[anyio.CancelScope] = set()
        self._in_progress_each: Counter[str] = Counter()
        self._refusals = RefusalLog(policy.proxies)
        self._log = SeldomLog()
        self._hosts = AllowedHosts(policy.hosts)
        self._origins = frozenset(map(parse_origin, policy.origins))
        self._requests = CounterStore()

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
            record = partial(self._record, scope, client)
            exchange = _Exchange(scope, receive, send, self.policy.send_seconds, cancel_scope, record)
            try:
                if scope["path"] != HEALTH_PATH:
                    try:
                        await self._check(scope, client, exchange)
                        if exchange.status:  # the preflight was answered
                            return
                        exchange.body = await self._read_body(receive, exchange)
                    except ProblemError as problem:
                        scope[PROBLEM_KEY] = problem
                        if problem.code in _CLOSING_CODES:
                            exchange.headers.append((b"connection", b"close"))
                        await send_problem(exchange.send, problem)
                        return
                    if exchange.body is None:  # the client disconnected
                        return
                    scope[CLIENT_KEY] = client
                await self.app(scope, exchange.receive, exchange.send)
            except Exception:
                if not cancel_scope.cancel_called:
                    raise
            finally:
                self._in_progress.discard(cancel_scope)
                subtract(self._in_progress_each, client, 1)
                exchange.close()
        if exchange.timed_out:
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

    async def _check(self, scope: Scope, client: str, exchange: _Exchange) -> None:
        """Check the host, the origin and the request rate. Raise ProblemError if the request is refused."""
        host = self._hosts.check(get_header_values(scope, b"host"))
        limit = self.policy.connections_each
        # Without proxies, clients without an address come over a Unix socket, from any number of visitors.
        is_one_client = client != UNKNOWN_CLIENT or self.policy.proxies > 0
        if is_one_client and self._in_progress_each[client] > limit:
            detail = "Too many of your requests are in progress."
            setting = f"connections_each = {limit}"
            raise ProblemError("busy", detail, retry_after=_BUSY_RETRY_SECONDS, setting=setting)
        if "\n" in scope["path"]:  # a router may match `/ask\n` as `/ask`, which is not in the guarded paths
            raise ProblemError("not_found", "There is nothing at this address.")
        path = scope["path"].removeprefix(scope.get("root_path", "")) + "/"
        exchange.is_guarded = any(path.startswith(f"{guarded}/") for guarded in GUARDED_PATHS)
        if not exchange.is_guarded:
            return
        exchange.headers.append((b"vary", b"Origin"))
        origins = get_header_values(scope, b"origin")
        if len(origins) == 1 and origins[0] in self._origins:
            exchange.headers += [(b"access-control-allow-origin", origins[0].encode("latin-1")), _EXPOSED_HEADERS]
            if scope["method"] == "OPTIONS" and get_header_values(scope, b"access-control-request-method"):
                exchange.headers += _PREFLIGHT_HEADERS
                await exchange.send({"type": "http.response.start", "status": 204, "headers": []})
                await exchange.send({"type": "http.response.body"})
                return
        elif origins:
            # If any host is accepted, the own name proves nothing: an attacker's name may resolve to this server.
            own = format_origin(resolve_scheme(scope, self.policy.proxies), *host)
            if self._hosts.any or origins != [own]:
                raise ProblemError("origin", "Pages of that site may not send requests here.")
        windows = (
            (Window("requests_a_minute_each", self.policy.requests_a_minute_each), client),
            (Window("requests_a_minute", self.policy.requests_a_minute), "all"),
        )
        full = await self._requests.hit(windows)
        if full is not None:
            window, seconds = full
            raise ProblemError("rate", "Too many requests in a minute.", retry_after=seconds, setting=str(window))

    async def _read_body(self, receive: Receive, exchange: _Exchange) -> bytes | None:
        """Return the body, None if the client disconnected."""
        max_bytes = self.policy.body_bytes
        setting = f"body_bytes = {max_bytes}"
        if not exchange.is_guarded:
            max_bytes = min(max_bytes, _MAX_OTHER_BYTES)
            setting = ""
        body = bytearray()
        is_too_large = False
        for length in get_header_values(exchange.scope, b"content-length"):  # a number, as the server has checked
            is_too_large |= len(length) > _MAX_LENGTH_DIGITS or int(length) > max_bytes
        with anyio.move_on_after(self.policy.body_seconds):
            while not is_too_large:
                message = await receive()
                if message["type"] != "http.request":
                    return None
                body += message.get("body", b"")
                is_too_large = len(body) > max_bytes
                if not is_too_large and not message.get("more_body", False):
                    return bytes(body)
        if is_too_large:
            raise ProblemError("size", f"The maximum size of a body is {max_bytes} bytes.", setting=setting)
        seconds = f"{self.policy.body_seconds:g}"
        detail = f"The body did not arrive within {seconds} seconds."
        raise ProblemError("slow", detail, setting=f"body_seconds = {seconds}")


@dataclass(slots=True)
class _Exchange:
    """A request and its response, which gets additional headers, and is cancelled if the client reads nothing.

    There is one timer for all messages of a response: an answer has many, and hardly any of them has to wait.

    Attributes:
        seconds: Time after which a client that reads nothing is disconnected.
        on_start: Called with the status before anything is sent, because a client that has the response may read the
            metrics next; without a response it is called at the end, with 0.
        body: The body that was read already.
    """

    scope: Scope
    receive_more: Receive
    send_on: Send
    seconds: float
    cancel_scope: anyio.CancelScope
    on_start: Callable[[int], None]
    headers: list[Header] = field(default_factory=lambda: [_NO_SNIFF])
    body: bytes | None = None
    is_guarded: bool = False
    status: int = 0
    timed_out: bool = False
    _waiting_since: float = inf
    _timer: asyncio.TimerHandle = field(init=False)

    def __post_init__(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self.seconds, self._check_timeout)

    async def receive(self) -> Message:
        """Return the body, then the messages after it: the disconnect of the client."""
        if self.body is None:
            return await self.receive_more()
        message = {"type": "http.request", "body": self.body, "more_body": False}
        self.body = None
        return message

    async def send(self, message: Message) -> None:
        """Send a message of the application."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.on_start(self.status)
            message = {**message, "headers": [*message.get("headers", ()), *self.headers]}
        self._waiting_since = asyncio.get_running_loop().time()
        try:
            await self.send_on(message)
        finally:
            self._waiting_since = inf

    def close(self) -> None:
        """Stop the timer."""
        self._timer.cancel()
        if not self.status:
            self.on_start(0)

    def _check_timeout(self) -> None:
        loop = asyncio.get_running_loop()
        remaining = self._waiting_since + self.seconds - loop.time()
        if remaining <= 0:
            self.timed_out = True
            self.cancel_scope.cancel()
        else:
            self._timer = loop.call_later(min(remaining, self.seconds), self._check_timeout)

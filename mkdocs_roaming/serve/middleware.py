"""What stands before the application: names, origins, sizes, seconds and numbers of requests. Pure ASGI.

    gate = Gate(Allowance(money_a_day=2.0), Counters(uri), secret=key)
    app = Guard(Starlette(…, exception_handlers={Refused: say_refusal}), Policy(hosts=("docs.example",)), gate)

It goes around the whole application, for it reads the body first and says its refusals itself. A handler that is
about to answer lets itself in, and settles when the cost is known, in the stream's `finally`:

    admission = await admit(request.scope, most=0.06)  # raises Refused, before the first byte
    …
    await admission.settle(answer.cost)

An admission that nobody settled is settled as spent when the request ends. Run the server with `proxy_headers=False`:
whom to believe about addresses is decided here, by `Policy.proxies`.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any

import anyio

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.serve.problems import Header, ProblemError, Send, send_problem
from mkdocs_roaming.serve.quotas import CounterStore, QuotaLimiter, Reservation, Window
from mkdocs_roaming.serve.requests import (
    AllowedHosts,
    format_origin,
    get_header_values,
    parse_host,
    parse_origin,
    resolve_client,
    resolve_scheme,
)
from mkdocs_roaming.serve.sending import SendTimeout

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]

HEALTH_PATH = "/healthz"
"""Asked by balancers, by whatever name and as often as they like."""


HEADER_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class RequestPolicy:
    """What requests may be; how long headers may take is the server's to see to.

    The paths `guarded`, and those below, are counted and closed to foreign browsers.
    `origins` are the sites whose pages may ask, beside the server's own. This tells well-behaved browsers; it is no
    authentication. `proxies` is how many servers of ours stand in front. A request without an Origin is no browser's.
    """

    hosts: tuple[str, ...] = ("localhost", "127.0.0.1", "[::1]")
    origins: tuple[str, ...] = ()
    proxies: int = 0
    guarded: tuple[str, ...] = ("/v1", "/ask", "/mcp", "/metrics")
    requests_a_minute: int = 3_000
    requests_a_minute_each: int = 120
    header_seconds: float = HEADER_SECONDS
    body_bytes: int = 65_536
    body_seconds: float = 10.0
    send_seconds: float = 20.0

    def __post_init__(self) -> None:
        numbers = (self.requests_a_minute, self.requests_a_minute_each, self.body_bytes)
        if min(numbers) < 1 or min(self.header_seconds, self.body_seconds, self.send_seconds) <= 0:
            raise UsageError("limits of requests, bytes and seconds are more than 0")
        if self.proxies < 0:
            raise UsageError(f"the number of proxies is 0 or more, not {self.proxies}")


class RequestGuard:
    """Refuses what the policy does not allow and passes the rest on, its body already read.

    `refused` hears of every refusal, for whoever counts them. Requests are counted in this process alone, so that
    reading goes on when shared counters cannot be reached; answers are counted by the gate.
    """

    def __init__(
        self,
        app: ASGIApp,
        policy: RequestPolicy,
        gate: QuotaLimiter,
        *,
        refused: Callable[[ProblemError], None] | None = None,
    ) -> None:
        self.app = app
        self.policy = policy
        self.gate = gate
        self._hosts = AllowedHosts(policy.hosts)
        self._origins = frozenset(map(parse_origin, policy.origins))
        self._requests = CounterStore(clock=gate.counters.clock)
        self._windows = (
            Window("requests", policy.requests_a_minute_each),
            Window("requests", policy.requests_a_minute),
        )
        self._heard = refused or (lambda refusal: None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        elif scope["type"] != "http" or scope["path"] == HEALTH_PATH:
            await self.app(scope, receive, send)
        else:
            await self._request(scope, receive, send)

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        visit = Visit(self.gate, resolve_client(scope, self.policy.proxies))
        extra: list[Header] = []
        try:
            name, port = self._host(scope)
            if "\n" in scope["path"]:  # routers may read `/ask\n` as `/ask`, which would pass unguarded
                raise ProblemError(404, "not_found", "There is nothing at this address.")
            if self._is_guarded(scope):
                extra.append((b"vary", b"Origin"))
                origin = self._origin(scope, name, port)
                extra += [] if origin is None else _shared_with(origin)
                if origin is not None and _is_preflight(scope):
                    await send({"type": "http.response.start", "status": 204, "headers": [*extra, *_PREFLIGHT]})
                    await send({"type": "http.response.body"})
                    return
                await self._count(visit)
            body = await self._body(scope, receive)
        except ProblemError as refused:
            self._heard(refused)
            closing = [(b"connection", b"close")] if refused.status in (408, 413) else []
            await send_problem(send, refused, [*extra, *closing])
            return
        if body is not None:
            scope[_VISIT] = visit
            await self._pass_on(scope, _again(body, receive), send, extra)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send, extra: list[Header]) -> None:
        visit: Visit = scope[_VISIT]

        async def sending(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *extra]}
            with patience:
                await send(message)

        with anyio.CancelScope() as waiting:
            patience = SendTimeout(self.policy.send_seconds, waiting.cancel)
            try:
                await self.app(scope, receive, sending)
            except Exception:
                if not waiting.cancel_called:
                    raise
            finally:
                patience.end()
                for admission in visit.admissions:
                    await admission.settle(None)
        if waiting.cancel_called:
            _log.warning("%s: the reader took nothing for %g seconds", scope["path"], self.policy.send_seconds)

    def _is_guarded(self, scope: Scope) -> bool:
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        return any(path == one or path.startswith(one + "/") for one in self.policy.guarded)

    # What is asked of a request, in order

    def _host(self, scope: Scope) -> tuple[str, str]:
        said = get_header_values(scope, b"host")
        host = parse_host(said[0]) if len(said) == 1 else None
        if host is None:
            raise ProblemError(400, "host", "The Host header is missing or malformed.")
        if not self._hosts.allow(*host):
            raise ProblemError(421, "host", "This server does not answer to that name.")
        return host

    def _origin(self, scope: Scope, name: str, port: str) -> str | None:
        """Give the origin of another site that may ask; None for the server's own and for what is no browser."""
        said = get_header_values(scope, b"origin")
        if not said:
            return None
        if len(said) == 1 and said[0] in self._origins:
            return said[0]
        # Where any name is answered to, a name of one's own proves nothing: it may be an attacker's, pointed here.
        own = None if self._hosts.any else format_origin(resolve_scheme(scope, self.policy.proxies), name, port)
        if said == [own]:
            return None
        raise ProblemError(403, "origin", "Pages of that site may not ask here.")

    async def _count(self, visit: Visit) -> None:
        each, together = self._windows
        full = await self._requests.hit([(each, self.gate.hashed(visit.who)), (together, "all")])
        if full is not None:
            raise ProblemError(429, "rate", "Too many requests in a minute.", retry_after=full[1])

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """Give the body; None where the client left."""
        too_large = ProblemError(413, "size", f"A body has at most {self.policy.body_bytes} bytes.")
        for length in get_header_values(scope, b"content-length"):
            if not length.isascii() or not length.isdigit():
                raise ProblemError(400, "size", "The Content-Length is no number.")
            if len(length) > 15 or int(length) > self.policy.body_bytes:
                raise too_large
        if _has_no_body(scope):
            return b""
        body = bytearray()
        with anyio.move_on_after(self.policy.body_seconds):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    return None
                body += message.get("body", b"")
                if len(body) > self.policy.body_bytes:
                    raise too_large
                if not message.get("more_body", False):
                    return bytes(body)
        raise ProblemError(408, "slow", f"The body did not come within {self.policy.body_seconds:g} seconds.")


class Visit:
    """A request as the gate sees it."""

    def __init__(self, gate: QuotaLimiter, who: str) -> None:
        self.gate = gate
        self.who = who
        self.admissions: list[Reservation] = []


async def reserve_answer(
    scope: MutableMapping[str, Any], *, most: float = 0.0, spends: bool | None = None
) -> Reservation:
    """Let the answer to a request in, as Gate.admit does; raises Refused. The guard settles what is forgotten."""
    visit: Visit = scope[_VISIT]
    admission = await visit.gate.admit(visit.who, most=most, spends=spends)
    visit.admissions.append(admission)
    return admission


def get_client(scope: MutableMapping[str, Any]) -> str:
    """Give the network that a request which was let through is counted under; empty where nobody counts."""
    visit: Visit | None = scope.get(_VISIT)
    return visit.who if visit is not None else ""


def _again(body: bytes, receive: Receive) -> Receive:
    """Give what gives the body that was read, then what comes after it: that the client leaves."""
    given = False

    async def receiving() -> MutableMapping[str, Any]:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receiving


def _has_no_body(scope: Scope) -> bool:
    """Tell whether a request says that nothing follows it: in HTTP/1 a body has a length, or is announced in pieces."""
    told = (b"content-length", b"transfer-encoding")
    return scope.get("http_version") in ("1.0", "1.1") and not any(name in told for name, _ in scope["headers"])


def _is_preflight(scope: Scope) -> bool:
    return scope["method"] == "OPTIONS" and bool(get_header_values(scope, b"access-control-request-method"))


def _shared_with(origin: str) -> Iterable[Header]:
    return (
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", b"retry-after, x-vercel-ai-ui-message-stream, mcp-session-id"),
    )


_VISIT = "roaming.visit"
_PREFLIGHT: tuple[Header, ...] = (
    (b"access-control-allow-methods", b"GET, POST"),
    (
        b"access-control-allow-headers",
        b"accept, content-type, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id",
    ),
    (b"access-control-max-age", b"600"),
    (b"vary", b"Access-Control-Request-Method, Access-Control-Request-Headers"),
)
_log = logging.getLogger(__name__)

"""Uvicorn with the settings of the endpoint, and with limits for connections and headers, which uvicorn has not.

A reverse proxy should limit the time for headers too; this limit protects a server without one.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import socket
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any, cast

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.serve.log import is_private, name_client, seldom
from mkdocs_roaming.serve.middleware import CANCEL_SECONDS, DRAIN_SECONDS, RequestGuard
from mkdocs_roaming.serve.quotas import subtract
from mkdocs_roaming.serve.requests import UNKNOWN_CLIENT, ProblemError, encode_problem, parse_network

_log = logging.getLogger("mkdocs_roaming.serve")
_uvicorn_log = logging.getLogger("mkdocs_roaming.serve.uvicorn")
_uvicorn_log.setLevel(logging.ERROR)  # its warnings are about clients, as is this error
_uvicorn_log.addFilter(lambda record: record.msg != "ASGI callable returned without completing response.")
_KEEP_ALIVE_SECONDS = 15
_SWITCH_SECONDS = 0.00005  # threads that compute for one client must not delay the event loop
_MAX_HEADER_BYTES = 16_384
_MAX_HEADER_LINES = 100
_READ_BYTES = 8_192
_BACKLOG = 512
_FILES_REMEDY = "Allow more: LimitNOFILE=20000 in a systemd unit, `ulimits` in compose.yml, or `ulimit -n 20000`."


def run_server(app: RequestGuard, listener: socket.socket, *, drain_seconds: int = DRAIN_SECONDS) -> None:
    """Serve on a listening socket until SIGINT or SIGTERM, as the last task of the process."""
    config = uvicorn.Config(
        app,
        http=cast("type[asyncio.Protocol]", make_protocol(app, limit_connections(app.policy.connections))),
        loop="asyncio",  # with uvloop data cannot be read in small pieces
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,  # the middleware decides which proxies to trust
        server_header=False,
        timeout_graceful_shutdown=drain_seconds + CANCEL_SECONDS + 1,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        backlog=1,  # see `startup`
    )
    _log.info("listening on %s", get_url(listener))
    server = _Server(config, partial(app.drain, drain_seconds))
    # asyncio logs each write after the fourth to a client that has left.
    logging.getLogger("asyncio").addFilter(lambda record: record.msg != "socket.send() raised exception.")
    sys.setswitchinterval(_SWITCH_SECONDS)
    with suppress(KeyboardInterrupt):  # after its shutdown uvicorn raises the signal again
        server.run(sockets=[listener])
    if not server.started:
        sys.exit(1)


def make_protocol(app: RequestGuard, max_connections: int) -> Callable[..., HttpToolsProtocol]:
    """Return the constructor of the connections to an application."""
    return partial(_LimitedProtocol, app, max_connections, Counter[str]())


def limit_connections(wanted: int) -> int:
    """Return the maximum number of connections: half of the files that may be open. Raise this limit if necessary."""
    if sys.platform == "win32":
        return wanted
    import resource  # Unix only

    files = 2 * wanted  # a response may have a file open
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)  # negative: unlimited
    if 0 <= soft < files:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (files if hard < 0 else min(files, hard), hard))
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if 0 <= soft < files:
        number = max(soft // 2, 1)
        _log.warning("at most %d connections, because only %d files may be open. %s", number, soft, _FILES_REMEDY)
        return number
    return wanted


def bind_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raise UsageError if the address is not available."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host,
            port,
            type=socket.SOCK_STREAM,
            proto=socket.IPPROTO_TCP,  # asyncio sets TCP_NODELAY only if the protocol is known
            flags=socket.AI_PASSIVE,
        )[0]
        with ExitStack() as undo:
            listener = undo.enter_context(socket.socket(family, kind, protocol))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(_BACKLOG)
            undo.pop_all()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"cannot bind to {host}:{port}: {reason}. {_explain_bind(error)}") from None
    return listener


def _explain_bind(error: OSError) -> str:
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return "Choose an address of this machine with --host: 127.0.0.1, or 0.0.0.0 for all its networks."
    return f"Choose {'a port above 1023' if error.errno == errno.EACCES else 'another port'} with --port."


def get_url(listener: socket.socket) -> str:
    """Return the URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def freeze_objects() -> None:
    """Exclude all current objects from garbage collection, for a process that only serves one site.

    A site consists of some ten thousand objects that stay for days. A full collection would traverse them all and stop
    every response for up to 100 ms. Unused objects of an earlier deployment are collected first.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


class _Server(uvicorn.Server):
    """A server that calls a function when it begins to stop, and closes idle connections if it can accept no more."""

    def __init__(self, config: uvicorn.Config, on_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_stop = on_stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(self._handle_error)
        await super().startup(sockets)
        # asyncio accepts as many connections at once as the backlog; each that fails would start a retry of its own.
        for listener in sockets or ():
            listener.listen(_BACKLOG)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._on_stop()
        await super().shutdown(sockets)

    def _handle_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Handle the error of a connection that cannot be accepted; asyncio repeats the attempt after a second."""
        error = context.get("exception")
        if isinstance(error, OSError) and "socket" in context:
            connections = cast("set[_LimitedProtocol]", self.server_state.connections)
            _close_idle(connections, 1 + len(connections) // 2)
            reason = str(error.strerror).lower()
            seldom.warn("cannot accept connections: %s; idle ones are closed. %s", reason, _FILES_REMEDY)
        else:
            loop.default_exception_handler(context)


class _LimitedProtocol(HttpToolsProtocol):
    """HTTP/1.1 as uvicorn implements it; a connection is closed if headers are too large or take too long.

    If there are too many connections, of one client or in total, the longest idle ones of them are closed.

    Args:
        guard: The application.
        max_connections: Maximum number of connections.
        clients: Number of connections by client.
        options: Arguments of uvicorn.
    """

    def __init__(self, guard: RequestGuard, max_connections: int, clients: Counter[str], **options: Any) -> None:
        super().__init__(**options)
        self.logger = _uvicorn_log
        self.last_data = self.loop.time()
        self.network = UNKNOWN_CLIENT
        self._guard = guard
        self._max_connections = max_connections
        self._clients = clients
        self._unparsed = 0  # bytes since the last complete head or part of a body

    @property
    def is_idle(self) -> bool:
        """Whether the head of the next request is still missing, or the connection is about to close."""
        return self.cycle is None or self.cycle.response_complete or self.transport.is_closing()

    # Connections

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        transport.max_size = _READ_BYTES  # type: ignore[attr-defined]  # 256 KB would stop other responses for 0.3 s
        self.network = parse_network(self.client[0] if self.client else "") or UNKNOWN_CLIENT
        self._clients[self.network] += 1
        self._limit_time()
        connections = cast("set[_LimitedProtocol]", self.connections)
        limit = self._max_connections
        client_limit = min(self._guard.policy.connections_each, max(limit // 2, 1))
        is_one_client = not self._guard.policy.proxies
        if is_one_client and self._clients[self.network] > client_limit:
            mine = [connection for connection in connections if connection.network == self.network]
            _make_room(mine, client_limit, " of one client", "connections_each")
        elif len(connections) > limit:
            _make_room(connections, limit, "", "connections")

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        subtract(self._clients, self.network, 1)

    def pause_writing(self) -> None:
        """Send nothing, and abort the connection if the client does not read: to close it would wait for the client."""
        super().pause_writing()
        seconds = self._guard.policy.send_seconds + 1  # the guard ends the response before
        self._abort_timer = self.loop.call_later(seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Send more."""
        super().resume_writing()
        self._abort_timer.cancel()

    # Requests

    def data_received(self, data: bytes) -> None:
        self.last_data = self.loop.time()
        if not self._unparsed:
            self._limit_time()
        self._unparsed += len(data)
        super().data_received(data)
        if self._unparsed > _MAX_HEADER_BYTES and not self.transport.is_closing():
            self.send_400_response("")

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(self.headers) >= _MAX_HEADER_LINES:
            raise ValueError("too many lines")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        version = self.parser.get_http_version()
        names = dict(self.headers)
        is_chunked = b"transfer-encoding" in names
        upgrades = self.parser.should_upgrade()
        if version != "1.1" and (version != "1.0" or is_chunked):
            raise ValueError("a reverse proxy may see another end of the request")
        if upgrades and (is_chunked or b"content-length" in names):
            raise ValueError("the parser skips the body")
        super().on_headers_complete()
        if upgrades:  # the parser skips what follows
            self.cycle.keep_alive = False
        self.headers = []  # for trailers, which nobody reads
        self._unparsed = 0

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        self._unparsed = 0

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._unparsed = 0

    # Refusals

    def _limit_time(self) -> None:
        """Close the connection if the next head does not arrive in time."""
        self.loop.call_later(self._guard.policy.header_seconds, self._check_time, self.cycle)

    def _check_time(self, previous: object) -> None:
        if self.cycle is not previous or self.transport.is_closing():
            return
        if not self.is_idle:
            self._limit_time()
        elif self._unparsed or previous is None:
            seconds = self._guard.policy.header_seconds
            self._refuse(ProblemError("slow", f"The headers did not arrive within {seconds:g} seconds."))

    def send_400_response(self, msg: str) -> None:
        """Refuse a malformed request."""
        network = self.network
        if self._guard.policy.proxies and is_private(network):
            seldom.warn("malformed request refused (400): check the reverse proxy %s, which forwarded it", network)
        else:
            message = "malformed request of client %s refused (400): the client is at fault"
            seldom.warn(message, name_client(network))
        limits = f"{_MAX_HEADER_LINES} header lines and {_MAX_HEADER_BYTES} bytes"
        detail = f"This is not HTTP/1.1, has a body with Upgrade, or more than {limits} of headers."
        self._refuse(ProblemError("malformed", detail))

    def _refuse(self, problem: ProblemError) -> None:
        """Count a refused request, respond unless another response has begun, and close the connection."""
        self._guard.metrics.count_refusal(problem)
        if self.is_idle or not (self.pipeline or self.cycle.response_started):
            headers, body = encode_problem(problem)
            lines = [b"%s: %s\r\n" % header for header in (*headers, (b"connection", b"close"))]
            self.transport.write(b"".join([STATUS_LINE[problem.status], *lines, b"\r\n", body]))
        self.transport.close()


def _make_room(connections: Collection[_LimitedProtocol], limit: int, owner: str, setting: str) -> None:
    """Close idle ones of too many connections, a tenth of the limit at once, so that this is rare."""
    _close_idle(connections, 1 + limit // 10)
    message = f"more than %d connections{owner}; the longest idle ones are closed. The limit is [limits] {setting}"
    seldom.warn(message, limit)


def _close_idle(connections: Iterable[_LimitedProtocol], number: int) -> None:
    """Close the longest idle connections; the newest one only if no other is idle."""
    idle = [connection for connection in connections if connection.is_idle]
    idle.sort(key=lambda connection: connection.last_data)
    for connection in idle[:-1][:number] or idle:
        connection.transport.abort()

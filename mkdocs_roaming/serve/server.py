"""Uvicorn with the settings of the endpoint, and with a time limit for headers, which uvicorn has not.

A reverse proxy should limit the time for headers too; this limit protects a server without one.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
import sys
from collections import defaultdict
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any, cast

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.serve.log import seldom
from mkdocs_roaming.serve.middleware import CANCEL_SECONDS, DRAIN_SECONDS, RequestGuard
from mkdocs_roaming.serve.requests import UNKNOWN_CLIENT, ProblemError, encode_problem, parse_network


def run_server(app: RequestGuard, listener: socket.socket, *, drain_seconds: int = DRAIN_SECONDS) -> None:
    """Serve on a listening socket until SIGINT or SIGTERM, as the last task of the process."""
    max_connections = limit_connections()
    each = min(_MAX_CONNECTIONS_EACH, max(max_connections // 2, 1))
    config = uvicorn.Config(
        app,
        http=type(
            "HeaderTimeoutProtocol",
            (_HeaderTimeoutProtocol,),
            {
                "header_seconds": app.policy.header_seconds,
                "max_connections": max_connections,
                "max_connections_each": sys.maxsize if app.policy.proxies else each,  # all are from the proxy
                "clients": defaultdict(set),
                "on_refusal": staticmethod(app.metrics.count_refusal),
            },
        ),
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,  # the middleware decides which proxies to trust
        server_header=False,
        timeout_graceful_shutdown=drain_seconds + CANCEL_SECONDS + 1,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        h11_max_incomplete_event_size=_MAX_HEADER_BYTES,
        backlog=1,  # see `startup`
    )
    _log.info("listening on %s", get_url(listener))
    server = _DrainingServer(config, app, drain_seconds)
    sys.setswitchinterval(_SWITCH_SECONDS)
    # After its shutdown uvicorn raises the signal again; the process should exit with 0.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    with suppress(KeyboardInterrupt):
        server.run(sockets=[listener])
    if not server.started:
        sys.exit(1)


def limit_connections() -> int:
    """Return the maximum number of connections: half of the files that may be open. Raise this limit if necessary."""
    if sys.platform == "win32":
        return _MAX_CONNECTIONS
    import resource  # Unix only

    wanted = 2 * _MAX_CONNECTIONS  # a response may have a file open
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)  # negative: unlimited
    if 0 <= soft < wanted:
        with suppress(ValueError, OSError):
            raised = wanted if hard < 0 else min(wanted, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
            soft = raised
    return min(_MAX_CONNECTIONS, max(soft // 2, 1)) if soft >= 0 else _MAX_CONNECTIONS


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
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"cannot bind to {host}:{port}: {reason}. Choose another port with --port.") from None
    return listener


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


class _DrainingServer(uvicorn.Server):
    """A server that tells the application when it begins to stop: uvicorn does so after the last response.

    If it has no file descriptor for a new connection, it closes idle ones.
    """

    def __init__(self, config: uvicorn.Config, app: RequestGuard, seconds: float) -> None:
        super().__init__(config)
        self._app, self._seconds = app, seconds

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(self._handle_error)
        await super().startup(sockets)
        # asyncio accepts as many connections at once as the backlog; each that fails would start a retry of its own.
        for listener in sockets or ():
            listener.listen(_BACKLOG)

    def _handle_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Handle the error of a connection that cannot be accepted; asyncio repeats the attempt after a second."""
        error = context.get("exception")
        if not isinstance(error, OSError) or "socket" not in context:
            loop.default_exception_handler(context)
            return
        connections = cast("set[_HeaderTimeoutProtocol]", self.server_state.connections)
        _close_idle(connections, 1 + len(connections) // 2)
        seldom.warn("cannot accept connections: %s; idle ones are closed", (error.strerror or str(error)).lower())

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.drain(self._seconds)
        await super().shutdown(sockets)


class _HeaderTimeoutProtocol(H11Protocol):
    """HTTP/1.1 as uvicorn implements it; a connection is closed if the headers of a request take too long.

    If there are too many connections, of one client or in total, the longest idle ones of them are closed.
    """

    header_seconds: float
    max_connections: int
    max_connections_each: int
    clients: defaultdict[str, set[_HeaderTimeoutProtocol]]
    _last_data = 0.0
    _client = UNKNOWN_CLIENT
    on_refusal: Callable[[ProblemError], None]
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        self._last_data = self.loop.time()
        self._start_timer()
        self._client = parse_network((transport.get_extra_info("peername") or ("",))[0]) or UNKNOWN_CLIENT
        mine, everyone = self.clients[self._client], cast("set[_HeaderTimeoutProtocol]", self.connections)
        mine.add(self)
        if len(mine) > self.max_connections_each:
            _make_room(mine, self.max_connections_each, " of one client")
        elif len(everyone) > self.max_connections:
            _make_room(everyone, self.max_connections)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._last_data = self.loop.time()
        if self._is_idle():
            self._start_timer()
        else:
            self._stop_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)
        self.clients[self._client].discard(self)
        if not self.clients[self._client]:
            del self.clients[self._client]

    def _is_idle(self) -> bool:
        """Return whether the headers of the next request are still missing."""
        return self.cycle is None or self.cycle.response_complete

    def _start_timer(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.header_seconds, self._time_out)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _time_out(self) -> None:
        self._timer = None
        if self.transport.is_closing() or not self._is_idle():
            return
        detail = f"The headers did not arrive within {self.header_seconds:g} seconds."
        problem = ProblemError(408, "slow", detail)
        self.on_refusal(problem)
        headers, body = encode_problem(problem)
        lines = b"".join(b"%s: %s\r\n" % header for header in (*headers, (b"connection", b"close")))
        self.transport.write(b"HTTP/1.1 408 Request Timeout\r\n" + lines + b"\r\n" + body)
        self.transport.close()


def _make_room(connections: Collection[_HeaderTimeoutProtocol], limit: int, owner: str = "") -> None:
    """Close idle ones of too many connections, a tenth of the limit at once, so that this is rare."""
    _close_idle(connections, 1 + limit // 10)
    seldom.warn("more than %d connections%s; the longest idle ones are closed", limit, owner)


def _close_idle(connections: Collection[_HeaderTimeoutProtocol], number: int) -> None:
    """Close the longest idle connections; the newest one only if no other is idle."""
    idle = sorted((each for each in connections if each._is_idle()), key=lambda each: each._last_data)
    for each in idle[:-1][:number] or idle:
        each.transport.abort()


_log = logging.getLogger("mkdocs_roaming.serve")
_KEEP_ALIVE_SECONDS = 15
_SWITCH_SECONDS = 0.00005  # threads that compute for one client must not delay the event loop
_MAX_HEADER_BYTES = 32_768
_BACKLOG = 512
_MAX_CONNECTIONS = 10_000
_MAX_CONNECTIONS_EACH = 256

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
from collections.abc import Callable
from contextlib import suppress
from typing import ClassVar, cast

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.serve.middleware import CANCEL_SECONDS, DRAIN_SECONDS, HEADER_SECONDS, RequestGuard
from mkdocs_roaming.serve.requests import ProblemError, encode_problem


def run_server(
    app: RequestGuard,
    listener: socket.socket,
    *,
    drain_seconds: int = DRAIN_SECONDS,
    header_seconds: float = HEADER_SECONDS,
) -> None:
    """Serve on a listening socket until SIGINT or SIGTERM, as the last task of the process."""
    max_connections, backlog = limit_connections()
    config = uvicorn.Config(
        app,
        http=type(
            "HeaderTimeoutProtocol",
            (_HeaderTimeoutProtocol,),
            {
                "header_seconds": header_seconds,
                "max_connections": max_connections,
                "on_refusal": staticmethod(app.count_refusal),
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
        backlog=backlog,
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


def limit_connections() -> tuple[int, int]:
    """Return the maximum number of connections, and how many are accepted at once; raise the limit of open files.

    Both leave room for other files: asyncio logs each attempt to accept a connection without a free descriptor.
    """
    if sys.platform == "win32":
        return _MAX_CONNECTIONS, _BACKLOG
    import resource  # Unix only

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MAX_CONNECTIONS + 2 * _BACKLOG + _OTHER_FILES
    if soft < wanted:
        with suppress(ValueError, OSError):
            limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
            soft = limit
    backlog = min(_BACKLOG, soft // 8)
    # Descriptors of closed connections are freed in the next step of the event loop.
    return max(min(_MAX_CONNECTIONS, soft - 2 * backlog - min(_OTHER_FILES, soft // 4)), 1), backlog


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
    """A server that tells the application when it begins to stop: uvicorn does so after the last response."""

    def __init__(self, config: uvicorn.Config, app: RequestGuard, seconds: float) -> None:
        super().__init__(config)
        self._app, self._seconds = app, seconds

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.drain(self._seconds)
        await super().shutdown(sockets)


class _HeaderTimeoutProtocol(H11Protocol):
    """HTTP/1.1 as uvicorn implements it; a connection is closed if the headers of a request take too long.

    If there are too many connections, those are closed that have been without a request for the longest time.
    """

    header_seconds = HEADER_SECONDS
    max_connections: int
    warned_at: ClassVar[float] = float("-inf")
    _last_data = 0.0
    on_refusal: Callable[[ProblemError], None]
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        self._last_data = self.loop.time()
        self._start_timer()
        if len(self.connections) > self.max_connections:
            self._make_room()

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

    def _make_room(self) -> None:
        """Close a tenth of the connections, the longest idle ones, or this one if all others have a request."""
        others = cast("set[_HeaderTimeoutProtocol]", self.connections)
        live = [each for each in others if not each.transport.is_closing()]
        if len(live) <= self.max_connections:
            return
        idle = sorted((each for each in live if each is not self and each._is_idle()), key=lambda each: each._last_data)
        for each in idle[: 1 + self.max_connections // 10] or [self]:
            each.transport.abort()
        kind = type(self)
        if self.loop.time() - kind.warned_at > _WARNING_SECONDS:
            kind.warned_at = self.loop.time()
            _log.warning("more than %d connections; the longest idle ones are closed", self.max_connections)

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


_log = logging.getLogger("mkdocs_roaming.serve")
_KEEP_ALIVE_SECONDS = 15
_SWITCH_SECONDS = 0.00005  # threads that compute for one client must not delay the event loop
_MAX_HEADER_BYTES = 32_768
_BACKLOG = 512
_MAX_CONNECTIONS = 10_000
_OTHER_FILES = 128
_WARNING_SECONDS = 60

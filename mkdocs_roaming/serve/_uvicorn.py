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
    config = uvicorn.Config(
        app,
        http=type(
            "HeaderTimeoutProtocol",
            (_HeaderTimeoutProtocol,),
            {"header_seconds": header_seconds, "on_refusal": staticmethod(app.count_refusal)},
        ),
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,  # the middleware decides which proxies to trust
        server_header=False,
        timeout_graceful_shutdown=drain_seconds + CANCEL_SECONDS + 1,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        h11_max_incomplete_event_size=_MAX_HEADER_BYTES,
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
    """HTTP/1.1 as uvicorn implements it; a connection is closed if the headers of a request take too long."""

    header_seconds = HEADER_SECONDS
    on_refusal: Callable[[ProblemError], None]
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_idle():
            self._start_timer()
        else:
            self._stop_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

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

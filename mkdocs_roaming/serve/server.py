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
from collections import defaultdict
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any, cast

import h11
import uvicorn
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.serve.log import is_private, name_client, seldom
from mkdocs_roaming.serve.middleware import CANCEL_SECONDS, DRAIN_SECONDS, RequestGuard
from mkdocs_roaming.serve.requests import UNKNOWN_CLIENT, ProblemError, encode_problem, parse_network
from mkdocs_roaming.serve.schemas import status_phrase


def run_server(app: RequestGuard, listener: socket.socket, *, drain_seconds: int = DRAIN_SECONDS) -> None:
    """Serve on a listening socket until SIGINT or SIGTERM, as the last task of the process."""
    config = uvicorn.Config(
        app,
        http=make_protocol(app, limit_connections(app.policy.connections)),
        ws="none",
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
    # asyncio logs each write after the fourth to a client that has left.
    logging.getLogger("asyncio").addFilter(lambda record: record.msg != "socket.send() raised exception.")
    sys.setswitchinterval(_SWITCH_SECONDS)
    with suppress(KeyboardInterrupt):  # after its shutdown uvicorn raises the signal again
        server.run(sockets=[listener])
    if not server.started:
        sys.exit(1)


def make_protocol(app: RequestGuard, max_connections: int) -> type[H11Protocol]:
    """Return the protocol of all connections to an application."""
    policy = app.policy
    each = min(policy.connections_each, max(max_connections // 2, 1))
    values = {
        "header_seconds": policy.header_seconds,
        "abort_seconds": policy.send_seconds + 1,  # the guard ends the response before
        "max_connections": max_connections,
        "max_connections_each": sys.maxsize if policy.proxies else each,  # all are from the proxy
        "behind_proxy": policy.proxies > 0,
        "clients": defaultdict(set),
        "on_refusal": staticmethod(app.metrics.count_refusal),
    }
    return type("LimitedProtocol", (_LimitedProtocol,), values)


def limit_connections(wanted: int) -> int:
    """Return the maximum number of connections: half of the files that may be open. Raise this limit if necessary."""
    if sys.platform == "win32":
        return wanted
    import resource  # Unix only

    files = 2 * wanted  # a response may have a file open
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)  # negative: unlimited
    if 0 <= soft < files:
        with suppress(ValueError, OSError):
            raised = files if hard < 0 else min(files, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
            soft = raised
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
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
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
        connections = cast("set[_LimitedProtocol]", self.server_state.connections)
        _close_idle(connections, 1 + len(connections) // 2)
        reason = (error.strerror or str(error)).lower()
        seldom.warn("cannot accept connections: %s; idle ones are closed. %s", reason, _FILES_REMEDY)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.drain(self._seconds)
        await super().shutdown(sockets)


class _StrictConnection(h11.Connection):
    """HTTP/1.1 as h11 parses it, without what reverse proxies may parse differently (RFC 9112, 2.2 and 6.1).

    Bodies of many tiny chunks are refused: each chunk costs 10 microseconds.
    """

    _tiny_chunks = 0

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        received = self.trailing_data[0]
        if self.their_state is h11.IDLE:
            self._tiny_chunks = 0
            _check_lines(received)
        event = super().next_event()
        if isinstance(event, h11.Request):
            names = {name for name, _ in event.headers}
            if b"transfer-encoding" in names and (b"content-length" in names or event.http_version < b"1.1"):
                raise h11.RemoteProtocolError("Transfer-Encoding with Content-Length or HTTP/1.0")
        if isinstance(event, h11.Data) and event.chunk_start and event.chunk_end:
            self._tiny_chunks += len(event.data) < _TINY_CHUNK_BYTES
            if self._tiny_chunks > _MAX_TINY_CHUNKS:
                raise h11.RemoteProtocolError("too many tiny chunks")
        if isinstance(event, h11.EndOfMessage):
            end = received[: len(received) - len(self.trailing_data[0])]  # the last chunk, with its trailers
            _check_lines(end.removeprefix(b"\n") or end)  # a line feed before it ends the chunk before
        return event


def _check_lines(received: bytes) -> None:
    """Raise RemoteProtocolError if there is a bare line feed before the first empty line, or too many lines."""
    head = b"".join(received.partition(b"\n\r\n")[:2])
    lines = head.count(b"\n")
    if lines != head.count(b"\r\n") or lines > _MAX_HEADER_LINES:
        raise h11.RemoteProtocolError("invalid lines")


class _LimitedProtocol(H11Protocol):
    """HTTP/1.1 as uvicorn implements it; a connection is closed if the headers of a request take too long.

    If there are too many connections, of one client or in total, the longest idle ones of them are closed. Received
    data are parsed in pieces, because 256 KB of small chunks take 0.1 seconds.
    """

    header_seconds: float
    abort_seconds: float
    max_connections: int
    max_connections_each: int
    behind_proxy: bool
    clients: defaultdict[str, set[_LimitedProtocol]]
    _last_data = 0.0
    _client = UNKNOWN_CLIENT
    on_refusal: Callable[[ProblemError], None]
    _timer: asyncio.TimerHandle | None = None
    _parsing: asyncio.Handle | None = None
    _abort_timer: asyncio.TimerHandle

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        self.logger = _uvicorn_log
        self.conn = _StrictConnection(h11.SERVER, _MAX_HEADER_BYTES)
        self.flow = FlowControl(cast("asyncio.Transport", self))  # it only calls `pause_reading` and `resume_reading`
        self._unread = bytearray()
        self._last_data = self.loop.time()
        self._start_timer()
        self._client = parse_network((transport.get_extra_info("peername") or ("",))[0]) or UNKNOWN_CLIENT
        mine, everyone = self.clients[self._client], cast("set[_LimitedProtocol]", self.connections)
        mine.add(self)
        if len(mine) > self.max_connections_each:
            _make_room(mine, self.max_connections_each, " of one client", "connections_each")
        elif len(everyone) > self.max_connections:
            _make_room(everyone, self.max_connections, "", "connections")

    def data_received(self, data: bytes) -> None:
        self._unread += data
        if self._parsing is None:
            self._parse()

    def _parse(self) -> None:
        """Parse a piece of the received data, and the next one after other connections had their turn."""
        self._parsing = None
        if self.flow.read_paused or self.transport.is_closing():
            return
        piece = bytes(self._unread[:_PIECE_BYTES])
        del self._unread[:_PIECE_BYTES]
        super().data_received(piece)
        self._last_data = self.loop.time()
        if self._is_idle():
            self._start_timer()
        else:
            self._stop_timer()
        if self._unread:
            self.transport.pause_reading()
        if not self.flow.read_paused:
            self.resume_reading()

    def pause_reading(self) -> None:
        """Receive nothing."""
        self.transport.pause_reading()

    def resume_reading(self) -> None:
        """Parse what has been received already; after it receive more."""
        if not self._unread:
            self.transport.resume_reading()
        elif self._parsing is None:
            self._parsing = self.loop.call_soon(self._parse)

    def pause_writing(self) -> None:
        """Send nothing, and abort the connection if the client does not read: to close it would wait for the client."""
        super().pause_writing()
        self._abort_timer = self.loop.call_later(self.abort_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Send more."""
        super().resume_writing()
        self._abort_timer.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._unread.clear()
        super().connection_lost(exc)
        self.clients[self._client].discard(self)
        if not self.clients[self._client]:
            del self.clients[self._client]

    def send_400_response(self, msg: str) -> None:
        """Refuse a malformed request."""
        if self.behind_proxy:
            proxy = self._client if is_private(self._client) else name_client(self._client)
            seldom.warn("malformed request refused (400): check the reverse proxy %s, which forwarded it", proxy)
        else:
            seldom.warn(
                "malformed request of client %s refused (400): the client is at fault", name_client(self._client)
            )
        detail = f"This is not HTTP/1.1 with at most {_MAX_HEADER_LINES} header lines and {_MAX_HEADER_BYTES} bytes."
        self._refuse(ProblemError(400, "malformed", detail))

    def _is_idle(self) -> bool:
        """Return whether the headers of the next request are still missing, or the connection is about to close."""
        return self.cycle is None or self.cycle.response_complete or self.transport.is_closing()

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
        self._refuse(ProblemError(408, "slow", f"The headers did not arrive within {self.header_seconds:g} seconds."))

    def _refuse(self, problem: ProblemError) -> None:
        """Count a refused request, respond unless another response has begun, and close the connection."""
        self.on_refusal(problem)
        if self._is_idle() or not self.cycle.response_started:
            headers, body = encode_problem(problem)
            lines = b"".join(b"%s: %s\r\n" % header for header in (*headers, (b"connection", b"close")))
            status = f"HTTP/1.1 {problem.status} {status_phrase(problem.status)}\r\n".encode()
            self.transport.write(status + lines + b"\r\n" + body)
        self.transport.close()


def _make_room(connections: Collection[_LimitedProtocol], limit: int, owner: str, setting: str) -> None:
    """Close idle ones of too many connections, a tenth of the limit at once, so that this is rare."""
    _close_idle(connections, 1 + limit // 10)
    message = f"more than %d connections{owner}; the longest idle ones are closed. The limit is [limits] {setting}"
    seldom.warn(message, limit)


def _close_idle(connections: Collection[_LimitedProtocol], number: int) -> None:
    """Close the longest idle connections; the newest one only if no other is idle."""
    idle = sorted((each for each in connections if each._is_idle()), key=lambda each: each._last_data)
    for each in idle[:-1][:number] or idle:
        each.transport.abort()


_log = logging.getLogger("mkdocs_roaming.serve")
_uvicorn_log = logging.getLogger("mkdocs_roaming.serve.uvicorn")
_uvicorn_log.setLevel(logging.ERROR)  # its warnings are about clients, as is this error
_uvicorn_log.addFilter(lambda record: record.msg != "ASGI callable returned without completing response.")
_KEEP_ALIVE_SECONDS = 15
_SWITCH_SECONDS = 0.00005  # threads that compute for one client must not delay the event loop
_MAX_HEADER_BYTES = 16_384
_MAX_HEADER_LINES = 100
_PIECE_BYTES = 2_048
_TINY_CHUNK_BYTES = 16
_MAX_TINY_CHUNKS = 200
_BACKLOG = 512
_FILES_REMEDY = "Allow more: LimitNOFILE=20000 in a systemd unit, `ulimits` in compose.yml, or `ulimit -n 20000`."

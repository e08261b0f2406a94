"""HTTP as uvicorn speaks it, but headers have to come within some seconds: it would listen to a trickle for ever.

A server in front should do the same, or it passes slow visitors' requests on whole; this holds where there is none.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
import sys
from contextlib import suppress
from types import FrameType

from uvicorn.protocols.http.h11_impl import H11Protocol

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.serve.middleware import HEADER_SECONDS, ASGIApp
from mkdocs_roaming.serve.problems import ProblemError, encode_problem


def header_timeout_protocol(seconds: float) -> type[asyncio.Protocol]:
    """Give the protocol for uvicorn's `http`."""
    return type("Impatient", (_HeaderTimeoutProtocol,), {"seconds": seconds})


class _HeaderTimeoutProtocol(H11Protocol):
    seconds = 10.0
    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_between():
            self._wait()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _is_between(self) -> bool:
        """Tell whether no request is under way: the next one's headers are still to come."""
        return self.cycle is None or self.cycle.response_complete

    def _wait(self) -> None:
        if self._waiting is None:
            self._waiting = self.loop.call_later(self.seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._waiting = None
        if self.transport.is_closing() or not self._is_between():
            return
        headers, body = encode_problem(
            ProblemError(408, "slow", f"The headers did not come within {self.seconds:g} seconds.")
        )
        told = b"".join(b"%s: %s\r\n" % header for header in (*headers, (b"connection", b"close")))
        self.transport.write(b"HTTP/1.1 408 Request Timeout\r\n" + told + b"\r\n" + body)
        self.transport.close()


# MERGED mkdocs_roaming.serve.running:
# The server: uvicorn with our settings. On SIGTERM answers under way are finished, for so long as is given.


DRAIN_SECONDS = 30


"""The seconds that answers under way have to end when the server is stopped."""


_log = logging.getLogger("mkdocs_roaming.serve")


def run_server(
    app: ASGIApp, host: str, port: int, *, drain: int = DRAIN_SECONDS, header_seconds: float = HEADER_SECONDS
) -> None:
    """Serve until SIGINT or SIGTERM; raises UsageError where the port cannot be had."""
    import uvicorn

    listening = bind_socket(host, port)
    config = uvicorn.Config(
        app,
        http=header_timeout_protocol(header_seconds),
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,  # whom to believe is the guard's to say
        server_header=False,
        timeout_graceful_shutdown=drain,
        timeout_keep_alive=_KEEP_ALIVE,
        h11_max_incomplete_event_size=_HEADERS,
    )
    _log.info("listening on http://%s:%d", f"[{host}]" if ":" in host else host, listening.getsockname()[1])
    server = uvicorn.Server(config)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH)
    before = signal.signal(signal.SIGTERM, _end)  # uvicorn raises it again when it is done: that ends us well
    try:
        with suppress(KeyboardInterrupt):
            server.run(sockets=[listening])
    finally:
        signal.signal(signal.SIGTERM, before)
        sys.setswitchinterval(interval)
    if not server.started:
        sys.exit(1)


def freeze_objects() -> None:
    """Take what is there now out of the collector's rounds, for a process that serves one site and does nothing else.

    A site is some ten thousand objects that stay for days; each full round through them would stop all readers for as
    long as a hundred milliseconds. What was there before and is not used any more goes first.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def bind_socket(host: str, port: int) -> socket.socket:
    """Give a listening socket; raises UsageError where there is none to be had.

    It says that it is TCP: only then does asyncio send small pieces at once.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_WAITING)
    except OSError as error:
        raise UsageError(f"{host}:{port} cannot be listened on ({error.strerror}); choose another --port") from None
    except OverflowError:
        raise UsageError(f"{port} is no port; choose one up to 65535") from None
    return listening


def _end(number: int, frame: FrameType | None) -> None:
    sys.exit(0)


_KEEP_ALIVE = 15


_SWITCH = 0.00005  # seconds; what threads compute for one reader must not keep the others waiting


_HEADERS = 32_768


_WAITING = 512

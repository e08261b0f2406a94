"""The server: uvicorn with our settings. On SIGTERM answers under way are finished, for so long as is given."""

from __future__ import annotations

import gc
import logging
import signal
import socket
import sys
from contextlib import suppress
from types import FrameType

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.serve.guard import HEADER_SECONDS, App

DRAIN = 30
"""The seconds that answers under way have to end when the server is stopped."""

_log = logging.getLogger("mkdocs_roaming.serve")


def run(app: App, host: str, port: int, *, drain: int = DRAIN, header_seconds: float = HEADER_SECONDS) -> None:
    """Serve until SIGINT or SIGTERM; raises UsageError where the port cannot be had."""
    import uvicorn

    from mkdocs_roaming.serve.impatience import protocol

    listening = listen(host, port)
    config = uvicorn.Config(
        app,
        http=protocol(header_seconds),
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


def settle() -> None:
    """Take what is there now out of the collector's rounds, for a process that serves one site and does nothing else.

    A site is some ten thousand objects that stay for days; each full round through them would stop all readers for as
    long as a hundred milliseconds. What was there before and is not used any more goes first.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def listen(host: str, port: int) -> socket.socket:
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

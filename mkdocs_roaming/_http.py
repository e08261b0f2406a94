"""A server that is asked with a key: what is known of it, how its address is read, how its own words are passed on,
and how long it is waited for.
"""

from __future__ import annotations

import email.utils
import re
import socket
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from mkdocs_roaming.errors import LibraryError, UsageError

if TYPE_CHECKING:
    from httpx2 import Client


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ApiConfig:
    """Who is asked: the model, where, with which key, and what the key and the address are called where they are set.

    It is never printed as it is: the key stays here.
    """

    model: str
    base_url: str
    key: str
    key_name: str
    base_name: str

    def __repr__(self) -> str:
        return f"Service({self.model!r}, {self.address!r})"

    @property
    def address(self) -> str:
        """The base URL without what may be secret in it."""
        parts = urlsplit(self.base_url)
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}{parts.path.rstrip('/')}"

    def redact(self, message: str) -> str:
        """Give the server's own words on one line, without the key should they repeat it."""
        text = message.replace(self.key, "…") if self.key else message
        text = " ".join(re.sub(r"[\x00-\x1f\x7f]+", " ", text).split())
        return text if len(text) <= _MAX_MESSAGE_CHARS else text[: _MAX_MESSAGE_CHARS - 1].rstrip() + "…"


def parse_base_url(text: str, default_path: str = "") -> str:
    """Give a server's address without its last slash; raises UsageError for what is none."""
    text = text.strip().rstrip("/")
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        shown = re.sub(r"//[^/@]*@", "//", text)[:_MAX_MESSAGE_CHARS]
        raise UsageError(f"{shown!r} is no address of a server; give one such as http://localhost:11434/v1")
    return text if parts.path else text + default_path


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Give the seconds that a server asks to wait, told as a number or as a date."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        text = headers.get(name, "").strip()
        if re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,9})?", text):
            return float(text) / unit
        date = email.utils.parsedate_tz(text)
        if date is not None:
            return max(email.utils.mktime_tz(date) - time.time(), 0.0)
    return None


def run_with_timeout(ask: Callable[[], T], seconds: float, give_up: Callable[[], object]) -> T:
    """Give what asking a server gives, or raise what it raises; TimeoutError after so many seconds in all.

    A client's own limits are for each piece that comes, so a server that drips, be it only its headers, would hold
    whoever waits for ever. It is asked in a thread that is left behind; `give_up` is called to end it: it hangs up
    what the thread reads from.
    """
    came: SimpleQueue[tuple[T] | BaseException] = SimpleQueue()

    def run() -> None:
        try:
            came.put((ask(),))
        except BaseException as error:
            came.put(error)

    threading.Thread(target=run, name="roaming request", daemon=True).start()
    try:
        found = came.get(timeout=seconds)
    except Empty:
        give_up()
        raise TimeoutError from None
    if isinstance(found, BaseException):
        raise found
    return found[0]


class ConnectionTracker:
    """The sockets that a client opened, to hang up from another thread than the one that reads.

    Closing them does not do: who waits in `poll` for one keeps it open, and goes on waiting for the next socket that
    is given its number (https://man7.org/linux/man-pages/man2/select.2.html, "Multithreaded applications").
    """

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []
        self._ended = False
        self._one = threading.Lock()

    def add(self, opened: socket.socket) -> None:
        """Note a socket; it is hung up at once when the others were."""
        with self._one:
            self._sockets = [each for each in self._sockets if each.fileno() != -1]
            self._sockets.append(opened)
            ended = self._ended
        if ended:
            self.shutdown()

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Note what httpx2 opens, given as its `trace`: https://www.python-httpx.org/advanced/extensions/#trace."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):  # also of a proxy's connection
            self.add(info["return_value"].get_extra_info("socket"))

    def shutdown(self) -> None:
        """End them, and whatever opens later."""
        with self._one:
            self._ended, sockets = True, self._sockets
        for each in sockets:
            with suppress(OSError):  # it is closed already
                each.shutdown(socket.SHUT_RDWR)


_MAX_MESSAGE_CHARS = 160


# MERGED mkdocs_roaming.roam.fetching:
# A web site that is asked for one address after the other; no answer may take longer than a time in all.


MAX_REDIRECTS = 5


FETCH_TIMEOUT = 120.0


"""The longest that one answer may take to arrive; a quarter of it is the longest silence."""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """What an address answered, and which one it was in the end; the body is read where the status is 200."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str


class HttpClient:
    """Asks over HTTP, redirects followed. May be used from several threads.

    A connection is used by one request at a time: one that is given up is closed and takes no other with it.
    """

    def __init__(self, *, seconds: float) -> None:
        import httpx2  # only for those who read from the web

        self._seconds = seconds
        self._trusted = httpx2.create_ssl_context()
        self._idle: deque[tuple[Client, ConnectionTracker]] = deque()
        weakref.finalize(self, _close, self._idle)

    def get(self, url: str, cap: int, headers: Mapping[str, str] | None = None) -> HttpResponse:
        """Fetch an address, at most `cap` bytes as they unpack.

        Raises LibraryError where there is no answer, none in time, or more than that.
        """
        import httpx2

        try:
            client, connections = self._idle.pop()
        except IndexError:
            client, connections = self._client(), ConnectionTracker()
        try:
            asked = partial(_send, client, connections, url, cap, headers or {})
            found = run_with_timeout(asked, self._seconds, connections.shutdown)
        except BaseException as error:
            client.close()
            if isinstance(error, TimeoutError):
                raise LibraryError(
                    f"{url}: no complete answer within {self._seconds:g} seconds; try again later"
                ) from None
            if isinstance(error, httpx2.TimeoutException):
                raise LibraryError(f"{url}: no answer in time; try again later") from None
            if isinstance(error, httpx2.TooManyRedirects):
                raise LibraryError(
                    f"{url}: more than {MAX_REDIRECTS} redirects; give the address where they end"
                ) from None
            if isinstance(error, (httpx2.HTTPError, httpx2.InvalidURL, ValueError)):
                why = " ".join(str(error).split())[:200] or type(error).__name__
                raise LibraryError(f"{url}: cannot be fetched ({why}); check the address") from None
            raise
        self._idle.append((client, connections))
        return found

    def _client(self) -> Client:
        import httpx2

        from mkdocs_roaming import __version__

        return httpx2.Client(
            verify=self._trusted,
            follow_redirects=True,
            max_redirects=MAX_REDIRECTS,
            timeout=httpx2.Timeout(self._seconds / 4, connect=min(10.0, self._seconds / 4)),
            headers={"User-Agent": f"mkdocs-roaming/{__version__}"},
        )


def _send(
    client: Client, connections: ConnectionTracker, url: str, cap: int, headers: Mapping[str, str]
) -> HttpResponse:
    with client.stream("GET", url, headers=headers, extensions={"trace": connections.trace}) as response:
        body = bytearray()
        if response.status_code == 200:
            for piece in response.iter_bytes():
                body += piece
                if len(body) > cap:
                    raise LibraryError(f"{url}: more than {cap // 2**20} MB; refused")
        return HttpResponse(response.status_code, response.headers, bytes(body), str(response.url))


def _close(idle: deque[tuple[Client, ConnectionTracker]]) -> None:
    for client, _ in idle:
        client.close()

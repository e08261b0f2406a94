"""HTTP for everything that reads: the settings of an API server, total timeouts, and a client for published sites."""

from __future__ import annotations

import email.utils
import json
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
from ipaddress import ip_address
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from mkdocs_roaming._guard import PrivateAddressError, check_addresses, named_endpoints, split_host
from mkdocs_roaming._json import decode_json
from mkdocs_roaming._version import __version__
from mkdocs_roaming.errors import LibraryError, UsageError
from mkdocs_roaming.text.markdown import remove_invisible

if TYPE_CHECKING:
    from httpcore2 import NetworkStream
    from httpx2 import Client, Request

T = TypeVar("T")

FETCH_TIMEOUT = 120.0
"""Seconds for one whole response; the read timeout is a quarter of it."""
MAX_REDIRECTS = 5

_CONNECT_SECONDS = 10.0
_MAX_NUMBER_CHARS = 22
_WAIT_HEADERS = {"retry-after-ms": 1_000.0, "retry-after": 1.0}
"""Headers with the time until a retry, and their units in a second."""
_LOGIN = re.compile(r"//[^/@]*@")  # user and password in a text that is no valid URL: `//user:password@`
_STATUS = re.compile("[1-5][0-9]{2}")  # the status of a response as text: `429`
_LOCAL_DOMAINS = (".localhost", ".local", ".internal", ".lan", ".home.arpa")
_MAX_MESSAGE_CHARS = 160


class UnavailableError(LibraryError):
    """A site has no response at the moment: its server does not respond, or not in time."""


@dataclass(frozen=True, slots=True)
class ApiConfig:
    """The model, address and key of an API server.

    `key_name` and `base_name` are the variables or settings that key and address come from, for error messages. The
    key does not appear in the representation.
    """

    model: str
    base_url: str
    key: str
    key_name: str
    base_name: str

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, {self.address!r})"

    @property
    def address(self) -> str:
        """The base URL without user, password and query."""
        parts = urlsplit(self.base_url)
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}{parts.path.rstrip('/')}"

    @property
    def is_hosted(self) -> bool:
        """Whether the server is neither on this machine nor in its network, judged by its name or address."""
        host = urlsplit(self.base_url).hostname or ""
        try:
            return ip_address(host).is_global
        except ValueError:
            return "." in host and not host.endswith(_LOCAL_DOMAINS)

    def redact(self, message: str) -> str:
        """Return a message of the server on one line, shortened, without the key."""
        text = message.replace(self.key, "…") if self.key else message
        text = " ".join(remove_invisible(text).split())
        return text if len(text) <= _MAX_MESSAGE_CHARS else text[: _MAX_MESSAGE_CHARS - 1].rstrip() + "…"


def parse_base_url(text: str, default_path: str = "") -> str:
    """Return a server's URL without trailing slashes; `default_path` is added if it has no path.

    Raises:
        UsageError: The text is not an http(s) URL.
    """
    text = text.strip().rstrip("/")
    try:
        parts = urlsplit(text)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        shown = _LOGIN.sub("//", text)[:_MAX_MESSAGE_CHARS]
        raise UsageError(f"{shown!r} is not a server address; use a URL such as http://localhost:11434/v1")
    return text if parts.path else text + default_path


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds in a Retry-After (a number or a date) or Retry-After-Ms header."""
    for name, unit in _WAIT_HEADERS.items():
        text = headers.get(name, "").strip()
        is_number = text.isascii() and text.replace(".", "", 1).isdigit()
        if is_number and len(text) <= _MAX_NUMBER_CHARS:
            return float(text) / unit
        date = email.utils.parsedate_tz(text)
        if date is not None:
            return max(email.utils.mktime_tz(date) - time.time(), 0.0)
    return None


def check_api_key(key: str, name: str) -> str:
    """Return the key of an API, which comes from the variable or setting `name`.

    Raises:
        UsageError: The key contains characters that no key has.
    """
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise UsageError(
            f"the key in {name} contains a character that no key has, such as a typographic quotation mark or a "
            "line break; set it again"
        )
    return key


def parse_api_error(body: bytes) -> tuple[str, str, int]:
    """Return type, message and status (default: 200) of an API's error; servers put them in different places."""
    try:
        data: object = decode_json(body)
    except ValueError:
        return "", "", 200
    error = data.get("error", data) if isinstance(data, Mapping) else data
    if not isinstance(error, Mapping):
        return "", error if isinstance(error, str) else "", 200
    kinds = [error[name] for name in ("type", "code") if isinstance(error.get(name), str)]
    message = error.get("message") or error.get("detail") or ""
    text = message if isinstance(message, str) else json.dumps(message)
    metadata = error.get("metadata")
    if isinstance(metadata, Mapping) and isinstance(metadata.get("raw"), str):
        text = f"{text}: {metadata['raw']}"  # what the provider behind a gateway said
    code = str(error.get("code"))
    status = int(code) if _STATUS.fullmatch(code) else 200
    return " ".join(dict.fromkeys(kinds)), text, status


# Total timeouts


def run_with_timeout(function: Callable[[], T], seconds: float, cancel: Callable[[], object]) -> T:
    """Call a function in a thread and return its result.

    An HTTP client's read timeout restarts with every chunk, so a server that sends one byte at a time could hold a
    caller for ever.

    Args:
        function: The blocking call.
        seconds: Total time for the call.
        cancel: Called at the timeout, to end the I/O of the abandoned thread.

    Raises:
        TimeoutError: There is no result in time.
    """
    results: SimpleQueue[tuple[T] | BaseException] = SimpleQueue()

    def run() -> None:
        try:
            results.put((function(),))
        except BaseException as error:
            results.put(error)

    threading.Thread(target=run, name="roaming request", daemon=True).start()
    try:
        result = results.get(timeout=seconds)
    except Empty:
        cancel()
        raise TimeoutError from None
    if isinstance(result, BaseException):
        raise result
    return result[0]


class GuardedConnections:
    """The connections of an HTTP client, of which only those to the host and port that the user named may be private.

    A host is checked before the connection, and the address of the connection before anything is sent: the name may
    have another address by then (DNS rebinding). A proxy connects to hosts by itself; its own address is not checked.

    All can be shut down from another thread. Closing is not enough: a thread in `poll` keeps its socket open, and would
    then wait for the next socket with the same number (https://man7.org/linux/man-pages/man2/select.2.html,
    "Multithreaded applications").
    """

    def __init__(self, named: str) -> None:
        """Create the guard with the URL that the user named."""
        self._named = named_endpoints(named)
        self._requested = self._connecting = ("", 0)
        self._sockets: list[socket.socket] = []
        self._is_shut_down = False
        self._lock = threading.Lock()

    def add(self, connection: socket.socket) -> None:
        """Track a socket; after `shutdown` it is shut down at once."""
        with self._lock:
            self._sockets = [open_socket for open_socket in self._sockets if open_socket.fileno() != -1]
            self._sockets.append(connection)
            is_shut_down = self._is_shut_down
        if is_shut_down:
            self.shutdown()

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Check the address of a new connection, and track its sockets; httpx2's `trace` extension.

        See https://www.python-httpx.org/advanced/extensions/#trace.
        """
        if event.endswith(".connect_tcp.started"):
            self._connecting = info["host"], info["port"]
        elif event.endswith(".connect_tcp.complete") and self._connecting == self._requested:
            self._check_peer(info["return_value"])
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):  # includes connections to proxies
            self.add(info["return_value"].get_extra_info("socket"))

    def _check_peer(self, stream: NetworkStream) -> None:
        """Check the address of a new connection. After an error, it is closed here: httpcore2 does not have it yet."""
        from httpx2 import ConnectError

        try:
            address = stream.get_extra_info("server_addr")[0]
            check_addresses(*self._requested, [address], self._named)
        except PrivateAddressError:
            stream.close()
            raise
        except OSError as error:  # the server has reset the connection, which then has no address
            stream.close()
            raise ConnectError(str(error)) from error

    def shutdown(self) -> None:
        """Shut down all sockets, and those that are added later."""
        with self._lock:
            self._is_shut_down = True
            sockets = self._sockets
        for connection in sockets:
            with suppress(OSError):  # already closed
                connection.shutdown(socket.SHUT_RDWR)

    def check_request(self, request: Request) -> None:
        """Check the host of a request, which may be a redirect; an event hook of httpx2."""
        self._requested = split_host(str(request.url))
        if request.url.scheme in ("http", "https") and self._requested not in self._named:
            with suppress(OSError, UnicodeError):  # the connection reports it
                hosts = [address[0] for *_, address in socket.getaddrinfo(*self._requested, type=socket.SOCK_STREAM)]
                check_addresses(*self._requested, map(str, hosts), self._named)


# Client


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response with its final URL. The body of a GET request is read for status 200 only."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str


class HttpClient:
    """A client for GET and POST requests. It may be used from several threads.

    Each request has a connection to itself, so closing the connection of a slow one disturbs no other.

    Args:
        named: The URL that the user named: requests and redirects reach no other private address than that of its host.
        seconds: Time limit for one whole response.
        read_seconds: Time limit for each read from the socket; a quarter of `seconds` by default.
        headers: Headers of all requests.
        follow_redirects: Whether redirects are followed.
    """

    def __init__(
        self,
        named: str,
        *,
        seconds: float,
        read_seconds: float | None = None,
        headers: Mapping[str, str] | None = None,
        follow_redirects: bool = True,
    ) -> None:
        import httpx2  # only readers of web sites pay for the import

        self._seconds = seconds
        read_seconds = read_seconds or seconds / 4
        connect_seconds = min(_CONNECT_SECONDS, seconds / 4)
        self._new_client = partial(
            httpx2.Client,
            verify=httpx2.create_ssl_context(),
            follow_redirects=follow_redirects,
            max_redirects=MAX_REDIRECTS,
            timeout=httpx2.Timeout(read_seconds, connect=connect_seconds),
            headers={"User-Agent": f"mkdocs-roaming/{__version__}", **(headers or {})},
        )
        self._new_connections = partial(GuardedConnections, named)
        self._idle: deque[tuple[Client, GuardedConnections]] = deque()
        weakref.finalize(self, _close_clients, self._idle)

    def get(self, url: str, max_bytes: int, headers: Mapping[str, str] | None = None) -> HttpResponse:
        """Fetch a URL.

        Args:
            url: An http(s) URL.
            max_bytes: Maximum size of the decompressed body.
            headers: Additional request headers.

        Raises:
            UnavailableError: There is no response, or none in time.
            LibraryError: The response is larger, or the address is wrong.
        """
        return self._send("GET", url, max_bytes, headers=headers)

    def post(self, url: str, body: object, max_bytes: int) -> HttpResponse:
        """Send JSON and return the response with its body, whatever its status. Arguments and errors as for `get`."""
        return self._send("POST", url, max_bytes, json=body)

    def _send(self, method: str, url: str, max_bytes: int, **options: Any) -> HttpResponse:
        import httpx2

        kind = LibraryError
        try:
            return self._exchange(method, url, max_bytes, **options)
        except TimeoutError:
            kind = UnavailableError
            reason = f"no complete response within {self._seconds:g} seconds; try again later"
        except httpx2.TimeoutException:
            kind = UnavailableError
            reason = "no response in time; try again later"
        except httpx2.TooManyRedirects:
            reason = f"more than {MAX_REDIRECTS} redirects; use the address that they lead to"
        except PrivateAddressError as error:
            reason = f"leads to another address, and {error}; if you trust it, use that address itself"
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            if isinstance(error, httpx2.NetworkError | httpx2.ProxyError | httpx2.RemoteProtocolError):
                kind = UnavailableError
            details = " ".join(str(error).split())[:200] or type(error).__name__
            reason = f"cannot be fetched ({details}); check the address"
        raise kind(f"{url}: {reason}")

    def _exchange(self, method: str, url: str, max_bytes: int, **options: Any) -> HttpResponse:
        try:
            client, connections = self._idle.pop()
        except IndexError:
            connections = self._new_connections()
            client = self._new_client(event_hooks={"request": [connections.check_request]})

        def send() -> HttpResponse:
            extensions = {"trace": connections.trace}
            with client.stream(method, url, extensions=extensions, **options) as response:
                body = bytearray()
                if response.status_code == 200 or method == "POST":
                    for chunk in response.iter_bytes():
                        body += chunk
                        if len(body) > max_bytes:
                            raise LibraryError(f"{url}: larger than {max_bytes // 2**20} MB")
                return HttpResponse(response.status_code, response.headers, bytes(body), str(response.url))

        try:
            response = run_with_timeout(send, self._seconds, connections.shutdown)
        except BaseException:
            client.close()
            raise
        self._idle.append((client, connections))
        return response


def _close_clients(idle: deque[tuple[Client, GuardedConnections]]) -> None:
    for client, _ in idle:
        client.close()

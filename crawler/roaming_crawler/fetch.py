"""HTTP client of the crawler: rate limits, retries, redirects, size limits, no private addresses.

A host name is resolved once, and the connection goes to an address that was checked (no DNS rebinding). The check is
below the HTTP client, so it covers redirects, robots.txt and sitemaps as well.
"""

from __future__ import annotations

import codecs
import re
import socket
import time
import zlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Protocol

import anyio
import httpcore2
import httpx2
import msgspec

from mkdocs_roaming._guard import PrivateAddressError, check_addresses, named_endpoints, parse_ip_literal
from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.manifest.models import join_url
from mkdocs_roaming.sources import decode_text
from roaming_crawler.config import MEGABYTE, Politeness
from roaming_crawler.scope import canonical_url, url_origin

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Coroutine function that returns the IP addresses of a host name and port."""

OK = 200
NOT_MODIFIED = 304
_MISSING = (404, 410)
_OVERLOADED = (429, 503)
_RETRIED = (429, 500, 502, 503, 504)
_MAX_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_TEMPORARY = re.compile(r", \d{1,3} times$|try again later$|\bstatus (?:429|5\d\d)$")
"""Ends of messages about hosts that did not answer: `no such host, 3 times`, `try again later`, `status 503`."""
_MIN_SLOW_DELAY = 0.5
"""Seconds between requests that are doubled when a host without a delay reports overload."""
_MAX_FACTOR = 64.0
_MAX_GAP = 60.0
_RECOVERY = 10
"""Number of good responses after which the rate is doubled again."""
_MAX_CONNECT_SECONDS = 30.0
_KEEPALIVE_SECONDS = 15
_MAX_VALUE_CHARS = 1_000
"""Longest part of a header that is stored."""
_MAX_MESSAGE_CHARS = 200
_MAX_AGE_DIGITS = 9
_STEP = 2**20
_GZIP_MAGIC = b"\x1f\x8b"
_CODINGS = frozenset(("", "identity", "gzip", "x-gzip", "deflate", "x-deflate"))
"""Values of `Content-Encoding` whose bodies are decoded; others may be wrong, and the body plain."""
_GZIP_FORMAT = zlib.MAX_WBITS | 16
_ZLIB_FORMATS = (zlib.MAX_WBITS, -zlib.MAX_WBITS)
"""What hosts send as `deflate`: zlib's format, or what is in it."""
_MAX_LAYERS = 3
"""How often a body may be compressed; one is known that contains itself."""
_HEAD_BYTES = 4096
_CONTROL_CHARS = bytes(byte for byte in range(32) if byte not in b"\t\n\r\f\x1b")
_MAX_CONTROL_CHARS = 0.05
"""Share of control characters that text may have."""
_create_ssl_context = cache(httpx2.create_ssl_context)
"""Loading the trusted certificates takes 20 ms, and a crawl of many sites creates many clients."""


class FetchError(RoamingError):
    """A URL could not be fetched."""


class UnavailableError(FetchError):
    """A host does not answer, or is overloaded."""


def is_temporary(reason: str) -> bool:
    """Return whether a page was skipped because its host did not answer, or was overloaded."""
    return _TEMPORARY.search(reason) is not None


class RefusedError(FetchError):
    """A URL was refused because its host has a private address."""


class Response(msgspec.Struct, frozen=True, omit_defaults=True):
    """A response with its decompressed body; `url` is the URL after redirects."""

    url: str
    status: int
    body: bytes = b""
    kind: str = ""
    """Media type without parameters."""
    charset: str = ""
    etag: str = ""
    modified: str = ""
    """`Last-Modified` header."""
    robots: str = ""
    """`X-Robots-Tag` headers, one a line."""
    links: tuple[dict[str, str], ...] = ()
    """`Link` headers, one of each relation, with the attributes of the HTML element, and an absolute `href`."""
    refresh: str = ""
    """`Refresh` header."""

    @property
    def text(self) -> str:
        """The body as text."""
        return decode_text(self.body, self.charset)

    @property
    def ok(self) -> bool:
        """Whether the status is 200."""
        return self.status == OK

    @property
    def is_missing(self) -> bool:
        """Whether there is no page at the URL any more."""
        return self.status in _MISSING

    @property
    def problem(self) -> str:
        """The status in words."""
        return "not found" if self.is_missing else f"status {self.status}"


@dataclass(frozen=True, slots=True)
class Request:
    """A GET request."""

    url: str
    accept: str = "*/*"
    cached: Response | None = None
    """The cached response. Its validators are sent to its own URL alone: a redirect may have moved."""
    cap: int = 10 * MEGABYTE
    """Maximum size of the decompressed body in bytes."""
    allow_redirect: Callable[[str], bool] = lambda url: True
    """Returns whether a redirect to a URL is followed."""


class Fetcher(Protocol):
    """Fetches URLs."""

    async def get(self, request: Request) -> Response:
        """Return the response, whatever its status.

        Raises:
            FetchError: There is no response.
        """
        ...


@dataclass(frozen=True, slots=True)
class Clock:
    """Time and sleep; tests replace them."""

    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep


@dataclass(slots=True)
class HostPace:
    """Request rate of one host: slower after 429 and 503, faster again after good ones."""

    delay: float
    limiter: anyio.CapacityLimiter
    next_start: float = 0.0
    """Earliest start of the next request on the monotonic clock."""
    factor: float = 1.0
    good_responses: int = 0

    @property
    def gap(self) -> float:
        """Seconds between the starts of two requests."""
        gap = self.delay
        if self.factor > 1:
            gap = self.factor * max(gap, _MIN_SLOW_DELAY)
        return min(gap, _MAX_GAP)

    def speed_up(self) -> None:
        """Double the request rate after several good responses, up to that before the overload."""
        self.good_responses += 1
        if self.good_responses >= _RECOVERY and self.factor > 1:
            self.factor = max(1.0, self.factor / 2)
            self.good_responses = 0

    def slow_down(self) -> None:
        """Halve the request rate after the server reported overload."""
        self.factor = min(self.factor * 2, _MAX_FACTOR)
        self.good_responses = 0


async def resolve(host: str, port: int) -> list[str]:
    """Resolve a host name with the system's resolver."""
    try:
        entries = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise httpcore2.ConnectError(f"{host}: no such host ({getattr(error, 'strerror', None) or error})") from None
    return list(dict.fromkeys(str(address[0]) for *_, address in entries))


@dataclass(frozen=True, slots=True)
class PublicNetworkBackend(httpcore2.AsyncNetworkBackend):
    """Network backend that connects to public addresses, and to private ones of hosts and ports that the user named.

    Attributes:
        resolve: Resolves host names.
        inner: Makes the connections.
        named: Hosts and ports that may have private addresses.

    Raises:
        PrivateAddressError: One of a host's addresses is not public.
    """

    resolve: Resolver = resolve
    inner: httpcore2.AsyncNetworkBackend = field(default_factory=httpcore2.AnyIOBackend)
    named: Collection[tuple[str, int]] = ()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to one of the host's addresses after all of them were found to be allowed."""
        literal = parse_ip_literal(host)
        addresses = [literal] if literal else list(await self.resolve(host, port))
        check_addresses(host, port, addresses, self.named)
        last: Exception = httpcore2.ConnectError(f"{host}: has no address")
        for address in addresses:
            try:
                return await self.inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                last = error
        raise last


class _Transport(httpx2.AsyncHTTPTransport):
    """HTTP transport over a given network backend; ignores proxies and other settings of the environment."""

    def __init__(self, backend: httpcore2.AsyncNetworkBackend, connections: int) -> None:
        context = _create_ssl_context(trust_env=False)
        super().__init__(verify=context, trust_env=False)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=context,
            max_keepalive_connections=connections,
            keepalive_expiry=_KEEPALIVE_SECONDS,
            network_backend=backend,
        )


class WebFetcher(AbstractAsyncContextManager["WebFetcher"]):
    """Fetches over HTTP. It follows redirects itself, so that each hop is checked."""

    def __init__(
        self,
        politeness: Politeness,
        *,
        clock: Clock | None = None,
        backend: httpcore2.AsyncNetworkBackend | None = None,
        private_urls: Collection[str] = (),
        on_wait: Callable[[str, float], None] = lambda host, seconds: None,
    ) -> None:
        """Create the client.

        Args:
            politeness: Request rate and limits.
            clock: Time source, by default the system's.
            backend: Network backend, by default one that refuses private addresses.
            private_urls: URLs whose hosts and ports may have private addresses.
            on_wait: Callback with host and seconds before each wait.
        """
        self.politeness = politeness
        self.clock = clock or Clock()
        self._on_wait = on_wait
        self._paces = defaultdict[str, HostPace](
            lambda: HostPace(politeness.delay, anyio.CapacityLimiter(politeness.connections))
        )
        backend = backend or PublicNetworkBackend(
            named=[endpoint for url in private_urls for endpoint in named_endpoints(url)]
        )
        self._client = httpx2.AsyncClient(
            transport=_Transport(backend, politeness.connections),
            trust_env=False,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            timeout=httpx2.Timeout(min(_MAX_CONNECT_SECONDS, politeness.seconds)),
            headers={"User-Agent": politeness.user_agent_header, "Accept-Encoding": "gzip"},
        )

    async def __aexit__(self, *_: object) -> None:
        """Close all connections."""
        await self._client.aclose()

    def set_crawl_delay(self, host: str, delay: float) -> None:
        """Apply a host's Crawl-delay if it is longer than the configured delay."""
        pace = self._paces[host]
        pace.delay = max(pace.delay, delay)

    async def get(self, request: Request) -> Response:
        """Return the response after redirects. Overload and connection errors are retried after a pause."""
        url = request.url
        for _ in range(_MAX_REDIRECTS + 1):
            response, headers = await self._get_with_retries(url, request)
            if response.status not in _REDIRECTS:
                return response
            location = headers.get("location", "")
            if not location:
                raise FetchError(f"{url}: redirect without a Location (status {response.status})")
            target = canonical_url(location, url)
            if target is None:
                raise FetchError(f"{url}: redirects to {location[:_MAX_MESSAGE_CHARS]!r}, which is not a URL")
            if not request.allow_redirect(target):
                raise FetchError(f"{url}: redirects to {target}, out of scope")
            url = target
        raise FetchError(f"{request.url}: more than {_MAX_REDIRECTS} redirects")

    async def _get_with_retries(self, url: str, request: Request) -> tuple[Response, httpx2.Headers]:
        politeness = self.politeness
        host = url_origin(url)
        pace = self._paces[host]
        problem = ""
        for attempt in range(1, politeness.tries + 1):
            wait = 2.0 ** (attempt - 1)
            async with pace.limiter:
                # The next start may move while this task sleeps, for example after a 429.
                while (pause := pace.next_start - self.clock.monotonic()) > 0:
                    self._on_wait(host, pause)
                    await self.clock.sleep(pause)
                pace.next_start = self.clock.monotonic() + pace.gap
                try:
                    response, headers = await self._get_once(url, request, pace)
                except PrivateAddressError as error:
                    raise RefusedError(f"{error}; for a host of your own, give its URL with --allow-private") from None
                except (httpx2.RequestError, OSError, TimeoutError) as error:
                    problem = _describe_error(error, politeness.seconds)
                else:
                    if response.status not in _RETRIED:
                        return response, headers
                    problem = f"status {response.status}"
                    if response.status in _OVERLOADED:
                        pace.slow_down()
                        wait = max(wait, _parse_retry_after(headers.get("retry-after", ""), self.clock.wall()))
                    if wait > politeness.max_retry_after:
                        raise UnavailableError(f"{url}: {problem}, retry after {wait:.0f} s; try again later")
                    if attempt == politeness.tries:
                        return response, headers
            pace.next_start = max(pace.next_start, self.clock.monotonic() + wait)  # holds for all requests to the host
        raise UnavailableError(f"{url}: {problem}, {politeness.tries} times")

    async def _get_once(self, url: str, request: Request, pace: HostPace) -> tuple[Response, httpx2.Headers]:
        sent_headers = {"Accept": request.accept}
        if request.cached and request.cached.url == url:
            validators = {"If-None-Match": request.cached.etag, "If-Modified-Since": request.cached.modified}
            sent_headers |= {name: value for name, value in validators.items() if value}
        with anyio.fail_after(self.politeness.seconds):
            try:
                sent = self._client.build_request("GET", url, headers=sent_headers)
                reply = await self._client.send(sent, stream=True)
            except (httpx2.InvalidURL, httpx2.UnsupportedProtocol, UnicodeError) as error:
                raise FetchError(f"{url}: not a valid URL ({error})") from None
            try:
                pace.speed_up()
                body = await _read_body(reply, url, request.cap)
            finally:
                await reply.aclose()
        headers = reply.headers
        kind = headers.get("content-type", "").partition(";")[0]
        charset = reply.charset_encoding or ""
        robots = "\n".join(headers.get_list("x-robots-tag"))
        response = Response(
            url=url,
            status=reply.status_code,
            body=body,
            kind=kind.strip().lower(),
            charset=charset.lower()[:_MAX_VALUE_CHARS],
            etag=headers.get("etag", "")[:_MAX_VALUE_CHARS],
            modified=headers.get("last-modified", "")[:_MAX_VALUE_CHARS],
            robots=robots[:_MAX_VALUE_CHARS],
            links=tuple(link | {"href": join_url(url, link["url"])} for link in reply.links.values()),
            refresh=headers.get("refresh", "")[:_MAX_VALUE_CHARS],
        )
        return response, headers


async def _read_body(reply: httpx2.Response, url: str, cap: int) -> bytes:
    """Read and decompress a body. Reading stops as soon as it exceeds the cap."""
    body = bytearray()
    async for piece in reply.aiter_raw():
        body += piece
        if len(body) > cap:
            raise FetchError(f"{url}: {_too_large(cap)}; raise --max-page-bytes if needed")
    coding = reply.headers.get("content-encoding", "").lower()
    try:
        return _decode_body(bytes(body), coding, cap)
    except FetchError as error:
        raise FetchError(f"{url}: {error}") from None


def _decode_body(body: bytes, coding: str, cap: int) -> bytes:
    """Return a body without its content encoding.

    The bytes tell what it is, because hosts declare gzip for plain text, `utf-8` or `none`.

    Raises:
        FetchError: The body is too large, or has another encoding.
        httpx2.DecodingError: The data is damaged or incomplete.
    """
    for _ in range(_MAX_LAYERS):
        if body.startswith(_GZIP_MAGIC):
            body = _decompress(body, cap, _GZIP_FORMAT)
        elif "deflate" in coding:
            for window_bits in _ZLIB_FORMATS:
                with suppress(httpx2.DecodingError):
                    body = _decompress(body, cap, window_bits)
    if not _CODINGS.issuperset(map(str.strip, coding.split(","))) and is_binary(body):
        raise FetchError(f"unrequested content encoding {coding[:_MAX_VALUE_CHARS]!r}; refused")
    return body


def is_binary(body: bytes) -> bool:
    """Return whether the beginning of a body is no text."""
    head = body[:_HEAD_BYTES]
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return False
    control_chars = len(head) - len(head.translate(None, _CONTROL_CHARS))
    return b"\0" in head or control_chars > _MAX_CONTROL_CHARS * len(head)


def _decompress(data: bytes, cap: int, window_bits: int) -> bytes:
    """Decompress in steps. The HTTP client would neither stop at a size nor notice a truncated body.

    Raises:
        FetchError: The result has more than `cap` bytes.
        httpx2.DecodingError: The data is damaged or incomplete.
    """
    result = bytearray()
    try:
        while data:
            stream = zlib.decompressobj(window_bits)
            while data and not stream.eof:
                result += stream.decompress(data, _STEP)
                if len(result) > cap:
                    raise FetchError(f"{_too_large(cap)}; raise --max-page-bytes if needed")
                data = stream.unconsumed_tail
            if not stream.eof:
                raise httpx2.DecodingError("the compressed body ends early")
            data = stream.unused_data.lstrip(b"\0")  # another member or padding
    except zlib.error as error:
        raise httpx2.DecodingError(f"the body is not compressed as its first bytes say ({error})") from None
    return bytes(result)


def _too_large(cap: int) -> str:
    return f"more than {cap / MEGABYTE:g} MB decompressed"


def _parse_retry_after(value: str, now: float) -> float:
    """Return the seconds of a Retry-After header in either form, 0 if it is invalid."""
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value[:_MAX_AGE_DIGITS])
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, TypeError, IndexError, OverflowError):
        return 0.0


def _describe_error(error: Exception, seconds: float) -> str:
    if isinstance(error, (TimeoutError, httpx2.TimeoutException)):
        return f"no complete response within {seconds:g} s"
    message = " ".join(str(error).split())
    return message[:_MAX_MESSAGE_CHARS] or f"connection error ({type(error).__name__})"

"""Gets addresses, politely: one door to the network for everything that a crawl asks for."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Protocol
from urllib.parse import urljoin

import anyio
import httpcore2
import httpx2

from mkdocs_roaming._version import __version__
from mkdocs_roaming.errors import RoamingError
from roaming_crawler.guard import GuardedTransport, PrivateAddressError, PublicNetworkBackend
from roaming_crawler.scope import canonical_url, url_origin

MEGABYTE = 1_000_000


class FetchError(RoamingError):
    """An address could not be fetched; the message says why."""


class RefusedError(FetchError):
    """A host's address is not one of the public internet."""


@dataclass(frozen=True, slots=True)
class Response:
    """What an address answered: where it was found in the end, and its body, unpacked."""

    url: str
    status: int
    body: bytes = b""
    kind: str = ""
    """The media type, without its parameters."""
    charset: str = ""
    link: str = ""
    """The `Link` header."""
    etag: str = ""
    modified: str = ""
    """The `Last-Modified` header."""

    @property
    def good(self) -> bool:
        """Whether there is a body that counts."""
        return self.status == 200


@dataclass(frozen=True, slots=True)
class Request:
    """An address and what is asked of it. `etag` and `modified` are those of the copy at hand."""

    url: str
    accept: str = "*/*"
    etag: str = ""
    modified: str = ""
    cap: int = 10 * MEGABYTE
    stays: Callable[[str], bool] = lambda url: True
    """Whether a redirect may lead to an address."""


class Fetcher(Protocol):
    """Gets what is at an address."""

    async def get(self, request: Request) -> Response:
        """Give the answer, whatever its status; raises FetchError where there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Clock:
    """Time, and waiting."""

    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep


@dataclass(frozen=True, slots=True)
class Politeness:
    """How a host is treated: seconds between requests, connections at once, patience."""

    delay: float = 1.0
    connections: int = 2
    seconds: float = 60.0
    """The longest that one answer may take, however slowly it drips."""
    redirects: int = 5
    header_bytes: int = 64 * 1024
    tries: int = 3
    longest_wait: float = 120.0
    """The longest Retry-After that is waited for."""
    contact: str = ""
    user_agent: str = ""
    """Who asks; ours where it is empty."""

    @property
    def name(self) -> str:
        """The User-Agent of every request."""
        contact = f"; {self.contact}" if self.contact and not self.user_agent else ""
        return self.user_agent or f"mkdocs-roaming/{__version__} (documentation crawler{contact})"


@dataclass(slots=True)
class HostPace:
    """How fast one host is asked: slower when it says so, or answers slowly; faster again when all is well."""

    delay: float
    limiter: anyio.CapacityLimiter
    next_start: float = 0.0
    factor: float = 1.0
    latency: float = 0.0
    best: float = math.inf
    well: int = 0

    @property
    def gap(self) -> float:
        """The seconds between the starts of two requests."""
        gap = max(self.delay, 0.5) * self.factor if self.factor > 1 else self.delay
        if self.latency > max(1.0, 3 * self.best):  # it labours
            gap = max(gap, self.latency)
        return min(gap, 60.0)

    def answered(self, seconds: float) -> None:
        """Take note of an answer and how long it took."""
        self.best = min(self.best, seconds)
        self.latency = seconds if not self.latency else 0.8 * self.latency + 0.2 * seconds
        self.well += 1
        if self.well >= 10 and self.factor > 1:
            self.factor, self.well = max(1.0, self.factor / 2), 0

    def slower(self) -> None:
        """Take note that the host has had too much."""
        self.factor, self.well = min(self.factor * 2, 64.0), 0


class WebFetcher:
    """Fetches over HTTP, through a guard; follows redirects itself, so that each hop is looked at."""

    def __init__(
        self,
        manners: Politeness,
        *,
        clock: Clock | None = None,
        backend: httpcore2.AsyncNetworkBackend | None = None,
        allow_private: bool = False,
        waits: Callable[[str, float], None] = lambda host, seconds: None,
    ) -> None:
        self.manners, self.clock, self._waits = manners, clock or Clock(), waits
        self._paces: dict[str, HostPace] = {}
        if backend is None:
            backend = httpcore2.AnyIOBackend() if allow_private else PublicNetworkBackend()
        self._client = httpx2.AsyncClient(
            transport=GuardedTransport(backend, connections=manners.connections),
            trust_env=False,
            timeout=httpx2.Timeout(min(30.0, manners.seconds)),
            headers={
                "User-Agent": manners.name,
                "Accept-Encoding": "gzip, deflate",
            },
        )

    async def __aenter__(self) -> WebFetcher:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    def slow_down(self, host: str, delay: float) -> None:
        """Follow a host's Crawl-delay where it is longer than ours."""
        pace = self._pace(host)
        pace.delay = max(pace.delay, delay)

    async def get(self, request: Request) -> Response:
        """Give the answer, redirects followed; 429 and 503, and hiccups, are tried again after a wait."""
        url = request.url
        for _ in range(self.manners.redirects + 1):
            answer, to = await self._tried(url, request)
            if to is None:
                return answer
            target = canonical_url(to, url)
            if target is None:
                raise FetchError(f"{url}: redirects to {to[:200]!r}, which is no address")
            if not request.stays(target):
                raise FetchError(f"{url}: redirects away, to {target}")
            url = target
        raise FetchError(f"{request.url}: more than {self.manners.redirects} redirects")

    async def _tried(self, url: str, request: Request) -> tuple[Response, str | None]:
        pace = self._pace(url_origin(url))
        fault = ""
        for attempt in range(self.manners.tries):
            wait = 2.0**attempt
            async with pace.limiter:
                await self._turn(pace, url_origin(url))
                try:
                    response = await self._once(url, request, pace)
                except PrivateAddressError as error:
                    raise RefusedError(str(error)) from None
                except (httpx2.TransportError, OSError, TimeoutError) as error:
                    fault = _reason(error, self.manners.seconds)
                    response = None
                if response is not None:
                    answer, headers = response
                    if answer.status not in _AGAIN:
                        return answer, _target(answer, headers)
                    fault = f"answers {answer.status}"
                    if answer.status in (429, 503):
                        pace.slower()
                        wait = max(wait, _retry_after(headers.get("retry-after", ""), self.clock.wall()))
                    if wait > self.manners.longest_wait:
                        raise FetchError(f"{url}: {fault} and asks to wait {wait:.0f} s; try again after that")
                    if attempt + 1 == self.manners.tries:
                        return answer, None
            pace.next_start = max(pace.next_start, self.clock.monotonic() + wait)  # nobody asks this host before
        raise FetchError(f"{url}: {fault}, {self.manners.tries} times")

    async def _turn(self, pace: HostPace, host: str) -> None:
        """Wait until the host may be asked; looked at anew after the wait, since a 429 may have come meanwhile."""
        while (wait := pace.next_start - self.clock.monotonic()) > 0:
            self._waits(host, wait)
            await self.clock.sleep(wait)
        pace.next_start = self.clock.monotonic() + pace.gap

    async def _once(self, url: str, request: Request, pace: HostPace) -> tuple[Response, httpx2.Headers]:
        headers = {"Accept": request.accept}
        if request.etag:
            headers["If-None-Match"] = request.etag
        if request.modified:
            headers["If-Modified-Since"] = request.modified
        began = self.clock.monotonic()
        with anyio.fail_after(self.manners.seconds):
            try:
                sent = self._client.build_request("GET", url, headers=headers)
                response = await self._client.send(sent, stream=True)
            except (httpx2.InvalidURL, httpx2.UnsupportedProtocol, UnicodeError) as error:
                raise FetchError(f"{url}: no address that can be asked ({error})") from None
            try:
                pace.answered(self.clock.monotonic() - began)
                self._client.cookies.clear()
                body = await _body(response, url, request.cap, self.manners.header_bytes)
            finally:
                await response.aclose()
        kind, _, parameters = response.headers.get("content-type", "").partition(";")
        answer = Response(
            url=url,
            status=response.status_code,
            body=body,
            kind=kind.strip().lower(),
            charset=_charset(parameters),
            link=response.headers.get("link", "")[:4_000],
            etag=response.headers.get("etag", "")[:500],
            modified=response.headers.get("last-modified", "")[:100],
        )
        return answer, response.headers

    def _pace(self, host: str) -> HostPace:
        if host not in self._paces:
            limiter = anyio.CapacityLimiter(self.manners.connections)
            self._paces[host] = HostPace(self.manners.delay, limiter)
        return self._paces[host]


_AGAIN = (429, 500, 502, 503, 504)
_REDIRECTS = (301, 302, 303, 307, 308)


async def _body(response: httpx2.Response, url: str, cap: int, header_bytes: int) -> bytes:
    """Read an answer's body; what grows beyond the cap while it unpacks is given up at once."""
    size = sum(len(name) + len(value) + 4 for name, value in response.headers.raw)
    if size > header_bytes:
        raise FetchError(f"{url}: {size} bytes of headers, more than {header_bytes}; refused")
    if response.status_code in _REDIRECTS or response.status_code == 304:
        await _drained(response)
        return b""
    coding = response.headers.get("content-encoding", "identity").strip().lower()
    if coding not in ("identity", "gzip", "deflate", ""):
        raise FetchError(f"{url}: packed as {coding[:40]!r}, which was not asked for; refused")
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > cap:
            raise FetchError(f"{url}: more than {cap / MEGABYTE:g} MB unpacked; if that is right: --max-page-bytes")
    return bytes(body)


async def _drained(response: httpx2.Response) -> None:
    """Read to the end what nobody wants, if it is short: so the connection serves the next request, too."""
    size = 0
    async for piece in response.aiter_raw():
        size += len(piece)
        if size > _SHORT:
            return


_SHORT = 64 * 1024


def _target(answer: Response, headers: httpx2.Headers) -> str | None:
    if answer.status not in _REDIRECTS:
        return None
    to: str = headers.get("location", "")
    if not to:
        raise FetchError(f"{answer.url}: redirects to nowhere (status {answer.status} without a Location)")
    return urljoin(answer.url, to)


def _retry_after(value: str, now: float) -> float:
    """Give the seconds that a Retry-After asks for, in either of its forms; 0 where it says nothing readable."""
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value[:9])
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, TypeError, IndexError, OverflowError):
        return 0.0


def _charset(parameters: str) -> str:
    for part in parameters.split(";"):
        name, _, value = part.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip("\"'").lower()[:40]
    return ""


def _reason(error: Exception, seconds: float) -> str:
    if isinstance(error, (TimeoutError, httpx2.TimeoutException)):
        return f"no complete answer within {seconds:g} s"
    return " ".join(str(error).split())[:200] or f"the connection broke ({type(error).__name__})"


@dataclass(slots=True)
class CannedFetcher:
    """Answers out of a dict, for tests: anything else is 404. `asked` are the requests, in order."""

    answers: dict[str, Response]
    asked: list[Request] = field(default_factory=list)

    async def get(self, request: Request) -> Response:
        """Give the canned answer."""
        self.asked.append(request)
        return self.answers.get(request.url, Response(request.url, 404))

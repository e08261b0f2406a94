"""Network access of one crawl: robots.txt after RFC 9309, limits, cached responses and conditional requests.

Protego parses the rules of robots.txt. The names of crawlers are matched here, because Protego accepts a part of a name
and does not accept a name with a version. Remaining differences to the RFC are listed in the tests: escapes of `?`, `$`
and of characters in a query are interpreted differently.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from weakref import WeakValueDictionary

import anyio
from msgspec import structs
from protego import Protego

from mkdocs_roaming.text.meta_tags import find_index_ban
from roaming_crawler.config import MEGABYTE, CrawlConfig
from roaming_crawler.contents import ContentKind, find_target, read_html, sniff_kind
from roaming_crawler.fetch import (
    NOT_MODIFIED,
    OK,
    Clock,
    Fetcher,
    FetchError,
    RefusedError,
    Request,
    Response,
    WebFetcher,
)
from roaming_crawler.scope import canonical_url, url_origin
from roaming_crawler.state import CrawlState

AGENT = "mkdocs-roaming"
"""Default product token of this crawler."""
MAX_CRAWL_DELAY = 30.0
"""Longest Crawl-delay, in seconds, that is followed."""
MAX_ROBOTS_BYTES = 512 * 1024
"""Number of bytes that are parsed; the RFC requires at least 500 KiB."""
ACCEPT_MARKDOWN = "text/markdown, text/plain;q=0.5"
ACCEPT_HTML = "text/html, application/xhtml+xml, */*;q=0.1"
ACCEPT_ANY = "*/*"
MAX_PAGES_OPTION = "--max-pages"
"""The option in the message when the page limit is reached."""

_DAY = 24 * 3600.0
"""Longest time that RFC 9309 lets a robots.txt be cached."""
_WEEK = 7 * _DAY
_RENEWED_HEADERS = ("etag", "modified", "robots", "refresh")
"""What a response with status 304 may change of a cached one."""
_MAX_HOPS = 3
_MAX_ROBOTS_DOWNLOAD = 8 * MAX_ROBOTS_BYTES
_CLIENT_ERRORS = range(400, 500)
_TOO_MANY_REQUESTS = 429
_NAME_END = re.compile(r"[/\s(;,]")
"""End of a crawler's name in `mkdocs-roaming/1.0 (+https://…)`."""
_ROBOTS_SCOPE = re.compile(r"(?:^|,)\s*(?!unavailable_after|max-)([\w-]+)\s*:", re.IGNORECASE)
"""The name of a crawler before directives, such as `otherbot: noindex`, but not `max-snippet: 20`."""
_USER_AGENT_LINE = re.compile(r"^([ \t]*user[ \t-]?agent[ \t]*:?[ \t]*)([^#]*)", re.IGNORECASE)
"""A line such as `User-agent: mkdocs-roaming/1.0`, with the spellings that Protego accepts."""
_RULE_LINE = re.compile(r"[ \t]*(?:user[ \t-]?agent|allow|d\w+w)\b", re.IGNORECASE)
"""A line that the RFC defines, with misspellings such as `Dissallow`. For Protego, all others end a group."""


class LimitError(FetchError):
    """A limit of the whole crawl is reached."""


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules of one host for this crawler."""

    rules: Protego | None = None
    agent: str = AGENT
    closed: str = ""
    """Why nothing may be fetched, if robots.txt itself is unavailable."""

    delay: float = 0.0
    """The Crawl-delay in seconds."""
    sitemaps: tuple[str, ...] = ()
    """The URLs of the listed sitemaps."""

    def allows(self, url: str) -> bool:
        """Return whether a URL may be fetched."""
        if self.closed:
            return False
        return self.rules is None or bool(self.rules.can_fetch(url, self.agent))


@dataclass(slots=True)
class Session:
    """State of the requests of a running crawl.

    A failed request is answered with the response of the last crawl, if there is one (a stale response).
    """

    state: CrawlState
    fetcher: Fetcher
    config: CrawlConfig
    clock: Clock
    agent: str = field(init=False)
    """Product token for robots.txt."""
    requests: int = 0
    unchanged: int = 0
    """Number of responses with status 304."""
    bytes: int = 0
    first_failure: str = ""
    """Reason for the first stale response, not counting robots.txt."""
    stopped: str = ""
    """Message about the limit that was reached; from then on only cached responses are returned."""
    fetched: int = 0
    """Number of successful requests, without stale responses and robots.txt."""
    _stale: set[str] = field(default_factory=set)
    """Keys of the stale responses."""
    started: float = field(init=False)
    _robots: dict[str, Robots] = field(default_factory=dict)
    _locks: WeakValueDictionary[str, anyio.Lock] = field(default_factory=WeakValueDictionary)
    """Locks of the running requests by key."""

    def __post_init__(self) -> None:
        """Start the clock, and read the name of the crawler."""
        self.started = self.clock.monotonic()
        self.agent = product_token(self.config.politeness.user_agent_header)

    async def get(
        self,
        url: str,
        accept: str = ACCEPT_ANY,
        *,
        probe: bool = False,
        cap: int | None = None,
        allow_redirect: Callable[[str], bool] = lambda url: True,
    ) -> Response:
        """Return the response for a URL, at most one request per URL and crawl.

        Args:
            url: Canonical URL.
            accept: Accept header.
            probe: The URL is a guess: after a 404 it is not requested for a week.
            cap: Maximum size of the body in bytes, by default that of a page.
            allow_redirect: Returns whether a redirect to a URL is followed.

        Raises:
            LimitError: A limit is reached, and there is no cached response.
            FetchError: robots.txt forbids the URL, or the request failed and there is no cached response.
        """
        key = _make_key(url, accept)
        async with self._locks.setdefault(key, anyio.Lock()):
            cached = self.state.load_response(self.state.new.get(key))
            if cached is not None:
                self.fetched += cached.ok and key not in self._stale
                return cached
            robots = await self.robots(url)
            if not robots.allows(url):
                raise FetchError(f"{url}: {robots.closed or 'robots.txt forbids it'}")
            if probe and (missing := self._reuse_missing(key, _WEEK)):
                return missing

            def may_follow(target: str) -> bool:
                robots = self._robots.get(url_origin(target))
                return allow_redirect(target) and (robots is None or robots.allows(target))

            request = Request(url, accept, cap=cap or self.config.limits.page_bytes, allow_redirect=may_follow)
            response = await self._request(key, request)
            self.fetched += response.ok and key not in self._stale
            return response

    async def find(
        self, url: str, accept: str = ACCEPT_ANY, *, kind: ContentKind | None = None, cap: int | None = None
    ) -> Response | None:
        """Return the response for a URL if it is successful, and of a kind; all but pages are guesses."""
        try:
            response = await self.get(url, accept, probe=accept == ACCEPT_ANY, cap=cap)
        except FetchError:
            return None
        is_found = response.ok and kind in (None, sniff_kind(response))
        return response if is_found else None

    async def follow_redirects(self, start: str) -> Response:
        """Return the response to which a host's redirects and a page's refresh lead."""
        response = await self.get(start, ACCEPT_HTML)
        for _ in range(_MAX_HOPS - 1):
            target = canonical_url(find_target(response, read_html(response)), response.url)
            if target in (None, response.url):
                break
            refreshed = await self.get(target, ACCEPT_HTML)
            if not refreshed.ok:
                break
            response = refreshed
        return response

    def is_stale(self, url: str, accept: str) -> bool:
        """Return whether the response for a URL is one of the last crawl because the request failed."""
        return _make_key(url, accept) in self._stale

    async def robots(self, url: str) -> Robots:
        """Return the robots.txt rules for a URL's host."""
        host = url_origin(url)
        async with self._locks.setdefault(host, anyio.Lock()):
            if host in self._robots:
                return self._robots[host]
            address = f"{host}/robots.txt"
            key = _make_key(address, ACCEPT_ANY)
            cached = self.state.load_response(self.state.new.get(key))
            response = cached or self._reuse_missing(key, _DAY)
            try:
                if response is None:
                    response = await self._request(key, Request(address, ACCEPT_ANY, cap=_MAX_ROBOTS_DOWNLOAD))
                robots = parse_robots(response.status, response.body, self.agent)
            except (LimitError, RefusedError):
                raise
            except FetchError as error:
                reason = str(error).removeprefix(f"{address}: ")
                robots = Robots(closed=f"robots.txt cannot be fetched: {reason}")
            self._robots[host] = robots
            if isinstance(self.fetcher, WebFetcher):
                self.fetcher.set_crawl_delay(host, robots.delay)
            return robots

    def _reuse_missing(self, key: str, max_age: float) -> Response | None:
        """Return the status 404 or 410 of the last crawl if it is recent."""
        old = self.state.old.get(key)
        if old is None or not old.is_missing or self.clock.wall() - old.at >= max_age:
            return None
        self.state.new[key] = old
        return Response(old.url, old.status)

    async def _request(self, key: str, request: Request) -> Response:
        old = self.state.old.get(key)
        last = self.state.load_response(old) if old and old.ok else None
        limits = self.config.limits
        seconds = self.clock.monotonic() - self.started
        if self.stopped:
            pass
        elif limits.seconds is not None and seconds > limits.seconds:
            self.stopped = f"stopped after {limits.seconds:g} seconds (--max-seconds)"
        elif limits.total_bytes is not None and self.bytes > limits.total_bytes:
            self.stopped = f"stopped after {limits.total_bytes / MEGABYTE:g} MB (--max-bytes)"
        if self.stopped:
            if last is None:
                raise LimitError(self.stopped)
            return self._use_stale(key, last, self.stopped)
        request = replace(request, cached=last)
        self.requests += 1
        try:
            response = await self.fetcher.get(request)
        except FetchError as error:
            if last is None:
                raise
            return self._use_stale(key, last, str(error))
        if last is not None and response.status == NOT_MODIFIED and response.url == last.url:
            renewed = {name: getattr(response, name) or getattr(last, name) for name in _RENEWED_HEADERS}
            response = structs.replace(last, **renewed)
            self.unchanged += 1
        elif last is not None and not response.ok and not response.is_missing:
            return self._use_stale(key, last, f"{request.url}: status {response.status}")
        if response.ok:
            self.bytes += len(response.body)
        if response.ok or response.is_missing:
            self.state.add(key, response, self.clock.wall())
        return response

    def _use_stale(self, key: str, last: Response, reason: str) -> Response:
        self._stale.add(key)
        if not key.endswith("/robots.txt"):
            self.first_failure = self.first_failure or reason
        self.state.new[key] = self.state.old[key]
        return last


def product_token(user_agent: str) -> str:
    """Return the product token of a User-Agent, the name that robots.txt uses."""
    return _NAME_END.split(user_agent.strip(), maxsplit=1)[0] or AGENT


def parse_robots(status: int, body: bytes, agent: str = AGENT) -> Robots:
    """Return the rules of a robots.txt response.

    With a status of 4xx everything is allowed, with 5xx and 429 nothing is.
    """
    if status in _CLIENT_ERRORS and status != _TOO_MANY_REQUESTS:
        return Robots()
    if status != OK:
        return Robots(closed=f"robots.txt has status {status}")
    lines = body[:MAX_ROBOTS_BYTES].decode("utf-8-sig", "replace").splitlines()
    lines = [_USER_AGENT_LINE.sub(lambda line: _normalize_agent(line, agent), line) for line in lines]
    rules = Protego.parse("\n".join(filter(_RULE_LINE.match, lines)))
    extensions = Protego.parse("\n".join(lines))
    delay = max(float(extensions.crawl_delay(agent) or 0), 0.0)
    return Robots(rules, agent, delay=min(delay, MAX_CRAWL_DELAY), sitemaps=tuple(extensions.sitemaps))


def find_header_ban(header: str, agent: str = AGENT) -> str | None:
    """Return why `X-Robots-Tag` headers exclude a page from indexes, None if they do not.

    Args:
        header: The headers, one a line. Directives after the name of a crawler apply to that crawler alone.
        agent: The product token of the crawler.
    """
    for line in header.splitlines():
        parts = [agent, *_ROBOTS_SCOPE.split(line)]
        for name, directives in zip(parts[::2], parts[1::2], strict=True):
            if name.casefold() == agent.casefold() and (reason := find_index_ban(directives)):
                return f"X-Robots-Tag: {reason}"
    return None


def _normalize_agent(line: re.Match[str], agent: str) -> str:
    """Reduce a User-agent line to the product token, and rename other crawlers so that Protego cannot match them."""
    name = _NAME_END.split(line[2].strip(), maxsplit=1)[0]
    if name not in ("*", ""):
        name = agent if name.casefold() == agent.casefold() else "somebody-else"
    return f"{line[1]}{name} "


def _make_key(url: str, accept: str) -> str:
    return f"{accept.partition(',')[0]} {url}"

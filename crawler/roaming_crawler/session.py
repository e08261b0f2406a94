"""One crawl's way to the network: robots.txt is asked first, limits are kept, and what is known is not asked twice."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import anyio

from roaming_crawler.fetch import MEGABYTE, Clock, Fetcher, FetchError, RefusedError, Request, Response
from roaming_crawler.robots import AGENT, MAX_ROBOTS_BYTES, Robots, parse_robots
from roaming_crawler.scope import url_origin
from roaming_crawler.state import CachedResponse, CrawlState

ACCEPT_MARKDOWN = "text/markdown, text/plain;q=0.5"
ACCEPT_HTML = "text/html, application/xhtml+xml, */*;q=0.1"
ACCEPT_ANY = "*/*"


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a crawl ends, however large a site is; None sets no limit."""

    pages: int | None = 5_000
    depth: int | None = 20
    seconds: float | None = None
    page_bytes: int = 10 * MEGABYTE
    total_bytes: int | None = 1_000 * MEGABYTE


MAX_PAGES_OPTION = "--max-pages"
"""The limit that a crawl comes to its end by; others leave it for another crawl to go on with."""


class LimitError(FetchError):
    """A limit of the whole crawl is reached."""


class RobotsForbiddenError(FetchError):
    """robots.txt forbids an address."""


_DAY = 24 * 3600.0
"""The longest that the RFC lets a robots.txt be taken as known."""
_WEEK = 7 * _DAY


@dataclass(slots=True)
class Session:
    """A crawl while it goes on."""

    store: CrawlState
    fetcher: Fetcher
    limits: Limits
    clock: Clock
    slow_down: Callable[[str, float], None] = lambda host, delay: None
    agent: str = AGENT
    """The name that robots.txt calls us by."""
    requests: int = 0
    unchanged: int = 0
    bytes: int = 0
    stopped: str = ""
    """Which limit bit; from then on, only what an earlier crawl knows is given."""
    had: int = 0
    """Good answers that were given, without those of an earlier crawl and any robots.txt."""
    _stood: dict[str, str] = field(default_factory=dict)
    """What has failed, so that its last good answer stands in for it, and why."""
    _began: float = 0.0
    _robots: dict[str, Robots] = field(default_factory=dict)
    _locks: dict[str, anyio.Lock] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._began = self.clock.monotonic()

    @property
    def over(self) -> bool:
        """Whether it comes to its end: all pages were asked for, or as many as were to be."""
        return not self.stopped or MAX_PAGES_OPTION in self.stopped

    @property
    def trouble(self) -> str:
        """Why the first answer of an earlier crawl had to stand in, other than a robots.txt."""
        return next((why for key, why in self._stood.items() if not key.endswith("/robots.txt")), "")

    async def get(
        self,
        url: str,
        accept: str = ACCEPT_ANY,
        *,
        probe: bool = False,
        cap: int | None = None,
        stays: Callable[[str], bool] = lambda url: True,
    ) -> Response:
        """Give what is at an address. A probe is not repeated for a week where it found nothing.

        Raises ForbiddenError, LimitError, or FetchError where neither the address nor an earlier crawl has an answer.
        """
        key = _key(url, accept)
        async with self._alone(key):
            known = self._known(self.store.new.get(key))
            if known is not None:
                self.had += known.good and key not in self._stood
                return known
            if not url.startswith("file:") and not (robots := await self.robots(url)).allows(url):
                raise RobotsForbiddenError(f"{url}: {robots.closed or 'robots.txt forbids it'}")
            old = self.store.old.get(key)
            if probe and old and old.status in (404, 410) and self.clock.wall() - old.at < _WEEK:
                self.store.new[key] = old
                return Response(old.url, old.status)
            request = Request(url, accept, cap=cap or self.limits.page_bytes, stays=self._stays(stays))
            answer = await self._asked(key, request, old)
            self.had += answer.good and key not in self._stood
            return answer

    def stood_in(self, url: str, accept: str) -> bool:
        """Tell whether an earlier crawl's answer stands in for that of an address."""
        return _key(url, accept) in self._stood

    def before(self, url: str, accept: str) -> CachedResponse | None:
        """Give what an address answered the last crawl, where that was good."""
        old = self.store.old.get(_key(url, accept))
        return old if old and old.status == 200 else None

    async def robots(self, url: str) -> Robots:
        """Give what the host of an address asks of crawlers."""
        host = url_origin(url)
        async with self._alone(host):
            if host not in self._robots:
                self._robots[host] = found = await self._read_robots(f"{host}/robots.txt")
                self.slow_down(host, found.delay)
        return self._robots[host]

    @asynccontextmanager
    async def _alone(self, key: str) -> AsyncIterator[None]:
        """Hold whoever asks for the same until it is known."""
        lock = self._locks.setdefault(key, anyio.Lock())
        try:
            async with lock:
                yield
        finally:
            if not lock.statistics().tasks_waiting:
                self._locks.pop(key, None)

    async def _read_robots(self, url: str) -> Robots:
        key = f"{ACCEPT_ANY} {url}"
        known, old = self._known(self.store.new.get(key)), self.store.old.get(key)
        if known is None and old and old.status in (404, 410) and self.clock.wall() - old.at < _DAY:
            self.store.new[key] = old
            known = Response(old.url, old.status)
        if known is None:
            try:
                known = await self._asked(key, Request(url, ACCEPT_ANY, cap=8 * MAX_ROBOTS_BYTES), old)
            except (LimitError, RefusedError):
                raise
            except FetchError as error:
                why = str(error).removeprefix(f"{url}: ")
                return Robots(closed=f"robots.txt cannot be had: {why}")
        return parse_robots(known.status, known.body, self.agent)

    async def _asked(self, key: str, request: Request, old: CachedResponse | None) -> Response:
        last = self._known(old) if old and old.status == 200 else None
        if self._over_a_limit():
            if last is None:
                raise LimitError(self.stopped)
            return self._stand_in(key, last, self.stopped)
        if last is not None:
            request = replace(request, etag=last.etag, modified=last.modified)
        self.requests += 1
        try:
            answer = await self.fetcher.get(request)
        except FetchError as error:
            if last is None:
                raise
            return self._stand_in(key, last, str(error))
        if answer.status == 304:
            if last is None or not (last.etag or last.modified):
                raise FetchError(f"{request.url}: says 304, not modified, without having been asked")
            self.unchanged += 1
            answer = replace(last, etag=answer.etag or last.etag, modified=answer.modified or last.modified)
        elif last is not None and not answer.good and answer.status not in (404, 410):
            return self._stand_in(key, last, f"{request.url}: answers {answer.status}")
        self.bytes += len(answer.body) if answer.good else 0
        if answer.good or answer.status in (404, 410):
            self.store.keep(key, answer, self.clock.wall())
        return answer

    def _stand_in(self, key: str, last: Response, why: str) -> Response:
        self._stood[key] = why
        self.store.new[key] = self.store.old[key]
        return last

    def _known(self, record: CachedResponse | None) -> Response | None:
        return self.store.answer(record) if record else None

    def _stays(self, inner: Callable[[str], bool]) -> Callable[[str], bool]:
        def stays(url: str) -> bool:
            robots = self._robots.get(url_origin(url))
            return inner(url) and (robots is None or robots.allows(url))

        return stays

    def _over_a_limit(self) -> bool:
        limits = self.limits
        if self.stopped:
            return True
        if limits.seconds is not None and self.clock.monotonic() - self._began > limits.seconds:
            self.stopped = f"stopped after {limits.seconds:g} seconds (--max-seconds)"
        elif limits.total_bytes is not None and self.bytes > limits.total_bytes:
            self.stopped = f"stopped after {limits.total_bytes / MEGABYTE:g} MB (--max-bytes)"
        return bool(self.stopped)


def _key(url: str, accept: str) -> str:
    return f"{accept.partition(',')[0]} {url}"

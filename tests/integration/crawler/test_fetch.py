"""Rate limits of the HTTP client, with the server's clock and a fake clock."""

from __future__ import annotations

from typing import Any

import anyio

from roaming_crawler.config import Politeness
from roaming_crawler.fetch import Clock, Request


class FakeClock:
    """A clock that advances by sleeping."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await anyio.sleep(0)

    def clock(self) -> Clock:
        return Clock(lambda: self.now, lambda: self.now, self.sleep)


def _fetch(fetcher: Any, *urls: str) -> list[int]:
    """Request URLs one after another, and return the statuses."""

    async def run() -> list[int]:
        async with fetcher as web:
            return [(await web.get(Request(url))).status for url in urls]

    return anyio.run(run)


def test_delay_doubles_after_429_and_recovers(site: Any, fetcher: Any, html: Any, reply: Any) -> None:
    fake_clock = FakeClock()
    count = iter(range(100))
    site.default = lambda handler: reply("later", 429) if next(count) == 0 else reply(html("Fine"))
    _fetch(fetcher(Politeness(delay=1), clock=fake_clock.clock()), *(f"{site.url}{at}" for at in range(14)))
    gaps = [round(wait, 1) for wait in fake_clock.slept]
    assert 2.0 in gaps[:4]
    assert gaps[-1] == 1.0


def test_crawl_delay_is_capped_at_thirty_seconds(site: Any, run_crawl: Any) -> None:
    site.page("/", "Home", links=("/a",))
    site.page("/a", "A")
    for crawl_delay, applied in ((10, 10.0), (3600, 30.0)):
        fake_clock = FakeClock()
        site.put("/robots.txt", f"User-agent: *\nCrawl-delay: {crawl_delay}\n")
        run_crawl(site.url, clock=fake_clock.clock(), refresh=True)
        assert max(fake_clock.slept) == applied


def test_304_and_redirects_keep_connection_open(site: Any, fetcher: Any) -> None:
    site.page("/a", "A")
    site.redirect("/old", "/a")
    opened = []
    accept = site.get_request

    def counted() -> Any:
        opened.append(accept())
        return opened[-1]

    site.get_request = counted

    async def ask() -> list[int]:
        async with fetcher(Politeness(delay=0, connections=1)) as client:
            first = await client.get(Request(f"{site.url}a"))
            second = [await client.get(Request(f"{site.url}a", cached=first)) for _ in range(5)]
            moved = [await client.get(Request(f"{site.url}old")) for _ in range(3)]
            return [answer.status for answer in (first, *second, *moved)]

    assert anyio.run(ask) == [200, *[304] * 5, *[200] * 3]
    assert len(opened) == 1

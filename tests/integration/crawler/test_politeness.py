"""Politeness as a server sees it."""

from __future__ import annotations

import itertools
import time
from email.utils import formatdate
from typing import Any

import anyio
import pytest

from roaming_crawler.config import DiscoveryConfig, Politeness
from roaming_crawler.fetch import Clock

NOTHING = DiscoveryConfig(False, False, False)
SLOW = pytest.mark.slow
LATE = 0.12
"""What a request may reach a busy server later than it was sent."""


def _make_fast_clock(times: int) -> Clock:
    """Return a clock that runs faster than the server's by a factor."""

    async def sleep(seconds: float) -> None:
        await anyio.sleep(seconds / times)

    return Clock(lambda: time.monotonic() * times, lambda: BEGAN + (time.time() - BEGAN) * times, sleep)


BEGAN = time.time()


def _site(site: Any, pages: int) -> None:
    site.page("/", "Home", links=tuple(f"/p{at}" for at in range(pages)))
    for at in range(pages):
        site.page(f"/p{at}", f"Page {at}")


def _gaps(site: Any) -> list[float]:
    starts = sorted(asked.at for asked in site.requests)
    return [later - sooner for sooner, later in itertools.pairwise(starts)]


@pytest.mark.parametrize("connections", [pytest.param(1, marks=SLOW), pytest.param(2, marks=SLOW), 4])
def test_delay_applies_to_all_requests(connections: int, site: Any, crawled: Any) -> None:
    _site(site, 0)
    crawled(site.url, politeness=Politeness(delay=0.2, connections=connections))
    assert len(site.requests) > 10
    assert min(_gaps(site)) > 0.2 - LATE
    assert sum(_gaps(site)) > 0.2 * len(_gaps(site)) - LATE


def test_crawl_delay_applies_from_next_request(site: Any, crawled: Any) -> None:
    _site(site, 1)
    site.put("/robots.txt", "User-agent: *\nCrawl-delay: 1\n")
    politeness = Politeness(delay=0, connections=4)
    crawled(site.url, politeness=politeness, discovery=NOTHING, prefer_markdown=False, clock=_make_fast_clock(3))
    assert site.paths()[:2] == ["/robots.txt", "/"]
    assert len(site.requests) >= 4
    assert min(_gaps(site)[1:]) > 1 / 3 - LATE


@pytest.mark.parametrize("connections", [1, 3])
def test_crawl_limits_connections_per_host(connections: int, site: Any, crawled: Any, html: Any, reply: Any) -> None:
    _site(site, 6)
    plays, there = dict(site.responses), site.default

    def slow(handler: Any) -> Any:
        time.sleep(0.04)
        return plays.get(handler.path, there)

    site.responses.clear()
    site.default = slow
    assert len(crawled(site.url, politeness=Politeness(delay=0, connections=connections)).paths) == 7
    assert site.max_open == connections


@pytest.mark.parametrize(
    ("status", "form"),
    [(429, "seconds"), (503, "date"), pytest.param(503, "seconds", marks=SLOW), pytest.param(429, "date", marks=SLOW)],
)
def test_retry_after_pauses_all_requests_to_host(
    status: int, form: str, site: Any, crawled: Any, html: Any, reply: Any
) -> None:
    busy: list[tuple[float, float]] = []
    clock = _make_fast_clock(4)

    def play(handler: Any) -> Any:
        if busy:
            return reply(html("Busy"))
        until = int(clock.wall()) + 3  # a date has no fractions
        busy.append((time.monotonic(), (until - clock.wall() if form == "date" else 2.0) / 4))
        after = formatdate(until, usegmt=True) if form == "date" else "2"
        return reply("later", status, headers={"Retry-After": after})

    _site(site, 2)
    site.page("/", "Home", links=("/busy", "/p0", "/p1"))
    site.responses["/busy"] = play
    politeness = Politeness(delay=0, connections=2, max_retry_after=10)
    done = crawled(site.url, politeness=politeness, discovery=NOTHING, prefer_markdown=False, clock=clock)
    assert done.paths == ["", "busy", "p0", "p1"]
    at, wait = busy[0]
    assert [asked.path for asked in site.requests if at + LATE < asked.at < at + wait - 0.02] == []


def test_delay_doubles_after_overload(site: Any, crawled: Any, html: Any, reply: Any) -> None:
    message: list[float] = []

    def play(handler: Any) -> Any:
        message.append(time.monotonic())
        return reply("later", 429) if len(message) == 1 else reply(html("Busy"))

    _site(site, 4)
    site.responses["/p1"] = play
    politeness = Politeness(delay=0.5, connections=2)
    crawled(site.url, politeness=politeness, discovery=NOTHING, prefer_markdown=False, clock=_make_fast_clock(3))
    starts = sorted(asked.at for asked in site.requests if asked.at > message[-1] - LATE)
    assert len(starts) >= 3
    assert min(later - sooner for sooner, later in itertools.pairwise(starts)) > 1 / 3 - LATE

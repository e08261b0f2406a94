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
"""Maximum seconds between the start of a request and its arrival at a busy server."""


def _make_fast_clock(times: int) -> Clock:
    """Return a clock that runs faster than the server's by a factor."""

    async def sleep(seconds: float) -> None:
        await anyio.sleep(seconds / times)

    return Clock(lambda: time.monotonic() * times, lambda: BEGAN + (time.time() - BEGAN) * times, sleep)


BEGAN = time.time()


def _add_pages(site: Any, pages: int) -> None:
    site.page("/", "Home", links=tuple(f"/p{at}" for at in range(pages)))
    for at in range(pages):
        site.page(f"/p{at}", f"Page {at}")


def _request_gaps(site: Any) -> list[float]:
    starts = sorted(request.at for request in site.requests)
    return [later - earlier for earlier, later in itertools.pairwise(starts)]


@pytest.mark.parametrize("connections", [pytest.param(1, marks=SLOW), pytest.param(2, marks=SLOW), 4])
def test_delay_applies_to_all_requests(connections: int, site: Any, run_crawl: Any) -> None:
    _add_pages(site, 0)
    run_crawl(site.url, politeness=Politeness(delay=0.2, connections=connections))
    assert len(site.requests) > 10
    assert min(_request_gaps(site)) > 0.2 - LATE
    assert sum(_request_gaps(site)) > 0.2 * len(_request_gaps(site)) - LATE


def test_crawl_delay_applies_from_next_request(site: Any, run_crawl: Any) -> None:
    _add_pages(site, 1)
    site.put("/robots.txt", "User-agent: *\nCrawl-delay: 1\n")
    politeness = Politeness(delay=0, connections=4)
    run_crawl(site.url, politeness=politeness, discovery=NOTHING, source="html", clock=_make_fast_clock(3))
    assert site.paths()[:2] == ["/robots.txt", "/"]
    assert len(site.requests) >= 4
    assert min(_request_gaps(site)[1:]) > 1 / 3 - LATE


@pytest.mark.parametrize("connections", [1, 3])
def test_crawl_limits_connections_per_host(connections: int, site: Any, run_crawl: Any, html: Any, reply: Any) -> None:
    _add_pages(site, 6)
    responses, default = dict(site.responses), site.default

    def slow(handler: Any) -> Any:
        time.sleep(0.04)
        return responses.get(handler.path, default)

    site.responses.clear()
    site.default = slow
    assert len(run_crawl(site.url, politeness=Politeness(delay=0, connections=connections)).paths) == 7
    assert site.max_open == connections


@pytest.mark.parametrize(
    ("status", "form"),
    [(429, "seconds"), (503, "date"), pytest.param(503, "seconds", marks=SLOW), pytest.param(429, "date", marks=SLOW)],
)
def test_retry_after_pauses_all_requests_to_host(
    status: int, form: str, site: Any, run_crawl: Any, html: Any, reply: Any
) -> None:
    retry_waits: list[tuple[float, float]] = []
    clock = _make_fast_clock(4)

    def respond(handler: Any) -> Any:
        if retry_waits:
            return reply(html("Busy"))
        until = int(clock.wall()) + 3  # a date has no fractions
        retry_waits.append((time.monotonic(), (until - clock.wall() if form == "date" else 2.0) / 4))
        after = formatdate(until, usegmt=True) if form == "date" else "2"
        return reply("later", status, headers={"Retry-After": after})

    _add_pages(site, 2)
    site.page("/", "Home", links=("/busy", "/p0", "/p1"))
    site.responses["/busy"] = respond
    politeness = Politeness(delay=0, connections=2, max_retry_after=10)
    output = run_crawl(site.url, politeness=politeness, discovery=NOTHING, source="html", clock=clock)
    assert output.paths == ["", "busy", "p0", "p1"]
    at, wait = retry_waits[0]
    assert [request.path for request in site.requests if at + LATE < request.at < at + wait - 0.02] == []


def test_delay_doubles_after_overload(site: Any, run_crawl: Any, html: Any, reply: Any) -> None:
    request_times: list[float] = []

    def respond(handler: Any) -> Any:
        request_times.append(time.monotonic())
        return reply("later", 429) if len(request_times) == 1 else reply(html("Busy"))

    _add_pages(site, 4)
    site.responses["/p1"] = respond
    politeness = Politeness(delay=0.5, connections=2)
    run_crawl(site.url, politeness=politeness, discovery=NOTHING, source="html", clock=_make_fast_clock(3))
    starts = sorted(request.at for request in site.requests if request.at > request_times[-1] - LATE)
    assert len(starts) >= 3
    assert min(later - earlier for earlier, later in itertools.pairwise(starts)) > 1 / 3 - LATE

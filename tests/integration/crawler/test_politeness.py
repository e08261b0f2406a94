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


@pytest.mark.parametrize("connections", [1, 4])
def test_delay_applies_to_all_requests(connections: int, site: Any, run_crawl: Any) -> None:
    _add_pages(site, 1)
    run_crawl(site.url, politeness=Politeness(delay=0.05, connections=connections))
    assert len(site.requests) > 10
    assert sum(_request_gaps(site)) > 0.05 * len(_request_gaps(site)) - LATE


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


@pytest.mark.parametrize(("status", "form"), [(429, "seconds"), (503, "date")])
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

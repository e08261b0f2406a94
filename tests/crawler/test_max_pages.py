"""A site of more pages than are asked for stays up to date, and can be gone on with."""

from __future__ import annotations

import time
from typing import Any

import pytest
from roaming_crawler.config import CrawlLimits
from roaming_crawler.fetch import Clock

FOUR = CrawlLimits(pages=4)
DAY = 24 * 3600.0


@pytest.fixture
def large(site: Any) -> Any:
    """A site of seven pages."""
    names = [f"/p{at}/" for at in range(6)]
    site.page("/", "Home", links=tuple(names))
    for name in names:
        site.page(name, name, "First edition.")
    return site


def test_it_is_asked_for_news(large: Any, crawled: Any) -> None:
    """The same command again asks for what has changed, and its pages stay as many."""
    assert len(crawled(large.url, limits=FOUR).paths) == 4
    large.asked.clear()
    again = crawled(large.url, limits=FOUR)
    assert (again.outcome.same, {asked.status for asked in large.asked}) == (4, {304})
    for name in ("/p0/", "/p1/", "/p2/"):
        large.page(name, name, "Second edition.")
    news = crawled(large.url, limits=FOUR)
    assert set(news.outcome.changed) == {"p0/", "p1/", "p2/"}
    assert "Second edition." in news.text("p1/")
    assert "stopped at 4 pages (--max-pages)" in news.outcome.stopped


@pytest.mark.parametrize("refresh", [False, True])
def test_its_pages_that_fail_stay(refresh: bool, large: Any, crawled: Any) -> None:
    """As they do in a site that was crawled whole."""
    crawled(large.url, limits=FOUR)
    for name in ("/p0/", "/p1/"):
        large.put(name, "no", status=403)
    again = crawled(large.url, limits=FOUR, refresh=refresh)
    assert again.paths == ["", "p0/", "p1/", "p2/"]
    assert again.outcome.gone == ()


def test_new_pages_push_none_out(large: Any, crawled: Any) -> None:
    """The pages that are there are asked for first: what lies beyond the limit would stand as it was for ever."""
    crawled(large.url, limits=FOUR)
    large.page("/", "Home", links=("/a/", "/b/", *(f"/p{at}/" for at in range(6))))
    for name in ("/a/", "/b/", "/p0/", "/p1/", "/p2/"):
        large.page(name, name, "Second edition.")
    again = crawled(large.url, limits=FOUR)
    assert again.paths == ["", "p0/", "p1/", "p2/"]
    assert all("Second edition." in again.text(path) for path in ("p0/", "p1/", "p2/"))


def test_new_pages_push_none_out_from_further_down(site: Any, crawled: Any) -> None:
    """A page that is found late is asked for news before a new one that is found early."""
    site.page("/", "Home", links=("/b/",))
    site.page("/b/", "B", links=("/b/one/", "/b/two/"))
    site.page("/b/one/", "One")
    site.page("/b/two/", "Two")
    whole = CrawlLimits(pages=4)
    assert crawled(site.url, limits=whole).outcome.stopped == ""
    site.page("/", "Home", links=("/a/", "/b/", "/c/"))
    for name in ("/a/", "/b/one/", "/b/two/", "/c/"):
        site.page(name, name, "Second edition.")
    again = crawled(site.url, limits=whole)
    assert again.paths == ["", "b/", "b/one/", "b/two/"]
    assert set(again.outcome.changed) == {"", "b/one/", "b/two/"}
    assert again.outcome.kept == ()
    assert "--max-pages" in again.outcome.stopped
    site.page("/b/", "B", links=("/b/two/",))
    once = crawled(site.url, limits=whole)
    assert once.paths == ["", "a/", "b/", "b/two/"]  # what is gone makes room
    assert once.outcome.gone == ("b/one/",)


def test_a_site_that_is_built_anew_is_crawled_anew(large: Any, crawled: Any) -> None:
    """Room that pages leave which are gone is that of others at once."""
    crawled(large.url, limits=FOUR)
    large.plays.clear()
    large.page("/", "Home", links=("/x/", "/y/", "/z/", "/zz/"))
    for name in ("/x/", "/y/", "/z/", "/zz/"):
        large.page(name, name)
    again = crawled(large.url, limits=FOUR)
    assert again.paths == ["", "x/", "y/", "z/"]


def test_a_lower_limit_leaves_what_is_there(large: Any, crawled: Any) -> None:
    """Those beyond it are told as kept, each time."""
    crawled(large.url)
    for _ in range(2):
        large.asked.clear()
        lower = crawled(large.url, limits=FOUR)
        assert len(lower.paths) == 7
        assert lower.outcome.kept == tuple(f"{large.url}p{at}/" for at in (3, 4, 5))
        assert not {"/p3/", "/p4/", "/p5/"} & set(large.paths())


@pytest.mark.parametrize("how", [{}, {"resume": True}, {"limits": CrawlLimits(pages=6)}])
def test_a_higher_limit_goes_on(how: dict[str, Any], large: Any, crawled: Any) -> None:
    """What was there is not asked for again, unless that is a day ago."""
    crawled(large.url, limits=FOUR)
    large.asked.clear()
    on = crawled(large.url, **how)
    assert len(on.paths) == (6 if "limits" in how else 7)
    assert not {"/", "/p0/", "/p1/", "/p2/"} & set(large.paths())
    assert "/p3/" in large.paths()


def test_a_higher_limit_asks_what_is_old_for_news(large: Any, crawled: Any) -> None:
    """A site whose limit is raised weeks later is not published as it was then."""
    crawled(large.url, limits=FOUR)
    large.page("/p1/", "/p1/", "Second edition.")
    on = crawled(large.url, clock=Clock(wall=lambda: time.time() + DAY + 1))
    assert len(on.paths) == 7
    assert set(on.outcome.changed) == {"", "p1/"}  # the home page leads to more that is there


def test_going_on_can_be_interrupted(large: Any, crawled: Any) -> None:
    """What the limit ended is part of what was interrupted then."""
    crawled(large.url, limits=FOUR)
    crawled(large.url, limits=CrawlLimits(pages=100, seconds=0))
    large.asked.clear()
    on = crawled(large.url, limits=CrawlLimits(pages=100), resume=True)
    assert len(on.paths) == 7
    assert not {"/", "/p0/", "/p1/", "/p2/"} & set(large.paths())
    with pytest.raises(Exception, match="no interrupted crawl"):
        crawled(large.url, resume=True)

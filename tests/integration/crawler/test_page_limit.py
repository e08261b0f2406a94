"""The limit of pages: updates of a partly crawled site, and higher limits."""

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


def test_update_at_page_limit_revalidates_known_pages(large: Any, crawled: Any) -> None:
    assert len(crawled(large.url, limits=FOUR).paths) == 4
    large.requests.clear()
    again = crawled(large.url, limits=FOUR)
    assert (again.result.same, {asked.status for asked in large.requests}) == (4, {304})
    for name in ("/p0/", "/p1/", "/p2/"):
        large.page(name, name, "Second edition.")
    updated = crawled(large.url, limits=FOUR)
    assert set(updated.result.changed) == {"p0/", "p1/", "p2/"}
    assert "Second edition." in updated.text("p1/")
    assert "stopped at 4 pages (--max-pages)" in updated.result.stopped


@pytest.mark.parametrize("refresh", [False, True])
def test_failed_pages_stay_published_at_page_limit(refresh: bool, large: Any, crawled: Any) -> None:
    crawled(large.url, limits=FOUR)
    for name in ("/p0/", "/p1/"):
        large.put(name, "no", status=403)
    again = crawled(large.url, limits=FOUR, refresh=refresh)
    assert again.paths == ["", "p0/", "p1/", "p2/"]
    assert again.result.gone == ()


def test_new_pages_do_not_replace_published_ones(large: Any, crawled: Any) -> None:
    crawled(large.url, limits=FOUR)
    large.page("/", "Home", links=("/a/", "/b/", *(f"/p{at}/" for at in range(6))))
    for name in ("/a/", "/b/", "/p0/", "/p1/", "/p2/"):
        large.page(name, name, "Second edition.")
    again = crawled(large.url, limits=FOUR)
    assert again.paths == ["", "p0/", "p1/", "p2/"]
    assert all("Second edition." in again.text(path) for path in ("p0/", "p1/", "p2/"))


def test_new_pages_do_not_replace_published_ones_of_deeper_levels(site: Any, crawled: Any) -> None:
    site.page("/", "Home", links=("/b/",))
    site.page("/b/", "B", links=("/b/one/", "/b/two/"))
    site.page("/b/one/", "One")
    site.page("/b/two/", "Two")
    whole = CrawlLimits(pages=4)
    assert crawled(site.url, limits=whole).result.stopped == ""
    site.page("/", "Home", links=("/a/", "/b/", "/c/"))
    for name in ("/a/", "/b/one/", "/b/two/", "/c/"):
        site.page(name, name, "Second edition.")
    again = crawled(site.url, limits=whole)
    assert again.paths == ["", "b/", "b/one/", "b/two/"]
    assert set(again.result.changed) == {"", "b/one/", "b/two/"}
    assert again.result.kept == ()
    assert "--max-pages" in again.result.stopped
    site.page("/b/", "B", links=("/b/two/",))
    undisturbed_requests = crawled(site.url, limits=whole)
    assert undisturbed_requests.paths == ["", "a/", "b/", "b/two/"]  # what is gone makes room
    assert undisturbed_requests.result.gone == ("b/one/",)


def test_room_of_removed_pages_is_used_for_new_ones(large: Any, crawled: Any) -> None:
    crawled(large.url, limits=FOUR)
    large.responses.clear()
    large.page("/", "Home", links=("/x/", "/y/", "/z/", "/zz/"))
    for name in ("/x/", "/y/", "/z/", "/zz/"):
        large.page(name, name)
    again = crawled(large.url, limits=FOUR)
    assert again.paths == ["", "x/", "y/", "z/"]


def test_lower_page_limit_keeps_published_pages(large: Any, crawled: Any) -> None:
    crawled(large.url)
    for _ in range(2):
        large.requests.clear()
        lower = crawled(large.url, limits=FOUR)
        assert len(lower.paths) == 7
        assert lower.result.kept == tuple(f"{large.url}p{at}/" for at in (3, 4, 5))
        assert not {"/p3/", "/p4/", "/p5/"} & set(large.paths())


@pytest.mark.parametrize("options", [{}, {"resume": True}, {"limits": CrawlLimits(pages=6)}])
def test_higher_page_limit_continues_without_refetching(options: dict[str, Any], large: Any, crawled: Any) -> None:
    crawled(large.url, limits=FOUR)
    large.requests.clear()
    continued = crawled(large.url, **options)
    assert len(continued.paths) == (6 if "limits" in options else 7)
    assert not {"/", "/p0/", "/p1/", "/p2/"} & set(large.paths())
    assert "/p3/" in large.paths()


def test_higher_page_limit_revalidates_old_responses(large: Any, crawled: Any) -> None:
    crawled(large.url, limits=FOUR)
    large.page("/p1/", "/p1/", "Second edition.")
    continued = crawled(large.url, clock=Clock(wall=lambda: time.time() + DAY + 1))
    assert len(continued.paths) == 7
    assert set(continued.result.changed) == {"", "p1/"}  # the home page leads to more that is there


def test_continued_crawl_can_be_interrupted(large: Any, crawled: Any) -> None:
    crawled(large.url, limits=FOUR)
    crawled(large.url, limits=CrawlLimits(pages=100, seconds=0))
    large.requests.clear()
    continued = crawled(large.url, limits=CrawlLimits(pages=100), resume=True)
    assert len(continued.paths) == 7
    assert not {"/", "/p0/", "/p1/", "/p2/"} & set(large.paths())
    with pytest.raises(Exception, match="no interrupted crawl"):
        crawled(large.url, resume=True)

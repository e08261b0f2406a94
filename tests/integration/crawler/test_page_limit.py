"""The limit of pages: updates of a partly crawled site, and higher limits."""

from __future__ import annotations

import time
from typing import Any

import pytest

from roaming_crawler.config import CrawlLimits
from roaming_crawler.fetch import Clock

FOUR_PAGES = CrawlLimits(pages=4)
DAY = 24 * 3600.0


def test_update_at_page_limit_revalidates_known_pages(seven_pages: Any, run_crawl: Any) -> None:
    assert len(run_crawl(seven_pages.url, limits=FOUR_PAGES).paths) == 4
    seven_pages.requests.clear()
    second = run_crawl(seven_pages.url, limits=FOUR_PAGES)
    assert (second.result.same, {request.status for request in seven_pages.requests}) == (4, {304})
    for name in ("/p0/", "/p1/", "/p2/"):
        seven_pages.page(name, name, "Second revision.")
    updated = run_crawl(seven_pages.url, limits=FOUR_PAGES)
    assert set(updated.result.changed) == {"p0/", "p1/", "p2/"}
    assert "Second revision." in updated.text("p1/")
    assert "stopped at 4 pages (--max-pages)" in updated.result.stopped


@pytest.mark.parametrize("refresh", [False, True])
def test_failed_pages_stay_published_at_page_limit(refresh: bool, seven_pages: Any, run_crawl: Any) -> None:
    run_crawl(seven_pages.url, limits=FOUR_PAGES)
    for name in ("/p0/", "/p1/"):
        seven_pages.put(name, "no", status=403)
    second = run_crawl(seven_pages.url, limits=FOUR_PAGES, refresh=refresh)
    assert second.paths == ["", "p0/", "p1/", "p2/"]
    assert second.result.gone == ()


def test_new_pages_do_not_replace_published_ones_of_deeper_levels(site: Any, run_crawl: Any) -> None:
    site.page("/", "Home", links=("/b/",))
    site.page("/b/", "B", links=("/b/one/", "/b/two/"))
    site.page("/b/one/", "One")
    site.page("/b/two/", "Two")
    whole = CrawlLimits(pages=4)
    assert run_crawl(site.url, limits=whole).result.stopped == ""
    site.page("/", "Home", links=("/a/", "/b/", "/c/"))
    for name in ("/a/", "/b/one/", "/b/two/", "/c/"):
        site.page(name, name, "Second revision.")
    second = run_crawl(site.url, limits=whole)
    assert second.paths == ["", "b/", "b/one/", "b/two/"]
    assert set(second.result.changed) == {"", "b/one/", "b/two/"}
    assert second.result.kept == ()
    assert "--max-pages" in second.result.stopped
    site.page("/b/", "B", links=("/b/two/",))
    undisturbed_requests = run_crawl(site.url, limits=whole)
    assert undisturbed_requests.paths == ["", "a/", "b/", "b/two/"]  # removed pages make room for new ones
    assert undisturbed_requests.result.gone == ("b/one/",)


def test_lower_page_limit_keeps_published_pages(seven_pages: Any, run_crawl: Any) -> None:
    run_crawl(seven_pages.url)
    for _ in range(2):
        seven_pages.requests.clear()
        lower = run_crawl(seven_pages.url, limits=FOUR_PAGES)
        assert len(lower.paths) == 7
        assert lower.result.kept == tuple(f"{seven_pages.url}p{at}/" for at in (3, 4, 5))
        assert not {"/p3/", "/p4/", "/p5/"} & set(seven_pages.paths())


@pytest.mark.parametrize("options", [{}, {"resume": True}, {"limits": CrawlLimits(pages=6)}])
def test_higher_page_limit_continues_without_refetching(
    options: dict[str, Any], seven_pages: Any, run_crawl: Any
) -> None:
    run_crawl(seven_pages.url, limits=FOUR_PAGES)
    seven_pages.requests.clear()
    continued = run_crawl(seven_pages.url, **options)
    assert len(continued.paths) == (6 if "limits" in options else 7)
    assert not {"/", "/p0/", "/p1/", "/p2/"} & set(seven_pages.paths())
    assert "/p3/" in seven_pages.paths()
    if len(continued.paths) == 7:
        with pytest.raises(Exception, match="no interrupted crawl"):
            run_crawl(seven_pages.url, resume=True)


def test_higher_page_limit_revalidates_old_responses(seven_pages: Any, run_crawl: Any) -> None:
    run_crawl(seven_pages.url, limits=FOUR_PAGES)
    seven_pages.page("/p1/", "/p1/", "Second revision.")
    continued = run_crawl(seven_pages.url, clock=Clock(wall=lambda: time.time() + DAY + 1))
    assert len(continued.paths) == 7
    assert continued.result.changed == ("p1/",)

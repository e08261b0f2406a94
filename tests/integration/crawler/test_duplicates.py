"""Pages that repeat others are published once."""

from __future__ import annotations

from typing import Any

import pytest

PAGES = ("gauge", "harbour", "kettle", "locks", "tides")


def _article(name: str) -> str:
    paragraphs = "".join(
        f"<p>Of the {name} it is known that reading {number} is taken at {number * 7} past the hour.</p>"
        for number in range(12)
    )
    return f"<h1>The {name}</h1>{paragraphs}"


def _page(title: str, article: str, links: tuple[str, ...] = ()) -> str:
    anchors = "".join(f'<a href="{link}">{link}</a> ' for link in links)
    return f"<html lang=en><title>{title}</title><nav>{anchors}</nav><main>{article}</main>"


@pytest.fixture
def docs(site: Any) -> Any:
    """Provide a site of several pages."""
    links = tuple(f"/{name}/" for name in PAGES)
    site.put("/", _page("Home", _article("home"), links))
    for name in PAGES:
        site.put(f"/{name}/", _page(name.title(), _article(name)))
    return site


def _link(site: Any, path: str, article: str, title: str = "More") -> None:
    site.put("/", site.responses["/"].body.replace("<main>", f'<a href="{path}">more</a><main>'))
    site.put(path, _page(title, article))


ALL = {"", *(f"{name}/" for name in PAGES)}


@pytest.mark.parametrize("path", ["/all.html", "/guide/singlepage", "/print/"])
def test_print_view_is_left_out(path: str, docs: Any, run_crawl: Any) -> None:
    _link(docs, path, "<p>All of it.</p>" + "".join(map(_article, PAGES)))
    output = run_crawl(docs.url)
    assert set(output.paths) == ALL
    assert output.skip_reason(path) == f"duplicate of 5 pages such as {docs.url}gauge/"


def test_copies_are_left_out_and_links_lead_to_original(docs: Any, run_crawl: Any) -> None:
    _link(docs, "/old/place/of/tides/", _article("tides"), "Tides")
    docs.put("/gauge/", _page("Gauge", _article("gauge") + '<p>See <a href="/old/place/of/tides/">tides</a>.</p>'))
    output = run_crawl(docs.url)
    assert set(output.paths) == ALL
    assert f"[tides]({docs.url}tides/" in output.text("gauge/")


def test_archive_and_overview_stay(docs: Any, run_crawl: Any) -> None:
    _link(docs, "/archive/2024/", "".join(map(_article, PAGES)), "Archive")
    _link(docs, "/print/", "<p>Print what you need: here is how.</p>", "Print")
    assert set(run_crawl(docs.url).paths) == ALL | {"archive/2024/", "print/"}


def test_versions_of_a_page_stay(docs: Any, run_crawl: Any) -> None:
    for number in range(1, 7):
        own = f"<p>Of version {number} there is one line that is long enough.</p>"
        _link(docs, f"/long-{number}/", _article("tides") + _article("gauge") + own, f"Long {number}")
    assert len(run_crawl(docs.url).paths) == 12

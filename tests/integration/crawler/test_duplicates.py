"""Pages that repeat others are published once."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
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


@pytest.mark.parametrize("path", ["/all.html", "/archive/2024/", "/print/"])
def test_page_with_text_of_others_is_left_out(path: str, docs: Any, run_crawl: Any) -> None:
    _link(docs, path, "<p>All of it.</p>" + "".join(map(_article, PAGES)))
    output = run_crawl(docs.url)
    assert set(output.paths) == ALL
    assert output.skip_reason(path) == f"duplicate of 5 pages such as {docs.url}gauge/"


def test_print_view_of_one_page_is_left_out(docs: Any, run_crawl: Any) -> None:
    _link(docs, "/print/tides/", _article("tides") + "<p>Printed at 13:20 in the afternoon of a day.</p>")
    assert set(run_crawl(docs.url).paths) == ALL


def test_copies_are_left_out_and_links_lead_to_original(docs: Any, run_crawl: Any) -> None:
    _link(docs, "/old/place/of/tides/", _article("tides"), "Tides")
    docs.put("/gauge/", _page("Gauge", _article("gauge") + '<p>See <a href="/old/place/of/tides/">tides</a>.</p>'))
    output = run_crawl(docs.url)
    assert set(output.paths) == ALL
    assert f"[tides]({docs.url}tides/" in output.text("gauge/")


@pytest.mark.parametrize(
    ("path", "article"),
    [
        ("/overview/", _article("overview") + _article("tides")),
        ("/pair/", _article("tides") + _article("gauge")),
        ("/version/tides/", _article("tides") + "<p>This line is in one version of the page alone.</p>"),
        ("/other/", _article("other")),
    ],
)
def test_page_with_text_of_its_own_stays(path: str, article: str, docs: Any, run_crawl: Any) -> None:
    _link(docs, path, article)
    assert set(run_crawl(docs.url).paths) == ALL | {path[1:]}


def test_overview_of_folder_stays(docs: Any, run_crawl: Any) -> None:
    names = [f"boat-{number}" for number in range(4)]
    for name in names:
        _link(docs, f"/boats/{name}/", _article(name), name)
    _link(docs, "/boats/", "".join(map(_article, names)), "Boats")
    _link(docs, "/boats-of-all-kinds/", "".join(map(_article, names)), "All boats")
    assert set(run_crawl(docs.url).paths) == ALL | {"boats/", *(f"boats/{name}/" for name in names)}


def test_versions_of_a_page_stay(docs: Any, run_crawl: Any) -> None:
    for number in range(1, 7):
        own = f"<p>Of version {number} there is one line that is long enough.</p>"
        _link(docs, f"/long-{number}/", _article("tides") + _article("gauge") + own, f"Long {number}")
    assert len(run_crawl(docs.url).paths) == 12


def test_result_does_not_depend_on_order(
    docs: Any, run_crawl: Any, tmp_path: Path, read_files: Callable[[Path], dict[str, bytes]]
) -> None:
    _link(docs, "/all.html", "".join(map(_article, PAGES)))
    _link(docs, "/a/b/", _article("tides"), "Tides")
    first = run_crawl(docs.url)
    links = [f"/{path}" for path in ("all.html", "a/b/", *(f"{name}/" for name in PAGES))]
    random.Random(1).shuffle(links)
    docs.put("/", _page("Home", _article("home"), tuple(links)))
    second = run_crawl(docs.url, tmp_path / "second")
    assert first.paths == second.paths == sorted(ALL)
    run_crawl(docs.url, first.folder)
    assert read_files(first.folder) == read_files(second.folder)

"""What pages repeat around their articles is removed, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from lxml import html
from tables import read_tables

from mkdocs_roaming.html.boilerplate import learn_boilerplate, remove_boilerplate

TABLES = read_tables(__file__)

MENU = "".join(f"<li><a href='p{at}.html'>Page {at}</a></li>" for at in range(12))


def make_pages(write: Callable[[int], str], count: int = 12) -> list[str]:
    return [f"<body>{write(at)}</body>" for at in range(count)]


def clean(pages: list[str], at: int = 3) -> str:
    return " ".join(
        " ".join(html.fromstring(remove_boilerplate(pages[at], learn_boilerplate(pages))).itertext()).split()
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"<div class=x><h1>The Docs</h1><ul>{MENU}</ul></div>", ""),
        ("", "<div><p>© The authors</p><a href='/'>Imprint</a></div>"),
        (f"<ul>{MENU}</ul><p>Search <b>all</b> pages</p>", "<hr><p>Made by a generator</p>"),
        ("<table><tr><td><a href='a'>Previous</a></td><td><a href='b'>Next</a></td></tr></table>", ""),
    ],
)
def test_repeated_beginning_and_end_are_removed(before: str, after: str) -> None:
    pages = make_pages(lambda at: f"{before}<h1>Rope {at}</h1><p>Rope {at} is red.</p>{after}")
    assert clean(pages) == "Rope 3 Rope 3 is red."


def test_branch_of_a_menu_that_differs_is_removed_with_the_menu() -> None:
    pages = make_pages(
        lambda at: f"<ul>{MENU}<li><a href=x>Part {at}</a></li>{MENU}</ul><h1>Rope {at}</h1><p>Rope {at} is red.</p>"
    )
    assert clean(pages) == "Rope 3 Rope 3 is red."


def test_pager_whose_titles_differ_is_removed() -> None:
    pages = make_pages(
        lambda at: f"<div>Next: <a href=n>Rope {at + 1}</a>, Up: <a href=u>Ropes</a></div><p>Rope {at} is red.</p>"
    )
    assert clean(pages) == "Rope 3 is red."


def test_repeated_menu_within_an_article_is_removed() -> None:
    pages = make_pages(lambda at: f"<h1>Rope {at}</h1><div><ul>{MENU}</ul></div><p>Rope {at} is red.</p>")
    assert clean(pages) == "Rope 3 Rope 3 is red."


@pytest.mark.parametrize("article", TABLES["article keeps what it shares with others"])
def test_article_keeps_what_it_shares_with_others(article: str) -> None:
    pages = make_pages(lambda at: article.replace("{at}", str(at)))
    assert remove_boilerplate(pages[3], learn_boilerplate(pages)) == pages[3]


def test_page_of_links_is_kept() -> None:
    pages = make_pages(lambda at: f"<ul>{MENU}</ul><p>Rope {at} is red.</p>")
    contents = f"<body><ul>{MENU}</ul></body>"
    assert remove_boilerplate(contents, learn_boilerplate(pages)) == contents


def test_few_pages_show_no_boilerplate() -> None:
    assert learn_boilerplate(make_pages(lambda at: f"<p>Ropes</p><p>Rope {at}</p>", 7)) is None


def test_image_of_an_article_is_kept() -> None:
    pages = make_pages(lambda at: f"<ul>{MENU}</ul><img src='rope{at}.png'><h1>Rope {at}</h1><p>Rope {at} is red.</p>")
    assert "rope3.png" in remove_boilerplate(pages[3], learn_boilerplate(pages))

"""Which pages are copies or print views of others, apart from crawls."""

from __future__ import annotations

import pytest

from roaming_crawler.duplicates import find_copies, find_print_views, summarize_text
from roaming_crawler.page import FetchedPage, PageBody

BASE = "https://docs.example/"


class Pages:
    """Pages with their bodies, in an order of one's choice."""

    def __init__(self, articles: dict[str, str], titles: dict[str, str] | None = None) -> None:
        titles = titles or {}
        self.pages = [FetchedPage(BASE + path, path, titles.get(path, "Page"), key=path) for path in articles]
        self.bodies = {path: PageBody(article) for path, article in articles.items()}
        self.texts = {path: summarize_text(body) for path, body in self.bodies.items()}

    def copies(self, base: str = "") -> dict[str, str]:
        return {path: url.removeprefix(BASE) for path, url in find_copies(self.pages, self.texts, base).items()}

    def print_views(self) -> dict[str, str]:
        found = find_print_views(self.pages, self.texts, self.bodies)
        return {path: text.replace(BASE, "") for path, text in found.items()}


def make_lines(name: str, count: int = 12) -> list[str]:
    return [f"<p>Of the {name} it is known that reading {at} is right.</p>" for at in range(count)]


def make_article(*names: str) -> str:
    return "".join(line for name in names for line in make_lines(name))


def test_copies_have_same_text_and_title() -> None:
    titles = {"a/": "One", "b/": "Two", "c/d/": "One"}
    assert Pages(dict.fromkeys(titles, make_article("kettle")), titles).copies() == {"c/d/": "a/"}


def test_short_texts_are_no_copies() -> None:
    assert Pages({"a/": "<p>To be written.</p>", "b/": "<p>To be written.</p>"}).copies() == {}


def test_print_view_is_copy_of_page_with_longer_path() -> None:
    assert Pages(dict.fromkeys(("print/a/", "guide/deep/a/"), make_article("kettle"))).copies() == {
        "print/a/": "guide/deep/a/"
    }


def test_same_text_in_two_variants_is_no_copy_if_all_are_crawled() -> None:
    pages = Pages(dict.fromkeys(("en/a/", "de/a/", "de/old/a/"), make_article("kettle")))
    assert pages.copies(BASE) == {"de/old/a/": "de/a/"}
    assert set(pages.copies()) == {"en/a/", "de/old/a/"}


@pytest.mark.parametrize("is_reversed", [False, True])
def test_print_view_in_print_view_is_counted_by_its_pages(is_reversed: bool) -> None:
    names = "abcdef"
    articles = {f"{name}/": make_article(name) for name in names}
    articles |= {"print/three/": make_article(*"abc"), "all/": make_article(*names)}
    pages = Pages(dict(sorted(articles.items(), reverse=is_reversed)))
    assert pages.print_views() == {
        "print/three/": "3 pages such as a/",
        "all/": "6 pages such as a/",
    }


def test_print_view_with_text_of_its_own_stays() -> None:
    articles = {f"{name}/": make_article(name) for name in "abc"}
    assert Pages(articles | {"all/": make_article(*"abc") + "".join(make_lines("guide", 30))}).print_views() == {}
    assert set(Pages(articles | {"all/": make_article(*"abc", "d")[:2_000]}).print_views()) == {"all/"}


@pytest.mark.parametrize(
    ("path", "text", "repeated"),
    [
        ("print/a/", make_article("a") + "<p>Printed at 13:20 in the afternoon of a day.</p>", "1 pages such as a/"),
        ("overview/", make_article("overview", "a"), None),
        ("archive/", make_article("a", "b", "c"), None),
        ("version/a/", make_article("a") + "<p>This line is in one version of the page alone.</p>", None),
    ],
)
def test_pages_are_repeated_by_print_views_alone(path: str, text: str, repeated: str | None) -> None:
    articles = {f"{name}/": make_article(name) for name in "abc"} | {path: text}
    assert Pages(articles).print_views().get(path) == repeated


def test_short_lines_of_pages_are_ignored() -> None:
    """A table of names may contain all names of several short pages."""
    articles = {f"{name}/": "".join(f"<td>{name} {at}</td>" for at in range(12)) for name in "abc"}
    assert Pages(articles | {"all/": "".join(articles.values())}).print_views() == {}

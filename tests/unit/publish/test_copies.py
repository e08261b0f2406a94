"""Excerpts and repeated pages are published once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.library.validate import validate_site
from mkdocs_roaming.manifest.lookup import SectionIndex
from mkdocs_roaming.manifest.models import NavItem, Page, Site, markdown_path

from .conftest import URL, publish_pages

TEXT = "<p>We rewrote the kettle, so that it whistles in B minor and nobody complains about the noise.</p>"
NEXT = '<h3 id="lid">The lid</h3><p>It is blue.</p>'
KETTLE = Page(
    "blog/2024/05/kettle/", "Kettle 2", f'<h1 id="kettle">Kettle 2</h1>{TEXT}{NEXT}', description="A new kettle."
)
TOASTER = Page(
    "blog/2024/04/toaster/", "Toaster", "<h1>Toaster</h1><p>Bread goes in, and comes out brown on both sides.</p>"
)


def excerpt(href: str, title: str, text: str, date: str = "<ul><li>May 1, 2024</li><li>2 min read</li></ul>") -> str:
    return (
        f'<h2 id="{title.lower()[:3]}"><a href="{href}">{title}</a></h2>{date}{text}<p><a href="{href}">Go on</a></p>'
    )


KETTLE_EXCERPT = excerpt("2024/05/kettle/", "Kettle 2", TEXT + NEXT)
TOASTER_EXCERPT = excerpt("2024/04/toaster/", "Toaster", TOASTER.article.partition("</h1>")[2], date="")
BLOG = Page("blog/", "News", f'<h1 id="news">News</h1><p>What is new.</p>{KETTLE_EXCERPT}{TOASTER_EXCERPT}')
ARCHIVE = Page("blog/archive/2024/", "2024", f"<h1>2024</h1>{KETTLE_EXCERPT.replace('2024/05', '../../2024/05')}")
NAV = (NavItem("Home", ""), NavItem("Blog", children=(NavItem("News", "blog/"), NavItem("2024", "blog/archive/2024/"))))
HOME = Page("", "Home", '<h1>Home</h1><p>See <a href="blog/#ket">the new kettle</a>.</p>')


def publish(folder: Path, *pages: Page) -> SectionIndex:
    publish_pages(folder, *pages, site=Site("Docs", URL, nav=NAV))
    library = open_library(folder)
    assert validate_site(library).faults == ()
    return library.sections


def test_list_of_posts_has_links_dates_and_descriptions(tmp_path: Path) -> None:
    sections = publish(tmp_path, HOME, BLOG, ARCHIVE, KETTLE, TOASTER)
    text = (tmp_path / "blog/index.md").read_text("utf-8").partition("# News")[2]
    assert text == (
        "\n\nWhat is new.\n\n"
        f"- [Kettle 2]({URL}blog/2024/05/kettle/index.md): A new kettle. (May 1, 2024)\n"
        f"- [Toaster]({URL}blog/2024/04/toaster/index.md): Bread goes in, and comes out brown on both sides.\n"
    )
    assert [ref.section.title for ref in sections if ref.page.path == "blog/"] == ["News"]
    assert [ref.page.path for ref in sections if ref.section.title == "Kettle 2"] == ["blog/2024/05/kettle/"]


def test_excerpt_that_begins_with_a_heading_is_replaced(tmp_path: Path) -> None:
    post = replace(TOASTER, article=f"<h1>Toaster</h1>{NEXT}")
    article = f"<h1>News</h1>{excerpt('2024/04/toaster/', 'Toaster', NEXT).replace('<p><a', '<p hidden><a', 1)}"
    sections = publish(tmp_path, HOME, replace(BLOG, article=article), post)
    assert [ref.section.title for ref in sections if ref.page.path == "blog/"] == ["News"]


def test_link_to_excerpt_leads_to_its_list(tmp_path: Path) -> None:
    sections = publish(tmp_path, HOME, BLOG, ARCHIVE, KETTLE, TOASTER)
    assert sections.resolve(f"{URL}blog/#ket") == sections.resolve(f"{URL}blog/")
    assert sections.resolve(f"{URL}blog/#lid") == sections.resolve(f"{URL}blog/")


def test_posts_are_in_the_group_of_their_blog(tmp_path: Path) -> None:
    nav = publish(tmp_path, HOME, BLOG, ARCHIVE, KETTLE, TOASTER).manifest.nav
    assert [entry.title for entry in nav] == ["Home", "Blog"]
    assert [entry.title for entry in nav[1].children] == ["News", "Kettle 2", "Toaster", "2024"]


@pytest.mark.parametrize(
    "article",
    [
        KETTLE_EXCERPT.replace("Kettle 2", "Our kettle"),  # another title
        excerpt("2024/05/kettle/", "Kettle 2", "<p>This page tells what the second kettle can do for you.</p>"),
        excerpt("https://elsewhere.example/", "Kettle 2", TEXT),
        KETTLE_EXCERPT.replace("</a></h2>", "</a> and more</h2>"),
        '<h2><a href="2024/05/kettle/">Kettle 2</a></h2><ul><li>A kettle that is described on another page of this site</li></ul>',
        '<h2><a href="2024/05/kettle/">Kettle 2</a></h2><pre><code>boil</code></pre>',
    ],
)
def test_section_that_only_links_to_page_keeps_its_text(tmp_path: Path, article: str) -> None:
    sections = publish(tmp_path, HOME, replace(BLOG, article=f"<h1>News</h1>{article}"), KETTLE)
    assert len([ref for ref in sections if ref.page.path == "blog/"]) > 1


LONG = "<h1>Readme</h1><p>" + "Drain the harbour before you start the pump, and lift the valve. " * 8 + "</p>"


def test_page_with_text_of_another_page_points_to_it(tmp_path: Path) -> None:
    part = '<h2 id="more">More</h2><p>All of it.</p>'
    pages = Page("a/", "A", LONG + part), Page("about/", "B", LONG.replace("Readme", "About") + part)
    sections = publish(tmp_path, replace(HOME, article='<h1>Home</h1><a href="about/#more">More</a>'), *pages)
    text = (tmp_path / "about/index.md").read_text("utf-8").partition("# About")[2]
    assert text == f"\n\nThis page has the same text as [Readme]({URL}a/index.md).\n"
    assert [ref.page.path for ref in sections if ref.section.title == "More"] == ["a/"]
    assert sections.resolve(f"{URL}about/#more") == sections.resolve(f"{URL}about/")


@pytest.mark.parametrize(
    ("first", "second"), [("v1/a/", "v2/a/"), ("a/", "de/a/"), ("docs/v1/a.html", "docs/v2/a.html")]
)
def test_versions_and_languages_of_page_keep_their_text(tmp_path: Path, first: str, second: str) -> None:
    publish(tmp_path, HOME, Page(first, "A", LONG), Page(second, "A", LONG))
    assert "Drain the harbour" in (tmp_path / markdown_path(second)).read_text("utf-8")


def test_short_pages_do_not_repeat_each_other(tmp_path: Path) -> None:
    publish(
        tmp_path,
        HOME,
        Page("a/", "A", "<h1>A</h1><p>To be written.</p>"),
        Page("b/", "B", "<h1>B</h1><p>To be written.</p>"),
    )
    assert "To be written" in (tmp_path / "b/index.md").read_text("utf-8")

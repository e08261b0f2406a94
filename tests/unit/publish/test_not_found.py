from __future__ import annotations

from dataclasses import replace

import pytest

from mkdocs_roaming.manifest.addresses import AddressEntry
from mkdocs_roaming.manifest.models import Site
from mkdocs_roaming.publish.elements.html import add_similar_pages, remove_own_elements
from mkdocs_roaming.serve.static import fill_similar_pages, render_similar_pages

SITE = Site("Kettle", "https://docs.example/kettle/")
PLACE = "<nav data-roaming data-roaming-missing "
PAGE = "<html><head><title>404</title></head><body><header><h1>Kettle</h1></header><main>{}</main></body></html>"
PAGES = [AddressEntry("guide/install/", "<b>Install</b>"), AddressEntry("", "Home"), AddressEntry("a?b.html", "A")]


@pytest.mark.parametrize(
    ("title", "rest"),
    [
        ("<h1>404 - Not found</h1>", ""),
        ("<h1 id=404>404</h1>\n  <p><strong>Page not found</strong></p>", "<p>Search</p>"),
        ("<h1>404</h1>", "<p>Go <a href=/>home</a></p>"),
        ("<H1>404</H1 >", ""),
    ],
)
def test_links_follow_the_title_and_a_short_paragraph(title: str, rest: str) -> None:
    html = add_similar_pages(PAGE.format(title + rest), SITE)
    assert f"{title}{PLACE}" in html
    assert html.endswith(f"</noscript>{rest}</main></body></html>")
    assert '<script type="module" src="/kettle/roaming/roaming-missing.js" data-roaming></script></head>' in html
    assert "<body><p data-roaming data-pagefind-ignore hidden>For agents" in html
    assert html.count('href="/kettle/llms.txt"') == 3
    assert remove_own_elements(html) == PAGE.format(title + rest)


def test_page_without_title_has_the_links_at_its_beginning() -> None:
    assert "<body><p data-roaming " in (html := add_similar_pages("<body><div id=app></div>", SITE))
    assert html.index(PLACE) < html.index("<div id=app>")
    assert add_similar_pages("Not found", SITE) == "Not found"


def test_site_without_llms_txt_links_to_its_outline() -> None:
    html = add_similar_pages(PAGE.format("<h1>404</h1>"), replace(SITE, has_llms_txt=False))
    assert "llms.txt" not in html
    assert 'href="/kettle/roaming/outline.md">outline.md</a>' in html


def test_texts_are_in_the_language_of_the_site() -> None:
    html = add_similar_pages(PAGE.format("<h1>404</h1>"), replace(SITE, language="de-AT"))
    assert 'aria-label="Seiten mit ähnlicher Adresse:"' in html


@pytest.mark.parametrize(
    ("path", "links"),
    [
        ("/guide/instal", ["install/", "../", "../a%3Fb.html"]),
        ("/guide/instal/", ["../install/", "../../", "../../a%3Fb.html"]),
        ("/x", ["guide/install/", "./", "a%3Fb.html"]),
    ],
)
def test_filled_page_has_relative_links_and_escaped_titles(path: str, links: list[str]) -> None:
    html = fill_similar_pages(add_similar_pages(PAGE.format("<h1>404</h1>"), SITE), PAGES, path)
    titles = ("&lt;b&gt;Install&lt;/b&gt;", "Home", "A")
    items = "".join(f'<li><a href="{link}">{title}</a></li>' for link, title in zip(links, titles, strict=True))
    assert f"<p>Pages at similar addresses:</p><ul>{items}</ul></nav>" in html


def test_page_stays_as_it_is_without_place_or_pages() -> None:
    assert fill_similar_pages("<h1>404</h1>", PAGES, "/x") == "<h1>404</h1>"
    html = add_similar_pages(PAGE.format("<h1>404</h1>"), SITE)
    assert fill_similar_pages(html, [], "/x") == html


def test_markdown_lists_pages_and_escapes_titles() -> None:
    pages = [AddressEntry("guide/install/", "Install [x](y)")]
    assert render_similar_pages(pages, SITE.url) == (
        "# Not found\n\nThere is no page at this address. Pages at similar addresses:\n\n"
        "- [Install \\[x\\](y)](https://docs.example/kettle/guide/install/index.md)\n\n"
        "All pages: [llms.txt](https://docs.example/kettle/llms.txt).\n"
    )
    assert render_similar_pages([], SITE.url).startswith(
        "# Not found\n\nThere is no page at this address.\n\nAll pages"
    )


@pytest.mark.parametrize(
    "part", ["<h1>", "</h1>", "</h1><p>", "<nav data-roaming data-roaming-missing ", "</h1><p><b>"]
)
def test_hostile_page_takes_linear_time(part: str) -> None:
    html = add_similar_pages("<body>" + part * 50_000, SITE)
    assert remove_own_elements(html)

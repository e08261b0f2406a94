from __future__ import annotations

from dataclasses import replace

import pytest

from mkdocs_roaming.manifest.models import Site
from mkdocs_roaming.publish.elements.html import add_similar_pages, remove_own_elements

SITE = Site("Kettle", "https://docs.example/kettle/")
PLACE = "<nav data-roaming data-roaming-missing "
PAGE = "<html><head><title>404</title></head><body><header><h1>Kettle</h1></header><main>{}</main></body></html>"


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
    "part",
    ["<h1>", "</h1>", "</h1><p>", "<nav data-roaming data-roaming-missing ", "</h1><p><b>", "<a-", "<p data-roaming>"],
)
def test_hostile_page_takes_linear_time(part: str) -> None:
    html = add_similar_pages("<body>" + part * 50_000, SITE)
    assert remove_own_elements(html)

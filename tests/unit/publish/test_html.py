"""Elements of pages: links to Markdown and llms.txt, the search dialog, and pages for missing addresses."""

from __future__ import annotations

from dataclasses import replace

import pytest
from manifests import URL, build
from tables import read_tables

from mkdocs_roaming.manifest.aliases import PreviousSite
from mkdocs_roaming.manifest.models import Site
from mkdocs_roaming.publish.elements.html import (
    add_markdown_links,
    add_similar_pages,
    collect_addresses,
    find_dialog_name,
    insert_pieces,
    remove_own_elements,
)

TABLES = read_tables(__file__)


def test_add_markdown_links_can_be_removed() -> None:
    html = "<!doctype html><html><head><title>T</title></head><body class='x'><main>Hi</main></body></html>"
    once = add_markdown_links(html, "guide/install/")
    assert remove_own_elements(once) == html
    assert '<link rel="alternate" type="text/markdown" href="index.md" data-roaming>' in once
    assert '<link rel="describedby" type="text/markdown" href="../../llms.txt" data-roaming></head>' in once
    assert "display:none" not in once
    assert add_markdown_links("plain text", "a/") == "plain text"


def test_add_markdown_links_avoids_sitemap_request_of_material() -> None:
    """Material requests a sitemap for each `[rel=alternate]`."""
    once = add_markdown_links("<html><head></head><body><div data-md-component=container>Hi</div></body></html>", "a/")
    assert '<link rel="alternate " type="text/markdown" href="index.md" data-roaming>' in once


def test_add_markdown_links_without_llms_txt_links_to_markdown_alone() -> None:
    once = add_markdown_links("<html><head></head><body>Hi</body></html>", "a/", has_llms_txt=False)
    assert "llms.txt" not in once
    assert 'this one at <a href="index.md">index.md</a>.</p>' in once


@pytest.mark.parametrize(
    "html",
    [
        '<button data-roaming-open>Ask</button><p class="data-roaming">A</p><roaming-ask endpoint="/"></roaming-ask>',
        "<p>&lt;p data-roaming&gt;</p><link rel=icon href=data-roaming>",
    ],
)
def test_remove_own_elements_keeps_those_of_authors(html: str) -> None:
    assert remove_own_elements(html) == html


# The accessible name of Material's search dialog

DIALOG = '<div class="md-search" data-md-component="search" role="dialog">'
INPUT = '<input class="md-search__input" aria-label="{}" placeholder="x" data-md-component="search-query" required>'


@pytest.mark.parametrize("label", ["Search", "Suche", "Find &quot;it&quot; &amp; go"])
def test_name_search_dialog_repeats_label_of_input(label: str) -> None:
    html = f'<div data-md-component="skip"></div>{DIALOG}<div>{INPUT.format(label)}</div></div>'
    named = insert_pieces(html, find_dialog_name(html))
    assert named == html.replace(DIALOG, f'{DIALOG[:-1]} aria-label="{label}" data-roaming-named>')
    assert insert_pieces(named, find_dialog_name(named)) == named
    assert remove_own_elements(named) == html


def test_404_page_names_its_dialog() -> None:
    html = f"<html><head></head><body>{DIALOG}{INPUT.format('Search')}</body></html>"
    named = add_similar_pages(html, Site("Kettle", "https://docs.example/"))
    assert f'{DIALOG[:-1]} aria-label="Search" data-roaming-named>' in named
    assert remove_own_elements(named) == html


def test_name_search_dialog_reads_minified_html() -> None:
    html = "<div class=md-search data-md-component=search role=dialog><input aria-label=Search data-md-component=search-query>"
    assert insert_pieces(html, find_dialog_name(html)).startswith(
        "<div class=md-search data-md-component=search role=dialog aria-label=Search data-roaming-named><input"
    )


@pytest.mark.parametrize(
    "html",
    [
        "<p>No search</p>",
        DIALOG,
        DIALOG + '<input data-md-component="search-query">',
        '<div data-md-component="search">' + INPUT.format("Search"),
        '<div data-md-component="search" role="dialog" aria-label="Own">' + INPUT.format("Search"),
        '<div data-md-component="search" role="dialog" aria-labelledby="own">' + INPUT.format("Search"),
        '<div role="dialog">' + INPUT.format("Search"),
    ],
)
def test_name_search_dialog_leaves_other_pages_unchanged(html: str) -> None:
    assert insert_pieces(html, find_dialog_name(html)) == html


# Pages for addresses that do not exist

SITE = Site("Kettle", "https://docs.example/kettle/")
PLACE = "<nav data-roaming data-roaming-missing "
MISSING = "<html><head><title>404</title></head><body><header><h1>Kettle</h1></header><main>{}</main></body></html>"


@pytest.mark.parametrize(
    ("title", "rest"),
    TABLES["titles of missing pages"],
)
def test_links_follow_the_title_and_a_short_paragraph(title: str, rest: str) -> None:
    html = add_similar_pages(MISSING.format(title + rest), SITE)
    assert f"{title}{PLACE}" in html
    assert html.endswith(f"</noscript>{rest}</main></body></html>")
    assert '<script type="module" src="/kettle/roaming/roaming-missing.js" data-roaming></script></head>' in html
    assert "<body><p data-roaming data-pagefind-ignore hidden>For agents" in html
    assert html.count('href="/kettle/llms.txt"') == 3
    assert remove_own_elements(html) == MISSING.format(title + rest)


def test_page_without_title_has_the_links_at_its_beginning() -> None:
    assert "<body><p data-roaming " in (html := add_similar_pages("<body><div id=app></div>", SITE))
    assert html.index(PLACE) < html.index("<div id=app>")
    assert add_similar_pages("Not found", SITE) == "Not found"


def test_site_without_llms_txt_links_to_its_outline() -> None:
    html = add_similar_pages(MISSING.format("<h1>404</h1>"), replace(SITE, has_llms_txt=False))
    assert "llms.txt" not in html
    assert 'href="/kettle/roaming/outline.md">outline.md</a>' in html


def test_texts_are_in_the_language_of_the_site() -> None:
    html = add_similar_pages(MISSING.format("<h1>404</h1>"), replace(SITE, language="de-AT"))
    assert 'aria-label="Seiten mit ähnlicher Adresse:"' in html


@pytest.mark.parametrize(
    "part",
    ["<h1>", "</h1>", "</h1><p>", "<nav data-roaming data-roaming-missing ", "</h1><p><b>", "<a-", "<p data-roaming>"],
)
def test_hostile_page_takes_linear_time(part: str) -> None:
    html = add_similar_pages("<body>" + part * 50_000, SITE)
    assert remove_own_elements(html)


# Addresses of pages that have moved


def test_addresses_contain_redirects_to_published_pages_alone() -> None:
    redirects = {
        "old/": f"{URL}older/",
        "older/": f"{URL}guide/#install",
        "away/": "https://other.example/",
        "hidden-old/": f"{URL}hidden/",
    }
    manifest = build({"guide/": "# Guide\n\nText.\n", "api/": "# API\n\nText.\n"})
    addresses = collect_addresses(manifest, Site("Docs", URL, redirects=redirects))
    assert addresses.moved == {"old/": "guide/", "older/": "guide/"}
    assert addresses.pages == (("guide/", "Guide"), ("api/", "API"))


def test_names_of_other_languages_are_not_english() -> None:
    manifest = build({"install/": "# Installieren\n\nText.\n"})
    assert collect_addresses(manifest, Site("Docs", URL, language="de")).names == ()
    assert ("install", "installation", "installing", "setup") in collect_addresses(manifest, Site("Docs", URL)).names


def test_former_ids_lead_to_the_page_that_has_moved() -> None:
    text = "# Remove limescale\n\nVinegar removes limescale from every kettle within an hour.\n"
    before = build({"care/old-name/": text})
    previous = PreviousSite(before, lambda page, section: text[section.start : section.end])
    now = build({"guide/descale/": text}, previous=previous)
    assert collect_addresses(now, Site("Docs", URL)).ids == {before.pages[0].id: "guide/descale/"}

"""The accessible name of Material's search dialog."""

from __future__ import annotations

import pytest

from mkdocs_roaming.manifest.models import Site
from mkdocs_roaming.publish.elements.html import (
    add_similar_pages,
    find_dialog_name,
    insert_pieces,
    remove_own_elements,
)

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

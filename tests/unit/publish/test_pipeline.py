"""Conversion of pages and resolution of links."""

from __future__ import annotations

from pathlib import Path

import pytest
from tables import read_tables

from mkdocs_roaming.manifest.models import Page, Site
from mkdocs_roaming.publish.cache import ConversionCache
from mkdocs_roaming.publish.options import PublishOptions
from mkdocs_roaming.publish.pipeline import LinkResolver, convert_pages, format_pointer
from mkdocs_roaming.publish.writer import publish_batch

from .conftest import HOME, INSTALL, SITE, URL, publish_pages

TABLES = read_tables(__file__)


@pytest.mark.parametrize(("href", "expected"), TABLES["link resolver returns absolute markdown url"])
def test_link_resolver_returns_absolute_markdown_url(href: str, expected: str) -> None:
    assert (
        LinkResolver(Page("guide/install/", "Install"), Site("Docs", URL), {"", "guide/install/"}).link(href)
        == expected
    )


@pytest.mark.parametrize(("href", "expected"), TABLES["links to redirects lead to markdown of target"])
def test_links_to_redirects_lead_to_markdown_of_target(href: str, expected: str) -> None:
    redirects = {
        "old/": URL + "guide/install/",
        "older/": URL + "old/#quiet",
        "moved/": "https://elsewhere.example/",
        "circle/": URL + "circle/",
    }
    site = Site("Docs", URL, redirects=redirects)
    resolver = LinkResolver(Page("", "Home"), site, {"", "guide/install/"})
    assert resolver.link(href) == expected


def test_convert_pages_ignores_cache_when_link_target_appears(tmp_path: Path) -> None:
    """The cached conversion links to the HTML of a page that now has Markdown."""
    publish_pages(tmp_path / "a", HOME, cache=tmp_path / "cache")
    assert f"({URL}guide/install/#quiet)" in (tmp_path / "a/index.md").read_text()
    publish_pages(tmp_path / "a", HOME, INSTALL, cache=tmp_path / "cache")
    assert f"({URL}guide/install/index.md#quiet)" in (tmp_path / "a/index.md").read_text()


def test_dropped_page_is_linked_as_html(tmp_path: Path) -> None:
    batch = convert_pages(SITE, [HOME, INSTALL], cache=ConversionCache(None), warn=lambda message: None)
    batch.drop("guide/install/", "noindex")
    publish_batch(batch, tmp_path, PublishOptions())
    assert f"({URL}guide/install/#quiet)" in (tmp_path / "index.md").read_text()
    assert not (tmp_path / "guide").exists()


def test_convert_pages_reports_duplicate_path_and_keeps_first_page(tmp_path: Path) -> None:
    twin = Page("", "Other", "<h1>Other</h1>", source="other.md")
    report, warnings = publish_pages(tmp_path, HOME, twin)
    assert report.pages == 1
    assert warnings == [
        "other.md: same path as /: ``. Only the first is published; rename one",
    ]


def test_format_pointer_escapes_site_name() -> None:
    line = format_pointer(Site("A\n# [b](c)", URL), Page("a/", "A"))
    assert line.count("\n") == 1
    assert "[b](c)" not in line


def test_format_pointer_is_empty_without_llms_txt() -> None:
    assert format_pointer(Site("A", URL, has_llms_txt=False), Page("a/", "A")) == ""


def test_format_pointer_of_copy_names_original_page_and_local_list() -> None:
    site = Site("A", URL, crawled_from="a.example")
    assert format_pointer(site, Page("guide/install/", "Install")) == (
        f"> This is a copy of [a page of A]({URL}guide/install/). All pages of the copy, as Markdown, are listed in "
        "[llms.txt](../../llms.txt).\n"
    )
    renamed = Page("guide~1f/", "Guide", url=f"{URL}Guide/")
    assert f"]({URL}Guide/)" in format_pointer(site, renamed)

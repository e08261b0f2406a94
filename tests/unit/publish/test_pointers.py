"""Pointers to Markdown and llms.txt in HTML and Markdown."""

from __future__ import annotations

import pytest

from mkdocs_roaming.manifest.models import Page, Site
from mkdocs_roaming.publish.pointers import add_markdown_links, format_pointer

from .conftest import URL


def test_add_markdown_links_can_be_repeated() -> None:
    html = "<!doctype html><html><head><title>T</title></head><body class='x'><main>Hi</main></body></html>"
    once = add_markdown_links(html, "guide/install/")
    assert add_markdown_links(once, "guide/install/") == once
    assert '<link rel="alternate" type="text/markdown" href="index.md" data-roaming>' in once
    assert '<link rel="describedby" type="text/markdown" href="../../llms.txt" data-roaming></head>' in once
    assert "display:none" not in once
    assert add_markdown_links("plain text", "a/") == "plain text"


def test_add_markdown_links_avoids_sitemap_request_of_material() -> None:
    """Material requests a sitemap for each `[rel=alternate]`."""
    once = add_markdown_links("<html><head></head><body><div data-md-component=container>Hi</div></body></html>", "a/")
    assert '<link rel="alternate " type="text/markdown" href="index.md" data-roaming>' in once
    assert add_markdown_links(once, "a/") == once


@pytest.mark.parametrize(
    ("link", "is_same"),
    [
        ('<link rel="alternate" type="text/markdown" href="index.md">', True),
        ("<LINK href='/sub/guide/install/index.md?v=2' type='text/markdown' rel='alternate nofollow'>", True),
        ("<link rel=alternate type=text/markdown href=https://docs.example/sub/guide/install/index.md>", True),
        ('<link rel="alternate" type="text/markdown" href="../install.md">', False),
        ('<link rel="alternate" type="application/rss+xml" href="index.md">', False),
        ('<link rel="canonical" type="text/markdown" href="index.md">', False),
        ('<link rel="alternate" type="text/markdown">', False),
    ],
)
def test_add_markdown_links_keeps_links_of_others_and_repeats_none(link: str, is_same: bool) -> None:
    once = add_markdown_links(f"<html><head>{link}</head><body>Hi</body></html>", "guide/install/")
    assert link in once
    assert ('rel="alternate" type="text/markdown" href="index.md" data-roaming>' in once) is not is_same
    assert 'rel="describedby"' in once
    assert add_markdown_links(once, "guide/install/") == once


def test_add_markdown_links_without_llms_txt_links_to_markdown_alone() -> None:
    once = add_markdown_links("<html><head></head><body>Hi</body></html>", "a/", has_llms_txt=False)
    assert "llms.txt" not in once
    assert 'this one at <a href="index.md">index.md</a>.</p>' in once
    assert format_pointer(Site("A", URL, has_llms_txt=False), Page("a/", "A")) == ""


def test_format_pointer_escapes_site_name() -> None:
    line = format_pointer(Site("A\n# [b](c)", URL), Page("a/", "A"))
    assert line.count("\n") == 1
    assert "[b](c)" not in line


def test_format_pointer_of_copy_names_original_page_and_local_list() -> None:
    site = Site("A", URL, crawled_from="a.example")
    assert format_pointer(site, Page("guide/install/", "Install")) == (
        f"> This is a copy of [a page of A]({URL}guide/install/). All pages of the copy, as Markdown, are listed in "
        "[llms.txt](../../llms.txt).\n"
    )
    renamed = Page("guide~1f/", "Guide", url=f"{URL}Guide/")
    assert f"]({URL}Guide/)" in format_pointer(site, renamed)

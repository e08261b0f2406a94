"""Pointers to Markdown and llms.txt in HTML and Markdown."""

from __future__ import annotations

from mkdocs_roaming.manifest.models import Site
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


def test_format_pointer_escapes_site_name() -> None:
    line = format_pointer(Site("A\n# [b](c)", URL))
    assert line.count("\n") == 1
    assert "[b](c)" not in line

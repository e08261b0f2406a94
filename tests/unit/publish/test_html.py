"""Elements of every page: links to Markdown and llms.txt, and their removal."""

from __future__ import annotations

import pytest

from mkdocs_roaming.publish.elements.html import add_markdown_links, remove_own_elements


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

"""llms.txt, and the pointers to it in HTML and Markdown."""

from __future__ import annotations

import pytest

from mkdocs_roaming.manifest.builder import PublishedPage, build_manifest
from mkdocs_roaming.manifest.models import NavItem, Page, Site
from mkdocs_roaming.manifest.sections import split_sections
from mkdocs_roaming.publish.llms_txt import MAX_CHARS, add_markdown_links, build_llms_txt, format_pointer

from .conftest import URL


def test_build_llms_txt_lists_groups_in_nav_order() -> None:
    nav = (
        NavItem("Home", ""),
        NavItem(
            "Guide", children=(NavItem("Deep", children=(NavItem("A [b]", "a/"),)), NavItem("Forum", url="https://f/"))
        ),
    )
    pages = [
        PublishedPage(Page(path, path), f"# {path}\n\nText.\n", split_sections(f"# {path}\n\nText.\n"))
        for path in ("", "a/")
    ]
    text = build_llms_txt(build_manifest(Site("Docs", URL, "All\nof it.", nav=nav), pages))["llms.txt"]
    assert text.startswith("# Docs\n\n> All of it.\n\nEvery link below")
    assert text.endswith(
        f"\n## Pages\n\n- [Home]({URL}index.md): Text.\n"
        f"\n## Guide › Deep\n\n- [A \\[b\\]]({URL}a/index.md): Text.\n"
        "\n## Guide\n\n- [Forum](https://f/)\n"
    )


@pytest.mark.parametrize("groups", [1, 6, 60])
def test_build_llms_txt_splits_long_lists_and_lists_each_page_once(groups: int) -> None:
    texts = {f"g{at % groups}/p{at}/": f"# Page {at}\n\n{'word ' * 40}\n" for at in range(1500)}
    nav = tuple(
        NavItem(
            f"Group {group}", children=tuple(NavItem(path, path) for path in texts if path.startswith(f"g{group}/"))
        )
        for group in range(groups)
    )
    pages = [PublishedPage(Page(path, path), text, split_sections(text)) for path, text in texts.items()]
    files = build_llms_txt(build_manifest(Site("Docs", URL, nav=nav), pages))
    assert max(map(len, files.values())) < MAX_CHARS
    assert len(files) > 1
    for path in texts:
        assert sum(text.count(f"({URL}{path}index.md)") for text in files.values()) == 1
    for path in files:
        assert path == "llms.txt" or sum(text.count(f"({URL}{path})") for text in files.values()) == 1


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

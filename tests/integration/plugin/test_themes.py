"""Themes and URL styles: links on pages, search indexes, navigation."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

import pytest
from tables import read_tables

from mkdocs_roaming.publish.elements.html import remove_own_elements

if TYPE_CHECKING:
    from .conftest import Built, Project

TABLES = read_tables(__file__)

URL = "https://docs.example/deep/sub/"
SOURCES = TABLES["sources"]
THEMES: dict[str, Any] = TABLES["themes"]


def link_targets(built: Built, page: str) -> dict[str, str]:
    """Return the targets of a page's links; those of head and body must be equal."""
    html = built.text(page)
    own = URL + page.removesuffix("index.html")
    head, body = html.split("</head>")
    found = {
        relation: urljoin(own, href)
        for relation, href in re.findall(r'<link rel="(\w+) ?" type="text/markdown" href="([^"]+)" data-roaming>', head)
    }
    (sentence,) = re.findall(r"<p data-roaming.*?</p>", body)
    assert "data-pagefind-ignore" in sentence
    markdown, llms = (urljoin(own, href) for href in re.findall(r'href="([^"]+)"', sentence))
    assert (found["alternate"], found["describedby"]) == (markdown, llms)
    return found


@pytest.mark.parametrize(("theme", "directories"), [*((theme, True) for theme in THEMES), ("mkdocs", False)])
def test_pages_get_links_to_existing_markdown_and_are_else_unchanged(
    mkdocs: Project, theme: str, directories: bool
) -> None:
    search = "material/search" if theme == "material" else "search"
    config = {"theme": THEMES[theme], "site_url": URL, "use_directory_urls": directories}
    built = mkdocs(SOURCES, plugins=[search, "roaming"], site="a", **config)
    without = mkdocs(SOURCES, plugins=[search], site="b", **config)
    assert built.faults == ()
    guide = "guide/install/index" if directories else "guide/install"
    assert sorted(built.paths()) == ["", "guide/", "guide/install/" if directories else "guide/install.html"]
    for page in ("index.html", "guide/index.html", f"{guide}.html"):
        found = link_targets(built, page)
        assert found["describedby"] == f"{URL}llms.txt"
        assert found["alternate"] == URL + page.replace(".html", ".md")
        assert (built.folder / found["alternate"].removeprefix(URL)).exists()
        html = remove_own_elements(built.text(page))
        built_at = re.compile(r"Build Date UTC.*")
        assert built_at.sub("", html) == built_at.sub("", without.text(page))
    assert f"![a picture]({URL}picture.png)" in built.text(f"{guide}.md")
    assert f"[home]({URL}index.md)" in built.text("guide/index.md")
    index = built.text("search/search_index.json")
    assert len(json.loads(index)["docs"]) >= 4
    assert index == without.text("search/search_index.json")
    if theme == "material":  # instant navigation replaces the container
        html = built.text("guide/install/index.html")
        container = html.index('data-md-component="container"')
        assert container < html.index("<p data-roaming") < html.index('data-md-component="main"')


def test_nav_titles_are_plain_text_and_links_absolute(mkdocs: Project) -> None:
    nav = [{"A &amp; <b>B</b>": "index.md"}, {"Forum": "/forum/"}, {"Guide": ["guide/install.md", "guide/type.md"]}]
    sources = {**SOURCES, "guide/type.md": "# &lt;border&gt;\n\nA type.\n"}
    built = mkdocs(sources, nav=nav, site_url=URL)
    home, forum, guide, _ = built.manifest.nav
    assert (home.title, forum.url) == ("A & B", "https://docs.example/forum/")
    assert [child.title for child in guide.children] == ["Install", "<border>"]
    assert "](https://docs.example/forum/)" in built.text("llms.txt")

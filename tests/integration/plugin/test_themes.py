"""Themes and address styles: every page has its pointers, and search and navigation never see them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

import pytest

if TYPE_CHECKING:
    from .conftest import Built, Project

URL = "https://docs.example/deep/sub/"
SOURCES = {
    "index.md": "# Welcome\n\nSee [quiet mode](guide/install.md#quiet-mode) and [a file](data.csv).\n",
    "guide/install.md": "# Install\n\nRun it, ![a picture](../picture.png).\n\n## Quiet mode\n\nUse `--hush`.\n",
    "guide/index.md": "# Guide\n\nAll of it. Back [home](../index.md).\n",
    "picture.png": "",
    "data.csv": "a,b\n",
}
THEMES: dict[str, Any] = {
    "mkdocs": {"name": "mkdocs"},
    "readthedocs": {"name": "readthedocs"},
    "material": {"name": "material", "font": False, "features": ["navigation.instant"]},
}


def pointers(built: Built, page: str) -> dict[str, str]:
    """Give where a page's pointers lead: the addresses of its Markdown and of llms.txt, of head and body."""
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


@pytest.mark.parametrize("directories", [True, False], ids=["directories", "flat"])
@pytest.mark.parametrize("theme", THEMES)
def test_every_theme_points_to_markdown(mkdocs: Project, theme: str, directories: bool) -> None:
    """Below a sub-path, with and without directories, head and body of each page lead to files that are there."""
    built = mkdocs(SOURCES, theme=THEMES[theme], site_url=URL, use_directory_urls=directories)
    assert built.faults == ()
    guide = "guide/install/index" if directories else "guide/install"
    assert sorted(built.paths()) == ["", "guide/", "guide/install/" if directories else "guide/install.html"]
    for page in ("index.html", "guide/index.html", f"{guide}.html"):
        found = pointers(built, page)
        assert found["describedby"] == f"{URL}llms.txt"
        assert found["alternate"] == URL + page.replace(".html", ".md")
        assert (built.folder / found["alternate"].removeprefix(URL)).exists()
    assert f"![a picture]({URL}picture.png)" in built.text(f"{guide}.md")
    assert f"[home]({URL}index.md)" in built.text("guide/index.md")


@pytest.mark.parametrize("theme", THEMES)
def test_search_knows_nothing_of_us(mkdocs: Project, theme: str) -> None:
    """The theme's search index is, byte for byte, the one of a build without the plugin."""
    search = "material/search" if theme == "material" else "search"
    with_us = mkdocs(SOURCES, theme=THEMES[theme], plugins=[search, "roaming"], site="a")
    without = mkdocs(SOURCES, theme=THEMES[theme], plugins=[search], site="b")
    index = with_us.text("search/search_index.json")
    assert len(json.loads(index)["docs"]) >= 4
    assert index == without.text("search/search_index.json")


@pytest.mark.parametrize("theme", THEMES)
def test_only_the_pointers_are_added(mkdocs: Project, theme: str) -> None:
    """Take out the pair and the sentence, and a page is what it would be without the plugin."""
    with_us = mkdocs(SOURCES, theme=THEMES[theme], plugins=["roaming"], site="a")
    without = mkdocs(SOURCES, theme=THEMES[theme], plugins=[], site="b")
    for page in ("index.html", "guide/install/index.html"):
        html = re.sub(r"<link [^>]*data-roaming>|<p data-roaming.*?</p>", "", with_us.text(page))
        built_at = re.compile(r"Build Date UTC.*")
        assert built_at.sub("", html) == built_at.sub("", without.text(page))


def test_instant_navigation_takes_the_pointers_along(mkdocs: Project) -> None:
    """What Material exchanges when it navigates holds the sentence; else it would speak of the page before."""
    built = mkdocs(SOURCES, theme=THEMES["material"])
    html = built.text("guide/install/index.html")
    container = html.index('data-md-component="container"')
    assert container < html.index("<p data-roaming") < html.index('data-md-component="main"')
    assert html.count("<p data-roaming") == 1
    assert html.index("data-roaming>") < html.index("</head>")


def test_titles_and_links_of_the_nav_are_plain(mkdocs: Project) -> None:
    """Titles say what readers see, and a link to the host's root is as absolute as any other."""
    nav = [{"A &amp; <b>B</b>": "index.md"}, {"Forum": "/forum/"}, {"Guide": ["guide/install.md", "guide/type.md"]}]
    sources = {**SOURCES, "guide/type.md": "# &lt;border&gt;\n\nA type.\n"}
    built = mkdocs(sources, nav=nav, site_url=URL)
    home, forum, guide, _ = built.manifest.nav
    assert (home.title, forum.url) == ("A & B", "https://docs.example/forum/")
    assert [child.title for child in guide.children] == ["Install", "<border>"]
    assert "](https://docs.example/forum/)" in built.text("llms.txt")


def test_properdocs_gives_the_same(mkdocs: Project, tmp_path: Path) -> None:
    """ProperDocs publishes what MkDocs publishes, byte for byte, flat and below a sub-path."""
    mkdocs.write(SOURCES, site_url=URL, use_directory_urls=False, theme={"name": "mkdocs"})
    ours, theirs = mkdocs.build_apart("mkdocs", "a"), mkdocs.build_apart("properdocs", "b")
    assert theirs.faults == ()
    for file in [*ours.folder.rglob("*.md"), ours.folder / "llms.txt", ours.folder / "roaming/manifest.json"]:
        assert file.read_bytes() == (theirs.folder / file.relative_to(ours.folder)).read_bytes()
    assert pointers(theirs, "guide/install.html")["alternate"] == f"{URL}guide/install.md"

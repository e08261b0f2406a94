"""Excluded pages: no published file contains a word of them, whatever excludes them and whoever publishes."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from serving import serve_static
from tables import read_tables

from mkdocs_roaming.cli import main

if TYPE_CHECKING:
    from .conftest import Project

TABLES = read_tables(__file__)

GUIDE = Path(__file__).parents[3] / "docs/guides/publish.md"
SECRET = (Path(__file__).parents[2] / "golden/excluded/secret.md").read_text("utf-8")

CASES = TABLES["cases"]
"""The patterns of the guide, each with a page that it excludes."""
QUICK = ("internal/", "guide/**/*.md")
PATTERNS = [pytest.param(*case, marks=() if case[0] in QUICK else pytest.mark.slow) for case in CASES.items()]


def sources(secret: str) -> dict[str, str]:
    """Return a site with a secret page that other pages link to."""
    return {
        "index.md": f"# Home\n\nSee [this page]({secret}) and [the pumps](pumps.md).\n",
        "pumps.md": f"# Pumps\n\nDrain [before]({secret}).\n\n## Seals\n\nReplace them.\n",
        "drafts/roadmap.md": "# Roadmap\n\nSoon.\n",
        secret: SECRET,
    }


_OTHERS = ("sitemap.xml", "sitemap.xml.gz", "tags.json")  # files of MkDocs and Material


def words_of_files(folder: Path) -> list[str]:
    """Return the published files that contain a word of the secret page, and HTML whose elements of ours do."""
    found = []
    for file in folder.rglob("*"):
        if not file.is_file() or "search" in file.parts or file.name in _OTHERS:
            continue
        text = file.read_bytes().decode("utf-8", "replace")
        if file.suffix == ".html":
            text = "".join(re.findall(r"<[^>]*data-roaming[^>]*>", text))
        if "plugh" in text.lower():
            found.append(file.relative_to(folder).as_posix())
    return found


def test_guide_shows_tested_patterns_only() -> None:
    section = GUIDE.read_text("utf-8").partition("## Exclude content")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    shown = {pattern for row in rows for pattern in re.findall(r"`(.+?)`", row)}
    shown |= set(re.findall(r'^ +- "?([^:"]+?)"?$', section, re.MULTILINE))
    assert "internal/" in shown
    assert {pattern for pattern in shown if not pattern.startswith("!")} <= CASES.keys()


@pytest.mark.parametrize(("pattern", "secret"), PATTERNS)
def test_no_word_of_excluded_page_is_published(mkdocs: Project, pattern: str, secret: str) -> None:
    """By the plugin, by `roaming index` and by `roaming crawl`: each first publishes the page, and caches it."""
    extensions = ["attr_list", "footnotes", "tables", "fenced_code"]
    plugins: list[Any] = ["search", {"redirects": {"redirect_maps": {"old.md": secret}}}]
    address = re.sub(r"(index)?\.md$", "", secret).rstrip("/") + "/"
    for exclude in ([], [pattern, "!drafts/roadmap.md"]):
        options = {"widget": True, "exclude": exclude}
        built = mkdocs(sources(secret), plugin=options, plugins=plugins, markdown_extensions=extensions)
        assert bool(words_of_files(built.folder)) == (not exclude)
    assert words_of_files(mkdocs.folder / ".cache") == []
    assert sorted(built.paths()) == ["", "drafts/roadmap/", "pumps/"]
    assert built.faults == ()
    assert f"[this page](https://docs.example/sub/{address})" in built.text("index.md")
    assert "text/markdown" not in built.text(f"{address}index.html")

    html = mkdocs(sources(secret), plugins=[], site="html", markdown_extensions=extensions).folder
    excluded = ("--exclude", pattern, "--exclude", "!drafts/roadmap.md", "--strict")
    no_waits = ("--allow-private", "--delay", "0", "--workers", "0")
    if pattern != "docs/internal/*":  # a crawl knows no folder of sources
        out = mkdocs.folder / "out"
        with serve_static(html, "https://docs.example/sub/") as url:
            for exclude in ((), excluded):
                done = CliRunner().invoke(main, ["crawl", url, "-o", str(out), *no_waits, *exclude])
                assert done.exit_code == 0, done.output
                assert any(not name.startswith(".roaming/") for name in words_of_files(out)) == (not exclude)
        stored = [file.read_bytes() for file in (out / ".roaming").rglob("*") if file.is_file()]
        assert not any(b"A note on plugh" in data for data in stored)
        assert (out / "drafts/roadmap/index.md").exists()

    for exclude in ((), excluded):
        done = CliRunner().invoke(main, ["index", str(html), "--widget", *exclude])
        assert (done.exit_code, bool(words_of_files(html))) == (0, not exclude), done.output
    assert "4 pages" not in done.stdout
    assert (html / "drafts/roadmap/index.md").exists()
    assert "data-roaming" not in (html / address / "index.html").read_text("utf-8")


def test_index_of_tags_has_no_entry_of_excluded_page(mkdocs: Project) -> None:
    texts = {
        "index.md": "---\ntags: [valves]\n---\n# Home\n\nSee [it](internal/plan.md), and [tags](tags.md).\n",
        "internal/plan.md": "---\ntags: [valves, plugh]\n---\n# Plugh\n\nOf the plan.\n",
        "tags.md": "# Tags\n\n<!-- material/tags -->\n",
    }
    theme = {"name": "material", "font": False}
    built = mkdocs(texts, theme=theme, plugins=["tags"], plugin={"exclude": ["internal/"]})
    assert words_of_files(built.folder) == []
    tags = built.text("tags/index.md")
    assert "## valves\n\n- [Home](https://docs.example/sub/index.md)\n" in tags
    site = mkdocs(texts, theme=theme, plugins=["tags"], site="html").folder
    done = CliRunner().invoke(main, ["index", str(site), "--exclude", "internal/", "--strict"])
    assert (done.exit_code, words_of_files(site)) == (0, []), done.output
    assert (site / "tags/index.md").read_text("utf-8") == tags


@pytest.mark.parametrize("is_front_matter", [True, False])
def test_list_of_posts_has_no_excerpt_of_excluded_post(mkdocs: Project, is_front_matter: bool) -> None:
    llms = "llms: false\n" if is_front_matter else ""
    posts = {
        "blog/posts/secret.md": f"---\ndate: 2024-01-01\nslug: quiet\ncategories: [Of plugh]\n{llms}---\n# Plugh\n\nAbout plugh.\n",
        "blog/posts/open.md": "---\ndate: 2024-02-01\n---\n# Pumps\n\nAbout [it](secret.md).\n",
    }
    texts = {"index.md": "# Home\n", "blog/index.md": "# Blog\n", **posts}
    theme = {"name": "material", "font": False}
    pattern = "drafts/" if is_front_matter else "blog/posts/secret.md"
    built = mkdocs(texts, theme=theme, plugins=["blog"], plugin={"exclude": [pattern]})
    assert words_of_files(built.folder) == []
    assert (
        "- [Pumps](https://docs.example/sub/blog/2024/02/01/pumps/index.md): About it. (February 1, 2024)"
        in built.text("blog/index.md")
    )
    site = mkdocs(texts, theme=theme, plugins=["blog"], site="html").folder
    done = CliRunner().invoke(main, ["index", str(site), "--exclude", "blog/2024/01/", "--strict"])
    assert (done.exit_code, words_of_files(site)) == (0, []), done.output
    assert "- [Pumps](https://docs.example/sub/blog/2024/02/01/pumps/index.md)" in (site / "blog/index.md").read_text(
        "utf-8"
    )


# Messages of a build

SMALL = {"index.md": "# Home\n", "guide/pumps.md": "# Pumps\n", "guide/internal/seals.md": "# Seals\n"}


def test_verbose_build_lists_each_page_that_is_left_out(mkdocs: Project) -> None:
    sources = {**SMALL, "draft.md": "---\nllms: false\n---\n# Draft\n"}
    mkdocs.write(sources, plugins=[{"roaming": {"exclude": "# not yet\ninternal/\n"}}])
    built = mkdocs.build(level=logging.DEBUG)
    assert built.messages()[-1].startswith("roaming: 2 pages, 2 left out, 2 sections")
    assert set(built.messages(logging.DEBUG)) - set(built.messages()) == {
        "roaming: left out: guide/internal/seals.md: excluded by `internal/`",
        "roaming: left out: draft.md: `llms: false` in its front matter",
    }
    assert built.messages(logging.WARNING) == []


def test_pattern_of_page_that_mkdocs_does_not_build_is_no_warning(mkdocs: Project) -> None:
    built = mkdocs(SMALL, plugin={"exclude": ["/guide/internal/"]}, exclude_docs="guide/internal/")
    assert built.messages(logging.WARNING) == []


@pytest.mark.parametrize("structure", ["folder", "suffix"])
def test_pattern_excludes_all_languages_of_a_page(mkdocs: Project, structure: str) -> None:
    names = {"folder": ("en/{}.md", "de/{}.md"), "suffix": ("{}.md", "{}.de.md")}[structure]
    texts = {name.format(page): f"# {page}\n" for page in ("index", "internal/costs", "pumps") for name in names}
    languages = [{"locale": "en", "name": "English", "default": True}, {"locale": "de", "name": "Deutsch"}]
    plugins: list[Any] = [{"i18n": {"docs_structure": structure, "languages": languages}}]
    for pattern in ("internal/costs.md", "/internal/", "pumps/"):
        built = mkdocs(texts, plugins=plugins, plugin={"exclude": [pattern]})
        left = ["", "internal/costs/"] if pattern == "pumps/" else ["", "pumps/"]
        assert (built.paths(), built.below("de").paths()) == (left, left)
        assert built.messages(logging.WARNING) == []

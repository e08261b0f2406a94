"""The published files of a site."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from msgspec.structs import replace

from mkdocs_roaming.errors import PublishError
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.library.validate import validate_site
from mkdocs_roaming.manifest.io import load_manifest
from mkdocs_roaming.manifest.models import NavItem, Page, Site
from mkdocs_roaming.manifest.sections import hash_id
from mkdocs_roaming.publish.options import PublishOptions
from mkdocs_roaming.publish.writer import publish_mirror

from .conftest import HOME, INSTALL, URL, publish_pages, read_tree


def test_publish_batch_writes_valid_site(tmp_path: Path) -> None:
    report, warnings = publish_pages(tmp_path, INSTALL, HOME)
    assert (report.pages, report.sections, warnings) == (2, 3, [])
    result = validate_site(open_library(tmp_path))
    assert (result.faults, result.notes) == ((), ())
    files = read_tree(tmp_path)
    assert files["guide/install.md"] == files["guide/install/index.md"]
    assert files["index.md"].decode().startswith("> This page belongs to the documentation of Docs.")
    assert f"[quiet mode]({URL}guide/install/index.md#quiet)" in files["index.md"].decode()
    assert f"Source: {URL}\n\n> This page" in files["llms-full.txt"].decode()


def test_publish_batch_after_edit_equals_clean_build(tmp_path: Path) -> None:
    edited = Page("guide/install/", "Install", '<h1>Install</h1><p>Run it.</p><h2 id="loud">Loud mode</h2><p>New.</p>')
    publish_pages(tmp_path / "a", HOME, INSTALL, cache=tmp_path / "cache")
    report, _ = publish_pages(tmp_path / "a", HOME, edited, cache=tmp_path / "cache")
    publish_pages(tmp_path / "b", HOME, edited)
    assert read_tree(tmp_path / "a") == read_tree(tmp_path / "b")
    assert report.reused == 1
    assert report.removed > 0


def test_publish_batch_without_pages_raises_error(tmp_path: Path) -> None:
    with pytest.raises(PublishError, match="no page to publish; check include, exclude and the nav"):
        publish_pages(tmp_path)


def test_section_files_auto_skips_more_than_5000_sections_with_note(tmp_path: Path) -> None:
    article = "<h1>Big</h1>" + "".join(f'<h2 id="s{at}">S{at}</h2>' for at in range(5001))
    report, _ = publish_pages(tmp_path, Page("big/", "Big", article))
    assert not (tmp_path / "roaming/sections").exists()
    assert "To write them, set `section_files: true`" in report.notes[0]
    assert validate_site(open_library(tmp_path)).faults == ()


def test_direction_marks_stay_in_markdown_and_are_removed_elsewhere(tmp_path: Path) -> None:
    """Overrides and line separators in titles and descriptions reach neither llms.txt, outline, manifest nor breadcrumbs. Ids are
    computed from the original text."""
    nav = (NavItem("Gui\u202ede\nGroup", children=(NavItem("In\u2067stall", "guide/install/"),)),)
    turned = Page(
        "guide/install/",
        "Install",
        "<h1 id='top'>In\u202estall</h1><p>Op\u202eens.</p><h2>Qui\u202eet</h2><p>\u202eNight.</p>",
        description="Says\u202e it.\u2029Again.",
    )
    publish_pages(tmp_path, turned, site=Site("Do\u202ecs", URL, "Abo\u202eut.", nav=nav))
    assert "\u202e" in (tmp_path / "guide/install/index.md").read_text("utf-8")
    manifest = load_manifest((tmp_path / "roaming/manifest.json").read_text("utf-8"))
    (page,) = manifest.pages
    assert [manifest.site.name, manifest.site.description, manifest.nav[0].title] == ["Docs", "About.", "Guide Group"]
    assert [page.title, page.description] == ["Install", "Says it. Again."]
    assert [(each.title, each.opening) for each in page.sections] == [("Install", "Opens."), ("Quiet", "Night.")]
    assert [page.id, manifest.nav[0].id] == [hash_id("guide/install/#"), hash_id("nav:Gui\u202ede\nGroup")]
    for name in ("llms.txt", "roaming/outline.md", "roaming/manifest.json"):
        text = (tmp_path / name).read_text("utf-8")
        assert not [mark for mark in text if unicodedata.category(mark) in ("Cc", "Zl", "Zp") and mark != "\n"], name
        assert not [mark for mark in text if unicodedata.bidirectional(mark) in ("RLO", "RLI")], name
    crumbs = (tmp_path / f"roaming/sections/{page.sections[1].id}.md").read_text("utf-8").splitlines()[0]
    assert "Guide Group › Install › Quiet" in crumbs


def test_publish_mirror_sanitizes_titles_and_keeps_ids_and_markdown(tmp_path: Path) -> None:
    publish_pages(tmp_path / "theirs", HOME)
    theirs = load_manifest((tmp_path / "theirs/roaming/manifest.json").read_bytes())
    (page,) = theirs.pages
    sections = tuple(replace(each, title=each.title + "\u202e", opening="\x1b[2J") for each in page.sections)
    turned = replace(theirs, pages=(replace(page, title="Ho\u2067me", sections=sections),))
    text = (tmp_path / "theirs" / page.markdown).read_bytes()
    publish_mirror(turned, {page.path: text}, tmp_path / "ours", PublishOptions())
    ours = load_manifest((tmp_path / "ours/roaming/manifest.json").read_bytes())
    assert ours.pages[0].title == "Home"
    assert [each.title for each in ours.pages[0].sections] == [each.title for each in page.sections]
    assert {each.opening for each in ours.pages[0].sections} == {"[2J"}
    assert [each.id for each in ours.pages[0].sections] == [each.id for each in page.sections]
    assert (tmp_path / "ours" / page.markdown).read_bytes() == text


def test_group_without_title_has_that_of_its_first_page(tmp_path: Path) -> None:
    site = Site("Docs", URL, nav=(NavItem("", children=(NavItem("Learn", ""), NavItem("Install", "guide/install/"))),))
    publish_pages(tmp_path, HOME, INSTALL, site=site)
    assert "\n## Learn\n" in (tmp_path / "llms.txt").read_text()

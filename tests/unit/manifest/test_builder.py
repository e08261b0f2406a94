"""The manifest of a build: links and nav."""

from __future__ import annotations

from manifests import API, GUIDE, URL, build, ids_by_title

from mkdocs_roaming.manifest.models import MORE_GROUP, Heading, NavItem, Site, sort_paths_by_nav
from mkdocs_roaming.manifest.sections import hash_id


def test_links_between_sections_are_ids() -> None:
    manifest = build({"guide/": GUIDE, "api/": API})
    links = next(section.links for section in manifest.sections() if section.title == "API")
    assert links == (ids_by_title(manifest)["Install"],)


def test_link_to_an_anchor_within_a_section_is_a_link_to_the_section() -> None:
    headings = {
        "guide/": (Heading(1, "Guide", "guide"), Heading(2, "Install", "i", ("--quiet",)), Heading(2, "Remove", "r"))
    }
    api = "# API\n\nSee [the option](https://docs.example/p/guide/index.md#--quiet).\n"
    manifest = build({"guide/": GUIDE, "api/": api}, headings=headings)
    assert manifest.pages[1].sections[0].links == (ids_by_title(manifest)["Install"],)


def test_nav_contains_groups_links_and_unlisted_pages() -> None:
    nav = (
        NavItem("Start", children=(NavItem("Guide", "guide/"), NavItem("Forum", url="https://f.example/"))),
        NavItem("Empty", children=(NavItem("Gone", "gone/"),)),
    )
    manifest = build({"guide/": GUIDE, "api/": API}, nav)
    start, more = manifest.nav
    assert (start.id, [child.title for child in start.children]) == (hash_id("nav:Start"), ["Guide", "Forum"])
    assert start.children[1].url == "https://f.example/"
    assert (more.title, [child.page for child in more.children]) == (MORE_GROUP, ["api/"])


def test_sort_paths_by_nav_puts_unlisted_pages_last() -> None:
    site = Site("Docs", URL, nav=(NavItem("B", "b/"), NavItem("X", children=(NavItem("A", "a/"),))))
    assert sort_paths_by_nav(site, ["c/", "a/", "b/"]) == ["b/", "a/", "c/"]

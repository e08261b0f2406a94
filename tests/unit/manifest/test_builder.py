"""The manifest of a build: links, nav and aliases."""

from __future__ import annotations

from manifests import API, GUIDE, URL, build, ids_by_title

from mkdocs_roaming.manifest.builder import MORE_GROUP, PreviousSite, sort_paths_by_nav
from mkdocs_roaming.manifest.lookup import SectionIndex
from mkdocs_roaming.manifest.models import Heading, Manifest, NavItem, Site
from mkdocs_roaming.manifest.sections import hash_id


def make_previous(manifest: Manifest, pages: dict[str, str]) -> PreviousSite:
    return PreviousSite(
        manifest, lambda page, section: pages[page.path].encode()[section.start : section.end].decode("utf-8")
    )


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


def test_renamed_heading_keeps_its_id_as_alias() -> None:
    old = {"guide/": GUIDE}
    first = build(old)
    new = build({"guide/": GUIDE.replace("## Install", "## Set up")}, previous=make_previous(first, old))
    ref = SectionIndex(new).get(ids_by_title(first)["Install"])
    assert ref is not None
    assert ref.section.title == "Set up"


def test_rewritten_section_is_matched_by_its_words() -> None:
    text = "The installer unpacks the archive, checks its signature, asks for a folder and writes a log of all that."
    old = {"guide/": f"# Guide\n\n## Install\n\n{text}\n"}
    first = build(old)
    new = build({"guide/": f"# Guide\n\n## Set up\n\n{text} Done.\n"}, previous=make_previous(first, old))
    ref = SectionIndex(new).get(ids_by_title(first)["Install"])
    assert ref is not None
    assert ref.section.title == "Set up"


def test_moved_page_inherits_aliases() -> None:
    old = {"guide/": GUIDE}
    first = build(old)
    moved = {"start/": GUIDE}
    second = build(moved, previous=make_previous(first, old))
    third_pages = {"begin/": GUIDE}
    third = build(third_pages, previous=make_previous(second, moved))
    for manifest in (second, third):
        ref = SectionIndex(manifest).get(ids_by_title(first)["Remove"])
        assert ref is not None
        assert ref.section.title == "Remove"


def test_heading_that_becomes_repeated_keeps_its_id_as_alias() -> None:
    old = {"guide/": GUIDE}
    first = build(old)
    new = build({"guide/": GUIDE + "\n## More\n\n### Install\n\nSomething else.\n"}, previous=make_previous(first, old))
    ref = SectionIndex(new).get(ids_by_title(first)["Install"])
    assert ref is not None
    assert ref.position == 1


def test_alias_that_is_the_id_of_another_section_is_dropped_with_a_warning() -> None:
    old = {"guide/": GUIDE}
    first = build(old)
    renamed = {"guide/": GUIDE.replace("## Install", "## Set up")}
    second = build(renamed, previous=make_previous(first, old))
    warned: list[str] = []
    both = {"guide/": renamed["guide/"] + "\n## Install\n\nNew and different.\n"}
    third = build(both, previous=make_previous(second, renamed), warned=warned)
    ref = SectionIndex(third).get(ids_by_title(first)["Install"])
    assert ref is not None
    assert ref.section.title == "Install"
    assert len(warned) == 1
    assert ids_by_title(first)["Install"] in warned[0]

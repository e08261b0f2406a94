"""Lookup of sections: addresses, breadcrumbs and neighbours."""

from __future__ import annotations

import pytest
from manifests import API, GUIDE, URL, build, ids_by_title, load_cases
from msgspec.structs import replace

from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.models import MORE_GROUP, Heading, NavItem, Site, sort_paths_by_nav
from mkdocs_roaming.manifest.sections import hash_id


def test_resolve_accepts_ids_paths_sources_and_urls() -> None:
    manifest = build({"guide/": GUIDE, "api/": API})
    page = replace(manifest.pages[0], source="guide.md")
    page = replace(page, sections=tuple(replace(entry, anchor=entry.title.lower()) for entry in page.sections))
    index = SectionIndex(replace(manifest, pages=(page, manifest.pages[1])))
    for address in (
        ids_by_title(manifest)["Install"],
        "guide/#install",
        "/guide#install",
        "guide.md#install",
        f"{URL}guide/#install",
    ):
        assert index.resolve(address) == SectionRef(page, 1), address
    assert index.resolve("guide/#nowhere") is None
    assert index.resolve("https://elsewhere.example/guide/") is None


@pytest.mark.parametrize("name", ["Help:Contents", "H%F6hle"])
def test_resolve_accepts_url_of_page_with_another_path(name: str) -> None:
    manifest = build({"Help-Contents~14b53ade": GUIDE, "Steam": API})
    page = replace(manifest.pages[0], url=f"{URL}{name}")
    index = SectionIndex(replace(manifest, pages=(page, manifest.pages[1])))
    assert index.resolve(f"{URL}{name}") == SectionRef(page, 0)
    assert index.get_page(name) is page


@pytest.mark.parametrize(
    ("address", "path"),
    load_cases("guesses"),
)
def test_find_returns_page_or_overview_or_first_page_of_folder_for_guess(address: str, path: str | None) -> None:
    pages = (
        *("guide/a/", "guide/overview/", "guide/deep/er/page/", "guide/deep/er/more/", "api/x/y/", "api/b/"),
        *("cli/run.html", "cli/run/more.html", "faq/a.html", "faq/Introduction.html", "tools/a", "tools/index.php"),
    )
    index = SectionIndex(build(dict.fromkeys(pages, GUIDE), tuple(NavItem(page, page) for page in pages)))
    assert index.resolve(address) is None
    found = index.find(address)
    assert (found.page.path if found else None) == path


def test_find_returns_home_page_of_own_site_for_its_file() -> None:
    index = SectionIndex(build({"": GUIDE, "api/": API}))
    for address in ("index.html", "/index.html", f"{URL}index.html"):
        assert index.find(address) == SectionRef(index.manifest.pages[0], 0), address
    assert index.find("https://elsewhere.example/index.html") is None


def test_find_page_ignores_unknown_anchor() -> None:
    index = SectionIndex(build({"guide/overview/": GUIDE}))
    for address in ("guide/overview/#nowhere", "guide/#nowhere"):
        assert index.find(address) is None
        assert index.find_page(address) == SectionRef(index.manifest.pages[0], 0), address


def test_resolve_uses_github_slugs_without_html() -> None:
    index = SectionIndex(build({"guide/": GUIDE}))
    assert index.resolve("guide/#install") == SectionRef(index.manifest.pages[0], 1)


def test_resolve_prefers_the_anchor_of_a_heading_to_one_within_a_section() -> None:
    headings = (
        Heading(1, "Guide", "guide", ("install",)),
        Heading(2, "Install", "install", ("--quiet",)),
        Heading(2, "Remove", "remove"),
    )
    manifest = build({"guide/": GUIDE}, headings={"guide/": headings})
    index = SectionIndex(manifest)
    for address in ("guide/#install", "guide/#--quiet", f"{URL}guide/index.md#--quiet"):
        assert index.resolve(address) == SectionRef(manifest.pages[0], 1), address
    assert index.resolve("guide/#--loud") is None


def test_breadcrumb_of_foreign_manifest_is_safe_on_a_line() -> None:
    manifest = build({"guide/": GUIDE}, (NavItem("Start", children=(NavItem("Guide", "guide/"),)),))
    (page,), (start,) = manifest.pages, manifest.nav
    sections = tuple(replace(entry, title=f"{entry.title}\u202e\n") for entry in page.sections)
    hostile = replace(page, title="\u2067Guide\x1b", sections=sections)
    index = SectionIndex(replace(manifest, pages=(hostile,), nav=(replace(start, title="Sta\u2029rt"),)))
    ref = index.get(ids_by_title(manifest)["Install"])
    assert ref is not None
    assert index.breadcrumb(ref) == ("Sta rt", "Guide", "Install")


def test_breadcrumb_and_neighbours_follow_nav_and_page() -> None:
    manifest = build({"guide/": GUIDE}, (NavItem("Start", children=(NavItem("Guide", "guide/"),)),))
    index = SectionIndex(manifest)
    ref = index.resolve(ids_by_title(manifest)["Install"])
    assert ref is not None
    assert index.breadcrumb(ref) == ("Start", "Guide", "Install")
    first, behind = index.neighbours(ref)
    assert first is None
    assert behind is not None
    assert behind.section.title == "Remove"


def test_breadcrumb_contains_the_heading_that_a_repeated_title_belongs_to() -> None:
    text = "# CLI\n\n## start\n\n## Options\n\n## stop\n\n### Options\n\n## Options\n"
    index = SectionIndex(build({"cli/": text}, (NavItem("CLI", children=(NavItem("CLI", "cli/"),)),)))
    assert [index.breadcrumb(ref)[1:] for ref in index] == [
        (),
        ("start",),
        ("start", "Options"),
        ("stop",),
        *[("stop", "Options")] * 2,
    ]
    assert {index.breadcrumb(ref)[0] for ref in index} == {"CLI"}


# The manifest of a build


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

"""Kinds of pages, and a nav sorted by them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from mkdocs_roaming.manifest.models import NavItem, Site
from mkdocs_roaming.manifest.page_kinds import PageKind, classify_pages, entry_kind, sort_by_kind

GUIDE, REFERENCE, ARCHIVE = PageKind.GUIDE, PageKind.REFERENCE, PageKind.ARCHIVE


def markdown(title: str, *headings: str) -> str:
    return f"# {title}\n\nText.\n" + "".join(f"\n## {heading}\n\nText.\n" for heading in headings)


@pytest.mark.parametrize(
    ("path", "trail", "kind"),
    [
        ("", ("Blog",), GUIDE),
        ("install/", ("Start", "Install"), GUIDE),
        ("guide/api/", ("Guide", "Documenting your API"), GUIDE),
        ("plugins/blog/", ("Plugins", "Blog"), GUIDE),
        ("tutorial/blog.html", ("Tutorial", "A blog"), GUIDE),
        ("guides/users/", ("Guides", "Users"), GUIDE),
        ("basics/10_hello/", ("Basics", "Hello"), GUIDE),
        ("upgrading/2.7-2.8/", ("Upgrading", "v2.7 to 2.8"), GUIDE),
        ("crossreference/", ("Preference",), GUIDE),
        ("api.html", ("API",), REFERENCE),
        ("x/valve/", ("API reference", "Valves", "Valve"), REFERENCE),
        ("en/api/valve.html", (), REFERENCE),
        ("commands/", ("Command line reference",), REFERENCE),
        ("module/", ("Referenz", "Modul"), REFERENCE),
        ("module.html", ("APIリファレンス", "弁"), REFERENCE),
        ("reference/changelog/", ("Reference", "Changelog"), ARCHIVE),
        ("blog/2024/03/05/new-pumps/", (), ARCHIVE),
        ("x/", ("Blog", "New pumps"), ARCHIVE),
        ("2024/03/05/new-pumps/", (), ARCHIVE),
        ("about/release-notes.html", ("About", "Release notes"), ARCHIVE),
        ("announce/release-2.1.html", ("More", "Pumps 2.1: no leaks"), ARCHIVE),
        ("community/3.1/", ("Community", "3.1 announcement"), ARCHIVE),
        ("x/", ("Community", "Harbour v1.10.0"), ARCHIVE),
        ("x/", ("Harbour people",), ARCHIVE),
        ("x/", ("Version history", "Pumps"), ARCHIVE),
        ("x/", ("Danksagung",), ARCHIVE),
        ("de/install/", (), ARCHIVE),
        ("go/install/module/", (), GUIDE),
    ],
)
def test_page_is_classified_by_path_and_nav(
    path: str, trail: tuple[str, ...], kind: PageKind, make_site: Callable
) -> None:
    nav: tuple[NavItem, ...] = ()
    for title in reversed(trail):
        nav = (NavItem(title, children=nav) if nav else NavItem(title, path=path),)
    pages = {"install/": markdown("Install"), path: markdown(trail[-1] if trail else "A page")}
    manifest = make_site(list(pages.items()), list(nav), site=Site("Harbour docs", "https://harbour.example/")).manifest
    assert classify_pages(manifest)[path] == kind


@pytest.mark.parametrize(
    ("headings", "kind"),
    [
        (["1.2.0", "1.1.0", "Unreleased", "2023"], ARCHIVE),
        (["Upgrade from 1.1", "1.2", "Steps", "Notes"], GUIDE),
    ],
)
def test_page_of_versions_is_archive(headings: list[str], kind: PageKind, make_site: Callable) -> None:
    manifest = make_site([("x/", markdown("Pumps", *headings))]).manifest
    assert classify_pages(manifest)["x/"] == kind


@pytest.mark.parametrize(("anchor", "kind"), [("pump.Valve.v{}", REFERENCE), ("valve-{}", GUIDE), ("v1.{}", GUIDE)])
def test_page_of_api_objects_is_reference(anchor: str, kind: PageKind, make_site: Callable) -> None:
    manifest = make_site([("x/", markdown("Pumps", *(f"Valve {at}" for at in range(8))))]).manifest
    page = manifest.pages[0]
    own, *below = page.sections
    sections = (own, *(replace(section, anchor=anchor.format(at)) for at, section in enumerate(below)))
    manifest = replace(manifest, pages=(replace(page, sections=sections),))
    assert classify_pages(manifest)["x/"] == kind


def test_nav_is_sorted_by_kind_on_each_level_and_otherwise_unchanged(make_site: Callable) -> None:
    nav = [
        NavItem("Blog", children=(NavItem("Post", path="blog/post/"),)),
        NavItem("API", children=(NavItem("Valve", path="api/valve/"), NavItem("Pump", path="api/pump/"))),
        NavItem("Guide", children=(NavItem("Reference", path="guide/reference/"), NavItem("Steps", path="steps/"))),
        NavItem("Elsewhere", url="https://other.example/"),
        NavItem("Community", children=(NavItem("Changelog", path="changes/"), NavItem("Help", path="help/"))),
    ]
    paths = ["blog/post/", "api/valve/", "api/pump/", "guide/reference/", "steps/", "changes/", "help/", "lost/"]
    manifest = make_site([(path, markdown(path.strip("/"))) for path in paths], nav).manifest
    kinds = classify_pages(manifest)
    found = sort_by_kind(manifest.nav, kinds)
    assert [(entry.title, entry_kind(entry, kinds).name) for entry in found] == [
        ("Guide", "GUIDE"),
        ("Elsewhere", "GUIDE"),
        ("Community", "GUIDE"),
        ("API", "REFERENCE"),
        ("More", "REFERENCE"),
        ("Blog", "ARCHIVE"),
    ]
    below = {entry.title: [child.title for child in entry.children] for entry in found}
    assert below["Guide"] == ["Steps", "Reference"]
    assert below["API"] == ["Valve", "Pump"]
    assert below["Community"] == ["Help", "Changelog"]

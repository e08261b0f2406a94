"""Kinds of pages, and an outline sorted by them."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from manifests import load_cases
from msgspec.structs import replace

from mkdocs_roaming.manifest.lookup import SectionIndex
from mkdocs_roaming.manifest.models import OUTLINE_BUDGET, NavItem, Site
from mkdocs_roaming.manifest.outline import render_outline_lines
from mkdocs_roaming.manifest.page_kinds import PageKind, classify_pages, entry_kind

KINDS = load_cases("kinds")
"""Pages by kind: their path, and the titles above them in the nav."""
GUIDE, REFERENCE, ARCHIVE = PageKind.GUIDE, PageKind.REFERENCE, PageKind.ARCHIVE


def markdown(title: str, *headings: str) -> str:
    return f"# {title}\n\nText.\n" + "".join(f"\n## {heading}\n\nText.\n" for heading in headings)


@pytest.mark.parametrize(
    ("path", "titles", "kind"),
    [(path, titles, kind) for kind, rows in KINDS.items() for path, *titles in rows],
)
def test_page_is_classified_by_path_and_nav(path: str, titles: list[str], kind: str, make_site: Callable) -> None:
    nav: tuple[NavItem, ...] = ()
    for title in reversed(titles):
        nav = (NavItem(title, children=nav) if nav else NavItem(title, path=path),)
    pages = {"install/": markdown("Install"), path: markdown(titles[-1] if titles else "A page")}
    manifest = make_site(list(pages.items()), list(nav), site=Site("Harbour docs", "https://harbour.example/")).manifest
    assert classify_pages(manifest)[path] == PageKind[kind.upper()]


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


def test_outline_is_sorted_by_kind_on_each_level_and_otherwise_in_nav_order(make_site: Callable) -> None:
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
    assert [(entry.title, entry_kind(entry, kinds).name) for entry in manifest.nav] == [
        ("Blog", "ARCHIVE"),
        ("API", "REFERENCE"),
        ("Guide", "GUIDE"),
        ("Elsewhere", "GUIDE"),
        ("Community", "GUIDE"),
        ("More", "REFERENCE"),
    ]
    lines = render_outline_lines(SectionIndex(manifest), budget=OUTLINE_BUDGET).splitlines()
    titles = [re.sub(r"\[\w+\] ", "", line) for line in lines]
    assert titles[:6] == ["Guide", "  steps", "  guide/reference", "Community", "  help", "  changes"]
    assert titles[6:] == ["API", "  api/valve", "  api/pump", "More", "Blog"]

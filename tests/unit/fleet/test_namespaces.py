"""Namespaced ids."""

from __future__ import annotations

import pytest

from mkdocs_roaming.manifest.lookup import SectionIndex
from mkdocs_roaming.manifest.models import (
    Manifest,
    NavEntry,
    PageEntry,
    RuleCondition,
    RuleEntry,
    SectionEntry,
    SiteEntry,
)
from roaming_fleet.records import add_namespace

PUMPS = SectionEntry("11111111", 1, "Pumps", 0, 10, "sha256:a", links=("22222222",))
ROPES = SectionEntry("22222222", 2, "Ropes", 10, 20, "sha256:b", aliases=("99999999",))
PAGE = PageEntry("11111111", "Pumps", "pumps/", "pumps/index.md", "sha256:c", 20, (PUMPS, ROPES))
MANIFEST = Manifest(
    SiteEntry("Boats", "https://boats.example/"),
    (PAGE,),
    nav=(NavEntry("Hull", "33333333", children=(NavEntry("Pumps", "11111111", "pumps/"), NavEntry("Web", url="x"))),),
    rules=(RuleEntry(RuleCondition(any=("pump",), pages=("11111111",)), ("22222222",)),),
    digest="sha256:d",
)


def test_add_namespace_renames_all_ids() -> None:
    named = add_namespace(MANIFEST, "boats")
    (page,) = named.pages
    assert (page.id, [section.id for section in page.sections]) == (
        "boats:11111111",
        ["boats:11111111", "boats:22222222"],
    )
    assert page.sections[0].links == ("boats:22222222",)
    assert page.sections[1].aliases == ("boats:99999999",)
    (hull,) = named.nav
    assert [hull.id, *(child.id for child in hull.children)] == ["boats:33333333", "boats:11111111", None]
    assert named.rules == ()  # those of a third-party site are never applied
    assert named.digest == MANIFEST.digest


@pytest.mark.parametrize("address", ["22222222", "99999999"])
def test_namespaced_ids_resolve_to_same_sections(address: str) -> None:
    place = SectionIndex(add_namespace(MANIFEST, "boats")).get(f"boats:{address}")
    assert place is not None
    assert place.section.title == "Ropes"

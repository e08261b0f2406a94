from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from manifests import URL, build

from mkdocs_roaming.manifest.addresses import AddressEntry, Addresses, AddressMatcher, collect_addresses
from mkdocs_roaming.manifest.aliases import PreviousSite
from mkdocs_roaming.manifest.models import Site

FILE = Path(__file__).parents[2] / "golden/addresses/kettle.json"
GOLDEN: dict[str, Any] = msgspec.json.decode(FILE.read_bytes())
MATCHER = AddressMatcher(msgspec.convert(GOLDEN["addresses"], Addresses))


@pytest.mark.parametrize(("path", "expected"), GOLDEN["cases"])
def test_path_suggests_pages(path: str, expected: list[str]) -> None:
    assert [page.path for page in MATCHER.suggest(path)] == expected


def test_addresses_contain_redirects_to_published_pages_alone() -> None:
    redirects = {
        "old/": f"{URL}older/",
        "older/": f"{URL}guide/#install",
        "away/": "https://other.example/",
        "hidden-old/": f"{URL}hidden/",
    }
    manifest = build({"guide/": "# Guide\n\nText.\n", "api/": "# API\n\nText.\n"})
    addresses = collect_addresses(manifest, Site("Docs", URL, redirects=redirects))
    assert addresses.moved == {"old/": "guide/", "older/": "guide/"}
    assert addresses.pages == (AddressEntry("guide/", "Guide"), AddressEntry("api/", "API"))


def test_page_that_moved_since_the_last_build_is_suggested_first() -> None:
    text = "# Remove limescale\n\nVinegar removes limescale from every kettle within an hour.\n"
    before = build({"care/old-name/": text, "care/old-names/": "# Old names\n\nNames of kettles.\n"})
    previous = PreviousSite(before, lambda page, section: text[section.start : section.end])
    now = build({"guide/descale/": text, "care/old-names/": "# Old names\n\nNames of kettles.\n"}, previous=previous)
    suggested = AddressMatcher(collect_addresses(now, Site("Docs", URL))).suggest("care/old-name/")
    assert [page.path for page in suggested] == ["guide/descale/", "care/old-names/"]


def test_names_of_other_languages_are_not_english() -> None:
    manifest = build({"install/": "# Installieren\n\nText.\n"})
    assert collect_addresses(manifest, Site("Docs", URL, language="de")).names == ()
    assert ("install", "installation", "installing", "setup") in collect_addresses(manifest, Site("Docs", URL)).names


def test_long_request_is_cut() -> None:
    matcher = AddressMatcher(Addresses(URL, tuple(AddressEntry(f"p{at}/", f"Page {at}") for at in range(200))))
    assert matcher.suggest("/".join("abcdefgh"[at % 8 :] for at in range(100_000))) == []


def test_site_without_similar_pages_and_empty_site_suggest_nothing() -> None:
    assert AddressMatcher(Addresses(URL, ())).suggest("guide/") == []
    assert AddressMatcher(Addresses(URL, (AddressEntry("guide/", "Guide"),))).suggest("zzz") == []

from __future__ import annotations

from manifests import URL, build

from mkdocs_roaming.manifest.aliases import PreviousSite
from mkdocs_roaming.manifest.models import Site
from mkdocs_roaming.publish.elements.html import collect_addresses


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
    assert addresses.pages == (("guide/", "Guide"), ("api/", "API"))


def test_names_of_other_languages_are_not_english() -> None:
    manifest = build({"install/": "# Installieren\n\nText.\n"})
    assert collect_addresses(manifest, Site("Docs", URL, language="de")).names == ()
    assert ("install", "installation", "installing", "setup") in collect_addresses(manifest, Site("Docs", URL)).names


def test_former_ids_lead_to_the_page_that_has_moved() -> None:
    text = "# Remove limescale\n\nVinegar removes limescale from every kettle within an hour.\n"
    before = build({"care/old-name/": text})
    previous = PreviousSite(before, lambda page, section: text[section.start : section.end])
    now = build({"guide/descale/": text}, previous=previous)
    assert collect_addresses(now, Site("Docs", URL)).ids == {before.pages[0].id: "guide/descale/"}

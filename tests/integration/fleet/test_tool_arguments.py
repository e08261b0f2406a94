"""Arguments that agents pass to the tools over a store."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from fleet_servers.stores import add_site
from hypothesis import given, settings
from hypothesis import strategies as some
from msgspec.structs import replace

from mkdocs_roaming.library.grep import GrepResult
from mkdocs_roaming.library.tools import ExpandResult, OutlineResult, SearchResults, ToolError, render
from mkdocs_roaming.manifest.expand import MAX_EXPANSION_CHARS
from mkdocs_roaming.serve.mcp import call_tool_stateless
from roaming_fleet.catalog import update_catalog
from roaming_fleet.collection import Collection
from roaming_fleet.folder import StoreFolder
from roaming_fleet.records import RECORDS_DIR, read_record, write_record
from roaming_fleet.tools import StoreNavigator

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

PUMPS = "# {0}\n\n## Pumps of {0}\n\nA pump of {0} empties the hull.\n\n### Bilge\n\nAt the bottom.\n"


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """A site, one below it, one named like a URL scheme, and one that claims another's page."""
    root = tmp_path_factory.mktemp("store")
    add_site(root, "ships", PUMPS.format("Ships"), "Ships", "https://a.example/docs/")
    add_site(root, "boats", PUMPS.format("Boats"), "Boats", "https://a.example/docs/boats/")
    add_site(root, "https", PUMPS.format("Rafts"), "Rafts", "https://rafts.example")
    add_site(root, "rows", "# Rows\n\nAll.\n\n# Guide\n\n## Oars\n\nAn oar.\n", "Rows", "https://rows.example/")
    add_site(root, "claims", PUMPS.format("Claims"), "Claims", "https://rows.example/guide/")
    return Collection(root)


def opened(collection: Collection, address: Any) -> list[str]:
    result = call_tool_stateless(StoreNavigator(collection), "expand_sections", {"ids": address})
    assert isinstance(result, ExpandResult), result
    return [section.id for section in result.sections]


def ids(collection: Collection, site: str) -> list[str]:
    return [place.id for place in collection.open(site).library.sections]


@pytest.mark.parametrize(
    "spelling",
    ["{}", "[{}]", "`{}`", '"{}"', "{}+", " {} ", "[{}] Pumps of Ships", "ships: {id}", "ships/{id}", "ships / {id}"],
)
@pytest.mark.parametrize("upper", [False, True])
def test_expand_accepts_ids_in_any_spelling(collection: Collection, spelling: str, upper: bool) -> None:
    id_ = ids(collection, "ships")[1]
    address = spelling.format(id_, id=id_.partition(":")[2])
    address = address.upper() if upper else address
    assert opened(collection, [address]) == [id_]
    assert opened(collection, address) == [id_]


@pytest.mark.parametrize(("address", "site", "at"), TABLES["expand_accepts_url_of_deepest_site"])
def test_expand_accepts_url_of_deepest_site(collection: Collection, address: str, site: str, at: int) -> None:
    assert opened(collection, [address]) == [ids(collection, site)[at]]


def test_url_opens_on_site_that_has_page(collection: Collection) -> None:
    (oars,) = opened(collection, ["https://rows.example/guide/#oars"])
    assert oars in ids(collection, "rows")


def test_url_skips_unreadable_deeper_site(tmp_path: Path) -> None:
    add_site(tmp_path, "rows", "# Rows\n\nAll.\n\n# Guide\n\n## Oars\n\nAn oar.\n", "Rows", "https://rows.example/")
    add_site(tmp_path, "broken", PUMPS.format("Broken"), "Broken", "https://rows.example/guide/")
    (tmp_path / "broken" / "roaming" / "manifest.json").write_text("{")
    (oars,) = opened(Collection(tmp_path), ["https://rows.example/guide/#oars"])
    assert oars.startswith("rows:")


LEAVES = some.none() | some.booleans() | some.integers() | some.floats() | some.text()
JSON = some.recursive(
    LEAVES | some.sampled_from(["ships", "boats:", "+"]),
    lambda inner: some.lists(inner, max_size=6) | some.dictionaries(some.text(max_size=9), inner, max_size=4),
    max_leaves=12,
)
NAMES = some.sampled_from(
    ["read_outline", "expand_sections", "search_sections", "id", "ids", "query", "pattern", "part", "limit"]
)


@settings(database=None)
@given(
    name=some.sampled_from(["read_outline", "expand_sections", "search_sections", "grep"]) | some.text(),
    arguments=some.dictionaries(NAMES, JSON | some.from_regex(r"(ships|https)[:/ ][0-9a-f]{0,9}\+?"), max_size=4)
    | JSON,
)
def test_tools_accept_any_arguments(collection: Collection, name: str, arguments: Any) -> None:
    for form in (arguments, json.dumps(arguments)):
        result = call_tool_stateless(StoreNavigator(collection).fork(MAX_EXPANSION_CHARS - 3_000), name, form)
        assert isinstance(result, (OutlineResult, ExpandResult, SearchResults, GrepResult, ToolError))
        assert len(render(result)) <= MAX_EXPANSION_CHARS


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two thousand sites with a catalog only."""
    root = tmp_path_factory.mktemp("many")
    bucket = StoreFolder(root)
    add_site(root, "site-000000", PUMPS.format("Site"), "Site", "https://a.example/")
    first = read_record(bucket, "site-000000")
    assert first
    for at in range(1, 2_000):
        write_record(bucket, replace(first, key=f"site-{at:06}"))
    update_catalog(bucket)
    return root


def test_list_of_sites_contains_every_site_once(many: Path) -> None:
    now = [0.0]
    collection = Collection(many, clock=lambda: now[0])
    seen: list[str] = []
    after = ""
    for _ in range(100):
        text = render(StoreNavigator(collection).read_outline(after))
        assert len(text) <= MAX_EXPANSION_CHARS
        seen += re.findall(r"^\[(site-[0-9]+)\] ", text, re.M)
        more = re.search(r"^\[((.+)\+)\] \d+ more", text, re.M)
        if more is None:
            break
        if not after:
            StoreFolder(many).delete([f"{RECORDS_DIR}/{more[2]}.json"])
            update_catalog(StoreFolder(many))
            now[0] += 61
            dropped = more[2]
        after = more[1].upper()
    assert seen == [key for at in range(2_000) if (key := f"site-{at:06}") != dropped]

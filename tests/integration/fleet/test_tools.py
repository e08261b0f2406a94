"""The tools over a store."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest
from fleet_servers.stores import TODAY, add_site, crawl_sites, make_store, write_site
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import TextContent
from msgspec.structs import replace

from mkdocs_roaming.library.tools import ExpandResult, SearchResults, ToolError, render
from mkdocs_roaming.manifest.expand import MAX_EXPANSION_CHARS
from roaming_fleet.catalog import update_catalog
from roaming_fleet.collection import Collection
from roaming_fleet.folder import StoreFolder
from roaming_fleet.records import RECORDS_DIR, read_record, write_record
from roaming_fleet.tools import StoreNavigator

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of three sites, read-only."""
    return make_store(tmp_path_factory.mktemp("shelf"))


@pytest.fixture
def navigator(store: Path) -> StoreNavigator:
    return StoreNavigator(Collection(store))


def _ids(text: str) -> dict[str, str]:
    """Return the ids in a text by the titles after them."""
    return {
        match[2]: match[1]
        for match in re.finditer(r"\[([a-z]+:[0-9a-f]{8})\] ([A-Za-z0-9 ]+?)(?= —| \+|$)", text, re.M)
    }


def test_outline_leads_from_sites_to_section(navigator: StoreNavigator) -> None:
    listed = render(navigator.read_outline())
    assert "5 sites" in listed
    assert re.search(rf"^\[boats\] Boats — .*\. · 5 sections, crawled {TODAY}$", listed, re.MULTILINE)
    outline = render(navigator.read_outline("trains"))
    assert f"trains (crawled {TODAY})" in outline
    brakes = _ids(outline)["Brakes"]
    assert brakes.startswith("trains:")
    opened = render(navigator.expand_sections([brakes]))
    assert "A brake stops the train." in opened
    assert opened.startswith(f"trains (crawled {TODAY}) › ")
    assert re.search(r"After: \[trains:[0-9a-f]{8}\] Doors", opened)
    branch = render(navigator.read_outline(_ids(outline)["Tickets"]))
    assert branch.count("trains:") == 3 - 1
    address = navigator.expand_sections([_ids(outline)["Tickets"]]).sections[0].url
    for shown in (
        branch,
        render(navigator.read_outline(address)),
        render(navigator.read_outline(f"{_ids(outline)['Brakes']}+")),
    ):
        assert shown.startswith(f"trains (crawled {TODAY})\n")


def test_search_finds_site_and_section(navigator: StoreNavigator) -> None:
    found = navigator.search_sections("how long does a refund take")
    assert isinstance(found, SearchResults)
    assert found.hits[0].id.startswith("trains:")
    assert found.hits[0].breadcrumb[0] == f"trains (crawled {TODAY})"
    assert "9 days" in render(navigator.expand_sections([found.hits[0].id]))
    assert navigator.collection.rank("mount static files")[0].key == "screens"  # has both words, in two sections
    assert navigator.collection.choose("mount static files")[0].key == "apps"
    named = navigator.search_sections("boats: colour")
    assert isinstance(named, SearchResults)
    assert {hit.id.partition(":")[0] for hit in named.hits} == {"boats"}
    assert "Nothing found" in render(navigator.search_sections("xylophone"))
    assert "Nothing found" in render(navigator.search_sections("boats: xylophone"))


def test_grep_without_name_finds_lines_of_all_sites_best_first(navigator: StoreNavigator) -> None:
    found = navigator.grep("mount")
    assert not isinstance(found, ToolError)
    assert [section.id.partition(":")[0] for section in found.sections] == ["screens", "apps", "screens"]
    assert (found.found, found.matches) == (3, 5)
    assert "Lines: 5, sections: 3." in render(found)
    for pattern in ("", "trains: "):
        empty = navigator.grep(pattern)
        assert isinstance(empty, ToolError)
        assert "the pattern is empty" in empty.message


def test_grep_counts_sections_of_damaged_site_as_unread(tmp_path: Path) -> None:
    for key in ("ships", "boats"):
        add_site(tmp_path, key, f"# {key}\n\n## Hull\n\nThe hull of {key} floats.\n", key, f"https://{key}.example/")
    (tmp_path / "boats/roaming/manifest.json").unlink()
    found = StoreNavigator(Collection(tmp_path)).grep("hull")
    assert not isinstance(found, ToolError)
    assert (found.matches, found.unread) == (2, 2)
    assert isinstance(StoreNavigator(Collection(tmp_path)).grep("boats: hull"), ToolError)


def test_grep_over_many_sites_needs_name(tmp_path: Path) -> None:
    bucket = StoreFolder(tmp_path)
    add_site(tmp_path, "ships", "# Ships\n\nA hull.\n", "Ships", "https://a.example/")
    record = read_record(bucket, "ships")
    assert record is not None
    for at in range(30):
        write_record(bucket, replace(record, key=f"copy-{at}"))
    update_catalog(bucket)
    found = StoreNavigator(Collection(tmp_path)).grep("hull")
    assert isinstance(found, ToolError)
    assert "these are 31 sites: put the name of one before the pattern" in found.message
    assert not isinstance(StoreNavigator(Collection(tmp_path)).grep("ships: hull"), ToolError)


def test_expand_opens_sections_of_several_sites(navigator: StoreNavigator) -> None:
    pumps, doors = (
        _ids(render(navigator.read_outline(site)))[title] for site, title in (("boats", "Pumps"), ("trains", "Doors"))
    )
    for address in ([pumps, doors], f"{pumps}, {doors}", f"{pumps} {doors}", [pumps.upper(), f" [{doors}] "]):
        opened = navigator.fork(MAX_EXPANSION_CHARS).call("expand_sections", {"ids": address})
        assert isinstance(opened, ExpandResult), address
        assert [section.id for section in opened.sections] == [pumps, doors]
    url = navigator.expand_sections([pumps]).sections[0].url
    assert navigator.fork(MAX_EXPANSION_CHARS).expand_sections([url]).sections[0].id == pumps


@pytest.mark.parametrize(("address", "message"), TABLES["expand_of_unknown_id_has_hint"])
def test_expand_of_unknown_id_has_hint(navigator: StoreNavigator, address: str, message: str) -> None:
    opened = navigator.expand_sections([address])
    assert isinstance(opened, ExpandResult)
    assert not opened.sections
    assert message in render(opened)


@pytest.fixture
def changing_store(tmp_path: Path) -> Path:
    """A store whose sites change."""
    return make_store(tmp_path)


def test_tools_notice_new_crawl(changing_store: Path) -> None:
    now = [0.0]
    navigator = StoreNavigator(Collection(changing_store, clock=lambda: now[0]))
    assert "Blue" in render(navigator.search_sections("boats: colour of the hull"))
    write_site(
        changing_store.parent / "built" / "boats",
        {"Boats": ["A boat floats.", "Colours", "Green is the colour of the hull."]},
    )
    crawl_sites(changing_store.parent, "--refresh")
    bucket = StoreFolder(changing_store)
    bucket.delete([f"{RECORDS_DIR}/trains.json"])
    update_catalog(bucket)
    now[0] += 61
    second = navigator.fork(MAX_EXPANSION_CHARS)
    assert "Green" in render(second.search_sections("boats: colour of the hull"))
    assert "4 sites" in render(second.read_outline())
    assert "there is no site 'trains'" in render(second.read_outline("trains"))


def test_site_being_uploaded_uses_old_copy(changing_store: Path) -> None:
    now = [0.0]
    collection = Collection(changing_store, clock=lambda: now[0])
    before = collection.open("boats").library
    record = read_record(StoreFolder(changing_store), "boats")
    assert record
    assert record.entry
    manifest = changing_store / "boats/roaming/manifest.json"
    manifest.rename(manifest.with_suffix(".away"))
    outdated = replace(record, entry=replace(record.entry, digest="sha256:other"))
    write_record(StoreFolder(changing_store), outdated)
    now[0] += 61
    assert collection.open("boats").library is before
    manifest.with_suffix(".away").rename(manifest)
    assert collection.open("boats").library is before  # it is not opened again before the interval has passed
    now[0] += 61
    assert collection.open("boats").library is not before


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.slow
async def test_roaming_mcp_serves_store(store: Path) -> None:
    command = StdioServerParameters(command=sys.executable, args=["-m", "mkdocs_roaming", "mcp", str(store)])
    async with Client(command) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools["search_sections"].title == "Search: 5 sites"
        assert "“NAME: words” searches that one alone" in (tools["search_sections"].description or "")
        found = await client.call_tool("search_sections", {"query": "when do doors close"})
        assert isinstance(found.content[0], TextContent)
        id_ = re.search(r"\[(trains:[0-9a-f]{8})\]", found.content[0].text)
        assert id_
        opened = await client.call_tool("expand_sections", {"ids": [id_[1], "boats"]})
        assert isinstance(opened.content[0], TextContent)
        assert "12:04" in opened.content[0].text
        assert "boats: a site: read_outline(boats)" in opened.content[0].text

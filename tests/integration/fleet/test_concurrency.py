"""A store with concurrent readers, during updates, and while it cannot be read."""

from __future__ import annotations

import json
import re
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fleet_servers.stores import SITES, make_store
from msgspec.structs import replace
from starlette.testclient import TestClient

from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.tools import render
from mkdocs_roaming.serve.middleware import RequestPolicy
from roaming_fleet.app import create_store_app
from roaming_fleet.catalog import load_head, update_catalog
from roaming_fleet.collection import Collection
from roaming_fleet.folder import StoreFolder
from roaming_fleet.records import HEAD_PATH, RECORDS_DIR, SiteRecord, read_record, write_record
from roaming_fleet.tools import StoreNavigator

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

pytestmark = pytest.mark.slow

PUBLIC_MESSAGE = "This cannot be read at the moment"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store that tests may change."""
    return make_store(tmp_path)


class SlowSearch:
    """Search factory that is slow and counts its calls."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def __call__(self, library: Library) -> Search:
        self.made.append(library.where)
        time.sleep(0.05)
        return Search(library)


def make_unreadable(file: Path) -> None:
    """Make a file unreadable even for root."""
    file.unlink()
    file.symlink_to(file.name)


def make_outdated(store: Path, site: str) -> None:
    """Replace a site's record by one of another copy."""
    record = read_record(StoreFolder(store), site)
    assert record
    assert record.entry
    write_record(StoreFolder(store), replace(record, entry=replace(record.entry, digest="sha256:other")))


def test_concurrent_requests_open_site_once(store: Path) -> None:
    search = SlowSearch()
    collection = Collection(store, search=search)
    with ThreadPoolExecutor(8) as pool:
        opened = list(pool.map(collection.open, ["boats", "trains"] * 8))
    assert len(search.made) == 2
    assert len({id(one) for one in opened}) == 2


def test_number_of_open_sites_is_limited(store: Path) -> None:
    collection = Collection(store, open_sites=2)
    first = collection.open("boats")
    assert collection.open("boats") is first
    for site in ("trains", "apps", "boats"):
        collection.open(site)
    assert collection.open("boats") is not first


def test_unreadable_catalog_keeps_previous_list(store: Path) -> None:
    now = [0.0]
    collection = Collection(store, clock=lambda: now[0])
    before = collection.records()
    make_outdated(store, "boats")
    update_catalog(StoreFolder(store))
    now[0] += 61
    file = store / f".fleet/catalogue/sites-{load_head(StoreFolder(store)).generation}.jsonl"
    content = file.read_bytes()
    make_unreadable(file)
    assert collection.records() is before
    file.unlink()
    file.write_bytes(content)
    assert collection.records() is not before
    make_unreadable(file)
    with pytest.raises(LibraryError, match="cannot be read"):
        Collection(store).records()


def test_unreadable_sites_raise_error_instead_of_no_results(store: Path) -> None:
    for site in SITES:
        make_unreadable(store / site / "roaming/manifest.json")
    collection = Collection(store)
    message = render(StoreNavigator(collection).search_sections("how long does a refund take"))
    assert "Nothing found" not in message
    assert "manifest.json" in message
    with serve_store(collection) as http:
        assert PUBLIC_MESSAGE in call_tool(http, "expand_sections", {"ids": ["trains:00000000"]})


def test_health_reports_unreachable_store(store: Path) -> None:
    collection, head = Collection(store), store / HEAD_PATH
    content = head.read_bytes()
    assert collection.health() == (len(SITES), collection.generation, False)
    make_unreadable(head)
    collection.refresh()
    assert collection.health() == (len(SITES), collection.generation, True)
    head.unlink()
    head.write_bytes(content)
    collection.refresh()
    assert collection.health() == (len(SITES), collection.generation, False)


def add_uncrawled_site(store: Path, next_try: float = 4_070_908_800.0) -> None:
    """Add a site whose first crawl failed."""
    bucket = StoreFolder(store)
    error = "https://me:pass@gone.example/: /home/me/list cannot be had\nhonest (crawled"
    write_record(
        bucket,
        SiteRecord(
            "gone", "https://gone.example/", "failed", "1", "run", 0, "failed", error=error, tries=1, next_try=next_try
        ),
    )
    update_catalog(bucket)


@pytest.mark.parametrize(("tool", "arguments"), TABLES["calls_for_gone"])
def test_uncrawled_site_error_hides_reason_over_http(store: Path, tool: str, arguments: dict[str, Any]) -> None:
    add_uncrawled_site(store)
    local_text = render(StoreNavigator(Collection(store)).call(tool, arguments))
    assert "gone could not be crawled yet: https://" in local_text
    assert "cannot be had honest (crawled; tried again after " in local_text
    with serve_store(Collection(store)) as http:
        text = call_tool(http, tool, arguments)
    assert "gone could not be crawled yet; tried again after 2099-01-01 00:00 UTC" in text
    assert not re.search("home|pass|example|store", text)
    add_uncrawled_site(store, 9e8)
    local_text = render(StoreNavigator(Collection(store)).call(tool, arguments))
    assert "cannot be had honest (crawled; tried again by the next crawl" in local_text


def test_incomplete_catalog_is_searched_by_name_only(store: Path) -> None:
    for file in (store / ".fleet/catalogue").glob("terms-*"):
        make_unreadable(file)
    with serve_store(Collection(store)) as http:
        assert PUBLIC_MESSAGE in call_tool(http, "search_sections", {"query": "refund"})
        assert "[trains:" in call_tool(http, "search_sections", {"query": "trains: refund"})


@pytest.mark.parametrize(("tool", "arguments"), TABLES["http_errors_do_not_show_files"])
def test_http_errors_do_not_show_files(
    store: Path, tool: str, arguments: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    boats = StoreNavigator(Collection(store)).collection.open("boats").library.manifest.pages[0]
    arguments = json.loads(json.dumps(arguments).replace("{boats}", boats.sections[0].id))
    (store / "trains/roaming/manifest.json").write_bytes(b"{")
    make_unreadable(store / "boats" / boats.markdown)
    for file in (store / ".fleet/catalogue").glob("[st]*-*"):
        file.write_bytes(b"{")
    with serve_store(Collection(store)) as http:
        text = call_tool(http, tool, arguments)
    assert PUBLIC_MESSAGE in text
    assert not re.search(r"manifest|broken|catalogue|\.\.|store", text)
    assert str(store) in caplog.text
    local_text = render(StoreNavigator(Collection(store)).call(tool, arguments))
    assert str(store) in local_text


def serve_store(collection: Collection) -> TestClient:
    """Return a client of a store's application."""
    return TestClient(create_store_app(collection, RequestPolicy(hosts=("testserver",))))


def call_tool(http: TestClient, tool: str, arguments: dict[str, Any]) -> str:
    """Call a tool by MCP over HTTP, and return its text."""
    payload = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
    response = http.post("/mcp", json=payload, headers=headers).raise_for_status().json()
    return "".join(part["text"] for part in response["result"]["content"] if part["type"] == "text")


def test_just_dropped_site_is_unknown_to_agents(store: Path) -> None:
    collection = Collection(store)
    assert "boats" in collection.keys
    StoreFolder(store).delete([f"{RECORDS_DIR}/boats.json"])
    with serve_store(collection) as http:
        for tool, arguments in json.loads(json.dumps(TABLES["calls_for_gone"]).replace("gone", "boats")):
            assert "there is no site 'boats'; read_outline lists them" in call_tool(http, tool, arguments)

"""Removal of sites from a store."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from mkdocs_roaming.locks import FolderBusyError
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from roaming_crawler.config import CrawlConfig, Politeness
from roaming_fleet.cli import drop_sites
from roaming_fleet.folder import StoreFolder
from roaming_fleet.job import RunPlan, RunStoppedError, SiteSpec, crawl_site

Roaming = Callable[..., Result]


@pytest.fixture
def crawl(roaming: Roaming, sites: Any, fast_options: tuple[str, ...], tmp_path: Path) -> Callable[..., Path]:
    """Crawl three sites into a store, and return it."""

    def run(store: str | Path = tmp_path / "store") -> Path:
        result = roaming("crawl", "--many", sites.listing(tmp_path / "sites.txt", 3), "-o", store, *fast_options)
        assert result.exit_code == 0, result.stderr
        return Path(store)

    return run


def _paths(store: str, key: str) -> list[str]:
    """Return a site's files in a store."""
    found = (kept.path for kept in StoreFolder(store).list(""))
    return [path for path in found if f"{key}/" in path or f"{key}." in path]


def test_drop_removes_site(roaming: Roaming, crawl: Any, published: Any, tmp_path: Path) -> None:
    store = crawl()
    before = published(store)
    assert roaming("sites", store, "--drop", "site-001").exit_code == 0
    assert not (store / "site-001").exists()
    assert not _paths(str(store), "site-001")
    assert [site["key"] for site in json.loads(roaming("sites", store, "--json").stdout)] == ["site-000", "site-002"]
    assert published(store) == {path: data for path, data in before.items() if not path.startswith("site-001/")}
    crawl()
    assert published(store) == before


@pytest.mark.parametrize("key", ["nobody", "..", "site-000/roaming", ""])
def test_drop_with_unknown_site_removes_nothing(roaming: Roaming, crawl: Any, tmp_path: Path, key: str) -> None:
    store = crawl()
    before = sorted(path for path in store.rglob("*") if "lock" not in path.parts)
    result = roaming("sites", store, "--drop", "site-000", "--drop", key)
    assert (result.exit_code, "no site" in result.stderr) == (1, True)
    assert sorted(path for path in store.rglob("*") if "lock" not in path.parts) == before
    assert roaming("sites", tmp_path, "--drop", "store").exit_code == 1


def test_drop_is_refused_during_run(roaming: Roaming, crawl: Any, tmp_path: Path) -> None:
    store = crawl()
    with StoreFolder(store).hold(), pytest.raises(FolderBusyError, match="another command is in progress there"):
        drop_sites(str(store), ["site-000"])
    assert (store / "site-000/roaming/manifest.json").exists()


@pytest.mark.slow
def test_url_can_be_corrected_after_interrupted_crawl(sites: Any, tmp_path: Path) -> None:
    store = StoreFolder(tmp_path / "store")
    sites.pages, sites.delay = 12, 0.1

    def crawl(at: int, run: str) -> str:
        options = CrawlConfig(politeness=Politeness(delay=0, connections=1), allow_private=True, workers=0)
        plan = RunPlan(store, options, run, "-")
        if at == 0:
            threading.Thread(target=_stop_after, args=(lambda: sites.requests["127.0.1.1/a/p1/"], plan.stop)).start()
        return crawl_site(SiteSpec(sites.url(at), "docs"), plan).result

    with pytest.raises(RunStoppedError):
        crawl(0, "one")
    assert (store.root / "docs/.roaming/journal.jsonl").exists()
    assert crawl(1, "two") == "new"
    assert load_manifest(store.get(f"docs/{MANIFEST_PATH}")).site.url == sites.url(1)


def _stop_after(there: Callable[[], object], stop: threading.Event) -> None:
    while not there():
        threading.Event().wait(0.01)
    stop.set()

"""Runs over many sites."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from builtin_themes import add_builtin_theme
from click.testing import Result
from msgspec.structs import replace

from mkdocs_roaming.errors import UsageError
from roaming_crawler.config import CrawlConfig, CrawlLimits, Politeness
from roaming_fleet.catalog import read_records
from roaming_fleet.folder import StoreFolder
from roaming_fleet.job import RunPlan, SiteSpec, make_failed_record
from roaming_fleet.records import RECORDS_DIR, CatalogEntry, SiteRecord, read_record, write_record
from roaming_fleet.run import config_digest, crawl_many, site_status

Roaming = Callable[..., Result]


def _report(result: Result) -> dict[str, Any]:
    lines = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    assert lines, result.output
    assert lines[-1]["event"] == "done"
    return dict(lines[-1])


@pytest.fixture
def crawl(roaming: Roaming, fast_options: tuple[str, ...], sites: Any, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Crawl six sites of three hosts into a store, and return the report."""
    listing = sites.listing(tmp_path / "sites.txt", 6)

    def run(*more: object) -> dict[str, Any]:
        return _report(roaming("crawl", "--many", listing, "-o", tmp_path / "store", *fast_options, "--json", *more))

    return run


def test_run_crawls_each_site_once(crawl: Any, sites: Any, roaming: Roaming, tmp_path: Path) -> None:
    sites.delay = 0.005
    first = crawl()
    assert (first["new"], first["failed"], first["pages_new"]) == (6, 0, 18)
    assert max(sites.max_open.values()) == 1
    sites.requests.clear()
    second = crawl()
    assert (second["fresh"], second["requests"], dict(sites.requests)) == (6, 0, {})
    listed = roaming("sites", tmp_path / "store", "--json")
    assert [site["key"] for site in json.loads(listed.stdout)] == [f"site-{at:03}" for at in range(6)]
    kept = {path.name for path in (tmp_path / "store" / ".fleet" / "runs").rglob("*") if path.is_file()}
    assert kept == {f"{report['run']}.json" for report in (first, second)}


def test_refresh_older_than_crawls_old_sites(crawl: Any, sites: Any, tmp_path: Path) -> None:
    crawl()
    bucket = StoreFolder(tmp_path / "store")
    for at in (0, 1, 2):
        record = read_record(bucket, f"site-{at:03}")
        assert record
        assert record.entry
        write_record(bucket, replace(record, entry=replace(record.entry, crawled=time.time() - 8 * 86_400)))
    sites.revision["127.0.1.1/b"] = 1
    report = crawl("--refresh-older-than", "7d")
    assert (report["changed"], report["same"], report["fresh"]) == (1, 2, 3)
    assert report["changes"] == [{"site": "site-001", "new": 0, "changed": 3, "gone": 0}]
    assert crawl("--refresh-older-than", "7d")["fresh"] == 6


def test_name_of_another_url_is_refused(
    crawl: Any, roaming: Roaming, sites: Any, tmp_path: Path, fast_options: tuple[str, ...]
) -> None:
    crawl()
    sites.requests.clear()
    store = tmp_path / "store"
    (tmp_path / "other.txt").write_text(f"{sites.url(9)} site-000\n")
    command = ("crawl", "--many", tmp_path / "other.txt", "-o", store, *fast_options)
    result = roaming(*command)
    assert result.exit_code == 1
    drop = ("sites", store, "--drop", "site-000")
    assert result.stderr == (
        f"roaming: {store}: site-000 is {sites.url(0)} there, not {sites.url(9)}; give that another name in the list, or "
        f"drop it first: roaming {' '.join(map(str, drop))}\n"
    )
    assert not sites.requests
    assert roaming(*drop).exit_code == 0
    assert _report(roaming(*command, "--json"))["new"] == 1
    kept = {site["key"]: site["url"] for site in json.loads(roaming("sites", store, "--json").stdout)}
    assert kept["site-000"] == sites.url(9)
    assert len(kept) == len(set(kept.values())) == 6


def test_site_stopped_by_limit_is_continued(
    roaming: Roaming, sites: Any, tmp_path: Path, fast_options: tuple[str, ...]
) -> None:
    sites.pages, sites.delay = 12, 0.05
    command = ("crawl", "--many", sites.listing(tmp_path / "sites.txt", 1), "-o", tmp_path / "store", *fast_options)
    first = roaming(*command, "--max-seconds", "0.4")
    assert "stopped after 0.4 seconds (--max-seconds)" in first.stderr
    requests_before = sites.requests.total()
    sites.delay = 0
    assert "1 of 1 sites to crawl" in roaming(*command, "--max-seconds", "600").stderr
    assert max(sites.requests.values()) == 2  # once for Markdown, once for HTML
    assert sites.requests.total() > requests_before
    assert "0 of 1 sites to crawl" in roaming(*command, "--max-seconds", "600").stderr
    assert "stopped at 2 pages (--max-pages)" in roaming(*command, "--max-pages", "2").stderr
    assert "0 of 1 sites to crawl" in roaming(*command, "--max-pages", "2").stderr


def test_site_is_parsed_again_after_change_of_built_in_theme(crawl: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl()
    assert crawl()["fresh"] == 6
    add_builtin_theme(monkeypatch, '[acme]\narticles = [".acme"]\n')
    report = crawl()
    assert (report["fresh"], report["same"]) == (0, 6)


@pytest.mark.parametrize("tries", [5, 512, 5_000])
def test_pause_is_at_most_one_week(tries: int) -> None:
    plan, site = RunPlan(StoreFolder("store"), CrawlConfig(), "run", "config"), SiteSpec("https://a.example/", "a")
    last = SiteRecord("a", site.url, "failed", "config", "run", 0.0, tries=tries)
    record = make_failed_record(site, plan, last, "it is away")
    assert (record.tries, round((record.next_try - record.at) / 86_400)) == (tries + 1, 7)


def test_site_is_due_with_other_options_or_version() -> None:
    config = config_digest(CrawlConfig())
    plan = RunPlan(StoreFolder(""), CrawlConfig(), "run", config)
    entry = CatalogEntry("", "", "", "en", 1, 1, "", crawled=50.0)
    for digest, found in (
        (config, "fresh"),
        (f"1{config}", "due"),
        (config_digest(CrawlConfig(links=False)), "due"),
        (config_digest(CrawlConfig(limits=CrawlLimits(pages=7))), "due"),
        (config_digest(CrawlConfig(politeness=Politeness(delay=7), workers=0, refresh=True)), "fresh"),
        ("another shape", "due"),
    ):
        record = SiteRecord("key", "url", "done", digest, "run", 50.0, entry=entry)
        assert site_status(record, plan, None) == found, digest


def test_unusable_store_stops_run_and_is_reported(sites: Any, tmp_path: Path) -> None:
    store = StoreFolder(tmp_path / "store")
    options = CrawlConfig(politeness=Politeness(delay=0), allow_private=True, workers=0)
    crawl_many([], store, options)
    (store.root / RECORDS_DIR).touch()
    report = crawl_many([SiteSpec(sites.url(0), "one"), SiteSpec(sites.url(2), "two")], store, options, at_once=1)
    assert re.fullmatch(r".+\.fleet/sites/\S+ cannot be written \(.+\)", report.stopped)
    assert len(list(store.list(".fleet/runs"))) == 2


def test_copies_of_one_url_may_have_several_names(sites: Any, tmp_path: Path) -> None:
    config = CrawlConfig(politeness=Politeness(delay=0), allow_private=True, workers=0)
    url, store = sites.url(0), StoreFolder(tmp_path / "store")
    for name in ("site-1.0", "site-2.0"):
        report = crawl_many([SiteSpec(url, name)], store, config)
        assert (report.new, report.pages_new) == (1, 3)
    assert [record.key for record in read_records(store)] == ["site-1.0", "site-2.0"]
    with pytest.raises(UsageError, match=r"site-1\.0 is http\S+/a/ there, not http\S+/b/"):
        crawl_many([SiteSpec(sites.url(1), "site-1.0")], store, config)

"""Many sites become one store: each once, found by what it is about, and asked."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from roaming_crawler.claims import claimed
from roaming_crawler.crawl import Crawl
from roaming_crawler.fetch import Manners
from roaming_crawler.fleet import STORE, Plan, crawl_listed
from roaming_crawler.listing import Listed

from mkdocs_roaming.buckets import FolderBucket
from mkdocs_roaming.catalogue import read_record, write_record

Roaming = Callable[..., Result]


def _report(done: Result) -> dict[str, Any]:
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert lines, done.output
    assert lines[-1]["event"] == "done"
    return dict(lines[-1])


@pytest.fixture
def crawl(roaming: Roaming, haste: tuple[str, ...], sites: Any, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Crawl six sites of three hosts into a store, and give the report."""
    listing = sites.listing(tmp_path / "sites.txt", 6)

    def run(*more: object) -> dict[str, Any]:
        return _report(roaming("crawl", "--many", listing, "-o", tmp_path / "store", *haste, "--json", *more))

    return run


def test_each_site_is_crawled_once(crawl: Any, sites: Any, roaming: Roaming, tmp_path: Path) -> None:
    """A second run asks nobody; hosts that two sites share are asked for one of them at a time."""
    sites.delay = 0.005
    first = crawl()
    assert (first["new"], first["failed"], first["pages_new"]) == (6, 0, 18)
    assert max(sites.most_open.values()) == 1
    sites.asked.clear()
    again = crawl()
    assert (again["fresh"], again["requests"], dict(sites.asked)) == (6, 0, {})
    listed = roaming("sites", tmp_path / "store", "--json")
    assert [site["key"] for site in json.loads(listed.stdout)] == [f"site-{at:03}" for at in range(6)]
    kept = {path.name for path in (tmp_path / "store" / ".fleet" / "runs").rglob("*") if path.is_file()}
    assert kept == {f"{report['run']}.json" for report in (first, again)}


def test_another_configuration_is_crawled_anew(crawl: Any) -> None:
    """What decides what is published counts; the pace does not."""
    crawl()
    assert crawl("--delay", "0.001")["fresh"] == 6
    assert crawl("--max-pages", "4")["same"] == 6


def test_a_question_finds_its_site(crawl: Any, roaming: Roaming, tmp_path: Path) -> None:
    """Hits come from the site that a question is about, their ids name it, and how fresh it is is told."""
    crawl()
    store = tmp_path / "store"
    topics = {site["key"]: site["title"].split()[0] for site in json.loads(roaming("sites", store, "--json").stdout)}
    assert len(set(topics.values())) == 6
    for key, topic in topics.items():
        hits = json.loads(roaming("search", store, f"how is a {topic} cared for?", "--json").stdout)
        assert hits[0]["site"] == key
        assert all(hit["id"].startswith(f"{hit['site']}:") for hit in hits)
        opened = roaming("expand", store, hits[0]["id"])
        assert topic.lower() in opened.stdout.lower()
    answer = roaming("ask", store, f"How often is a {topics['site-003']} looked at?", "--json")
    data = json.loads(answer.stdout)
    assert data["site"] == "site-003"
    assert data["citations"][0]["id"].startswith("site-003:")
    assert time.time() - data["crawled"] < 600
    shown = roaming("ask", store, "site-001: how often is it looked at?")
    assert "Asking site-001" in shown.stderr
    assert "crawled just now" in shown.stderr


def test_a_store_says_how_it_is_used(crawl: Any, roaming: Roaming, tmp_path: Path) -> None:
    """One site of it is a library like any other; the store itself is told apart from one."""
    crawl()
    store = tmp_path / "store"
    assert roaming("outline", store / "site-000").exit_code == 0
    for command in ("outline", "serve"):
        assert "name one of them" in roaming(command, store).stderr
    assert "no site nobody" in roaming("expand", store, "nobody:07f3277d").stderr
    taken = roaming("crawl", "--many", tmp_path / "sites.txt", "-o", store / "site-000")
    assert "holds a published site" in taken.stderr


def test_only_what_is_old_is_asked_again(crawl: Any, sites: Any, tmp_path: Path) -> None:
    """The report tells which sites changed, and how many pages."""
    crawl()
    bucket = FolderBucket(tmp_path / "store")
    for at in (0, 1, 2):
        record = read_record(bucket, f"site-{at:03}")
        assert record
        assert record.entry
        object.__setattr__(record.entry, "crawled", time.time() - 8 * 86_400)
        write_record(bucket, record)
    sites.edition["127.0.1.1/b"] = 1
    report = crawl("--refresh-older-than", "7d")
    assert (report["changed"], report["same"], report["fresh"]) == (1, 2, 3)
    assert report["changes"] == [{"site": "site-001", "new": 0, "changed": 3, "gone": 0}]
    assert crawl("--refresh-older-than", "7d")["fresh"] == 6


def test_a_site_that_fails_keeps_its_copy_and_is_tried_later(
    crawl: Any, sites: Any, roaming: Roaming, tmp_path: Path, published: Any
) -> None:
    """The pause grows with each failure; until it is over nobody asks, and the last good copy answers."""
    crawl()
    before = published(tmp_path / "store")
    sites.down = {"127.0.1.1/", "127.0.1.2/a"}
    bucket = FolderBucket(tmp_path / "store")
    pauses = []
    for tries in (1, 2, 3):
        report = crawl("--refresh-older-than", "0s")
        assert report["failed"] == 3
        assert {failure["tries"] for failure in report["failures"]} == {tries}
        assert all(failure["kept"] for failure in report["failures"])
        sites.asked.clear()
        assert crawl()["waiting"] == 3
        assert not sites.asked
        for at in range(6):
            record = read_record(bucket, f"site-{at:03}")
            assert record
            if record.state == "failed":
                pauses.append(round((record.next_try - record.at) / 3600))
                object.__setattr__(record, "next_try", time.time() - 1)
                write_record(bucket, record)
    assert pauses == [1] * 3 + [4] * 3 + [16] * 3
    assert published(tmp_path / "store") == before
    assert "site-000" in roaming("sites", tmp_path / "store", "--failed").stdout
    sites.down = set()
    assert crawl()["same"] == 3
    assert roaming("sites", tmp_path / "store", "--failed").exit_code == 3


def test_a_name_stays_with_its_site(crawl: Any, roaming: Roaming, sites: Any, tmp_path: Path) -> None:
    """A file that gives a name of the store to another site is refused before anything is asked."""
    crawl()
    (tmp_path / "other.txt").write_text(f"{sites.url(9)} site-000\n")
    done = roaming("crawl", "--many", tmp_path / "other.txt", "-o", tmp_path / "store")
    assert done.exit_code == 1
    assert "give" in done.stderr
    assert "another name" in done.stderr


def test_a_site_that_somebody_else_is_at_is_left_to_them(sites: Any, tmp_path: Path) -> None:
    """It is told, and the other sites of its host are crawled."""
    bucket = FolderBucket(tmp_path / "store")
    bucket.create(STORE, b"{}")
    how = Crawl(manners=Manners(delay=0), allow_private=True, workers=0)
    plan = Plan(str(tmp_path / "store"), how, "run", "config", "", patience=0.2)
    one, two = Listed(sites.url(0), "one"), Listed(sites.url(1), "two")
    with claimed(bucket, "one"):
        records = [crawl_listed(site, plan) for site in (one, two)]
    assert [(record.key, record.result) for record in records] == [("one", "busy"), ("two", "new")]
    assert "another process is at it" in records[0].error
    assert read_record(bucket, "one") is None
    again = [crawl_listed(site, plan) for site in (one, two)]
    assert [record.result for record in again] == ["new", "new"]  # the second is what was told before
    asked = sites.asked.total()
    assert crawl_listed(two, plan).at == records[1].at
    assert sites.asked.total() == asked

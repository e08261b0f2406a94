"""A store that fails while a site is uploaded is no fault of the site."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from mkdocs_roaming.buckets import open_bucket
from mkdocs_roaming.catalogue import read_record

Crawl = Callable[..., Result]


@pytest.fixture
def crawl(roaming: Any, sites: Any, s3: Any, haste: tuple[str, ...], tmp_path: Path) -> Crawl:
    """Crawl a site into the bucket."""
    listing = sites.listing(tmp_path / "sites.txt", 1)

    def run(*more: str) -> Result:
        where = ("-o", s3.where, "--scratch", tmp_path / "scratch")
        done: Result = roaming("crawl", "--many", listing, *where, *haste, *more)
        return done

    return run


def test_the_same_command_puts_it_right(crawl: Crawl, roaming: Any, sites: Any, s3: Any) -> None:
    """The store takes the pages, but not the manifest. Nobody says that the last copy stays, or speaks of a pause."""
    crawl()
    sites.edition["127.0.1.1/a"] = 1
    s3.faults(unheard="/roaming/manifest.json")
    failed = crawl("--refresh-older-than", "0s")
    assert failed.exit_code == 3
    assert "manifest.json cannot be had (RequestTimeout)" in failed.stdout
    assert "the same command goes on, and until then some of its pages may be missing" in failed.stdout
    assert "stays" not in failed.stdout
    assert "tried again by the next crawl" in roaming("sites", s3.where).stdout
    s3.faults()
    assert crawl().exit_code == 0
    record = read_record(open_bucket(s3.where), "site-000")
    assert record
    assert (record.state, record.tries) == ("done", 0)
    assert "no faults" in roaming("validate", f"{s3.where}/site-000").output
    assert "edition 1" in roaming("search", f"{s3.where}/site-000", "kept in order").stdout
    assert "1 are done" in crawl().stderr


def test_it_makes_no_pause_longer(crawl: Crawl, sites: Any, s3: Any) -> None:
    """A site that failed before has failed no more often than that."""
    crawl()
    sites.down.add("127.0.1.1")
    assert json.loads(crawl("--refresh", "--json").stdout.splitlines()[-1])["failures"][0]["tries"] == 1
    sites.down.clear()
    s3.faults(unheard="/known.tar.gz")
    sites.edition["127.0.1.1/a"] = 1
    report = json.loads(crawl("--refresh", "--json").stdout.splitlines()[-1])
    assert report["failures"][0]["tries"] == 1
    assert not report["failures"][0]["kept"]

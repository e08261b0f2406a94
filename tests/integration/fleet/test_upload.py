"""Store failures during an upload, and downloads of a site's state."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from roaming_fleet.objects import open_bucket
from roaming_fleet.records import read_record

pytestmark = pytest.mark.slow

KEY = "site-000"
STATE = f".fleet/state/{KEY}"
Crawling = Callable[..., Result]


@pytest.fixture
def crawl(roaming: Any, sites: Any, s3: Any, fast_options: tuple[str, ...], tmp_path: Path) -> Crawling:
    """Crawl a site into the bucket."""
    listing = sites.listing(tmp_path / "sites.txt", 1)

    def run(*more: str, scratch: str = "scratch") -> Result:
        where = ("-o", s3.where, "--scratch", tmp_path / scratch)
        result: Result = roaming("crawl", "--many", listing, *where, *fast_options, *more)
        return result

    return run


def _pages(where: str) -> set[str]:
    """Return the pages of the site."""
    return {page.path for page in load_manifest(open_bucket(where).get(f"{KEY}/{MANIFEST_PATH}")).pages}


def test_next_run_completes_failed_upload(crawl: Crawling, roaming: Any, sites: Any, s3: Any) -> None:
    crawl()
    sites.revision["127.0.1.1/a"] = 1
    s3.set_faults(lost_response="/roaming/manifest.json")
    failed = crawl("--refresh-older-than", "0s")
    assert failed.exit_code == 3
    assert "cannot access site-000/roaming/manifest.json (RequestTimeout)" in failed.stderr
    assert f"roaming sites {s3.where} --failed" in failed.stdout
    assert "stays" not in failed.stdout
    listed = roaming("sites", s3.where, "--failed").stdout
    assert "tried again by the next crawl; until then some of its pages may be missing" in listed
    s3.set_faults()
    assert crawl().exit_code == 0
    record = read_record(open_bucket(s3.where), KEY)
    assert record
    assert (record.state, record.result, record.tries) == ("done", "changed", 0)
    assert roaming("validate", f"{s3.where}/{KEY}").exit_code == 0
    assert "revision 1" in roaming("search", f"{s3.where}/{KEY}", "kept in order").stdout
    assert "1 are done" in crawl().stderr


def test_store_failure_does_not_extend_pause(crawl: Crawling, sites: Any, s3: Any) -> None:
    crawl()
    sites.forbidden.add("127.0.1.1")
    assert json.loads(crawl("--refresh", "--json").stdout.splitlines()[-1])["failures"][0]["tries"] == 1
    sites.forbidden.clear()
    s3.set_faults(lost_response="/known.tar.gz")
    sites.revision["127.0.1.1/a"] = 1
    report = json.loads(crawl("--refresh", "--json").stdout.splitlines()[-1])
    assert report["failures"][0]["tries"] == 1
    assert not report["failures"][0]["kept"]


@pytest.mark.parametrize("lost", ["known", "pages"])
def test_damaged_state_is_fetched_again(crawl: Crawling, s3: Any, sites: Any, lost: str) -> None:
    crawl()
    published, bucket = _pages(s3.where), open_bucket(s3.where)
    (path,) = (blob.path for blob in bucket.list(STATE) if f"/{lost}" in blob.path)
    bucket.put(path, bucket.get(path)[:100])
    sites.requests.clear()
    assert crawl("--refresh").exit_code == 0
    assert _pages(s3.where) == published
    assert sites.requests.total() >= len(published)


def test_partial_upload_loses_no_page(crawl: Crawling, s3: Any, sites: Any) -> None:
    sites.pages = 6
    crawl()
    published = _pages(s3.where)
    sites.revision["127.0.1.1/a"] = 1
    s3.set_faults(lost_response="/known.tar.gz")
    crawl("--refresh")
    s3.set_faults()
    sites.forbidden = {"127.0.1.1/a/p1/", "127.0.1.1/a/p3/", "127.0.1.1/a/p4/"}
    crawl("--refresh", scratch="elsewhere")
    assert _pages(s3.where) == published
    assert len(published) == 6
    assert len(list(open_bucket(s3.where).list(STATE))) == 2

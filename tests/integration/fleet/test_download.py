"""Download of a site's state from a bucket."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fleet_servers.one_site import crawl_once

from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from roaming_fleet.objects import open_bucket
from roaming_fleet.records import STORE_MARKER

pytestmark = pytest.mark.slow

KEY = "site-000"
FORBIDDEN_PAGES = {"127.0.1.1/a/p1/", "127.0.1.1/a/p3/", "127.0.1.1/a/p4/"}


@pytest.fixture
def crawl(s3: Any, sites: Any) -> Callable[[str, Path], set[str]]:
    """Crawl the site into the bucket, and return its pages."""
    bucket = open_bucket(s3.where)
    bucket.create(STORE_MARKER, b"{}")
    sites.pages = 6

    def run(name: str, scratch: Path) -> set[str]:
        crawl_once(s3.where, sites.url(0), KEY, name, str(scratch), 1.5)
        return {page.path for page in load_manifest(bucket.get(f"{KEY}/{MANIFEST_PATH}")).pages}

    return run


@pytest.mark.parametrize("lost", ["known", "pages"])
def test_damaged_state_is_fetched_again(crawl: Any, s3: Any, sites: Any, tmp_path: Path, lost: str) -> None:
    published = crawl("one", tmp_path)
    bucket = open_bucket(s3.where)
    (path,) = (blob.path for blob in bucket.list(f".fleet/state/{KEY}") if f"/{lost}" in blob.path)
    bucket.put(path, bucket.get(path)[:100])
    sites.requests.clear()
    assert crawl("two", tmp_path) == published
    assert sites.requests.total() >= len(published)


def test_partial_upload_loses_no_page(crawl: Any, s3: Any, sites: Any, tmp_path: Path) -> None:
    published = crawl("one", tmp_path / "here")
    sites.revision["127.0.1.1/a"] = 1
    s3.set_faults(lost_response="/known.tar.gz")
    assert crawl("two", tmp_path / "here") == published
    s3.set_faults()
    sites.forbidden = FORBIDDEN_PAGES
    assert crawl("three", tmp_path / "elsewhere") == published
    assert len(list(open_bucket(s3.where).list(f".fleet/state/{KEY}"))) == 2

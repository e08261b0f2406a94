"""Download of a site's state from a bucket."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fleet_servers.one_site import crawl_once

from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from roaming_fleet.buckets import Bucket
from roaming_fleet.objects import open_bucket
from roaming_fleet.records import STORE_MARKER, read_record
from roaming_fleet.sync import download_site, staging_folder

pytestmark = pytest.mark.slow

KEY = "site-000"
FORBIDDEN_PAGES = {"127.0.1.1/a/p1/", "127.0.1.1/a/p3/", "127.0.1.1/a/p4/"}


class _KilledError(BaseException):
    """Simulates a killed process."""


class _FailingBucket:
    """A bucket that fails after a number of downloads."""

    def __init__(self, bucket: Bucket, files: int) -> None:
        self._bucket, self._left = bucket, files
        self.where, self.is_remote = bucket.where, True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bucket, name)

    def get(self, path: str) -> bytes:
        if not self._left:
            raise _KilledError
        self._left -= 1
        return self._bucket.get(path)


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


@pytest.mark.parametrize("files", [0, 1])
def test_partial_download_loses_no_page(crawl: Any, s3: Any, sites: Any, tmp_path: Path, files: int) -> None:
    bucket, scratch = open_bucket(s3.where), tmp_path / "here"
    published = crawl("one", tmp_path / "there")
    with suppress(_KilledError), staging_folder(scratch, s3.where, KEY) as folder:
        download_site(_FailingBucket(bucket, files), KEY, folder, read_record(bucket, KEY))
        raise AssertionError
    sites.forbidden = FORBIDDEN_PAGES
    assert crawl("two", scratch) == published
    assert len(published) == 6


@pytest.mark.parametrize("scratch", ["here", "elsewhere"])
def test_partial_upload_loses_no_page(crawl: Any, s3: Any, sites: Any, tmp_path: Path, scratch: str) -> None:
    published = crawl("one", tmp_path / "here")
    sites.revision["127.0.1.1/a"] = 1
    s3.set_faults(lost_response="/known.tar.gz")
    assert crawl("two", tmp_path / "here") == published
    s3.set_faults()
    sites.forbidden = FORBIDDEN_PAGES
    assert crawl("three", tmp_path / scratch) == published
    assert len(list(open_bucket(s3.where).list(f".fleet/state/{KEY}"))) == 2

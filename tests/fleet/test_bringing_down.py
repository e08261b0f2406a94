"""What a site's crawl remembers in a bucket is brought down whole, or counts as not brought down."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from roaming_fleet.buckets import open_bucket
from roaming_fleet.buckets.base import Bucket
from roaming_fleet.records import read_record
from roaming_fleet.staging import staging_folder
from roaming_fleet.store import STORE_MARKER
from roaming_fleet.sync import download_site

from fleet.one_site import crawl_once
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest

KEY = "site-000"
BAD_MOMENT = {"127.0.1.1/a/p1/", "127.0.1.1/a/p3/", "127.0.1.1/a/p4/"}


class _Killed(BaseException):
    """Nothing of the program runs after this."""


class _Broken:
    """A bucket for one who is killed when it asks for the file after so many."""

    def __init__(self, bucket: Bucket, files: int) -> None:
        self._bucket, self._left = bucket, files
        self.where, self.is_remote = bucket.where, True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bucket, name)

    def get(self, path: str) -> bytes:
        if not self._left:
            raise _Killed
        self._left -= 1
        return self._bucket.get(path)


@pytest.fixture
def crawl(s3: Any, sites: Any) -> Callable[[str, Path], set[str]]:
    """Crawl the site into the bucket, in a scratch folder, and give the pages that are there then."""
    bucket = open_bucket(s3.where)
    bucket.create(STORE_MARKER, b"{}")
    sites.pages = 6

    def run(name: str, scratch: Path) -> set[str]:
        crawl_once(s3.where, sites.url(0), KEY, name, str(scratch), 1.5)
        return {page.path for page in load_manifest(bucket.get(f"{KEY}/{MANIFEST_PATH}")).pages}

    return run


@pytest.mark.parametrize("files", [0, 1])
def test_half_of_it_takes_no_page_away(crawl: Any, s3: Any, sites: Any, tmp_path: Path, files: int) -> None:
    """A process is killed as it brings the archives down; pages that have a bad moment stay in the next run there."""
    bucket, scratch = open_bucket(s3.where), tmp_path / "here"
    there = crawl("one", tmp_path / "there")
    with suppress(_Killed), staging_folder(scratch, s3.where, KEY) as folder:
        download_site(_Broken(bucket, files), KEY, folder, read_record(bucket, KEY))
        raise AssertionError
    sites.down = BAD_MOMENT
    assert crawl("two", scratch) == there
    assert len(there) == 6


@pytest.mark.parametrize("scratch", ["here", "elsewhere"])
def test_an_upload_that_ends_before_its_time_takes_no_page_away(
    crawl: Any, s3: Any, sites: Any, tmp_path: Path, scratch: str
) -> None:
    """All pages have changed and are up, so are the archives, but not what speaks of them. Nobody mixes old and new."""
    there = crawl("one", tmp_path / "here")
    sites.edition["127.0.1.1/a"] = 1
    s3.faults(unheard="/known.tar.gz")
    assert crawl("two", tmp_path / "here") == there
    s3.faults()
    sites.down = BAD_MOMENT
    assert crawl("three", tmp_path / scratch) == there
    assert len(list(open_bucket(s3.where).list(f".fleet/state/{KEY}"))) == 2

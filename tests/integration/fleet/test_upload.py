"""Store failures during an upload."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from mkdocs_roaming.manifest.io import MANIFEST_PATH
from roaming_crawler.config import CrawlConfig, Politeness
from roaming_fleet.buckets import Bucket, BucketError, FolderBucket
from roaming_fleet.job import RunPlan, SiteSpec, crawl_site
from roaming_fleet.lock import LockWatch, hold_lock
from roaming_fleet.objects import open_bucket
from roaming_fleet.records import STORE_MARKER, SiteRecord, read_record

pytestmark = pytest.mark.slow

Crawling = Callable[..., Result]


@pytest.fixture
def crawl(roaming: Any, sites: Any, s3: Any, fast_options: tuple[str, ...], tmp_path: Path) -> Crawling:
    """Crawl a site into the bucket."""
    listing = sites.listing(tmp_path / "sites.txt", 1)

    def run(*more: str) -> Result:
        where = ("-o", s3.where, "--scratch", tmp_path / "scratch")
        result: Result = roaming("crawl", "--many", listing, *where, *fast_options, *more)
        return result

    return run


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
    assert "revision 0" in _read_texts(roaming, s3.where)
    s3.set_faults()
    assert crawl().exit_code == 0
    record = read_record(open_bucket(s3.where), "site-000")
    assert record
    assert (record.state, record.result, record.tries) == ("done", "changed", 0)
    assert "revision 1" in _read_texts(roaming, s3.where)
    assert "1 are done" in crawl().stderr


@pytest.mark.parametrize(("late", "version"), [(False, 0), (True, 1)])
def test_failed_upload_restores_old_pages(roaming: Any, sites: Any, tmp_path: Path, late: bool, revision: int) -> None:
    bucket = FolderBucket(tmp_path / "store")
    bucket.create(STORE_MARKER, b"{}")
    _crawl_into(_RemoteFolder(bucket), sites.url(0), tmp_path)
    sites.revision["127.0.1.1/a"] = 1
    assert _crawl_into(_ManifestFailsBucket(bucket, late), sites.url(0), tmp_path).state == "failed"
    assert f"revision {revision}" in _read_texts(roaming, bucket.where)
    del sites.revision["127.0.1.1/a"]
    sites.forbidden = {"127.0.1.1/a/p1/"}
    assert _crawl_into(_RemoteFolder(bucket), sites.url(0), tmp_path).state == "done"
    _read_texts(roaming, bucket.where)


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


class _ManifestFailsBucket:
    """A bucket that refuses the manifest, or loses the response to it."""

    is_remote = True

    def __init__(self, bucket: Bucket, late: bool = False) -> None:
        self._bucket, self._late, self.where = bucket, late, bucket.where

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bucket, name)

    def put(self, path: str, data: bytes) -> None:
        is_manifest = path.endswith(MANIFEST_PATH)
        if not is_manifest or self._late:
            self._bucket.put(path, data)
        if is_manifest:
            raise BucketError(f"{self.where}: {path} cannot be had (no connection)")


class _RemoteFolder(_ManifestFailsBucket):
    """A folder that is used like a remote bucket."""

    def put(self, path: str, data: bytes) -> None:
        self._bucket.put(path, data)


def _crawl_into(bucket: Bucket, url: str, scratch: Path) -> SiteRecord:
    options = CrawlConfig(politeness=Politeness(delay=0), allow_private=True, workers=0)
    plan = RunPlan(bucket.where, options, secrets.token_hex(4), "-", str(scratch / "scratch"))
    with hold_lock(bucket, plan.run):
        return crawl_site(bucket, SiteSpec(url, "site-000"), plan, LockWatch(bucket, plan.run))


def _read_texts(roaming: Any, store: str) -> str:
    """Return the texts of a site's pages, which must match its manifest."""
    checked, found = roaming("validate", f"{store}/site-000"), roaming("search", f"{store}/site-000", "kept in order")
    assert not [line for line in checked.output.splitlines() if "digest" in line or "not the same" in line]
    assert len(re.findall(r"revision \d", found.stdout)) == 3
    return str(found.stdout)

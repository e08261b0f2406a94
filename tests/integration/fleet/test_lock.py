"""The lock of a store: exclusive, taken over from killed and suspended processes."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fleet_servers.one_site import crawl_once

from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from roaming_fleet.buckets import BlobNotFoundError, BucketError
from roaming_fleet.lock import LOCK_DIR, LockLostError, LockWatch, StoreLockedError, hold_lock
from roaming_fleet.objects import Bucket, open_bucket
from roaming_fleet.records import STORE_MARKER, SiteRecord, read_record

pytestmark = pytest.mark.slow

SECONDS = 30.0
KEY = "site-000"


def _check_consistency(bucket: Bucket) -> None:
    """Check that every page matches the manifest, and the record."""
    manifest = load_manifest(bucket.get(f"{KEY}/{MANIFEST_PATH}"))
    for page in manifest.pages:
        digest = hashlib.sha256(bucket.get(f"{KEY}/{page.markdown}")).hexdigest()
        assert page.digest == f"sha256:{digest}", page.path
    record = read_record(bucket, KEY)
    assert record
    assert record.entry
    assert record.entry.digest == manifest.digest


def _read_revisions(bucket: Bucket) -> set[int]:
    """Return the revisions of the site's pages."""
    pages = load_manifest(bucket.get(f"{KEY}/{MANIFEST_PATH}")).pages
    texts = [bucket.get(f"{KEY}/{page.markdown}").decode() for page in pages]
    return {int(text.partition("revision ")[2].partition(".")[0]) for text in texts}


def _read_holder(bucket: Bucket) -> str:
    """Return the run that holds the lock."""
    with suppress(BlobNotFoundError):
        return str(json.loads(bucket.get(max(blob.path for blob in bucket.list(LOCK_DIR))))["run"])
    return ""


def _start(store: str, url: str, scratch: Path, seconds: float) -> subprocess.Popen[str]:
    """Start a process that crawls the site in the run `one`."""
    command = [sys.executable, "-m", "fleet_servers.one_site", store, url, KEY, "one", str(scratch), str(seconds)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])}
    return subprocess.Popen(command, stdout=subprocess.PIPE, env=env, text=True)


@pytest.fixture
def crawl(s3: Any, sites: Any, tmp_path: Path) -> Callable[..., SiteRecord]:
    """Crawl the site into the bucket with a scratch folder per machine."""
    open_bucket(s3.where).create(STORE_MARKER, b"{}")
    sites.pages = 12

    def run(name: str, scratch: str = "here") -> SiteRecord:
        return crawl_once(s3.where, sites.url(0), KEY, name, str(tmp_path / scratch), SECONDS)

    return run


@pytest.mark.parametrize(
    ("files", "late"),
    [(1, True), (8, False), (16, True)],
)
def test_suspended_process_does_not_publish(
    files: int, late: bool, s3: Any, sites: Any, crawl: Any, tmp_path: Path
) -> None:
    bucket = open_bucket(s3.where)
    crawl("zero")
    before = {blob.path: blob.tag for blob in bucket.list(KEY)}
    sites.revision["127.0.1.1/a"] = 1
    s3.set_faults(held=f"/{KEY}/", before_held=files)
    with _start(s3.where, sites.url(0), tmp_path / "there", seconds=5) as other:
        while sum(1 for blob in bucket.list(KEY) if before.get(blob.path) != blob.tag) < files:
            assert other.poll() is None
        other.send_signal(signal.SIGSTOP)
        s3.set_faults(delay=0.02)
        sites.revision["127.0.1.1/a"] = 2
        records: list[SiteRecord] = []
        thread = threading.Thread(target=lambda: records.append(crawl("two")))
        thread.start()
        if late:
            thread.join()
        else:
            while not _read_holder(bucket).startswith("two"):
                time.sleep(0.02)
        other.send_signal(signal.SIGCONT)
        thread.join()
        message, _ = other.communicate()
    assert (records[0].result, message) == ("changed", "lost")
    s3.set_faults()
    assert crawl("three").result in ("same", "changed")
    _check_consistency(bucket)
    assert _read_revisions(bucket) == {2}


def test_lock_of_killed_process_is_taken_over_at_once(s3: Any, sites: Any, crawl: Any, tmp_path: Path) -> None:
    bucket = open_bucket(s3.where)
    sites.delay = 0.1
    with _start(s3.where, sites.url(0), tmp_path / "there", seconds=3600) as other:
        while not sites.requests.total():
            assert other.poll() is None
        with pytest.raises(
            StoreLockedError, match=r"in use by the run one-\w+ \(.+, process \d+\), whose lock is valid until"
        ):
            hold_lock(bucket, "two").__enter__()
        other.kill()
        other.wait()
    sites.delay = 0
    assert crawl("two").result == "new"
    _check_consistency(bucket)


def test_next_crawl_repairs_changed_files(s3: Any, sites: Any, crawl: Any) -> None:
    bucket = open_bucket(s3.where)
    crawl("zero")
    expected = {blob.path: bucket.get(blob.path) for blob in bucket.list(KEY)}
    page, removed = f"{KEY}/p1.md", f"{KEY}/p2.md"
    bucket.put(page, expected[page].replace(b"revision 0", b"revision 7"))
    bucket.delete([removed])
    bucket.put(f"{KEY}/stray.md", b"of another time")
    assert crawl("one", "elsewhere").result == "same"
    assert {blob.path: bucket.get(blob.path) for blob in bucket.list(KEY)} == expected


@pytest.fixture(params=["folder", "s3", "az"])
def bucket(request: pytest.FixtureRequest, tmp_path: Path) -> Bucket:
    """Provide an empty store of each kind."""
    if request.param == "folder":
        return open_bucket(tmp_path / "store")
    return open_bucket(request.getfixturevalue(request.param).where)


def test_lock_is_exclusive(bucket: Bucket) -> None:
    with hold_lock(bucket, "one") as lock:
        with pytest.raises(StoreLockedError, match="in use by the run one"), hold_lock(bucket, "two"):
            pass
        assert lock.renew()
        lock.confirm()
        watch = LockWatch(bucket, "one")
        watch.confirm()
        assert not LockWatch(bucket, "one").is_set()
        assert LockWatch(bucket, "two").is_set()
    with pytest.raises(LockLostError, match="stopped"):
        watch.confirm()
    with hold_lock(bucket, "two"):
        pass
    assert len(list(bucket.list(LOCK_DIR))) == 1


def test_expired_lock_is_taken_over(bucket: Bucket) -> None:
    with hold_lock(bucket, "one", wall=lambda: 0.0) as first, hold_lock(bucket, "two", wall=lambda: 61.0) as second:
        with pytest.raises(LockLostError, match=r"the run two \(.+\) took its lock over"):
            first.confirm()
        assert not first.renew()
        assert second.renew()
        with pytest.raises(LockLostError):
            LockWatch(bucket, "one").confirm()
        assert not LockWatch(bucket, "two", wall=lambda: 100.0).is_set()
        assert LockWatch(bucket, "two", wall=lambda: 122.0).is_set()  # it was not renewed in time
    with hold_lock(bucket, "three", wall=lambda: 62.0):
        pass


class _OtherBucket:
    """A bucket that calls a function between a listing and the next creation, or loses its response."""

    def __init__(self, bucket: Bucket, meanwhile: Callable[[], None] = lambda: None, lost: int = 0) -> None:
        self._bucket, self._meanwhile, self.lost = bucket, meanwhile, lost
        self.where, self.is_remote = bucket.where, True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bucket, name)

    def create(self, path: str, data: bytes) -> bool:
        meanwhile, self._meanwhile = self._meanwhile, lambda: None
        meanwhile()
        created = self._bucket.create(path, data)
        if self.lost:
            self.lost -= 1
            raise BucketError("the connection broke")
        return created


def test_lock_with_old_number_is_not_acquired(s3: Any) -> None:
    bucket = open_bucket(s3.where)
    held = []

    def meanwhile() -> None:
        with hold_lock(bucket, "one"):
            pass
        held.append(hold_lock(bucket, "two"))
        held[0].__enter__()

    with (
        pytest.raises(StoreLockedError, match="in use by the run two"),
        hold_lock(_OtherBucket(bucket, meanwhile), "three"),
    ):
        pass
    held[0].__exit__(None, None, None)


def test_lock_survives_lost_response(s3: Any) -> None:
    bucket = _OtherBucket(open_bucket(s3.where))
    with hold_lock(bucket, "one") as lock:
        bucket.lost = 1
        with pytest.raises(BucketError, match="the connection broke"):
            lock.renew()
        assert lock.renew()
        lock.confirm()

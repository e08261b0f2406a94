"""Suspended processes whose lease was taken over."""

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
from pathlib import Path
from typing import Any

import pytest
from fleet_servers.one_site import crawl_once

from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from roaming_fleet.buckets import open_bucket
from roaming_fleet.buckets.base import Bucket
from roaming_fleet.leases import LOCKS_DIR, LeaseHeldError, LeaseLostError, hold_lease
from roaming_fleet.records import SiteRecord, read_record
from roaming_fleet.store import STORE_MARKER

LEASE = 1.5
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


def _read_editions(bucket: Bucket) -> set[int]:
    """Return the editions of the site's pages."""
    pages = load_manifest(bucket.get(f"{KEY}/{MANIFEST_PATH}")).pages
    texts = [bucket.get(f"{KEY}/{page.markdown}").decode() for page in pages]
    return {int(text.partition("edition ")[2].partition(".")[0]) for text in texts}


@pytest.fixture
def crawl(s3: Any, sites: Any, tmp_path: Path) -> Callable[..., SiteRecord]:
    """Crawl the site into the bucket with a scratch folder per machine."""
    open_bucket(s3.where).create(STORE_MARKER, b"{}")
    sites.pages = 12

    def run(name: str, scratch: str = "here") -> SiteRecord:
        return crawl_once(s3.where, sites.url(0), KEY, name, str(tmp_path / scratch), LEASE)

    return run


@pytest.mark.parametrize(
    ("files", "late"),
    [
        (8, True),
        pytest.param(1, True, marks=pytest.mark.slow),
        pytest.param(16, True, marks=pytest.mark.slow),
        pytest.param(1, False, marks=pytest.mark.slow),
        pytest.param(8, False, marks=pytest.mark.slow),
        pytest.param(16, False, marks=pytest.mark.slow),
    ],
)
def test_suspended_process_leaves_consistent_site(
    files: int, late: bool, s3: Any, sites: Any, crawl: Any, tmp_path: Path
) -> None:
    bucket = open_bucket(s3.where)
    crawl("zero")
    before = {blob.path: blob.tag for blob in bucket.list(KEY)}
    sites.edition["127.0.1.1/a"] = 1
    s3.set_faults(delay=0.02)
    command = [
        sys.executable,
        "-m",
        "fleet_servers.one_site",
        s3.where,
        sites.url(0),
        KEY,
        "one",
        str(tmp_path / "there"),
    ]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])}
    with subprocess.Popen([*command, str(LEASE)], stdout=subprocess.PIPE, env=env, text=True) as other:
        while sum(1 for blob in bucket.list(KEY) if before.get(blob.path) != blob.tag) < files:
            assert other.poll() is None
        other.send_signal(signal.SIGSTOP)
        sites.edition["127.0.1.1/a"] = 2
        records: list[SiteRecord] = []
        thread = threading.Thread(target=lambda: records.append(crawl("two")))
        thread.start()
        if not late:
            while max(blob.path for blob in bucket.list(f"{LOCKS_DIR}/{KEY}")) < f"{LOCKS_DIR}/{KEY}/00000003":
                time.sleep(0.02)
            time.sleep(0.3)
        else:
            thread.join()
        other.send_signal(signal.SIGCONT)
        thread.join()
        message, _ = other.communicate()
    assert records[0].result == "changed"
    assert message in ("same", "changed")
    _check_consistency(bucket)
    assert _read_editions(bucket) == {2}
    s3.set_faults()
    assert crawl("three").result == "same"
    _check_consistency(bucket)


def test_next_crawl_repairs_changed_files(s3: Any, sites: Any, crawl: Any) -> None:
    bucket = open_bucket(s3.where)
    crawl("zero")
    expected = {blob.path: bucket.get(blob.path) for blob in bucket.list(KEY)}
    page, removed = f"{KEY}/p1.md", f"{KEY}/p2.md"
    bucket.put(page, expected[page].replace(b"edition 0", b"edition 7"))
    bucket.delete([removed])
    bucket.put(f"{KEY}/stray.md", b"of another time")
    assert crawl("one", "elsewhere").result == "same"
    assert {blob.path: bucket.get(blob.path) for blob in bucket.list(KEY)} == expected


def test_lost_lease_raises_error(s3: Any) -> None:
    bucket = open_bucket(s3.where)
    clock = [0.0]
    with hold_lease(bucket, "site", seconds=1000, wall=lambda: clock[0]) as first:
        s3.set_faults()
        first.check()
        assert s3.set_faults()["requests"] == 0
        clock[0] = 2000.0
        first.check()  # expired, but no other process holds it
        with hold_lease(bucket, "site", seconds=1000, patience=0.1, wall=lambda: clock[0]) as second:
            for check in (first.check, first.confirm, first.check):
                with pytest.raises(LeaseLostError, match="took the lease over because this one was suspended"):
                    check()
            second.confirm()
    with hold_lease(bucket, "site", seconds=1000, patience=0.1, wall=lambda: clock[0]):
        pass


class _SuspendedBucket:
    """A bucket that calls a function between a listing and the next creation."""

    def __init__(self, bucket: Bucket, meanwhile: Callable[[], None]) -> None:
        self._bucket, self._meanwhile = bucket, meanwhile
        self.where, self.is_remote = bucket.where, True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bucket, name)

    def create(self, path: str, data: bytes) -> bool:
        meanwhile, self._meanwhile = self._meanwhile, lambda: None
        meanwhile()
        return self._bucket.create(path, data)


def test_lease_with_old_number_is_not_acquired(s3: Any) -> None:
    bucket = open_bucket(s3.where)
    with hold_lease(bucket, "site"):
        pass
    held = []

    def meanwhile() -> None:
        with hold_lease(bucket, "site"):
            pass
        held.append(hold_lease(bucket, "site"))
        held[0].__enter__()

    with pytest.raises(LeaseHeldError), hold_lease(_SuspendedBucket(bucket, meanwhile), "site", patience=0.3):
        pass
    held[0].__exit__(None, None, None)
    assert [json.loads(bucket.get(blob.path))["until"] for blob in bucket.list(f"{LOCKS_DIR}/site")] == [0.0]

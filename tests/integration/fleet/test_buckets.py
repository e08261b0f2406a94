"""Buckets compared with folders, and disks without hard links or space."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import pytest

from mkdocs_roaming.serve.deployments import SiteWatcher
from roaming_fleet.buckets import BlobNotFoundError, BucketError, FolderBucket
from roaming_fleet.objects import Bucket, open_bucket


@pytest.fixture(params=["folder", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("s3", "az"))])
def bucket(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bucket]:
    """A folder, or a prefix in a bucket."""
    if request.param == "folder":
        yield FolderBucket(tmp_path / "bucket")
    else:
        yield open_bucket(request.getfixturevalue(request.param).where)


def _read_published(where: str) -> dict[str, bytes]:
    """Return every published file of a store."""
    bucket = open_bucket(where)
    return {kept.path: bucket.get(kept.path) for kept in bucket.list("") if not kept.path.startswith(".fleet/")}


def test_bucket_operations(bucket: Bucket) -> None:
    names = ["a/b.md", "a/c~d e+f'%41é[1]#.md", "a-b/x.md"]
    for name in names:
        bucket.put(name, name.encode())
        assert bucket.get(name) == name.encode()
    assert bucket.create("a/new", b"1")
    assert not bucket.create("a/new", b"2")
    assert sorted(kept.path for kept in bucket.list("a")) == sorted(["a/b.md", names[1], "a/new"])
    tag = next(kept.tag for kept in bucket.list("a") if kept.path == "a/new")
    bucket.put("a/new", b"3")
    assert next(kept.tag for kept in bucket.list("a") if kept.path == "a/new") != tag
    bucket.delete(["a/new", "a/never"])
    with pytest.raises(BlobNotFoundError):
        bucket.get("a/new")
    assert list(bucket.list("nothing")) == []


def test_create_is_exclusive_among_threads(bucket: Bucket) -> None:
    winners: list[int] = []
    threads = [
        threading.Thread(target=lambda at=at: winners.append(at) if bucket.create("one", str(at).encode()) else None)
        for at in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(winners) == 1
    assert bucket.get("one") == str(winners[0]).encode()


@pytest.fixture
def many(sites: Any, tmp_path: Path, roaming: Any, fast_options: tuple[str, ...]) -> Callable[..., dict[str, Any]]:
    """Crawl four sites into a store, and return the report."""
    listing = sites.listing(tmp_path / "sites.txt", 4)

    def run(where: object, *more: object) -> dict[str, Any]:
        scratch = ("--scratch", tmp_path / "scratch")
        result = roaming("crawl", "--many", listing, "-o", where, *fast_options, *scratch, "--json", *more)
        last = json.loads(result.stdout.splitlines()[-1])
        assert last["event"] == "done"
        return {**last, "said": result.stderr, "code": result.exit_code}

    return run


@pytest.mark.slow
def test_expired_credentials_stop_run(
    many: Any, s3: Any, sites: Any, tmp_path: Path, fast_options: tuple[str, ...], published: Any
) -> None:
    many(tmp_path / "folder")
    s3.set_faults(after=60)
    command = ["crawl", "--many", sites.listing(tmp_path / "sites.txt", 4), "-o", s3.where, *fast_options]
    # A process of its own: it cannot release the lock, which ends with the process.
    stopped = subprocess.run([sys.executable, "-m", "mkdocs_roaming", *command], capture_output=True, text=True)
    assert stopped.returncode == 1
    assert "s3://shelf/docs: the credentials have expired; renew them and try again" in stopped.stderr
    s3.set_faults()
    result = many(s3.where)
    assert result["new"] + result["same"] + result["changed"] + result["fresh"] == 4
    assert _read_published(s3.where) == published(tmp_path / "folder")
    bucket = open_bucket(s3.where)
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    for secret in (
        value.encode() for name, value in s3.environ.items() if name not in ("AWS_REGION", "AWS_ENDPOINT_URL")
    ):
        assert not any(secret in data for data in files)
        assert not any(secret in bucket.get(kept.path) for kept in bucket.list(""))
        assert secret.decode() not in stopped.stderr


@pytest.mark.slow
def test_bucket_errors_have_hint(s3: Any, roaming: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = roaming("outline", "s3://nowhere/site").stderr
    assert "s3://nowhere/site: there is no bucket s3://nowhere; create it" in stderr
    assert "publishes no roaming/manifest.json" in roaming("outline", f"{s3.where}/none").stderr
    assert "no sites in it" in roaming("sites", f"{s3.where}/none").stderr
    s3.set_faults(after=0)
    assert "the credentials have expired" in roaming("outline", f"{s3.where}/site").stderr
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    stderr = roaming("search", s3.where, "words").stderr
    assert "no credentials in the environment; set AWS_ACCESS_KEY_ID" in stderr
    assert "not the address of a bucket" in roaming("outline", "s3://").stderr
    with pytest.raises(BucketError, match="GOOGLE_APPLICATION_CREDENTIALS"):
        open_bucket("gs://shelf")
    with pytest.raises(BucketError, match="AZURE_STORAGE_ACCOUNT_KEY"):
        open_bucket("az://shelf")


@pytest.mark.slow
def test_served_site_in_bucket_is_reloaded(many: Any, s3: Any, sites: Any) -> None:
    many(s3.where)
    deployments = SiteWatcher(f"{s3.where}/site-001")
    assert anyio.run(deployments.check)
    assert not anyio.run(deployments.check)
    first = deployments.now().digest
    sites.revision["127.0.1.1/b"] = 1
    many(s3.where, "--refresh-older-than", "0s")
    assert anyio.run(deployments.check)
    assert deployments.now().digest != first


@pytest.fixture
def no_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse hard links like exFAT."""

    def refuse(source: Any, target: Any) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted", str(source), None, str(target))

    monkeypatch.setattr(os, "link", refuse)


@pytest.mark.slow
@pytest.mark.usefixtures("no_links")
def test_create_is_exclusive_without_hard_links(tmp_path: Path) -> None:
    bucket = FolderBucket(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        for name in map(str, range(20)):
            made = list(pool.map(lambda one, name=name: bucket.create(name, b"%d" % one), range(8)))
            assert made.count(True) == 1
            assert bucket.get(name) == b"%d" % made.index(True)
    assert len(list(tmp_path.iterdir())) == 20


@pytest.mark.slow
@pytest.mark.parametrize("into", ["folder", "bucket"])
def test_full_disk_stops_run(
    into: str, sites: Any, tmp_path: Path, fast_options: tuple[str, ...], request: pytest.FixtureRequest
) -> None:
    sites.pages = 12
    store = str(tmp_path / "store") if into == "folder" else request.getfixturevalue("s3").where
    listing = sites.listing(tmp_path / "sites.txt", 3)
    command = [sys.executable, "-m", "mkdocs_roaming", "crawl", "--many", str(listing), "-o", store, *fast_options]
    command += ["--scratch", str(tmp_path / "scratch")]
    environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}  # else modules would be truncated
    full = subprocess.run(command, env=environ, capture_output=True, text=True, preexec_fn=_limit_file_size)
    assert full.returncode == 1
    assert "cannot be written to (File too large); fix that, and repeat the command" in full.stderr
    assert "failed" not in full.stderr
    assert "Traceback" not in full.stderr
    result = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert json.loads(result.stdout.splitlines()[-1])["new"] == 3
    assert not list(tmp_path.glob("scratch/*"))


@pytest.mark.slow
def test_scratch_folder_that_cannot_be_used_stops_run(
    sites: Any, tmp_path: Path, roaming: Any, s3: Any, fast_options: tuple[str, ...]
) -> None:
    (tmp_path / "file").touch()
    listing = sites.listing(tmp_path / "sites.txt", 1)
    result = roaming("crawl", "--many", listing, "-o", s3.where, *fast_options, "--scratch", tmp_path / "file/x")
    assert "file/x: cannot be written to (Not a directory)\n" in result.stderr


def _limit_file_size() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (3_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

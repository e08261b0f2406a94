"""A store may lie on a disk that can do less than those of this machine: without hard links, or without locks."""

from __future__ import annotations

import errno
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from roaming_fleet.buckets.base import BucketError
from roaming_fleet.buckets.folder import FolderBucket


@pytest.fixture
def no_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse hard links as exFAT does: such a disk can only be played, for to mount one takes rights."""

    def refuse(source: Any, target: Any) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted", str(source), None, str(target))

    monkeypatch.setattr(os, "link", refuse)


@pytest.fixture
def no_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse locks as some disks that several machines share do; played for the same reason."""

    def refuse(*_: Any) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", refuse)


@pytest.mark.usefixtures("no_links")
def test_sites_are_kept_without_hard_links(sites: Any, tmp_path: Path, roaming: Any, haste: tuple[str, ...]) -> None:
    """The first run makes the store, the second one finds it, and nothing half written is left."""
    command = ("crawl", "--many", sites.listing(tmp_path / "sites.txt", 2), "-o", tmp_path / "store", *haste)
    for told in ("  new          2\n", "  fresh        2\n"):
        done = roaming(*command)
        assert (done.exit_code, told in done.stdout) == (0, True), done.output
    assert (tmp_path / "store/.fleet/store.json").read_bytes() == b'{"version": 1}'
    assert not list((tmp_path / "store").rglob(".roaming-*"))


@pytest.mark.usefixtures("no_links")
def test_one_alone_creates_a_file_without_hard_links(tmp_path: Path) -> None:
    """Of several at once it is one's own, and holds what that one wrote."""
    bucket = FolderBucket(tmp_path)
    with ThreadPoolExecutor(8) as several:
        for name in map(str, range(20)):
            made = list(several.map(lambda one, name=name: bucket.create(name, b"%d" % one), range(8)))
            assert made.count(True) == 1
            assert bucket.get(name) == b"%d" % made.index(True)
    assert len(list(tmp_path.iterdir())) == 20


@pytest.mark.usefixtures("no_links")
def test_a_folder_that_cannot_be_written_to_is_told_without_hard_links(tmp_path: Path) -> None:
    """Where nothing can be made there either, that is told in a line."""
    with pytest.raises(BucketError, match=r"x: cannot be written \(File name too long\)"):
        FolderBucket(tmp_path).create("x" * 300, b"")


@pytest.mark.usefixtures("no_locks")
def test_a_disk_without_locks_is_told_at_once(sites: Any, tmp_path: Path, roaming: Any, haste: tuple[str, ...]) -> None:
    """Nobody waits for another process that there is not; for many sites, and for one."""
    listing = sites.listing(tmp_path / "sites.txt", 2)
    for more, lock in (
        (("--many", listing, "-o", tmp_path / "store"), tmp_path / "store/.fleet/locks/_catalogue"),
        ((sites.url(0), "-o", tmp_path / "one"), tmp_path / "one/.roaming/lock"),
    ):
        done = roaming("crawl", *more, *haste)
        assert done.stderr == (
            f"roaming: {lock}: this disk cannot lock files (Operation not supported); give a folder on another disk\n"
        )
    assert not sites.asked


@pytest.mark.usefixtures("no_locks")
def test_a_scratch_folder_without_locks_is_named(sites: Any, tmp_path: Path, roaming: Any, s3: Any, haste: Any) -> None:
    """Where sites are crawled for a bucket, it is that folder's disk that is told."""
    listing = sites.listing(tmp_path / "sites.txt", 1)
    done = roaming("crawl", "--many", listing, "-o", s3.where, *haste, "--scratch", tmp_path / "scratch")
    assert f"{tmp_path}/scratch/" in done.stderr
    assert "/lock: this disk cannot lock files (Operation not supported); give a folder on another" in done.stderr

"""Staging folders."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from mkdocs_roaming.errors import RoamingError
from roaming_fleet.buckets import BucketError
from roaming_fleet.lock import LockLostError
from roaming_fleet.sync import STALE_SECONDS, remove_stale_staging, staging_folder

pytestmark = pytest.mark.slow


def _leave_partial_crawl(store: str, scratch: Path) -> None:
    """Leave a partial crawl of a site."""
    with suppress(ZeroDivisionError), staging_folder(scratch, store, "site") as folder:
        folder.mkdir()
        (folder / "half").write_text("done")
        raise ZeroDivisionError


def test_staging_folder_is_kept_until_crawl_finishes(tmp_path: Path) -> None:
    _leave_partial_crawl("s3://one", tmp_path)
    with staging_folder(tmp_path, "s3://one", "site") as folder:
        assert (folder / "half").read_text() == "done"
    assert [path.name for path in tmp_path.rglob("*") if not path.is_dir()] == []


def test_processes_get_separate_staging_folders(tmp_path: Path) -> None:
    with (
        staging_folder(tmp_path, "s3://one", "site") as one,
        staging_folder(tmp_path, "s3://one", "site") as two,
        staging_folder(tmp_path, "s3://two", "site") as three,
    ):
        assert len({one, two, three}) == 3
        remove_stale_staging(tmp_path, time.time() + 2 * STALE_SECONDS)
        assert one.parent.is_dir()


def test_stale_staging_folders_are_removed(tmp_path: Path) -> None:
    for store in ("s3://one", "gs://two"):
        _leave_partial_crawl(store, tmp_path)
    remove_stale_staging(tmp_path)
    assert len(list(tmp_path.glob("*/site/site"))) == 2
    remove_stale_staging(tmp_path, time.time() + STALE_SECONDS + 60)
    assert list(tmp_path.glob("*/*")) == []
    remove_stale_staging(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("error", "kept"),
    [
        (RoamingError("none of its pages could be fetched"), False),
        (BucketError("the store is away"), True),
        (LockLostError("another process took it over"), True),
        (OSError("no space left"), True),
    ],
    ids=["site", "store", "lock", "disk"],
)
def test_failed_site_leaves_no_staging_folder(tmp_path: Path, error: Exception, kept: bool) -> None:
    with suppress(type(error)), staging_folder(tmp_path, "s3://one", "site") as folder:
        folder.mkdir()
        raise error
    assert bool(list(tmp_path.glob("*/site/site"))) is kept


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives folders away")
def test_scratch_folder_of_other_user_is_refused(tmp_path: Path) -> None:
    os.chown(tmp_path, 12345, 12345)
    with (
        pytest.raises(BucketError, match="belongs to another user; give your own folder with --scratch") as error,
        staging_folder(tmp_path, "s3://one", "site"),
    ):
        pass
    assert error.value.lasting


@pytest.mark.parametrize("into", ["folder", "bucket"])
def test_full_disk_stops_run(
    into: str, sites: Any, tmp_path: Path, fast_options: tuple[str, ...], request: pytest.FixtureRequest
) -> None:
    sites.pages = 12
    store = str(tmp_path / "store") if into == "folder" else request.getfixturevalue("s3").where
    listing = sites.listing(tmp_path / "sites.txt", 3)
    command = [sys.executable, "-m", "mkdocs_roaming", "crawl", "--many", str(listing), "-o", store, *fast_options]
    command += ["--scratch", str(tmp_path / "scratch")]
    full = subprocess.run(command, capture_output=True, text=True, preexec_fn=_limit_file_size)
    assert full.returncode == 1
    assert "cannot be written to (File too large); fix that, and repeat the command" in full.stderr
    assert "failed" not in full.stderr
    assert "Traceback" not in full.stderr
    result = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert json.loads(result.stdout.splitlines()[-1])["new"] == 3
    assert [path for path in (tmp_path / "scratch").rglob("*") if path.is_file()] == []


def _limit_file_size() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (3_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

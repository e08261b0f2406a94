"""Disks without hard links or locks, and full ones."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from roaming_fleet.buckets import FolderBucket

pytestmark = pytest.mark.slow


@pytest.fixture
def no_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse hard links like exFAT."""

    def refuse(source: Any, target: Any) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted", str(source), None, str(target))

    monkeypatch.setattr(os, "link", refuse)


@pytest.mark.usefixtures("no_links")
def test_create_is_exclusive_without_hard_links(tmp_path: Path) -> None:
    bucket = FolderBucket(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        for name in map(str, range(20)):
            made = list(pool.map(lambda one, name=name: bucket.create(name, b"%d" % one), range(8)))
            assert made.count(True) == 1
            assert bucket.get(name) == b"%d" % made.index(True)
    assert len(list(tmp_path.iterdir())) == 20


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


def test_scratch_folder_that_cannot_be_used_stops_run(
    sites: Any, tmp_path: Path, roaming: Any, s3: Any, fast_options: tuple[str, ...]
) -> None:
    (tmp_path / "file").touch()
    listing = sites.listing(tmp_path / "sites.txt", 1)
    result = roaming("crawl", "--many", listing, "-o", s3.where, *fast_options, "--scratch", tmp_path / "file/x")
    assert "file/x: cannot be written to (Not a directory)\n" in result.stderr


def _limit_file_size() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (3_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

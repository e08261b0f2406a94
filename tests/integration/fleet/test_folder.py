"""The folder of a store, and disks without space."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from roaming_fleet.folder import StoreError, StoreFileNotFoundError, StoreFolder


def test_files_of_store(tmp_path: Path) -> None:
    store = StoreFolder(tmp_path / "store")
    names = ["a/b.md", "a/c~d e+f'%41é[1]#.md", "a-b/x.md"]
    for name in names:
        store.put(name, name.encode())
        assert store.get(name) == name.encode()
    tags = {file.path: file.tag for file in store.list("a")}
    assert sorted(tags) == sorted(names[:2])
    store.put("a/b.md", b"3")
    assert next(file.tag for file in store.list("a") if file.path == "a/b.md") != tags["a/b.md"]
    store.delete(["a/b.md", "a/never"])
    with pytest.raises(StoreFileNotFoundError):
        store.get("a/b.md")
    with pytest.raises(StoreError, match="outside of the folder"):
        store.get("../secret")
    assert list(store.list("nothing")) == []


@pytest.mark.slow
def test_full_disk_stops_run(sites: Any, tmp_path: Path, fast_options: tuple[str, ...]) -> None:
    sites.pages = 12
    store = str(tmp_path / "store")
    listing = sites.listing(tmp_path / "sites.txt", 3)
    command = [sys.executable, "-m", "mkdocs_roaming", "crawl", "--many", str(listing), "-o", store, *fast_options]
    environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}  # else modules would be truncated
    full = subprocess.run(command, env=environ, capture_output=True, text=True, preexec_fn=_limit_file_size)
    assert full.returncode == 1
    assert "cannot be written to (File too large); fix that, and repeat the command" in full.stderr
    assert "failed" not in full.stderr
    assert "Traceback" not in full.stderr
    result = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert json.loads(result.stdout.splitlines()[-1])["new"] == 3


def _limit_file_size() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (3_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

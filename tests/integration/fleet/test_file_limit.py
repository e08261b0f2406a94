"""Limits of open files."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("hard", [150, 900])
def test_file_limit_is_raised_or_reported(hard: int, sites: Any, tmp_path: Path, fast_options: tuple[str, ...]) -> None:

    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (60, hard))

    sites.delay = 0.02
    listing = sites.listing(tmp_path / "sites.txt", 40)
    command = [sys.executable, "-m", "mkdocs_roaming", "crawl", "--many", str(listing), "-o", str(tmp_path / "store")]
    command += [*fast_options, "--at-once", "30", "--json"]
    result = subprocess.run(command, capture_output=True, text=True, preexec_fn=few)
    if hard == 150:
        assert result.returncode == 1
        assert result.stderr == (
            "roaming: --at-once: this process may open 150 files (`ulimit -n`); give --at-once 6, or raise the limit\n"
        )
        assert not sites.requests
    else:
        assert json.loads(result.stdout.splitlines()[-1])["new"] == 40

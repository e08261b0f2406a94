"""Runs stopped by signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Published = Callable[[Path], dict[str, bytes]]


@pytest.fixture
def command(sites: Any, tmp_path: Path, fast_options: tuple[str, ...]) -> list[str]:
    """Return the command that crawls eight slow sites."""
    sites.pages, sites.delay = 12, 0.05
    listing = sites.listing(tmp_path / "sites.txt", 8)
    store = str(tmp_path / "store")
    return [sys.executable, "-m", "mkdocs_roaming", "crawl", "--many", str(listing), "-o", store, *fast_options]


def _run_and_stop(command: list[str], sites: Any, signum: signal.Signals) -> str:
    """Start the command, stop it, and return its output when its last process has ended."""
    sites.requests.clear()
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, text=True, start_new_session=True, preexec_fn=_accept_hangup, **streams) as process:
        while sites.requests.total() < 20:
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signum)
        message, _ = process.communicate()
    with suppress(ProcessLookupError):
        while True:
            os.killpg(process.pid, 0)
            time.sleep(0.05)
    return message


def _accept_hangup() -> None:  # whether the signal is ignored is inherited, and the tests may run under nohup
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def _check_resume(command: list[str], sites: Any, tmp_path: Path, published: Published) -> None:
    """Check that the same command completes the run."""
    reports = [json.loads(file.read_text("utf-8")) for file in (tmp_path / "store/.fleet/runs").glob("*.json")]
    assert [report["stopped"] for report in reports] == ["interrupted; to continue, give the same command"]
    sites.delay = 0
    result = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    last = json.loads(result.stdout.splitlines()[-1])
    assert (last["new"] + last["fresh"], last["failed"]) == (8, 0)
    undisturbed = [str(tmp_path / "alone") if part == str(tmp_path / "store") else part for part in command]
    result = subprocess.run(undisturbed, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert published(tmp_path / "store") == published(tmp_path / "alone")


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signal_stops_run_in_threads(
    signum: signal.Signals, command: list[str], sites: Any, tmp_path: Path, published: Published
) -> None:
    message = _run_and_stop(command, sites, signum)
    assert message.splitlines()[-1] == "roaming: interrupted; to continue, give the same command"
    assert "Traceback" not in message
    _check_resume(command, sites, tmp_path, published)

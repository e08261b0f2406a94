"""A server that becomes quiet, one that does not, and none."""

import os
import socket
import sys
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).parents[2]))
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from ebbkeeper import EbbError
from support import Harbour, expect, run_check

NEVER = 10**9


def make_source(folder: Path) -> Path:
    source = folder / "basin"
    (source / "weir").mkdir(parents=True)
    (source / "weir/weir.2026-03-13.bsn").write_bytes(b"day")
    return source


def check_quiet(solution: ModuleType, folder: Path) -> None:
    with Harbour(slack_after=1) as harbour:
        solution.copy_when_quiet(harbour.url, make_source(folder), folder / "copy", 15.0)
        expect(harbour.looks > 1, "copied although readings were waiting")
        copied = folder / "copy/weir/weir.2026-03-13.bsn"
        expect(copied.is_file() and copied.read_bytes() == b"day", "the folder was not copied as it is")


def check_restless(solution: ModuleType, folder: Path) -> None:
    with Harbour(slack_after=NEVER) as harbour:
        start = time.monotonic()
        try:
            solution.copy_when_quiet(harbour.url, make_source(folder), folder / "copy", 1.0)
        except TimeoutError:
            expect(harbour.looks > 0, "TimeoutError without a look at the server")
        else:
            expect(False, "no TimeoutError although readings were still waiting after `patience` seconds")
        expect(0.5 < time.monotonic() - start < 4.5, "did not wait for `patience` seconds")
        expect(not (folder / "copy").exists(), "copied although readings were waiting")


def check_silent(solution: ModuleType, folder: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        try:
            solution.copy_when_quiet(
                f"http://127.0.0.1:{unused.getsockname()[1]}", make_source(folder), folder / "copy", 1.0
            )
        except EbbError:
            expect(not (folder / "copy").exists(), "copied without an answer of the server")
        else:
            expect(False, "no error although the server cannot be reached")


def check(solution: ModuleType) -> None:
    os.environ.pop("EBB_PILOT_TOKEN", None)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:
        cases = (check_quiet, check_restless, check_silent)
        for result in [pool.submit(case, solution, Path(folder) / case.__name__) for case in cases]:
            result.result()


run_check(check)

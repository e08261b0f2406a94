"""Run the check of one task: `python check.py SOLUTION.py`."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

TIME_LIMIT = 20.0  # seconds for the whole check
MAX_REASON = 300  # characters


class WrongAnswerError(Exception):
    """A solution does not do what its task asks for."""


def expect(condition: bool, reason: str) -> None:
    """Raise `WrongAnswerError` with `reason` unless the condition holds."""
    if not condition:
        raise WrongAnswerError(reason)


def expect_close(value: object, expected: float, what: str, tolerance: float = 1e-6) -> None:
    """Compare a number with the expected one."""
    expect(isinstance(value, int | float) and not isinstance(value, bool), f"{what}: expected a number, got {value!r}")
    assert isinstance(value, int | float)
    expect(abs(value - expected) <= tolerance, f"{what}: expected {expected:.6g}, got {value:.6g}")


def load_module(path: Path) -> ModuleType:
    """Import the solution from its file."""
    spec = importlib.util.spec_from_file_location("solution", path)
    if spec is None or spec.loader is None:
        raise WrongAnswerError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules["solution"] = module
    spec.loader.exec_module(module)
    return module


def find_reason(check: Callable[[ModuleType], None], path: Path) -> str | None:
    """Check one solution, and return what is wrong in one line, or None."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            check(load_module(path))
    except WrongAnswerError as error:
        reason = str(error)
    except BaseException as error:  # also SystemExit: a solution may call sys.exit
        reason = f"{type(error).__name__}: {error}"
    else:
        return None
    return " ".join(reason.split())[:MAX_REASON]


def run_check(check: Callable[[ModuleType], None]) -> None:
    """Check the solution that the command line names, and exit with 0 or 1.

    Args:
        check: Raises an exception when the solution is wrong.
    """
    reasons: list[str | None] = [f"not finished after {TIME_LIMIT:.0f} s"]

    def work() -> None:
        reasons[0] = find_reason(check, Path(sys.argv[1]))

    output = sys.stdout
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(TIME_LIMIT)
    if reasons[0] is not None:
        print(reasons[0], file=output, flush=True)
    # Threads and sockets that a solution left open must not keep the process alive.
    os._exit(0 if reasons[0] is None else 1)

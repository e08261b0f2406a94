"""CPU time in units that depend little on how fast and how busy a machine is."""

from __future__ import annotations

import time
from collections.abc import Callable


def count_milliseconds(run: Callable[[], object], runs: int = 5) -> float:
    """Return the least CPU time of some runs, in units of a loop that takes a millisecond on an idle machine."""
    pairs = [(_measure(run), _measure(_loop)) for _ in range(runs)]
    return min(one for one, _ in pairs) / min(unit for _, unit in pairs)


def _measure(run: Callable[[], object]) -> float:
    began = time.process_time()
    run()
    return time.process_time() - began


def _loop() -> int:
    return sum(number * number for number in range(17_000))

"""The CPU time of cached answers."""

from __future__ import annotations

import pytest
from endpoint.cpu import measure_cached
from endpoint.site import build_site


@pytest.mark.slow
def test_kept_answer_costs_at_most_2_2_times_a_bare_stream() -> None:
    with build_site() as folder:
        bare, cached = measure_cached(folder)
    print(f"bare stream {1000 * bare:.2f} ms, cached answer {1000 * cached:.2f} ms: {cached / bare:.2f} times")
    assert cached <= 2.2 * bare

"""Memory use with compression bombs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Bomb = Callable[..., bytes]
MEGABYTES = 400
_MEASURE = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024, status)
"""


def _measure_peak(url: str, folder: Path) -> int:
    """Return the peak memory of a crawl in MB, measured in its own process."""
    options = ["--allow-private", "--delay", "0", "--workers", "0"]
    command = [sys.executable, "-m", "mkdocs_roaming", "crawl", url, "-o", str(folder), *options]
    shown = subprocess.run([sys.executable, "-c", _MEASURE, *command], capture_output=True, text=True, check=True)
    peak, status = map(int, shown.stdout.split())
    assert status == 0, shown.stderr
    return peak


LISTS = ("/llms.txt", "/llms-full.txt", "/sitemap.xml", "/roaming/manifest.json")


@pytest.mark.parametrize(("bombs", "limit"), [(("/p0/", "/p1/", "/p2/", "/p3/", "/p4.md"), 40), (LISTS, 200)])
def test_crawl_stops_decompressing_at_limit(
    bombs: tuple[str, ...], limit: int, site: Any, tmp_path: Path, bomb: Bomb
) -> None:
    pages = tuple(f"/p{at}/" for at in range(6))
    site.page("/", "Home", links=pages)
    for path in pages:
        site.page(path, f"Page {path[2]}")
    without = _measure_peak(site.url, tmp_path / "without")
    for path in bombs:
        site.put(path, bomb(MEGABYTES), headers={"Content-Encoding": "gzip"}, etag=False)
    with_bombs = _measure_peak(site.url, tmp_path / "with")
    print(f"{without} MB without, {with_bombs} MB with")
    assert with_bombs < without + limit

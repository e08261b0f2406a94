"""Conversions of earlier builds."""

from __future__ import annotations

from pathlib import Path

from .conftest import HOME, INSTALL, publish_pages


def test_cache_ignores_invalid_files_and_deletes_stale_ones(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    publish_pages(tmp_path / "a", HOME, INSTALL, cache=cache)
    for file in cache.iterdir():
        file.write_text('{"key": 1}')
    report, _ = publish_pages(tmp_path / "a", HOME, cache=cache)
    assert report.reused == 0
    assert len(list(cache.iterdir())) == 1

"""Ids and paths as models write them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from roaming_fleet.tools import resolve_site

KNOWN: Any = SimpleNamespace(keys=("boats", "ships"), find_key=str.lower)


@pytest.mark.parametrize(
    "path", ["2026/08/pumps/", "2026/", "feed/", "cafe.md", "20260812-pumps/", "dead_ends.md#a", "#2026-08", "ab/"]
)
def test_resolve_site_accepts_path(path: str) -> None:
    assert resolve_site(KNOWN, f"Ships:{path}") == ("ships", path)


@pytest.mark.parametrize("spelling", ["{}", "{}.", "{}...", "{}] Pumps", "{}#pumps", "{}, and more", "{} — Pumps"])
def test_resolve_site_ignores_text_after_id(spelling: str) -> None:
    assert resolve_site(KNOWN, spelling.format("Ships:07F3277D")) == ("ships", "ships:07f3277d")

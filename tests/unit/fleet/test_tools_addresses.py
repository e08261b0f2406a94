"""Which site an id is about, and what of it, where several readings are possible."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from roaming_fleet.tools import resolve_site

KNOWN: Any = SimpleNamespace(keys=("boats", "ships"))


@pytest.mark.parametrize(
    "path", ["2026/08/pumps/", "2026/", "feed/", "cafe.md", "20260812-pumps/", "dead_ends.md#a", "#2026-08", "ab/"]
)
def test_a_path_of_a_site_is_no_id(path: str) -> None:
    """Be its beginning made of the same letters as ids are: the path is what is looked for."""
    assert resolve_site(KNOWN, f"Ships:{path}") == ("ships", path)


@pytest.mark.parametrize("spelt", ["{}", "{}.", "{}...", "{}] Pumps", "{}#pumps", "{}, and more", "{} — Pumps"])
def test_what_stands_behind_an_id_does_not_count(spelt: str) -> None:
    """A full stop, a title, an anchor."""
    assert resolve_site(KNOWN, spelt.format("Ships:07F3277D")) == ("ships", "ships:07f3277d")

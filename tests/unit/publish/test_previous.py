"""The site as it was published last, from a folder or a URL."""

from __future__ import annotations

from pathlib import Path

import pytest
from dripping import BODY, HEADERS, dripping

from mkdocs_roaming.manifest.io import load_manifest
from mkdocs_roaming.manifest.models import Page
from mkdocs_roaming.publish.previous import read_previous

from .conftest import INSTALL, publish_pages


def test_renamed_heading_keeps_old_id_as_alias(tmp_path: Path) -> None:
    publish_pages(tmp_path / "a", INSTALL)
    old = load_manifest((tmp_path / "a/roaming/manifest.json").read_bytes()).pages[0].sections[1].id
    renamed = Page("guide/install/", "Install", INSTALL.article.replace('id="quiet">Quiet', 'id="hush">Hushed'))
    previous = read_previous("a", tmp_path, print)
    publish_pages(tmp_path / "b", renamed, previous=previous)
    assert "## Hushed mode" in (tmp_path / f"b/roaming/sections/{old}.md").read_text()


def test_read_previous_warns_when_manifest_is_missing(tmp_path: Path) -> None:
    warnings: list[str] = []
    assert read_previous("nowhere", tmp_path, warnings.append) is None
    assert read_previous("http://127.0.0.1:9/", tmp_path, warnings.append) is None
    assert len(warnings) == 2
    assert "old ids of renamed sections get no aliases" in warnings[0]


OTHER_PROTOCOL = (b"220 mail.example ESMTP\r\n", b"?")


@pytest.mark.parametrize("drops", [HEADERS, BODY, OTHER_PROTOCOL], ids=["headers", "body", "no HTTP"])
def test_read_previous_stops_slow_server_at_time_limit(tmp_path: Path, drops: tuple[bytes, bytes]) -> None:
    warnings: list[str] = []
    with dripping(*drops) as address:
        assert read_previous(address, tmp_path, warnings.append, seconds=1.5) is None
    assert warnings == [
        f"previous: {address}roaming/manifest.json: no complete response within 1.5 seconds; try again later; "
        "old ids of renamed sections get no aliases"
    ]

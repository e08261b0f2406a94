"""The label of a site of a store, which precedes everything that is read from it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from mkdocs_roaming.library.targets import PackageInfo, SiteInfo

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
AT = 1_795_219_200.0  # 2026-11-21


@pytest.mark.parametrize(("package", "label"), TABLES["labels"])
def test_label_names_version_and_origin(package: list[str], label: str) -> None:
    assert SiteInfo("docs", "Docs", AT, PackageInfo(*package) if package else None).label == label

"""The file of sites."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from mkdocs_roaming.errors import UsageError
from roaming_fleet.job import SiteSpec
from roaming_fleet.run import group_by_host, read_sites_file

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def test_sites_file_lines(tmp_path: Path) -> None:
    file = tmp_path / "sites.txt"
    file.write_text(TABLES["sites_file"])
    found = [[site.key, site.url] for site in read_sites_file(file)]
    assert found == TABLES["sites_file_lines"]


@pytest.mark.parametrize(("text", "message"), TABLES["sites_file_error_contains_line_number"])
def test_sites_file_error_contains_line_number(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "sites.txt"
    file.write_text(text)
    with pytest.raises(UsageError) as error:
        read_sites_file(file)
    assert str(error.value).startswith(f"{file}{message}")
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(("sites", "homes", "groups"), TABLES["group_by_host"])
def test_group_by_host(sites: list[list[str]], homes: dict[str, str], groups: list[list[str]]) -> None:
    found = group_by_host([SiteSpec(url, key) for key, url in sites], homes)
    assert [[site.key for site in group] for group in found] == groups

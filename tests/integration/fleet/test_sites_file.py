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
    (tmp_path / "built site").mkdir()
    file = tmp_path / "sites.txt"
    file.write_text(TABLES["sites_file"].replace("ROOT", str(tmp_path)))
    found = [[site.key, site.url.replace(str(tmp_path), "ROOT")] for site in read_sites_file(file)]
    assert found == TABLES["sites_file_lines"]


@pytest.mark.parametrize(("text", "message"), TABLES["sites_file_error_contains_line_number"])
def test_sites_file_error_contains_line_number(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "sites.txt"
    file.write_text(text.replace("LONG", "a" * 300))
    with pytest.raises(UsageError) as error:
        read_sites_file(file)
    assert str(error.value).startswith(f"{file}{message}".replace("LONG", "a" * 199))
    assert "secret" not in str(error.value)


def test_sites_file_accepts_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "my docs"
    folder.mkdir()
    (folder / "llms.txt").write_text("# ours\n\n- [one](https://docs.example.com/one/)\n")
    (tmp_path / "link").symlink_to(folder)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "sites.txt"
    there = folder.as_posix().replace(" ", "%20")
    for named in ("'~/my docs'", "'my docs'", "link", f"file:{there}", f"file://{there}", f"file://localhost{there}/"):
        file.write_text(f"{named} ours\n")
        assert read_sites_file(file) == (SiteSpec(str(folder), "ours"),), named
        file.write_text(f"{named.rstrip(chr(39))}/llms.txt{chr(39) * named.endswith(chr(39))} ours\n")
        assert read_sites_file(file) == (SiteSpec(str(folder / "llms.txt"), "ours"),), named


@pytest.mark.parametrize(("sites", "homes", "groups"), TABLES["group_by_host"])
def test_group_by_host(sites: list[list[str]], homes: dict[str, str], groups: list[list[str]]) -> None:
    found = group_by_host([SiteSpec(url, key) for key, url in sites], homes)
    assert [[site.key for site in group] for group in found] == groups

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
    file.write_text(
        "# ours\n\nhttps://Docs.Example.com/guide/ # the guide\nhttps://www.example.org/ other\n"
        f"'{tmp_path}/built site'\nhttps://docs.example.com:8443/api/#top\n"
    )
    assert [(site.key, site.url) for site in read_sites_file(file)] == [
        ("docs.example.com-guide", "https://docs.example.com/guide/"),
        ("other", "https://www.example.org/"),
        ("built-site", str(tmp_path / "built site")),
        ("docs.example.com-8443-api", "https://docs.example.com:8443/api/"),
    ]


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


def test_group_by_host_groups_sites(tmp_path: Path) -> None:
    file = tmp_path / "sites.txt"
    file.write_text(
        "https://a.example/x/\nhttps://b.example/\nhttps://WWW.A.example:443/y/ y\nhttps://a.example:8443/\n"
        f"http://a.example/z/\n{tmp_path} here\n"
    )
    assert [[site.key for site in group] for group in group_by_host(read_sites_file(file))] == [
        ["a.example-x", "y", "a.example-z"],
        ["b.example"],
        ["a.example-8443"],
        ["here"],
    ]


def test_group_by_host_uses_homes() -> None:
    sites = [SiteSpec(f"https://{name}.example/", name) for name in "abcde"] + [SiteSpec("/srv/f", "f")]
    homes = {
        "a": "https://docs.one.example/a/",
        "b": "https://b.example/",
        "c": "https://www.docs.one.example/c/",
        "d": "https://b.example/d/",
        "f": "file:///srv/f/",
    }
    assert [[site.key for site in group] for group in group_by_host(sites, homes)] == [
        ["a", "c"],
        ["b", "d"],
        ["e"],
        ["f"],
    ]

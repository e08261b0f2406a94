"""The file of sites."""

from __future__ import annotations

from pathlib import Path

import pytest

from mkdocs_roaming.errors import UsageError
from roaming_fleet.job import SiteSpec
from roaming_fleet.run import group_by_host, read_sites_file


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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("https://a.example/\nhttps://A.example/\n", ":2: https://a.example/ is in line 1 already"),
        ("https://a.example/ one\nhttps://b.example/ one\n", ":2: one is in line 1 already"),
        ("https://a.example/x/y/\nhttps://a.example/x-y/\n", ":2: a.example-x-y is in line 1 already"),
        ("https://a.example/ One Two\n", ":1: 3 words"),
        ("https://a.example/ ../up\n", ":1: invalid name '../up'"),
        ("https://a.example/ .fleet\n", ":1: invalid name '.fleet'"),
        ("https://me:secret@a.example/\n", ":1: contains a password"),
        ("ftp://a.example/\n", ":1: ftp://a.example/: unsupported URL scheme"),
        ("ftp://bob:secret@a.example/\n", ":1: contains a password"),
        ("nothing-here\n", ":1: nothing-here: neither a URL"),
        ("'https://a.example/\n", ":1: no closing quotation"),
        ("# nothing\n", ": lists no site"),
        (f"# first\n/{'a' * 300}\n", f":2: /{'a' * 199}: cannot be accessed (File name too long); give another path"),
        ("~nobody-here/docs\n", ":1: ~nobody-here/docs: cannot be accessed (Could not determine home directory)"),
        ("''\n", ":1: '': names nothing; give a URL"),
        ("file: name\n", ":1: 'file:': names nothing; give a URL"),
        ("file://[::1/docs\n", ":1: file://[::1/docs: cannot be accessed (Invalid IPv6 URL)"),
    ],
)
def test_sites_file_error_contains_line_number(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "sites.txt"
    file.write_text(text)
    with pytest.raises(UsageError) as error:
        read_sites_file(file)
    assert str(error.value).startswith(f"{file}{message}")
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

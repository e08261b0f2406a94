"""Writes, and paths inside a folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mkdocs_roaming.errors import PublishError
from mkdocs_roaming.files import write_atomically, write_site_file
from mkdocs_roaming.publish.ownership import PublishedFiles


@pytest.mark.parametrize("path", ["../x", "a/../../x", "a/.../../../../x", "/etc/x", "a\0b", ".."])
def test_write_site_file_rejects_path_outside_folder(tmp_path: Path, path: str) -> None:
    with pytest.raises(PublishError, match="outside of"):
        write_site_file(tmp_path / "site", path, b"x")


@pytest.mark.parametrize("path", ["index.md", "a/b/c.md", "a/.well-known/x", "führer/a b.md", "a//b.md"])
def test_write_site_file_creates_replaces_and_skips_unchanged_files(tmp_path: Path, path: str) -> None:
    assert write_site_file(tmp_path, path, b"x")
    assert not write_site_file(tmp_path, path, b"x")
    assert write_site_file(tmp_path, path, lambda: [b"y", b"z"])
    assert not write_site_file(tmp_path, path, lambda: [b"yz"])
    assert (tmp_path / path).read_bytes() == b"yz"
    assert write_site_file(tmp_path, path, lambda: [b"y"])
    assert [found for found in tmp_path.rglob("*") if found.is_file()] == [tmp_path / path]


def test_file_that_cannot_be_completed_stays_as_it_was(tmp_path: Path) -> None:
    write_site_file(tmp_path, "a.md", b"before")

    def fail() -> Iterator[bytes]:
        yield b"x"
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        write_site_file(tmp_path, "a.md", fail)
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("a.md", b"before")]


def test_errors_name_the_file_or_folder_and_no_temporary_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "roaming").symlink_to("roaming")
    for write, named in (
        (lambda: write_atomically(tmp_path / "folder", b"x"), "folder"),
        (lambda: PublishedFiles(tmp_path).start(b"{}"), "roaming"),
    ):
        with pytest.raises(OSError, match=named) as caught:
            write()
        assert caught.value.filename == str(tmp_path / named)


def test_write_site_file_replaces_symbolic_link_and_not_its_target(tmp_path: Path) -> None:
    outside, site = tmp_path / "outside.md", tmp_path / "site"
    site.mkdir()
    for name in ("dangling.md", "link.md"):
        (site / name).symlink_to(outside)
        write_site_file(site, name, b"x")
        assert not outside.exists() or outside.read_bytes() == b"theirs"
        assert not (site / name).is_symlink()
        outside.write_bytes(b"theirs")

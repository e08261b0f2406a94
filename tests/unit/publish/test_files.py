"""Atomic writes, and paths inside a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from mkdocs_roaming.errors import PublishError
from mkdocs_roaming.publish.files import resolve_inside, write_atomically


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/x", "a\0b"])
def test_resolve_inside_rejects_path_outside_folder(tmp_path: Path, path: str) -> None:
    with pytest.raises(PublishError, match="outside of"):
        resolve_inside(tmp_path / "site", path)


def test_write_atomically_skips_unchanged_content_and_leaves_no_temporary_file(tmp_path: Path) -> None:
    file = tmp_path / "a/b.txt"
    assert write_atomically(file, b"x")
    assert not write_atomically(file, b"x")
    assert write_atomically(file, b"y")
    assert [found.name for found in (tmp_path / "a").iterdir()] == ["b.txt"]

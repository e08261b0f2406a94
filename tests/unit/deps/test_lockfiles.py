"""Lock files of projects: the packages in use, and whether they changed."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from shutil import copytree

import pytest

from mkdocs_roaming.errors import UsageError
from roaming_deps.lockfiles import read_dependencies
from roaming_deps.project import MAX_BYTES, Project, locks_changed

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

LOCKS = Path(__file__).parents[2] / "golden/locks"


@pytest.mark.parametrize("folder", sorted(LOCKS.iterdir()), ids=lambda folder: folder.name)
def test_packages_of_a_lock_file_have_version_and_origin(folder: Path) -> None:
    """UPDATE=1 writes the packages."""
    file = folder / "expected.json"
    expected = json.loads(file.read_text()) if file.exists() else {}
    found, digests = read_dependencies(folder, installed=expected.get("installed", {}))
    packages = [
        " ".join(
            [one.ecosystem, one.name, one.version or "-", "direct" if one.direct else "indirect", one.spec]
        ).strip()
        for one in found
    ]
    if os.environ.get("UPDATE"):
        expected |= {"packages": packages, "files": sorted(digests)}
        file.write_text(json.dumps(expected, indent=1) + "\n")
    assert packages == expected["packages"]
    assert sorted(digests) == expected["files"]


def test_project_without_lock_file_names_those_that_are_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no lock file; looked for uv\.lock, .*requirements\*\.txt.*pnpm-lock\.yaml"):
        read_dependencies(tmp_path, installed={})


@pytest.mark.parametrize(("name", "text"), TABLES["damaged_lock_file_is_named"])
def test_damaged_lock_file_is_named(name: str, text: str, tmp_path: Path) -> None:
    _check_damaged(tmp_path / name, text.encode())


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("package-lock.json", b"[" * 100_000),
        ("pnpm-lock.yaml", b"- " * 100_000),
        ("requirements.txt", b"\xff"),
        ("uv.lock", b" " * (MAX_BYTES + 1)),
    ],
)
def test_lock_file_that_cannot_be_read_is_named(name: str, data: bytes, tmp_path: Path) -> None:
    _check_damaged(tmp_path / name, data)


def _check_damaged(file: Path, data: bytes) -> None:
    file.write_bytes(data)
    with pytest.raises(UsageError, match=rf"{file.name}: cannot be read \(.{{5,130}}\); write it again"):
        read_dependencies(file.parent, installed={})


def test_other_content_of_a_lock_file_is_a_change(tmp_path: Path) -> None:
    root = tmp_path / "project"
    copytree(LOCKS / "uv-1", root)
    project = Project(str(root), read_dependencies(root, installed={})[1], (), 0.0)
    assert not locks_changed(project)
    with (root / "uv.lock").open("a") as file:
        file.write("# another formatting\n")
    assert locks_changed(project)
    (root / "uv.lock").unlink()
    assert locks_changed(project)


def test_package_of_another_registry_than_most_is_marked(tmp_path: Path) -> None:
    """The user's index may have another package with its name."""
    for name, text in TABLES["registries"].items():
        (tmp_path / name).write_text(text)
    found, _ = read_dependencies(tmp_path, installed={})
    assert [(one.name, one.version) for one in found if one.spec] == [("swirl", "1.0"), ("@own/tide", "1.0.0")]


@pytest.mark.parametrize(("version", "expected"), TABLES["version_of_a_lock_file_contains_no_sentence"])
def test_version_of_a_lock_file_contains_no_sentence(version: str, expected: str, tmp_path: Path) -> None:
    packages = {"node_modules/kite": {"version": version}}
    (tmp_path / "package-lock.json").write_text(json.dumps({"packages": packages}))
    found, _ = read_dependencies(tmp_path, installed={})
    assert [one.version for one in found] == ([] if expected == "no package" else [expected])


def test_names_that_no_registry_accepts_are_left_out(tmp_path: Path) -> None:
    names = ["k" * 214, "k" * 215, f"@kite/{'k' * 208}", f"@kite/{'k' * 209}"]
    packages = {f"node_modules/{name}": {"version": "1.0"} for name in names}
    (tmp_path / "package-lock.json").write_text(json.dumps({"packages": packages}))
    (tmp_path / "requirements.txt").write_text(f"{'p' * 214}\n{'p' * 215}\n")
    found, _ = read_dependencies(tmp_path, installed={})
    assert {one.name for one in found} == {names[0], names[2], "p" * 214}


def test_nested_aliases_of_yaml_take_no_time(tmp_path: Path) -> None:
    bomb = "".join(f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 9)}]\n" for at in range(1, 40))
    text = f"a0: &a0 [x]\n{bomb}dependencies:\n  kite: {{version: *a39}}\n  pump: {{version: 1.0.0}}\n"
    (tmp_path / "pnpm-lock.yaml").write_text(text)
    assert [one.name for one in read_dependencies(tmp_path, installed={})[0]] == ["pump"]

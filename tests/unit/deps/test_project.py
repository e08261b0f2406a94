"""The project whose dependencies' documentation is read: folder, settings, stored result."""

import os
import re
import tomllib
from pathlib import Path

import pytest

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.targets import PackageInfo
from roaming_deps.project import (
    Dependency,
    DepsSettings,
    PackageDocs,
    Project,
    find_root,
    load_deps_settings,
    load_project,
    locks_changed,
    project_folder,
    save_project,
)

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

needs_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
KITE = PackageDocs(PackageInfo("kite", "3.1.4", "3.1", "version"), "kite", "python", True, "docs.kite.example-3.1")


@pytest.mark.parametrize(
    ("files", "start", "root"), TABLES["root_is_the_nearest_folder_with_a_lock_file_in_the_repository"]
)
def test_root_is_the_nearest_folder_with_a_lock_file_in_the_repository(
    tmp_path: Path, files: tuple[str, ...], start: str, root: str
) -> None:
    for name in (*files, f"{start}/code.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert find_root(tmp_path / start) == tmp_path / root


@pytest.mark.parametrize("is_foreign", [False, pytest.param(True, marks=needs_root)])
def test_root_is_no_folder_of_other_users(tmp_path: Path, is_foreign: bool) -> None:
    folder = tmp_path / "shared" / "project"
    folder.mkdir(parents=True)
    (tmp_path / "shared" / "uv.lock").touch()
    if is_foreign:
        os.chown(tmp_path / "shared", 1234, -1)
    else:
        (tmp_path / "shared").chmod(0o1777)
    assert find_root(folder) == folder


def test_settings_are_read_from_pyproject(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(TABLES["pyproject"])
    sites = {"kite": "https://kite.example/{version}/"}
    assert load_deps_settings(tmp_path) == DepsSettings(("numpy",), ("types-*",), sites)


def test_settings_are_read_from_package_json_of_a_project_without_pyproject(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"roaming": {"deps": {"exclude": ["left-pad"]}}}')
    assert load_deps_settings(tmp_path).exclude == ("left-pad",)


@pytest.mark.parametrize(("text", "message"), TABLES["wrong_setting_is_named_with_its_file"])
def test_wrong_setting_is_named_with_its_file(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text.replace("DEEP", "[" * 100_000))
    with pytest.raises(UsageError, match=message):
        load_deps_settings(tmp_path)


@pytest.mark.parametrize("name", ["pyproject.toml", "package.json"])
def test_settings_are_read_from_regular_files_only(tmp_path: Path, name: str) -> None:
    (tmp_path / name).symlink_to("/dev/zero")  # it never ends
    assert load_deps_settings(tmp_path) == DepsSettings()


def test_lock_file_that_became_too_large_counts_as_changed(tmp_path: Path) -> None:
    with (tmp_path / "uv.lock").open("wb") as file:
        file.truncate(1 << 40)
    assert locks_changed(Project(str(tmp_path), {"uv.lock": "0" * 64}, (), 0.0))


@pytest.mark.parametrize("url", TABLES["site_in_the_settings_that_is_no_url_is_named_with_its_file"])
def test_site_in_the_settings_that_is_no_url_is_named_with_its_file(tmp_path: Path, url: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f'[tool.roaming.deps.sites]\nkite = "{url}"')
    message = rf"pyproject\.toml: \[tool\.roaming\.deps\]: sites\.kite: give a URL that starts with https://, not '{re.escape(url)}'"
    with pytest.raises(UsageError, match=message):
        load_deps_settings(tmp_path)


def test_saved_project_is_loaded_again(tmp_path: Path) -> None:
    root = tmp_path / "project"
    project = Project(str(root), {"uv.lock": "0" * 64}, (KITE,), 1.0)
    save_project(tmp_path / "data", project)

    assert load_project(tmp_path / "data", root) == project
    assert load_project(tmp_path / "data", tmp_path / "other") is None


def test_damaged_result_counts_as_none(tmp_path: Path) -> None:
    save_project(tmp_path, Project("/project", {}, (KITE,), 1.0))
    (project_folder(tmp_path, Path("/project")) / "project.json").write_text('{"root": 1')
    assert load_project(tmp_path, Path("/project")) is None


@pytest.mark.parametrize(("name", "is_direct", "is_wanted"), TABLES["settings_name_packages_in_any_spelling"])
def test_settings_name_packages_in_any_spelling(name: str, is_direct: bool, is_wanted: bool) -> None:
    settings = DepsSettings(add=("Python_DateUtil", "@tea/swirl"), exclude=("types_*", "Old.Tide"))
    assert settings.is_wanted(Dependency(name, "python", "1", is_direct)) is is_wanted

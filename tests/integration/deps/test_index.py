"""Metadata of packages that are not installed, read with pip and npm from a local index."""

from __future__ import annotations

import json
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from wheels import write_wheel

from roaming_deps.addresses import read_index
from roaming_deps.project import Dependency

needs_pip = pytest.mark.skipif(not (find_spec("pip") or shutil.which("pip")), reason="pip is not installed")
needs_npm = pytest.mark.skipif(not shutil.which("npm"), reason="npm is not installed")


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "wheels"
    folder.mkdir()
    write_wheel(folder, "kite", "3.1.4", None, urls={"Documentation": "https://kite.example/3.1/"})
    write_wheel(folder, "kite", "3.2", None, urls={"Documentation": "https://kite.example/3.2/"})
    write_wheel(folder, "Ebb-Client", "4.2.0", None, urls={"Homepage": "https://ebb.example/"})
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def python(name: str, version: str, spec: str = "") -> Dependency:
    return Dependency(name, "python", version, True, spec)


@needs_pip
@pytest.mark.slow
def test_metadata_of_the_wanted_version_are_read_from_the_index(wheels: Path) -> None:
    found = read_index([python("kite", "3.1.4"), python("ebb-client", "")])
    assert found["kite"].version == "3.1.4"
    assert found["kite"].urls["Documentation"] == "https://kite.example/3.1/"
    assert found["ebb-client"].version == "4.2.0"
    assert found["ebb-client"].imports == ("ebb_client",)


@pytest.mark.slow
@needs_pip
def test_unknown_package_does_not_hide_the_others(wheels: Path) -> None:
    found = read_index([python("swirl", "1.0"), python("kite", "3.2"), python("ebb-client", "9")])
    assert set(found) == {"kite"}


@pytest.fixture
def index(web: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A web whose host 9.1 is the index of pip and npm."""
    url = web.url("9.1")
    pip = {"PIP_CONFIG_FILE": "/dev/null", "PIP_INDEX_URL": url, "PIP_TRUSTED_HOST": "127.0.9.1"}
    npm = {"npm_config_registry": url, "npm_config_cache": str(tmp_path / "cache"), "npm_config_fetch_retries": "0"}
    for name, value in {**pip, **npm}.items():
        monkeypatch.setenv(name, value)
    return web


@pytest.mark.slow
@needs_pip
def test_pip_is_not_called_again_if_the_index_is_unreachable(index: Any) -> None:
    index.down.add("9.1")
    assert read_index([python(f"kite{number}", "1.0") for number in range(30)]) == {}
    assert 1 <= index.requests.total() <= 8  # of four processes, which try twice


@pytest.mark.slow
@needs_pip
def test_source_distribution_is_not_built(wheels: Path, tmp_path: Path) -> None:
    source = tmp_path / "swirl-1.0"
    source.mkdir()
    marker = tmp_path / "executed"
    (source / "setup.py").write_text(f"open({str(marker)!r}, 'w')\n")
    (source / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: swirl\nVersion: 1.0\n")
    shutil.make_archive(str(wheels / "swirl-1.0"), "gztar", tmp_path, "swirl-1.0")
    assert read_index([python("swirl", "1.0")]) == {}
    assert not marker.exists()


@pytest.mark.slow
@needs_pip
def test_pip_loads_no_module_of_the_project(wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project, marker = tmp_path / "project", tmp_path / "executed"
    project.mkdir()
    for module in ("pip", "json", "usercustomize"):
        (project / f"{module}.py").write_text(f"open({str(marker)!r}, 'w')\n")
    monkeypatch.chdir(project)
    assert set(read_index([python("kite", "3.2")])) == {"kite"}
    assert not marker.exists()


@needs_pip
@pytest.mark.parametrize("spec", ["git", "registry"])
def test_packages_from_elsewhere_are_not_asked_for(wheels: Path, spec: str) -> None:
    assert read_index([python("kite", "3.1.4", spec)]) == {}


@pytest.mark.slow
@needs_npm
def test_metadata_of_npm_packages_are_read_from_the_registry(index: Any) -> None:
    name, repository = "@tide/table", "git+https://github.com/wind/table.git"
    entry = {
        "name": name,
        "repository": {"type": "git", "url": repository},
        "dist": {"tarball": index.url("9.1", "/x")},
    }
    versions = {
        version: {**entry, "version": version, "homepage": f"https://table.example/{version}/"}
        for version in ("12.0.1", "13.0.0")
    }
    body = json.dumps({"name": name, "dist-tags": {"latest": "13.0.0"}, "versions": versions})
    index.put("9.1", "/@tide%2ftable", body)
    found = read_index([Dependency(name, "npm", "12.0.1", True), Dependency("unknown", "npm", "1.0.0", True)])
    assert set(found) == {"npm:@tide/table"}
    assert found["npm:@tide/table"].version == "12.0.1"
    assert found["npm:@tide/table"].urls == {"homepage": "https://table.example/12.0.1/", "repository": repository}

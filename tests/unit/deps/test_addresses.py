"""Addresses of packages' documentation: those in metadata, guesses, and their verification."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import msgspec
import pytest
from wheels import write_wheel

from roaming_crawler.parser import ParsedPage
from roaming_deps.addresses import (
    Metadata,
    find_addresses,
    find_documentation_link,
    metadata_key,
    names_package,
    read_environment,
)
from roaming_deps.project import Dependency, DepsSettings

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

CASES = tomllib.loads((Path(__file__).parents[2] / "golden/deps-addresses.toml").read_text())["case"]
KITE = Metadata("kite", "3.1", {"Source": "https://github.com/Wind/kite"}, ("kite", "kite_line"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_addresses_of_metadata_are_sorted_and_labelled(case: Mapping[str, Any]) -> None:
    name, version, imports = case.get("package", "kite"), case.get("version", "3.1"), case.get("imports", ["kite"])
    metadata = Metadata(name, version, case["urls"], tuple(imports))
    addresses, why = find_addresses(metadata, DepsSettings(sites=case.get("sites", {})))
    assert [f"{one.source} {one.url}" for one in addresses] == case.get("addresses", [])
    assert why == case.get("why", "")


@pytest.mark.parametrize(("page", "inventory", "is_right"), TABLES["sites"])
def test_site_is_verified_by_inventory_or_title_and_repository(
    page: dict[str, Any], inventory: str, is_right: bool
) -> None:
    assert names_package(msgspec.convert(page, ParsedPage), inventory, KITE) is is_right


def test_site_of_a_python_project_does_not_document_the_npm_package_of_its_name() -> None:
    npm = Metadata("kite", "3.1", {"repository": "https://github.com/waves/kite"})
    assert not names_package(ParsedPage(title="Kite", links=("https://github.com/wind/kite",)), "# Project: Kite", npm)
    assert names_package(ParsedPage(title="Kite", links=("https://github.com/waves/kite",)), "", npm)
    assert metadata_key(Dependency("kite", "npm", "1", True)) != metadata_key(Dependency("kite", "python", "1", True))


def test_site_of_a_package_is_not_taken_for_that_of_its_fork() -> None:
    fork = Metadata("kite-fork", "3.1", {"Source": "https://github.com/me/kite"}, ("kite",))
    assert not names_package(ParsedPage(), "# Project: Kite", fork)
    assert not names_package(ParsedPage(title="Kite", links=("https://github.com/wind/kite",)), "# Project: Kite", fork)
    same_name = Metadata("kite", "3.1", {"Source": "https://github.com/me/kite-fork"}, ("kite",))
    assert not names_package(ParsedPage(links=("https://github.com/wind/kite",)), "# Project: Kite", same_name)
    assert names_package(ParsedPage(links=("https://github.com/me/kite-fork",)), "# Project: Kite", same_name)


@pytest.mark.parametrize(("link", "is_documentation"), TABLES["home_page_leads_to_the_documentation_that_it_links_to"])
def test_home_page_leads_to_the_documentation_that_it_links_to(link: str, is_documentation: bool) -> None:
    page = ParsedPage(links=("https://kite.example/download/", link))
    found = find_documentation_link(page, "https://kite.example/", KITE)
    assert found == (link if is_documentation else "")


@pytest.mark.parametrize(
    ("home", "link", "is_documentation"), TABLES["documentation_of_a_host_is_not_that_of_a_package_with_a_folder_on_it"]
)
def test_documentation_of_a_host_is_not_that_of_a_package_with_a_folder_on_it(
    home: str, link: str, is_documentation: bool
) -> None:
    assert find_documentation_link(ParsedPage(nav_links=(link,)), home, KITE) == (link if is_documentation else "")


def test_installed_packages_are_read_from_the_environment_of_the_project(tmp_path: Path) -> None:
    root, docs = tmp_path / "project", tmp_path / "docs"
    packages = root / ".venv/lib/python3.11/site-packages"
    (docs / "roaming").mkdir(parents=True)
    (docs / "roaming/manifest.json").write_text("{}")
    wheels = [
        write_wheel(tmp_path, "Ebb-Client", "4.2.0", docs, urls={"Documentation": "https://ebb.example/, too"}),
        write_wheel(tmp_path, "kite", "3.1", None),
    ]
    for wheel in wheels:
        with ZipFile(wheel) as archive:
            archive.extractall(packages)
    info = packages / "kite-3.1.dist-info"
    (info / "RECORD").write_text(TABLES["record"])
    (packages / "damaged-1.0.dist-info").mkdir()
    for name, metadata in {"latin": b"Name: latin\nVersion: 1.0\nAuthor: \xff\n", "empty": b"\n"}.items():
        (packages / f"{name}-1.0.dist-info").mkdir()
        (packages / f"{name}-1.0.dist-info/METADATA").write_bytes(metadata)
    for name, text in {**TABLES["npm"], "nested": "[" * 100_000}.items():
        folder = root / "node_modules" / name
        folder.mkdir(parents=True)
        (folder / "package.json").write_text(text)

    found = read_environment(root, {"VIRTUAL_ENV": str(tmp_path / "none")})
    assert set(found) == {"ebb-client", "kite", "npm:gauge", "npm:@tide/table"}
    ebb = found["ebb-client"]
    assert (ebb.version, ebb.urls["Documentation"]) == ("4.2.0", "https://ebb.example/, too")
    assert (ebb.imports, ebb.bundle) == (("Ebb_Client",), str(packages / "Ebb_Client/_docs"))
    assert (found["kite"].imports, found["kite"].bundle) == (("kite", "kite_line", "six"), "")
    assert found["npm:@tide/table"].urls["repository"] == "https://github.com/wind/table"


def test_active_environment_is_read_without_one_in_the_project(tmp_path: Path) -> None:
    packages = tmp_path / "env/lib/python3.12/site-packages"
    with ZipFile(write_wheel(tmp_path, "kite", "3.1", None)) as archive:
        archive.extractall(packages)
    assert set(read_environment(tmp_path, {"VIRTUAL_ENV": str(tmp_path / "env")})) == {"kite"}
    assert "pytest" in read_environment(tmp_path, {})

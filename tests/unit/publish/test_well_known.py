"""Files below `.well-known`, at the root of a host."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.library.validate import validate_site
from mkdocs_roaming.publish.options import PublishOptions
from mkdocs_roaming.publish.writer import PublishReport

from .conftest import HOME, INSTALL, SITE, publish_pages, read_tree

ROOT_URL = "https://kettle.example/"
INDEX, SKILL, LIST = "agent-skills/index.json", "agent-skills/kettle-docs/SKILL.md", "llms.txt"


def publish(folder: Path, *, url: str = ROOT_URL, name: str = "Kettle", **options: Any) -> PublishReport:
    site = replace(SITE, url=url, name=name)
    return publish_pages(folder, HOME, INSTALL, site=site, options=PublishOptions(**options))[0]


def well_known(folder: Path) -> dict[str, bytes]:
    return read_tree(folder / ".well-known")


def write(folder: Path, path: str, text: str) -> None:
    (folder / ".well-known" / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / ".well-known" / path).write_text(text)


def test_root_of_host_has_copies_of_skill_and_llms_txt(tmp_path: Path) -> None:
    publish(tmp_path)
    skill = read_tree(tmp_path / "roaming/skill")
    assert well_known(tmp_path) == {
        INDEX: skill["index.json"],
        SKILL: skill["kettle-docs/SKILL.md"],
        LIST: (tmp_path / "llms.txt").read_bytes(),
    }
    assert validate_site(open_library(tmp_path)).faults == ()


def test_site_below_a_path_has_none(tmp_path: Path) -> None:
    publish(tmp_path, url=ROOT_URL + "handbook/")
    assert well_known(tmp_path) == {}


def test_site_without_llms_txt_has_the_skill_only(tmp_path: Path) -> None:
    publish(tmp_path, llms_txt=False)
    assert sorted(well_known(tmp_path)) == [INDEX, SKILL]


def test_copy_of_llms_txt_contains_the_text_of_its_author(tmp_path: Path) -> None:
    for text in ("# By hand\n", "# By hand, again\n"):
        (tmp_path / "llms.txt").write_text(text)
        publish(tmp_path, llms_txt="preamble")
        copy = (tmp_path / ".well-known/llms.txt").read_text("utf-8")
        assert copy.startswith(text)
        assert copy == (tmp_path / "llms.txt").read_text("utf-8")


@pytest.mark.parametrize("options", [{"agent_skill": False}, {"url": ROOT_URL + "handbook/"}], ids=["off", "moved"])
@pytest.mark.parametrize("manifest_is_lost", [True, False])
def test_files_of_earlier_build_are_removed(tmp_path: Path, options: dict[str, Any], manifest_is_lost: bool) -> None:
    """MkDocs empties the folder of a site apart from its hidden files."""
    publish(tmp_path)
    if manifest_is_lost:
        (tmp_path / "roaming/manifest.json").unlink()
        options = {**options, "overwrite": True}  # of the other files
    publish(tmp_path, **options)
    assert well_known(tmp_path) == {}


@pytest.mark.parametrize("index", ['{"skills": []}', "{", "[1]", json.dumps({"generator": ["mkdocs-roaming"]})])
def test_index_of_author_stays_with_a_note(tmp_path: Path, index: str) -> None:
    write(tmp_path, INDEX, index)
    report = publish(tmp_path)
    assert well_known(tmp_path)[INDEX].decode() == index
    assert sorted(well_known(tmp_path)) == [INDEX, SKILL, LIST]
    assert report.notes == (
        ".well-known/agent-skills/index.json: not written, because something else wrote it; delete it, or set "
        "`overwrite: true`. An index of your own can list the skill of this site: add the entry of "
        "roaming/skill/index.json",
    )
    publish(tmp_path, overwrite=True)
    assert sorted(well_known(tmp_path)) == [INDEX, SKILL, LIST]
    assert b"kettle-docs" in well_known(tmp_path)[INDEX]


@pytest.mark.parametrize("path", [SKILL, LIST, "security.txt", "agent-skills/other/SKILL.md"])
def test_other_files_of_author_stay(tmp_path: Path, path: str) -> None:
    write(tmp_path, path, "---\nname: kettle-docs\n---\n\n  generator: mkdocs-roaming\n")
    before = well_known(tmp_path)[path]
    for options in ({}, {"agent_skill": False}):
        publish(tmp_path, **options)
        assert well_known(tmp_path)[path] == before

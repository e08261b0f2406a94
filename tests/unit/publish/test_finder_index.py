"""The index of the widget's finder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.publish.elements.finder_index import INDEX_PATH, MAX_SECTIONS, render_finder_index
from mkdocs_roaming.publish.options import PublishOptions

from .conftest import HOME, INSTALL, publish_pages, read_tree


@pytest.mark.parametrize("widget", [False, None, {"mode": "off"}])
def test_index_is_not_written_without_widget(tmp_path: Path, widget: Any) -> None:
    publish_pages(tmp_path / "a", HOME, INSTALL, options=PublishOptions(widget=widget))
    publish_pages(tmp_path / "b", HOME, INSTALL)
    assert read_tree(tmp_path / "a") == read_tree(tmp_path / "b")
    assert INDEX_PATH not in read_tree(tmp_path / "a")


@pytest.mark.parametrize("widget", [True, {"endpoint": "https://ask.example/"}])
def test_index_is_the_only_further_file_of_site_with_widget(tmp_path: Path, widget: Any) -> None:
    publish_pages(tmp_path / "a", HOME, INSTALL, options=PublishOptions(widget=widget, agent_skill=False))
    publish_pages(tmp_path / "b", HOME, INSTALL, options=PublishOptions(agent_skill=False))
    files = read_tree(tmp_path / "a")
    index = json.loads(files.pop(INDEX_PATH))
    assert files == read_tree(tmp_path / "b")
    assert index["count"] == 3
    assert [page["path"] for page in index["pages"]] == ["", "guide/install/"]


def test_index_has_places_of_terms_as_differences(tmp_path: Path) -> None:
    publish_pages(tmp_path, HOME, INSTALL, options=PublishOptions(widget=True))
    index = json.loads((tmp_path / INDEX_PATH).read_bytes())
    titles = [section[2] for page in index["pages"] for section in page["sections"]]
    steps = index["terms"]["instal"]
    places = [sum(steps[: at + 1]) for at in range(len(steps))]
    named = [at for at, title in enumerate(titles) if "install" in title.lower()]
    assert [place // 4 for place in places if place % 4 == 0] == named


def test_index_has_places_of_asks_without_their_text(tmp_path: Path) -> None:
    publish_pages(tmp_path, HOME, INSTALL, options=PublishOptions(widget=True))
    manifest = open_library(tmp_path).manifest
    quiet = replace(manifest.pages[1].sections[1], asks=("Why the noise?", "A noise?"), about="Silence")
    install = replace(manifest.pages[1], sections=(manifest.pages[1].sections[0], quiet))
    data = render_finder_index(replace(manifest, pages=(manifest.pages[0], install)))
    index, plain = json.loads(data), json.loads(render_finder_index(manifest))
    assert (index["terms"]["nois"], index["terms"]["silenc"]) == ([11], [11])
    assert (index["version"], plain["version"]) == (2, 1)
    assert index["pages"] == plain["pages"]


def test_index_of_too_many_sections_has_only_their_number(tmp_path: Path) -> None:
    from mkdocs_roaming.manifest.models import Page

    article = "<h1>Big</h1>" + "".join(f'<h2 id="s{at}">S{at}</h2>' for at in range(MAX_SECTIONS))
    options = PublishOptions(widget=True, section_files=False)
    publish_pages(tmp_path, Page("", "Big", article), options=options)
    index = json.loads((tmp_path / INDEX_PATH).read_bytes())
    assert index["count"] == MAX_SECTIONS + 1
    assert set(index) == {"version", "digest", "count", "site"}

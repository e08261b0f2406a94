"""The index of the widget's finder."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from mkdocs_roaming.manifest.models import Site
from mkdocs_roaming.publish.elements import finder_index
from mkdocs_roaming.publish.elements.finder_index import INDEX_PATH, iter_finder_files
from mkdocs_roaming.publish.options import PublishOptions

from ...conftest import URL, MadeSite, make
from .conftest import HOME, INSTALL, publish_pages, read_tree


def read_index(made: MadeSite) -> tuple[dict[str, Any], dict[str, list[list[int]]]]:
    """Return the index of a site, and the shards by their names."""
    library = made.library()
    files = dict(iter_finder_files(library.manifest, library.text))
    index = json.loads(files.pop(INDEX_PATH))
    return index, {Path(path).stem: json.loads(data) for path, data in files.items()}


def read_entries(made: MadeSite, term: str) -> list[tuple[int, list[float], list[int]]]:
    """Return row, kind and places of each entry of a term, as a browser decodes them."""
    index, shards = read_index(made)
    search = index["search"]
    entries = [numbers for name, _ in search["shards"] for numbers in shards[name]]
    numbers, row, found = iter(entries[search["terms"].index(term)]), 0, []
    for step in numbers:
        row += step
        kind = search["kinds"][next(numbers)]
        places = [next(numbers) for _ in range(kind[3])]
        found.append((row, kind[:3], [places[0], places[0] + places[1]] if len(places) > 1 else places))
    return found


@pytest.mark.parametrize("widget", [False, None, {"mode": "off"}])
def test_index_is_not_written_without_widget(tmp_path: Path, widget: Any) -> None:
    publish_pages(tmp_path / "a", HOME, INSTALL, options=PublishOptions(widget=widget))
    publish_pages(tmp_path / "b", HOME, INSTALL)
    assert read_tree(tmp_path / "a") == read_tree(tmp_path / "b")
    assert INDEX_PATH not in read_tree(tmp_path / "a")


@pytest.mark.parametrize("widget", [True, {}, {"endpoint": "https://ask.example/"}])
def test_index_and_shards_are_the_only_further_files_of_site_with_widget(tmp_path: Path, widget: Any) -> None:
    publish_pages(tmp_path / "a", HOME, INSTALL, options=PublishOptions(widget=widget, agent_skill=False))
    publish_pages(tmp_path / "b", HOME, INSTALL, options=PublishOptions(agent_skill=False))
    files = read_tree(tmp_path / "a")
    index = json.loads(files.pop(INDEX_PATH))
    shards = {name: files.pop(f"roaming/finder/{name}.json") for name, _ in index["search"]["shards"]}
    for kind in ("table", "vectors"):
        name = index["search"]["meaning"][kind]
        assert hashlib.sha256(files.pop(f"roaming/finder/{name}.bin")).hexdigest().startswith(name)
    assert files == read_tree(tmp_path / "b")
    assert index["count"] == 3
    assert [page["path"] for page in index["pages"]] == ["", "guide/install/"]
    assert all(hashlib.sha256(data).hexdigest().startswith(name) for name, data in shards.items())


def test_entries_have_frequencies_titles_and_places() -> None:
    body = "Water boils. " * 8 + "The valve opens."
    made = make([("a/", f"# Kettle\n\n{body}\n"), ("b/", "# Valve\n\nIt is a valve.\n")])
    assert [(row, kind[2], places) for row, kind, places in read_entries(made, "valv")] == [(0, 0, [6]), (1, 1, [0, 4])]
    (first, second) = (kind[:2] for _, kind, _ in read_entries(made, "valv"))
    assert first[0] < second[0]
    assert (first[1], second[1]) == (1, 5)


def test_terms_are_in_as_many_shards_as_their_entries_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finder_index, "_SHARD_NUMBERS", 30)
    words = [f"{one}{two}" for one in "abcdefghij" for two in "lmnop"]
    index, shards = read_index(make([("a/", f"# Words\n\n{' '.join(words)}\n")]))
    sizes = index["search"]["shards"]
    assert len(sizes) > 3
    assert [(name, len(shards[name])) for name, _ in sizes] == [tuple(each) for each in sizes]
    assert sum(count for _, count in sizes) == len(index["search"]["terms"])


def test_index_has_words_of_descriptions_without_their_text() -> None:
    made = make([("a/", "# Kettle\n\nIt boils.\n")])
    (page,) = made.manifest.pages
    described = replace(page.sections[0], asks=("Why the noise?", "A noise?"), about="Silence")
    changed = replace(made.manifest, pages=(replace(page, sections=(described,)),))
    index, _ = read_index(MadeSite(changed, made.files))
    plain, _ = read_index(made)
    assert {"nois", "silenc"} <= set(index["search"]["terms"])
    assert index["pages"] == plain["pages"]


def test_stop_words_have_entries_of_titles_alone() -> None:
    made = make([("a/", "# How to use it\n\nThis is how it is, and `as_it_is`.\n"), ("b/", "# It\n\nSet `--as`.\n")])
    assert [row for row, _, _ in read_entries(made, "it")] == [1]
    assert [row for row, _, _ in read_entries(made, "as")] == [0, 1]  # with a sign it is no stop word
    assert "is" not in read_index(made)[0]["search"]["terms"]


def test_chinese_stop_words_have_all_entries() -> None:
    made = make([("a/", "# 端口\n\n可以设置。\n")], site=Site("Docs", URL, language="zh"))
    assert [row for row, _, _ in read_entries(made, "可以")] == [0]


def test_stems_are_those_that_a_browser_cannot_guess() -> None:
    assert read_stems("NoSQL-Datenbanken und eine nosqldatenbank. Einstellungen.", "de") == {
        "nosqldatenbanken": "nosqldatenbank"  # a browser guesses that "einstell" is the stem of "einstellungen"
    }
    assert read_stems("Un cheval, des chevaux.", "fr") == {"chevaux": "cheval"}
    assert read_stems("Installing and installed.", "en") is None


def read_stems(text: str, language: str) -> Any:
    made = make([("a/", f"# 1\n\n{text}\n")], site=Site("Docs", URL, language=language))
    return read_index(made)[0]["search"]["stems"]


def test_index_does_not_depend_on_hash_seed() -> None:
    script = (
        "from conftest import URL, make\n"
        "from mkdocs_roaming.manifest.models import Site\n"
        "from mkdocs_roaming.publish.elements.finder_index import iter_finder_files\n"
        "made = make([('a/', '# A\\n\\nUn h\u00f4te, hote, h\u00f4t\u00e9 et des c\u00f4tes, cotes, cot\u00e9s.')], site=Site('D', URL, language='fr'))\n"
        "library = made.library()\n"
        "print(dict(iter_finder_files(library.manifest, library.text)))\n"
    )
    assert len({run_with_seed(script, seed) for seed in range(4)}) == 1


def run_with_seed(script: str, seed: int) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONUTF8": "1"}
    command = [sys.executable, "-c", script]
    folder = Path(__file__).parents[2]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True).stdout


def test_index_of_too_many_sections_has_only_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finder_index, "MAX_SECTIONS", 2)
    index, shards = read_index(make([("a/", "# A\n\n## B\n\n## C\n")]))
    assert index["count"] == 3
    assert set(index) == {"version", "digest", "count", "site", "generic", "kinds"}
    assert shards == {}

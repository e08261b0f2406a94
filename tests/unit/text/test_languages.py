"""Word lists in `text/data/<language>.toml` and their loader."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

import mkdocs_roaming.text
from mkdocs_roaming.text import languages
from mkdocs_roaming.text.languages import base_language, fold, load_phrases, load_table, load_words

FILES = sorted((Path(mkdocs_roaming.text.__file__).parent / "data").glob("*.toml"))


@dataclass(frozen=True)
class Words:
    empty: str
    phrases: tuple[str, ...] = ()


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """The content of every language's file, instead of what is installed."""
    content: dict[str, object] = {}
    monkeypatch.setattr(languages, "_read_file", lambda code: content)
    for loader in (load_words, load_phrases, load_table):
        monkeypatch.setattr(languages, loader.__name__, loader.__wrapped__)
    return content


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_language_file_is_valid_and_named_by_code(file: Path) -> None:
    assert base_language(file.stem) == file.stem
    assert tomllib.loads(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_stop_words_are_folded_and_unique(file: Path) -> None:
    words = (load_table(file.stem, "stop_words", str) or "").split()
    assert words == list(dict.fromkeys(map(fold, words)))


@pytest.mark.parametrize("language", ["de", "de-AT", "DE_ch"])
def test_load_words_ignores_region_and_case(language: str) -> None:
    assert "nicht" not in load_words(language, "stop_words")
    assert "und" in load_words(language, "stop_words")


@pytest.mark.parametrize("language", ["", "xx", "x" * 300, "../de", "de/../de"])
def test_load_words_returns_empty_set_for_unknown_language(language: str) -> None:
    assert load_words(language, "stop_words") == frozenset()
    assert load_phrases(language, "lint.phrases") == ()


def test_load_table_converts_nested_table_to_dataclass(data: dict[str, object]) -> None:
    data["lint"] = {"empty": "a b", "phrases": ["see also", "next steps"]}
    assert languages.load_table("en", "lint", Words) == Words("a b", ("see also", "next steps"))
    assert languages.load_phrases("en", "lint.phrases") == ("see also", "next steps")
    assert languages.load_words("en", "lint.empty") == {"a", "b"}
    assert languages.load_table("en", "lint.missing.deeper", str) is None


def test_load_table_names_file_and_key_of_wrong_type(data: dict[str, object]) -> None:
    data["lint"] = {"empty": 7}
    with pytest.raises(ValueError, match=r"text/data/en\.toml: lint: Expected `str`, got `int` - at `\$\.empty`"):
        languages.load_table("en", "lint", Words)

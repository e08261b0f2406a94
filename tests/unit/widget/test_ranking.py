"""The finder ranks as `roaming search` does: the same sections in the same order."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.manifest.lookup import Scope
from mkdocs_roaming.manifest.models import NavItem, Site
from mkdocs_roaming.publish.elements.finder_index import INDEX_PATH
from mkdocs_roaming.text.tokenizer import SPACELESS, parse_query

from ...conftest import ROOT, URL, MadeSite, make
from .finder import find_sections, rank_in_node, write_finder

TEXTS = {file.stem: file for file in sorted((ROOT / "tests" / "golden" / "ranking").glob("*.md"))}
_ADDRESS = r"[/#]|\.md$"  # `roaming search` puts the section at an address first


def make_language(language: str) -> MadeSite:
    """Return the site of a golden file, whose last page is a change log."""
    texts = [f"# {text}" for text in TEXTS[language].read_text("utf-8").removeprefix("# ").split("\n# ")]
    pages = [(f"p{number}/", text) for number, text in enumerate(texts)]
    nav = [NavItem(text[2:].partition("\n")[0], path=path) for path, text in pages]
    return make(pages, nav, site=Site("Ebbe", URL, language=language))


def iter_queries(library: Library, count: int) -> Iterator[str]:
    """Yield titles, identifiers, words and phrases of a site."""
    rng = random.Random(1)
    sections = list(library.sections)
    for section in rng.choices(sections, k=count):
        text = library.text(section)
        yield section.section.title
        yield from rng.sample(names := re.findall(r"`([^`\n]+)`", text), min(2, len(names)))
        words = text.split()
        for size in (1, 2, 3, 5):
            start = rng.randrange(max(1, len(words) - size))
            yield " ".join(words[start : start + size])
        for run in re.findall(f"[{SPACELESS}]{{2,}}", text)[:3]:
            start = rng.randrange(len(run))
            yield run[start : start + rng.randrange(1, 6)]


def select_queries(library: Library, count: int) -> list[str]:
    """Return distinct queries that have more than stop words and are no addresses."""
    language = library.manifest.site.language
    distinct = dict.fromkeys(" ".join(query.split()) for query in iter_queries(library, count))
    return [
        f"{query} "
        for query in distinct
        if not re.search(_ADDRESS, query) and any(word.runs and not word.stop for word in parse_query(query, language))
    ]


def rank_in_python(library: Library, queries: Sequence[str]) -> list[list[str]]:
    search = Search(library, with_table=False)
    return [[hit.section.id for hit in search.find(query, limit=len(library.sections))] for query in queries]


def find_differences(folder: Path, queries: Sequence[str]) -> list[str]:
    """Return the queries for which the finder ranks otherwise."""
    expected = rank_in_python(write_finder(folder), queries)
    assert sum(map(bool, expected)) > len(queries) / 2
    found = rank_in_node(folder, queries)
    return [query for query, one, other in zip(queries, expected, found, strict=True) if one != other]


@pytest.mark.parametrize(
    "language", [pytest.param(one, marks=() if one in ("en", "de", "zh") else pytest.mark.slow) for one in TEXTS]
)
def test_sections_have_same_order_in_each_language(language: str, tmp_path: Path) -> None:
    folder = make_language(language).publish(tmp_path / "site")
    queries = select_queries(open_library(str(folder)), 100)
    assert len(queries) > 100
    assert find_differences(folder, queries) == []
    assert json.loads((folder / INDEX_PATH).read_bytes())["search"]["late"]


COMPOUNDS = {
    "Tabellenkalkulation ": "Tabellenkalkulationsdatei schreiben",
    "Kodierung der Zeichen ": "Zeichenkodierung",
    "Überschrift der Spalte ": "Spaltenüberschriften",
    "Kennwort ändern ": "Kennwortänderung",
}


def test_compounds_find_their_parts(tmp_path: Path) -> None:
    folder = make_language("de").publish(tmp_path / "site")
    assert find_differences(folder, list(COMPOUNDS)) == []
    for sections, title in zip(find_sections(folder, list(COMPOUNDS)), COMPOUNDS.values(), strict=True):
        assert title in [found for _, found in sections]


BLOG = json.loads((ROOT / "tests/golden/ranking/blog.json").read_text("utf-8"))


@pytest.mark.parametrize(
    "scope", [{}, {"paths": ["blog/**"]}, {"paths": ["!blog/**"]}, {"paths": ["guide/", "changelog/"]}]
)
def test_late_pages_repeats_and_scopes_are_ranked_as_in_search(scope: dict[str, list[str]], tmp_path: Path) -> None:
    folder = make(list(BLOG.items())).publish(tmp_path / "site")
    queries = ["drain a harbour ", "faster pump ", "valve ", "gauge "]
    queries += ["contribute a valve ", "changes of 2.0 ", "pump sale ", "harbuor ", "gauje "]
    library = write_finder(folder)
    visible = library.restrict(msgspec.convert(scope, Scope)) if scope else library
    assert rank_in_node(folder, queries, **scope) == rank_in_python(visible, queries)
    index = json.loads((folder / INDEX_PATH).read_bytes())["search"]
    assert index["late"]
    assert len(index["repeats"]) == 1


def test_long_query_is_cut_as_in_search(tmp_path: Path) -> None:
    folder = make_language("zh").publish(tmp_path / "site")
    traceback = "\n".join(f'File "ebbe{number}.py", line {number}, in read_gauge' for number in range(100))
    queries = [
        f"安装 {traceback} 密码 ",
        f"{traceback} 测量间隔 ",
        " ".join(f"gauge{number}" for number in range(99)) + " 密码 ",
    ]
    assert find_differences(folder, queries) == []


def test_sections_near_in_meaning_have_same_order(tmp_path: Path) -> None:
    folder = make(list(BLOG.items())).publish(tmp_path / "site")
    library = write_finder(folder)
    queries = [
        *select_queries(library, 60),
        "why does the water keep rising at night ",
        "café lamps do not shine 12 12 ",
    ]
    search = Search(library)
    expected = [[hit.section.id for hit in search.find(query, limit=len(library.sections))] for query in queries]
    assert rank_in_node(folder, queries, by_meaning=True) == expected
    assert expected != rank_in_node(folder, queries)

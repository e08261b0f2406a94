"""Words, scopes and matches of the finder, which are those of `roaming search`."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec
import pytest
from node import run_in_node

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest.lookup import Scope
from mkdocs_roaming.manifest.models import Manifest, PageEntry, SectionEntry, Site, SiteEntry
from mkdocs_roaming.text.languages import load_words
from mkdocs_roaming.text.tokenizer import extract_terms, split_words

from ...conftest import ROOT, URL, make
from .finder import find_sections, find_titles, write_finder

GOLDEN = ROOT / "tests" / "golden"
VECTORS = json.loads((GOLDEN / "words" / "vectors.json").read_text("utf-8"))
STEMMED_HERE = {"en", "ja", "zh", "ko", "th", "xx"}
"""Languages whose words the browser reads as `tokenizer.py` does: of the others it knows no stems."""


def test_tokenizer_matches_shared_vectors() -> None:
    terms, queries = run_in_node(
        """async (load, vectors, stop) => {
            const { words, stopWords } = await load("finder");
            Object.assign(stopWords, stop);
            const shown = ({ text, whole, parts, runs, stop, prefix }) =>
                ({ text, whole, parts, runs, stop: !!stop, prefix: !!prefix });
            return [vectors.terms.map(({ text, language }) => words(text, language).flatMap((word) => word.terms)),
                    vectors.query.map(({ text, language }) => words(text, language).map(shown))];
        }""",
        VECTORS,
        {code: sorted(load_words(code, "stop_words")) for code in STEMMED_HERE},
    )
    for vector, found in zip(VECTORS["terms"], terms, strict=True):
        if vector["language"] in STEMMED_HERE:
            assert found == vector["terms"], vector["note"]
    checked = 0
    for vector, found in zip(VECTORS["query"], queries, strict=True):
        if vector["language"] in STEMMED_HERE:
            distinct = {json.dumps(word["runs"][:1]): word for word in reversed(found)}
            assert [word for word in found if word in distinct.values()] == vector["words"], vector["note"]
            checked += 1
    assert checked > 4


def test_stemmer_matches_python_index() -> None:
    texts = "\n".join(path.read_text("utf-8") for path in sorted(GOLDEN.rglob("*.md")))
    known = sorted({word.lower() for word in split_words(texts) if word.isascii() and word.isalpha()})
    ends = ["", "s", "ed", "ing", "ly", "ation", "ness", "ies", "ization", "edly", "ment", "ic", "y"]
    all_words = sorted({word + end for word in known for end in ends})
    found = run_in_node(
        """async (load, all) => {
            const { words } = await load("finder");
            return all.map((text) => words(text, "en").flatMap((word) => word.terms));
        }""",
        all_words,
    )
    assert len(all_words) > 5_000
    assert [(w, f) for w, f in zip(all_words, found, strict=True) if f != extract_terms(w, "en")] == []


def test_inflections_find_sections_in_all_languages(tmp_path: Path) -> None:
    by_language: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for vector in VECTORS["find"]:
        by_language[vector["language"]].append(vector)
    for language, vectors in by_language.items():
        pages = [(f"p{at}/", f"# P{at}\n\n{vector['text']}\n") for at, vector in enumerate(vectors)]
        folder = make(pages, site=Site("Docs", URL, language=language)).publish(tmp_path / language)
        write_finder(folder)
        queries = [(f"P{at}", f"{query} ") for at, vector in enumerate(vectors) for query in vector["found_by"]]
        found = find_sections(folder, [query for _, query in queries])
        missed = [
            query
            for query, sections in zip(queries, found, strict=True)
            if query[0] not in [title for _, title in sections]
        ]
        assert (language, missed) == (language, [])


def test_scope_selects_same_pages_as_python() -> None:
    paths = ["", "guide/", "guide/pumps/", "guide/a.b/", "guides/x.html", "a/guide/pumps/", "v1/api/", "v10/[api]/"]
    patterns = json.loads((GOLDEN / "words/scopes.json").read_text("utf-8"))
    pages = [{"path": path, "source": (path.rstrip("/") or "index") + ".md", "tags": ["ABC", "ß"]} for path in paths]
    pages += [{"path": f"no/{path}", "tags": []} for path in paths]
    scopes = [*({"paths": [pattern]} for pattern in patterns), {"tags": ["abc"]}, {"tags": ["SS"]}, {"tags": ["x"]}, {}]
    scopes += [{"paths": ["guide", "!pumps"]}, {"paths": ["!guide"]}, {"paths": ["!pumps", "guide/"]}]
    found = run_in_node(
        """async (load, pages, scopes) => {
            const { inScope } = await load("finder");
            return scopes.map((scope) => pages.filter((page) => inScope(page, scope)).map((page) => page.path));
        }""",
        pages,
        scopes,
    )
    section = SectionEntry("00000000", 1, "A", 0, 1, "00000000")
    fields = {"id": "00000000", "title": "A", "markdown": "a.md", "digest": "", "bytes": 1, "sections": (section,)}
    entries = tuple(PageEntry(**fields, **{**each, "tags": tuple(each["tags"])}) for each in pages)
    manifest = Manifest(SiteEntry("Site", "https://docs.example/"), entries)
    for given, selected in zip(scopes, found, strict=True):
        try:
            expected = [entry.path for entry in msgspec.convert(given, Scope).restrict(manifest).pages]
        except UsageError:
            expected = []
        assert selected == expected, given


MATCHES = [
    ("Server timeouts", "timeout", "en", ["timeouts"]),
    ("Set --strict", "strict ", "en", ["strict"]),
    ("東京都の設定", "設定", "ja", ["設定"]),
    ("東京都の設定", "設", "ja", ["設"]),
    ("Die Einstellungen", "Einstellung ", "de", ["Einstellungen"]),
    ("<b>bold</b>", "b ", "en", ["b", "b"]),
    ("Nothing here", "the", "en", []),
]


@pytest.mark.parametrize(("text", "query", "language", "marked"), MATCHES)
def test_matches_of_text(tmp_path: Path, text: str, query: str, language: str, marked: list[str]) -> None:
    folder = make([("", f"# A\n\n{text}\n")], site=Site("Docs", URL, language=language)).publish(tmp_path)
    write_finder(folder)
    found = run_in_node(
        """async (load, folder, text, query) => {
            const { Finder, findMatches } = await load("finder");
            const read = (name) => JSON.parse(readFileSync(`${folder}/roaming/finder${name}.json`));
            const finder = new Finder(read(""), () => true, async (name) => read(`/${name}`));
            return findMatches(text, await finder.asked(query)).map(([start, end]) => text.slice(start, end));
        }""",
        str(folder),
        text,
        query,
    )
    assert found == marked


FOUND = json.loads((GOLDEN / "words/flags.json").read_text("utf-8"))
"""Parts of names in another order, a missing letter, swapped letters, another spelling, a short word, another initial."""


def test_identifiers_and_misspelt_words_find_sections(tmp_path: Path) -> None:
    write_finder(make([("a/", (GOLDEN / "words/flags.md").read_text("utf-8"))]).publish(tmp_path))
    found = find_sections(tmp_path, list(FOUND))
    assert {query: [title for _, title in sections] for query, sections in zip(FOUND, found, strict=True)} == FOUND


@pytest.mark.parametrize("language", ["en", "constructor"])
def test_property_names_of_objects_can_be_searched(tmp_path: Path, language: str) -> None:
    text = "# Names\n\nA constructor, __proto__, toString and a port.\n"
    write_finder(make([("", text)], site=Site("Docs", URL, language=language)).publish(tmp_path))
    assert all(find_sections(tmp_path, ["constructor", "port", "tostring", "__proto__", "constructors "]))


def test_page_named_by_query_comes_before_its_sections(tmp_path: Path) -> None:
    text = "# Background tasks\n\nAfter a response.\n\n## Add background tasks\n\nPass a function.\n"
    write_finder(make([("a/", text)]).publish(tmp_path))
    assert find_titles(tmp_path, "background tasks") == ["Background tasks", "Add background tasks"]


def test_sections_with_complete_word_come_before_those_that_continue_it(tmp_path: Path) -> None:
    text = "# Harbour\n\nOne.\n\n## Portable pumps\n\nTwo.\n\n## The port\n\nThree.\n\n## Reporting\n\nFour.\n\n## Ports of call\n\nFive.\n"
    write_finder(make([("harbour/", text)]).publish(tmp_path))
    complete = find_titles(tmp_path, "port ")
    assert set(complete) == {"The port", "Ports of call", "Harbour"}
    assert find_titles(tmp_path, "port") == [*complete, "Portable pumps"]
    assert find_titles(tmp_path, "pump portab") == ["Portable pumps", "Harbour"]
    assert find_titles(tmp_path, "po") == []


def test_event_parser_accepts_all_splits_and_line_ends() -> None:
    wrong = run_in_node(
        r"""async (load) => {
            const { events } = await load("turn");
            const wrong = [];
            for (const end of ["\n", "\r\n", "\r"]) {
                const text = ["data: ü🫖", "", ": ping", "", "data: 1", "data: 2", "", "event: x", "data:3", "", ""];
                const bytes = new TextEncoder().encode(text.join(end) + ": more");
                for (let at = 0; at <= bytes.length; at++) {
                    const stream = new ReadableStream({ start(control) {
                        for (const piece of [bytes.slice(0, at), bytes.slice(at)]) control.enqueue(piece);
                        control.close();
                    } });
                    const got = [];
                    for await (const data of events(stream)) got.push(data);
                    if (got.join("|") !== "ü🫖|1\n2|3") wrong.push([end, at, got]);
                }
            }
            return wrong;
        }"""
    )
    assert wrong == []


def test_missing_path_suggests_pages() -> None:
    golden = json.loads((GOLDEN / "addresses" / "kettle.json").read_text("utf-8"))
    suggested = run_in_node(
        """async (load, { addresses, cases }) => {
          const { suggest } = await load("missing");
          return Promise.all(cases.map(async ([path]) => [path, (await suggest(addresses, path)).map((page) => page[0])]));
        }""",
        golden,
    )
    assert suggested == golden["cases"]

"""The three tools: lenient arguments, capped results, and every section within reach."""

from __future__ import annotations

import json
import random
import re
import threading
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.readers import MemoryReader
from mkdocs_roaming.library.targets import branch_id, library_from_markdown
from mkdocs_roaming.library.tools import (
    AGENT_TOOLS,
    TOOLS,
    ExpandResult,
    OutlineResult,
    SearchResults,
    ToolError,
    render,
)
from mkdocs_roaming.manifest.models import NavItem

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

CAP = 24_000


@pytest.fixture
def library(make_site: Callable) -> Library:
    nav = [
        NavItem("Guide", children=(NavItem("Pumps", path="guide/pumps/"), NavItem("Tides", path="guide/tides/"))),
        NavItem("Changes", path="changes/"),
    ]
    pages = [
        ("guide/pumps/", "# Pumps\n\nAll of them.\n\n## Bilge pump\n\nSits below.\n\n### Valve\n\nTurn it.\n"),
        ("guide/tides/", "# Tides\n\nThey come and go.\n\n## Ebb\n\nWater falls.\n\n## Flood\n\nWater rises.\n"),
        ("changes/", "# Changes\n\nBy release.\n\n## 1.2.3\n\nThe `drain_window` option.\n"),
    ]
    return make_site(pages, nav, tags={"changes/": ("news",)}).library()


def id_of(library: Library, address: str) -> str:
    section = library.sections.resolve(address)
    assert section is not None
    return section.id


def title_id(library: Library, title: str) -> str:
    return next(section.id for section in library.sections if section.section.title == title)


# Reaching everything


def parse_ids_in_outline(text: str) -> tuple[set[str], set[str]]:
    """Return the ids in an outline, and those of closed branches and of `+` lines."""
    lines = set(re.findall(r"\[([0-9a-f]{8})\]", text))
    return lines, set(re.findall(r"\[([0-9a-f]{8}\+)\]", text)) | set(
        re.findall(r"\[([0-9a-f]{8})\].* \+\d+$", text, re.M)
    )


@pytest.mark.parametrize("cap", [2_000, 4_000, 24_000, 100_000])
def test_every_section_is_reachable_with_any_cap(make_site: Callable, cap: int) -> None:
    """Following the closed branches ends, however small the results are."""
    pages = [
        (f"p{at}/", f"# Page {at}\n\nText.\n" + "".join(f"\n## Part {at}.{n}\n\nText.\n" for n in range(9)))
        for at in range(12)
    ]
    library = make_site(pages).library()
    navigator = Navigator(library, cap=cap)
    known, waiting = parse_ids_in_outline(render(navigator.read_outline()))
    seen: set[str] = set()
    while waiting - seen:
        branch = min(waiting - seen)
        seen.add(branch)
        read = navigator.read_outline(branch)
        assert len(render(read)) <= cap
        lines, closed = parse_ids_in_outline(render(read))
        known |= lines
        waiting |= closed
    assert {section.id for section in library.sections} <= known


# Arguments


@pytest.mark.parametrize(("name", "arguments"), TABLES["call_accepts_ids_in_any_form"])
def test_call_accepts_ids_in_any_form(library: Library, name: str, arguments: object) -> None:
    """One id, ids with commas, JSON in text, objects, brackets, other argument names."""
    ids = {"a": id_of(library, "guide/pumps/"), "b": title_id(library, "Ebb")}

    def filled(value: object) -> object:
        if isinstance(value, str):
            return value.format(**ids)
        if isinstance(value, list):
            return [filled(item) for item in value]
        return {key: filled(item) for key, item in value.items()} if isinstance(value, dict) else value

    result = Navigator(library).call(name, filled(arguments))
    assert isinstance(result, ExpandResult)
    assert [expansion.id for expansion in result.sections] == [ids["a"], ids["b"]]


def test_expand_sections_returns_nearest_ids_for_unknown_id(library: Library) -> None:
    """An address opens its section; words that are no id are searched for."""
    navigator = Navigator(library)
    opened = navigator.call("expand_sections", {"ids": ["guide/tides.md"]})
    assert isinstance(opened, ExpandResult)
    assert opened.sections[0].title == "Tides"
    real = title_id(library, "Flood")
    wrong = real[:-1] + ("0" if real[-1] != "0" else "1")
    result = navigator.call("expand_sections", {"ids": [wrong, "bilge pump valve", ""]})
    assert isinstance(result, ExpandResult)
    assert [missing.id for missing in result.missing] == [wrong, "bilge pump valve"]
    assert result.missing[0].nearest[0].title == "Flood"
    assert result.missing[1].nearest[0].title in ("Valve", "Bilge pump")
    assert f"{wrong}: no section has this id; nearest: [{real}] Flood" in render(result)


def test_expand_sections_with_group_id_names_tool_and_pages(library: Library) -> None:
    group = library.manifest.nav[0].id
    result = Navigator(library).call("expand_sections", {"ids": [group]})
    assert isinstance(result, ExpandResult)
    assert "read_outline" in result.missing[0].why
    assert [other.title for other in result.missing[0].nearest] == ["Pumps", "Tides"]
    read = Navigator(library).call("read_outline", {"id": group})
    assert isinstance(read, OutlineResult)
    assert "Ebb" in read.text
    assert "Changes" not in read.text


@pytest.mark.parametrize(("name", "arguments"), TABLES["call_with_wrong_arguments_returns_tool_error"])
def test_call_with_wrong_arguments_returns_tool_error(library: Library, name: str, arguments: object) -> None:
    result = Navigator(library).call(name, arguments)
    assert isinstance(result, ToolError)
    assert result.message


@pytest.mark.parametrize(
    "arguments",
    [{"query": ["ebb", "drain"]}, {"queries": ["ebb drain"]}, {"query": {"text": "ebb drain"}}, "ebb drain"],
)
def test_search_accepts_query_in_any_form(library: Library, arguments: object) -> None:
    result = Navigator(library).call("search_sections", arguments)
    assert isinstance(result, SearchResults)
    assert result.query == "ebb drain"


def test_expand_sections_with_more_than_eight_ids_skips_the_rest(make_site: Callable) -> None:
    library = make_site([(f"p{at}/", f"# Page {at}\n\nText.\n") for at in range(12)]).library()
    ids = [section.id for section in library.sections]
    result = Navigator(library).call("expand_sections", {"ids": ids})
    assert isinstance(result, ExpandResult)
    assert [expansion.id for expansion in result.sections] == ids[:8]
    assert list(result.skipped) == ids[8:]
    assert "another call" in render(result)


# Open sections


def test_expand_sections_repeats_only_dropped_sections(library: Library) -> None:
    """A section that was shown as part of its page is open, too; dropped sections stay in `opened`."""
    navigator = Navigator(library)
    page, inner = id_of(library, "guide/pumps/"), title_id(library, "Valve")
    navigator.expand_sections([page])
    assert inner in navigator.opened
    assert navigator.open_chars() == len(
        "# Pumps\n\nAll of them.\n\n## Bilge pump\n\nSits below.\n\n### Valve\n\nTurn it.\n"
    )
    repeated = navigator.expand_sections([page, inner])
    assert isinstance(repeated, ExpandResult)
    assert repeated.sections == ()
    assert [other.id for other in repeated.already_open] == [page, inner]
    assert "is open above already" in render(repeated)
    navigator.drop([inner, "ffffffff"])
    assert inner in navigator.opened
    reopened = navigator.expand_sections([inner])
    assert isinstance(reopened, ExpandResult)
    assert reopened.sections[0].text == "### Valve\n\nTurn it.\n"
    navigator.drop(navigator.opened)
    assert navigator.open_chars() == 0


def test_expand_sections_parts_join_to_whole_text(make_site: Callable) -> None:
    """Sections share the cap; later parts continue where the first ones end."""
    texts = {
        f"p{at}/": f"# Page {at}\n\n" + "".join(f"Line {n} of page {at}.\n\n" for n in range(900)) for at in range(3)
    }
    library = make_site(list(texts.items())).library()
    navigator = Navigator(library)
    ids = [id_of(library, path) for path in texts]
    read = dict.fromkeys(ids, "")
    first = navigator.expand_sections(ids)
    assert isinstance(first, ExpandResult)
    assert len(render(first)) <= CAP
    parts = {expansion.id: expansion.parts for expansion in first.sections}
    for expansion in first.sections:
        read[expansion.id] += expansion.text
    for id_ in ids:
        for part in range(2, parts[id_] + 1):
            result = navigator.call("expand_sections", {"ids": id_, "part": part})
            assert isinstance(result, ExpandResult)
            assert len(render(result)) <= CAP
            read[id_] += result.sections[0].text
    assert list(read.values()) == list(texts.values())


def test_expand_sections_with_unreadable_section_returns_reason(make_site: Callable) -> None:
    """As a subsection it is left out; the other sections open."""
    site = make_site([("a/", "# A\n\nText.\n\n## B\n\nText.\n"), ("c/", "# C\n\nText.\n")])
    damaged = {path: text.replace("## B", "## X").encode() for path, text in site.files.items()}
    library = Library(site.manifest, MemoryReader(damaged, where="memory"))
    navigator = Navigator(library)
    result = navigator.expand_sections([id_of(library, "a/"), title_id(library, "B"), id_of(library, "c/")])
    assert isinstance(result, ExpandResult)
    assert [expansion.title for expansion in result.sections] == ["A", "C"]
    assert "digest" in result.missing[0].why
    assert title_id(library, "B") not in navigator.opened


# Outline and hints


def test_outline_does_not_depend_on_conversation(library: Library) -> None:
    """It is the same byte for byte after searches and opened sections."""
    navigator = Navigator(library)
    before = navigator.outline()
    navigator.call("search_sections", {"query": "valve"})
    navigator.call("expand_sections", {"ids": id_of(library, "changes/")})
    assert navigator.outline() == before == Navigator(library).outline()


def test_page_outline_resolves_address_with_unknown_anchor(library: Library) -> None:
    outline = Navigator(library).page_outline("https://docs.example/p/changes/#123")
    assert re.findall(r"^\[\w+\] (\w+)", outline, re.MULTILINE) == ["Changes"]
    assert Navigator(library).page_outline("xyzzy/") == ""


@pytest.mark.parametrize(
    "address", ["guide/", "/guide", "guide/index.html", "https://docs.example/p/guide", "https://docs.example/p/guide/"]
)
def test_guessed_folder_leads_to_same_page_for_tools_and_library(library: Library, address: str) -> None:
    pumps = id_of(library, "guide/pumps/")
    navigator = Navigator(library)
    opened = navigator.expand_sections([address])
    assert isinstance(opened, ExpandResult)
    assert [section.id for section in opened.sections] == [pumps]
    assert navigator.read_outline(address) == navigator.read_outline(pumps)
    assert navigator.page_outline(address) == navigator.page_outline(pumps) != ""
    assert library.expand(address) == library.expand(pumps)
    assert library.search(address)[0].id == pumps
    assert branch_id(library, f"{address}+") == f"{pumps}+"


def test_tool_parameters_are_valid_json_schema(library: Library) -> None:
    import jsonschema

    assert [tool.name for tool in TOOLS] == ["read_outline", "expand_sections", "search_sections"]
    for tool, passed in zip(AGENT_TOOLS, [{}, {"ids": ["x"]}, {"query": "x"}, {"pattern": "x"}], strict=True):
        jsonschema.Draft202012Validator.check_schema(dict(tool.parameters))
        assert not isinstance(Navigator(library).call(tool.name, passed), ToolError)
        assert json.dumps(dict(tool.parameters))


# Invalid arguments


@cache
def _navigator() -> Navigator:
    text = "# Pumps\n\nAll.\n\n## Bilge\n\n" + "Below the deck. " * 400 + "\n\n# Tides\n\nThey come.\n"
    return Navigator(library_from_markdown(text, name="Boats"), cap=2_000)


_VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
_VALUES |= st.sampled_from(
    ["{" * 3_000, "[" * 100_000, "[1e400]", "\ud800", "NEAR(a b) AND NOT ^x {col} : +- ()", "9" * 50]
)
_VALUES |= st.deferred(lambda: st.sampled_from([section.id for section in _navigator().sections]))
_KEYS = st.sampled_from(["ids", "id", "query", "part", "limit"]) | st.text()


def test_search_sections_returns_hits_that_fit_cap(make_site: Callable) -> None:
    text = "".join(
        f"\n## {'A very long_site title ' * 5}{at}\n\n{'The valve was turned. ' * 30}Part {at}.\n" for at in range(12)
    )
    library = make_site([("a/", f"# Log\n{text}")]).library()
    wide, narrow = Navigator(library), Navigator(library, cap=2_000)
    found, fewer = (navigator.call("search_sections", {"query": "valve", "limit": 10}) for navigator in (wide, narrow))
    assert isinstance(found, SearchResults)
    assert isinstance(fewer, SearchResults)
    assert len(found.hits) == 10
    assert 0 < len(fewer.hits) < 10
    assert fewer.hits == found.hits[: len(fewer.hits)]
    assert len(render(fewer)) <= 2_000


@given(
    name=st.sampled_from([tool.name for tool in AGENT_TOOLS]) | st.text(max_size=20),
    arguments=st.recursive(
        _VALUES,
        lambda inner: st.lists(inner, max_size=5) | st.dictionaries(_KEYS, inner, max_size=4),
        max_leaves=8,
    ),
)
def test_call_with_generated_arguments_never_raises(name: str, arguments: object) -> None:
    assert len(render(_navigator().call(name, arguments))) <= 2_000


def test_navigator_is_thread_safe(library: Library) -> None:
    """After parallel calls `opened` has every section."""
    navigator = Navigator(library)
    ids = [section.id for section in library.sections]
    failures: list[BaseException] = []

    def walk(seed: int) -> None:
        try:
            for id_ in random.Random(seed).sample(ids, len(ids)):
                navigator.call("expand_sections", {"ids": [id_]})
                navigator.call("search_sections", {"query": "water pump"})
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=walk, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert set(navigator.opened) == set(ids)

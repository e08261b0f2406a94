"""What the tools show of sections: nothing twice, the best part of long texts, small sections first, links by id."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.snippets import GAP
from mkdocs_roaming.library.tools import ExpandResult, SearchResults, render
from mkdocs_roaming.manifest.models import Site
from mkdocs_roaming.search.relevance import NO_ANSWER

DATA = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text("utf-8"))
LEFT_OUT = re.compile(rf"^{GAP}(?: \d+ tokens more: .*)?\n", re.MULTILINE)
LONG = "\n\n".join(
    f"Paragraph {at} describes ballast in detail, over and over again, for all ships." for at in range(80)
)
CLOTH = "It has a lot of cloth, which is folded and dried after each day at sea, and then put away for the night."
FILLERS = {
    "{ballast}": LONG,
    "{gravel}": LONG.replace("ballast", "gravel"),
    "{cloth}": CLOTH,
    "{long}": "A sail of the boat, with a rope, a hook and a lot of cloth that is folded and dried after each day. "
    * 2,
    "{metal}": "Metal. " * 900,
    "{mast}": "The mast is made of wood and carries all sails of the boat. " * 60,
    "{water}": "Water. " * 900,
    "{some_water}": "Water. " * 300,
    "{code}": "```py\n" + "call()\n\n" * 300 + "```\n\n",
    "{address}": f"https://play.example/#code={'x' * 400}",
    "{functions}": "".join(
        f"## `set_sail_{at}()`\n\nSets sail number {at} of the boat in the wind. {CLOTH}\n\n" for at in range(20)
    ),
}


def fill(text: str, fillers: dict[str, str]) -> str:
    for name, filler in fillers.items():
        text = text.replace(name, filler)
    return text


def make_pages(texts: dict[str, str]) -> list[tuple[str, str]]:
    return [(f"{path}/" if path else "", fill(text, FILLERS)) for path, text in texts.items()]


@pytest.fixture
def library(make_site: Callable) -> Library:
    return make_site(make_pages(DATA["pages"])).library()


def find(library: Library, title: str) -> str:
    return next(section.id for section in library.sections if section.section.title == title)


def expand(navigator: Navigator, *ids: str, part: int = 1) -> ExpandResult:
    result = navigator.expand_sections(ids, part)
    assert isinstance(result, ExpandResult)
    return result


def search(navigator: Navigator, query: str) -> SearchResults:
    result = navigator.search_sections(query)
    assert isinstance(result, SearchResults)
    return result


def shown(result: ExpandResult | SearchResults) -> list[str]:
    return [text.id for expansion in result.sections for text in expansion.shown]


@pytest.mark.parametrize("case", DATA["cases"], ids=lambda case: case["name"])
def test_text_of_sections(make_site: Callable, case: dict[str, Any]) -> None:
    pages = make_pages(case.get("pages", DATA["pages"]))
    library = make_site(pages, site=Site("Docs", case.get("url", "https://docs.example/p/"))).library()
    ids = {f"{{{section.section.title}}}": section.id for section in library.sections}
    navigator = Navigator(library, cap=case.get("cap", 24_000))
    navigator.texts.link_ids = True
    if "prefetch" in case:
        result = navigator.prefetch(case["prefetch"], case.get("before", ""), max_tokens=case.get("tokens", 2_200))
    else:
        result = expand(navigator, *(ids[f"{{{title}}}"] for title in case["expand"]))
    opened = [section.title for section in result.sections]
    assert len(opened) == case.get("count", len(opened))
    assert opened == case.get("opened", opened)
    assert set(case.get("has", ())) <= set(opened)
    assert not set(case.get("lacks", ())) & set(opened)
    listed = [entry.title for section in result.sections for entry in section.listed]
    assert listed == case.get("listed", listed)
    rest = render(result)
    assert [part for part in case.get("hides", ()) if part in rest] == []
    for part in case.get("shows", ()):
        _, found, rest = rest.partition(fill(part, ids | FILLERS))
        assert found, part


# Search


def test_search_opens_short_sections_once(library: Library) -> None:
    navigator, storage = Navigator(library), find(library, "Storage")
    first = search(navigator, "folded in the cabin")
    assert storage in shown(first)
    assert storage in navigator.opened
    second = search(navigator, "folded in the cabin")
    assert storage not in shown(second)
    assert storage in [section.id for section in second.already_open]
    assert "Keep sails dry" not in render(second)


def test_search_lists_long_sections(library: Library) -> None:
    result = search(Navigator(library), "keelson lead")
    assert find(library, "Ballast") not in shown(result)
    assert f"[{find(library, 'Ballast')}] Keel › Ballast — " in render(result)


def test_search_reports_words_that_no_section_contains(library: Library) -> None:
    result = search(Navigator(library), "paint the zeppelin")
    assert result.unknown_words == ("zeppelin",)
    assert "does not contain: zeppelin" in render(result)


# Prefetch


def test_prefetch_opens_best_part_of_long_section(library: Library) -> None:
    navigator, ballast = Navigator(library), find(library, "Ballast")
    result = navigator.prefetch("How much lead does the keelson carry?")
    opened = next(section for section in result.sections if section.id == ballast)
    assert "4.7 tons" in opened.text
    assert len(opened.text) < 7_500
    assert not opened.listed


def test_prefetch_opens_matching_lines_of_block_that_is_too_long(make_site: Callable) -> None:
    lines = "".join(f"  readonly rope{at}: Rope  // of the mast, in the wind\n" for at in range(200))
    code = f"```ts\ninterface Mast {{\n{lines}  forestayTension: number\n{lines}}}\n```\n"
    library = make_site([("mast/", f"# Mast\n\n## Interface\n\nThe ropes of the mast.\n\n{code}")]).library()
    (opened,) = Navigator(library).prefetch("What is `forestayTension` of the mast?").sections
    beginning, fence, part, closing, end = LEFT_OUT.split(opened.text)
    assert (beginning, fence, closing, end) == (
        "## Interface\n\nThe ropes of the mast.\n\n",
        "\n```ts\n",
        "```\n\n",
        "",
    )
    assert "  forestayTension: number" in part
    assert len(opened.text) < 7_500


def test_expand_does_not_repeat_part_that_prefetch_opened(library: Library) -> None:
    navigator, ballast = Navigator(library), find(library, "Ballast")
    part = next(one for one in navigator.prefetch("lead of the keelson").sections if one.id == ballast).text
    (opened,) = expand(navigator, ballast).sections
    later = [expand(navigator, ballast, part=number).sections[0].text for number in range(2, opened.parts + 1)]
    rest = opened.text + "".join(later)
    assert "This part is open already." in rest
    lead, part, *_ = map(str.strip, LEFT_OUT.split(part))
    assert part not in rest
    assert rest.startswith(lead)
    section = library.sections.get(ballast)
    assert section is not None
    whole = library.text(section)
    assert sorted(f"{part} {rest}".replace("[This part is open already.]", "").split()) == sorted(whole.split())


def test_rest_of_code_that_a_search_has_opened_is_in_fences_of_its_own(make_site: Callable) -> None:
    lines = "".join(f"rope_{at} = red  # of the mast\n" for at in range(400))
    code = f"```py\n{lines}forestay_tension = 12\n{lines}```\n"
    library = make_site([("mast/", f"# Mast\n\nThe ropes of the mast.\n\n{code}\nEnd.\n")]).library()
    navigator, mast = Navigator(library), find(library, "Mast")
    assert "forestay_tension" in navigator.prefetch("What is `forestay_tension` of the mast?").sections[0].text
    first = expand(navigator, mast)
    parts = [first, *(expand(navigator, mast, part=part) for part in range(2, first.sections[0].parts + 1))]
    rest = "".join(part.sections[0].text for part in parts)
    assert re.search(r"\n```\n\n\[This part is open already\.\]\n\n```py\nrope_", rest)


def test_prefetch_leaves_first_sentences_of_long_paragraph(make_site: Callable) -> None:
    first = "The mast carries the sails. " + "It bends in strong wind. " * 20
    rest = "\n\n".join(f"Rope {at} is red, thin and strong in all winds." for at in range(150))
    library = make_site([("mast/", f"# Mast\n\n{first}\n\n{rest}\n\nThe shroud has 12 mm.\n")]).library()
    (opened,) = Navigator(library).prefetch("How thick is the shroud?").sections
    beginning, part = LEFT_OUT.split(opened.text)
    assert beginning.startswith("# Mast\n\nThe mast carries the sails. It bends")
    assert beginning.endswith("wind.\n\n")
    assert len(beginning) <= 210
    assert "The shroud has 12 mm." in part


def test_prefetch_opens_equal_texts_once(library: Library) -> None:
    result = Navigator(library).prefetch("what do sails move")
    assert sum("Sails move the boat" in section.text for section in result.sections) == 1


def test_prefetch_with_more_room_opens_more_and_longer_texts(library: Library, make_site: Callable) -> None:
    sections = "".join(f"## Sail {at}\n\nSail number {at} of the boat is set by hand. {CLOTH}\n\n" for at in range(30))
    sails = make_site([("sails/", f"# Sails\n\n{sections}")]).library()
    assert len(Navigator(sails).prefetch("set a sail").sections) == 12
    assert len(Navigator(sails).prefetch("set a sail", max_tokens=4_400).sections) == 24
    usual, larger = (Navigator(library).prefetch("lead of the keelson", max_tokens=size) for size in (2_200, 4_400))
    assert len(usual.sections[0].text) < 7_000 < len(larger.sections[0].text) < 14_000


# What is missing


def test_only_words_of_a_model_are_judged(library: Library) -> None:
    navigator, question = Navigator(library), "How do I deploy a websocket proxy on a Kubernetes cluster with mast?"
    assert navigator.prefetch(question).note == ""
    assert navigator.prefetch(question, is_query=True).note == NO_ANSWER


# Expand


def test_subsections_are_shown_with_all_titles_down_to_them(make_site: Callable) -> None:
    branch = "## {}\n\nText.\n\n### Example\n\nMore.\n\n"
    library = make_site([("a/", f"# A\n\n{branch.format('Sails')}{branch.format('Masts')}")]).library()
    (page,) = expand(Navigator(library), find(library, "A")).sections
    assert [text.inside for text in page.shown][1:] == [
        ("Sails",),
        ("Sails", "Example"),
        ("Masts",),
        ("Masts", "Example"),
    ]


def test_long_section_says_in_which_part_it_goes_on(library: Library) -> None:
    navigator, ballast = Navigator(library, cap=8_000), find(library, "Ballast")
    first = expand(navigator, ballast)
    parts = first.sections[0].parts
    assert "Goes on in part 2." in render(first)
    assert "Goes on" not in render(expand(navigator, ballast, part=parts))


@pytest.mark.parametrize("child_first", [False, True])
def test_parent_and_child_together_show_each_text_once(library: Library, child_first: bool) -> None:
    ids = [find(library, "Sails"), find(library, "Reefing")]
    result = expand(Navigator(library), *(reversed(ids) if child_first else ids))
    assert len(shown(result)) == len(set(shown(result))) == 3
    assert render(result).count("Reef at 12 knots") == 1


def test_open_child_is_referred_to_by_id(library: Library) -> None:
    navigator, reefing = Navigator(library), find(library, "Reefing")
    expand(navigator, reefing)
    text = render(expand(navigator, find(library, "Sails")))
    assert "Reef at 12 knots" not in text
    assert f"Open already: [{reefing}] Reefing" in text
    assert "Keep sails dry" in text


def test_second_id_does_not_push_out_what_the_first_alone_shows(make_site: Callable) -> None:
    draw = random.Random(16)

    def make_page(at: int) -> tuple[str, str]:
        sections = "".join(
            f"{'#' * draw.choice((2, 3, 3, 4))} S{at}-{number}\n\n"
            + "Water runs. " * draw.choice((2, 30, 300, 900))
            + "\n\n"
            for number in range(draw.randint(1, 9))
        )
        return f"p{at}/", f"# P{at}\n\n{'Word. ' * draw.choice((1, 100, 3_000))}\n\n{sections}"

    library = make_site([make_page(at) for at in range(12)]).library()
    ids = [section.id for section in library.sections]
    alone = {id_: texts(expand(Navigator(library), id_)) for id_ in ids}
    for _ in range(300):
        pair = draw.sample(ids, 2)
        together = texts(expand(Navigator(library), *pair))
        missing = [id_ for one in pair for id_, size in alone[one].items() if together.get(id_, 0) < size]
        assert not missing, pair


def texts(result: ExpandResult) -> dict[str, int]:
    """Return the characters that are shown of each section."""
    sizes: dict[str, int] = {}
    for expansion in result.sections:
        for text in expansion.shown:
            sizes[text.id] = sizes.get(text.id, 0) + len(text.text)
    return sizes

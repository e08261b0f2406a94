"""Rules on a question: which fire, by which words, what they open, and that they keep to their room."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mkdocs_roaming.errors import ManifestError
from mkdocs_roaming.library.library import Library, open_library
from mkdocs_roaming.library.navigator import Navigator, Scope
from mkdocs_roaming.library.rules import PhraseMatcher, RulesBudget, RulesResult, apply_rules, match_rules, rules_share
from mkdocs_roaming.library.tools import ExpandResult
from mkdocs_roaming.manifest.io import dump_manifest, load_manifest, validate_manifest
from mkdocs_roaming.manifest.lookup import SectionIndex
from mkdocs_roaming.manifest.models import Manifest, RuleCondition, RuleEntry

if TYPE_CHECKING:
    from ..conftest import MadeSite
    from .conftest import LocalServer

PHRASES = Path(__file__).parents[2] / "golden" / "rules" / "phrases.yml"
PAGES = (
    ("", "# Home\n\nWelcome.\n\n## Notes\n\nTwo notes.\n"),
    (
        "pumps/",
        "# Pumps\n\nPumps move water.\n\n## Pressure\n\nPressure is 4.7 bar.\n\n## Oil\n\nChange the oil.\n",
    ),
    ("lamps/", "# Lamps\n\nLamps shine.\n\n## Colours\n\nA red lamp means port side.\n"),
    ("long/", "# Long\n\n" + "Water runs. " * 400 + "\n\n## Tail\n\n" + "Water stops. " * 2000 + "\n"),
)


@pytest.fixture
def made(make_site: Callable[..., MadeSite]) -> MadeSite:
    """Four pages, nine sections; one page is longer than a call shows."""
    return make_site(PAGES)


@pytest.fixture
def ids(made: MadeSite) -> dict[str, str]:
    return {section.title: section.id for section in made.manifest.sections()}


def rule(*opens: str, name: str = "", **when: Any) -> RuleEntry:
    return RuleEntry(RuleCondition(**when), opens, name)


def library_with(made: MadeSite, *rules: RuleEntry, mode: str = "each") -> Library:
    return replace(made, manifest=msgspec.structs.replace(made.manifest, rules=rules, rules_mode=mode)).library()


@pytest.mark.parametrize("case", yaml.safe_load(PHRASES.read_text("utf-8")), ids=lambda case: case["phrase"])
def test_a_phrase_is_found_whatever_its_case_accents_and_endings(case: dict[str, str | None]) -> None:
    """Its words stand next to each other, in order; the words of the question are told as they were written."""
    language, phrase, question = str(case["language"]), str(case["phrase"]), str(case["question"])
    assert PhraseMatcher(question, language).find(phrase) == case["found"]


def test_any_all_and_page_hold_together(made: MadeSite, ids: dict[str, str]) -> None:
    """`any` wants one phrase, `all` every one, `pages` the reader on one of them; what is given has to hold."""
    places = SectionIndex(made.manifest)
    rules = [
        rule(ids["Oil"], any=("pump", "oil")),
        rule(ids["Oil"], all=("pump", "oil")),
        rule(ids["Oil"], any=("pump",), pages=(ids["Lamps"],)),
        rule(ids["Oil"], pages=(ids["Lamps"],)),
        rule(ids["Notes"], always=True),
        rule(ids["Notes"]),  # asks for nothing
    ]

    def numbers(question: str, page: str | None = None) -> list[int]:
        return [one.number for one in match_rules(rules, question, page, places).fired]

    assert numbers("a pump") == [1, 5]
    assert numbers("oil of a pump") == [1, 2, 5]
    assert numbers("a pump", "/lamps/") == [1, 3, 4, 5]
    assert numbers("hello", "https://docs.example/p/lamps/#colours") == [4, 5]
    assert numbers("hello", "pumps/") == [5]


def test_it_is_told_by_which_words_and_what_is_lacking(made: MadeSite, ids: dict[str, str]) -> None:
    """A rule that fires names the words of the question; one that nearly does names what it lacks."""
    rules = [
        rule(ids["Oil"], name="oil", any=("oil change", "grease")),
        rule(ids["Pressure"], name="pressure", all=("pump", "pressure of the bar")),
        rule(ids["Colours"], name="lamps", any=("pump",), pages=(ids["Lamps"],)),
        rule(ids["Notes"], name="far off", any=("tide",)),
    ]
    told = match_rules(rules, "Oil changes of a pump, how many bar?", None, SectionIndex(made.manifest))
    (fired,) = told.fired
    assert [(match.phrase, match.words) for match in fired.found] == [("oil change", "Oil changes")]
    pressure, lamps = told.nearly
    assert (pressure.name, pressure.missing, pressure.words) == ("pressure", ("pressure of the bar",), ("bar",))
    assert (lamps.name, lamps.missing, lamps.elsewhere) == ("lamps", (), True)


def test_each_opens_a_section_of_every_rule_first(made: MadeSite, ids: dict[str, str]) -> None:
    """With `each`, no rule gets a second section before all have one; more than one call opens is dropped, and told."""
    rules = [rule(ids["Pumps"], ids["Oil"], always=True), rule(ids["Lamps"], ids["Colours"], always=True)]
    places = SectionIndex(made.manifest)
    assert match_rules(rules, "", None, places).opens == (ids["Pumps"], ids["Lamps"], ids["Oil"], ids["Colours"])
    told = match_rules(rules, "", None, places, budget=RulesBudget(max_ids=3))
    assert told.opens == (ids["Pumps"], ids["Lamps"], ids["Oil"])
    assert [(one.id, one.rule, one.why) for one in told.dropped] == [(ids["Colours"], 2, "count")]
    assert all(rule.opens for rule in told.fired)


def test_each_tells_the_rule_that_there_is_no_room_for(made: MadeSite, ids: dict[str, str]) -> None:
    """A rule of which nothing fits is named; the others keep their sections."""
    rules = [rule(ids["Long"], always=True), rule(ids["Oil"], always=True)]
    told = match_rules(rules, "", None, SectionIndex(made.manifest), budget=RulesBudget(chars=1_000))
    assert told.opens == (ids["Oil"],)
    assert [rule.number for rule in told.fired if not rule.opens] == [1]
    assert [(one.id, one.why) for one in told.dropped] == [(ids["Long"], "room")]


def test_a_section_that_two_rules_name_is_opened_once(made: MadeSite, ids: dict[str, str]) -> None:
    """It counts for both."""
    rules = [rule(ids["Oil"], always=True), rule(ids["Oil"], any=("oil",))]
    told = match_rules(rules, "oil", None, SectionIndex(made.manifest))
    assert told.opens == (ids["Oil"],)
    assert [one.opens for one in told.fired] == [(ids["Oil"],), (ids["Oil"],)]


def test_pool_opens_what_search_ranks_first(made: MadeSite, ids: dict[str, str]) -> None:
    """With `pool`, the sections of all rules compete; those that search does not find stay closed."""
    rules = (rule(ids["Oil"], ids["Notes"], always=True), rule(ids["Colours"], ids["Pressure"], always=True))
    told = apply_rules(
        Navigator(library_with(made, *rules, mode="pool")), "what is the oil pressure in bar?", None, 30_000
    )
    assert set(told.opens) == {ids["Pressure"], ids["Oil"]}
    assert told.opens[0] == ids["Pressure"]
    assert {(one.id, one.why) for one in told.dropped} == {(ids["Notes"], "rank"), (ids["Colours"], "rank")}
    nothing = apply_rules(Navigator(library_with(made, *rules, mode="pool")), "xyzzy", None, 30_000)
    assert nothing.opens == (ids["Oil"], ids["Colours"], ids["Notes"], ids["Pressure"])


def test_an_alias_opens_its_section_and_an_unknown_id_nothing(made: MadeSite, ids: dict[str, str]) -> None:
    """A rule of an older manifest opens what its id has become; an id that is gone is told."""
    pages = tuple(
        msgspec.structs.replace(
            page,
            sections=tuple(
                msgspec.structs.replace(one, aliases=(f"{at:07x}a",)) for at, one in enumerate(page.sections)
            ),
        )
        if page.path == "pumps/"
        else page
        for page in made.manifest.pages
    )
    places = SectionIndex(msgspec.structs.replace(made.manifest, pages=pages))
    told = match_rules([rule("0000002a", "ffffffff", always=True)], "", None, places)
    assert told.opens == (ids["Oil"],)
    assert [(one.id, one.why) for one in told.dropped] == [("ffffffff", "absent")]


def test_a_scope_holds_for_rules_too(made: MadeSite, ids: dict[str, str]) -> None:
    """What may not be seen is opened by no rule."""
    library = library_with(made, rule(ids["Oil"], ids["Colours"], always=True))
    told = apply_rules(Navigator(library, scope=Scope(pages=("lamps/*",))), "", None, 30_000)
    assert told.opens == (ids["Colours"],)
    assert [one.why for one in told.dropped] == ["absent"]


def test_rules_of_somebody_elses_site_are_left_alone(
    made: MadeSite, ids: dict[str, str], tmp_path: Path, server: LocalServer
) -> None:
    """A folder's rules are followed, those of an address and of fetched pages are counted, unless they are trusted."""
    manifest = msgspec.structs.replace(made.manifest, rules=(rule(ids["Oil"], always=True),))
    made = replace(made, manifest=manifest)
    folder = open_library(made.publish(tmp_path / "own"))
    assert apply_rules(Navigator(folder), "", None, 30_000).opens == (ids["Oil"],)
    server.put({**made.files, "roaming/manifest.json": dump_manifest(manifest)})
    fetched = tuple(msgspec.structs.replace(page, origin="markdown") for page in manifest.pages)
    crawled = replace(made, manifest=msgspec.structs.replace(manifest, pages=fetched))
    for library in (open_library(server.url), open_library(crawled.publish(tmp_path / "crawled"))):
        assert apply_rules(Navigator(library), "", None, 30_000) == RulesResult(ignored=1)
        library.trusted = True
        assert apply_rules(Navigator(library), "", None, 30_000).opens == (ids["Oil"],)


def test_rules_come_back_as_they_were_published(made: MadeSite, ids: dict[str, str]) -> None:
    """Nothing is lost between dump and load; without rules a manifest says nothing of their mode."""
    rules = (
        rule(ids["Oil"], ids["Notes"], name="oil", any=("pump",), all=("oil change",), pages=(ids["Lamps"],)),
        rule(ids["Oil"], always=True),
    )
    text = dump_manifest(msgspec.structs.replace(made.manifest, rules=rules, rules_mode="pool"))
    assert (load_manifest(text).rules, load_manifest(text).rules_mode, validate_manifest(text)) == (rules, "pool", [])
    assert "rules_mode" not in dump_manifest(made.manifest)


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        ({"open": ["07f3277d"]}, "rules/0: Object missing required field `when`"),
        ({"when": {"any": "pump"}, "open": ["07f3277d"]}, "rules/0/when/any: Expected `array`, got `str`"),
        ({"when": {"always": "yes"}, "open": ["07f3277d"]}, "rules/0/when/always: Expected `bool`, got `str`"),
        ({"when": {"pages": ["guide/"]}, "open": ["07f3277d"]}, "rules/0/when/pages/0: Expected `str` matching regex"),
        ({"when": {"always": True}, "open": ["../../etc"]}, "rules/0/open/0: Expected `str` of length <= 8"),
    ],
)
def test_a_broken_rule_is_named(made: MadeSite, broken: dict[str, Any], says: str) -> None:
    """A manifest from elsewhere is not believed: neither reading nor the schema lets such a rule pass."""
    data = json.loads(dump_manifest(made.manifest)) | {"rules": [broken]}
    with pytest.raises(ManifestError, match=re.escape(says)):
        load_manifest(json.dumps(data))
    assert validate_manifest(json.dumps(data))[0].startswith("rules/0")


def test_half_of_the_room_is_left_to_the_model() -> None:
    """Rules take half of an answer's room, or what earlier answers leave of it."""
    assert (rules_share(60_000), rules_share(60_000, 50_000), rules_share(60_000, 60_000), rules_share(1)) == (
        30_000,
        10_000,
        0,
        0,
    )


WORDS = st.sampled_from(["pump", "oil", "lamp", "water", "pressure", "the", "4.7", "red lamp", "ポンプ", ""])


@st.composite
def rules_on(draw: st.DrawFn, manifest: Manifest) -> list[RuleEntry]:
    known = [section.id for section in manifest.sections()]
    some_ids = st.lists(st.sampled_from([*known, "00000000", "deadbeef"]), min_size=1, max_size=12)
    phrases = st.lists(WORDS, max_size=3).map(tuple)
    whens = st.builds(
        RuleCondition, any=phrases, all=phrases, pages=some_ids.map(tuple) | st.just(()), always=st.booleans()
    )
    return draw(st.lists(st.builds(RuleEntry, whens, some_ids.map(tuple)), max_size=12))


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_rules_never_open_more_than_their_room(made: MadeSite, data: st.DataObject) -> None:
    """Whatever the rules, the question and the room: only sections of the site, once each, and never more text."""
    rules = data.draw(rules_on(made.manifest))
    room, cap = data.draw(st.integers(0, 40_000)), data.draw(st.integers(2_000, 24_000))
    navigator = Navigator(library_with(made, *rules, mode=data.draw(st.sampled_from(["each", "pool"]))), cap=cap)
    question = " ".join(data.draw(st.lists(WORDS, max_size=6)))
    told = apply_rules(navigator, question, data.draw(st.sampled_from([None, "pumps/", "nowhere/"])), room)
    assert set(told.opens) <= {section.id for section in made.manifest.sections()}
    assert len(set(told.opens)) == len(told.opens)
    assert all(one.opens or any(gone.rule == one.number for gone in told.dropped) for one in told.fired)
    if told.opens:
        result = navigator.expand_sections(told.opens)
        assert isinstance(result, ExpandResult)
        assert tuple(one.id for one in result.sections) == told.opens
        assert result.skipped == result.missing == ()
    assert navigator.open_chars() <= room


def test_many_rules_cost_little(made: MadeSite, ids: dict[str, str]) -> None:
    """A hundred rules of five phrases each are held against a question in less than it takes to blink."""
    rules = [rule(ids["Oil"], any=tuple(f"phrase {at} of {more}" for more in range(5))) for at in range(100)]
    places = SectionIndex(made.manifest)
    times: list[float] = []
    for _ in range(5):
        start = process_time()
        match_rules(rules, "how much oil of phrase is in a pump of mine", None, places)
        times.append(process_time() - start)
    assert min(times) < 0.05

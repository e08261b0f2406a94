"""Sections that the site's rules open before the first round."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
import msgspec
import pytest

from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.events import (
    Event,
    RoundStarted,
    SectionAlreadyOpen,
    SectionCited,
    SectionOpened,
    SectionsDropped,
    ToolCalled,
    summarize,
)
from mkdocs_roaming.answer.loop import answer
from mkdocs_roaming.answer.models.base import AssistantTurn, Model, ModelRequest, Text, ToolTurn
from mkdocs_roaming.answer.models.scripted import ScriptedModel
from mkdocs_roaming.answer.results import Offline
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.manifest.models import RuleCondition, RuleEntry

from .conftest import select

if TYPE_CHECKING:
    from ..conftest import MadeSite

PAGES = (
    ("", "# Boat\n\nHow to keep a boat afloat.\n\n## Notes\n\nKeep a log.\n"),
    (
        "pumps/",
        "# Pumps\n\n## Pressure\n\nThe bilge pump works at 4.7 bar.\n\n## Oil\n\nChange the oil in spring.\n",
    ),
    ("lamps/", "# Lamps\n\n## Colours\n\nA red lamp means port side. The lamp needs 12 V.\n"),
    ("long/", "# Long\n\n" + "Water runs under the keel. " * 900 + "\n"),
)
Ruled = Callable[..., Library]


@pytest.fixture
def site_data(make_site: Callable[..., MadeSite]) -> MadeSite:
    return make_site(PAGES)


@pytest.fixture
def ids(site_data: MadeSite) -> dict[str, str]:
    return {section.title: section.id for section in site_data.manifest.sections()}


@pytest.fixture
def ruled(site_data: MadeSite) -> Ruled:
    """Return the library with these rules."""

    def ruled(*rules: RuleEntry) -> Library:
        return replace(site_data, manifest=msgspec.structs.replace(site_data.manifest, rules=rules)).library()

    return ruled


def ask(model: Model, navigator: Navigator, question: str, **given: Any) -> list[Event]:
    given.setdefault("prefetch_tokens", 0)
    budget = replace(given.pop("budget", Budget()), whole_site_tokens=0)

    async def listen() -> list[Event]:
        async with aclosing(answer(question, navigator, model, budget=budget, **given)) as events:
            return [event async for event in events]

    return anyio.run(listen)


def shown(request: ModelRequest) -> list[str]:
    """Return the ids of the open sections of a request, call by call."""
    results = [result for turn in request.turns if isinstance(turn, ToolTurn) for result in turn.results]
    return [one.id for result in results for one in getattr(result.result, "sections", ())]


def test_pinned_section_is_open_before_first_round(ruled: Ruled, ids: dict[str, str]) -> None:
    library = ruled(RuleEntry(RuleCondition(any=("sinking",)), (ids["Pressure"], ids["Notes"])))
    model = ScriptedModel([[Text(f"It works at 4.7 bar. [^{ids['Pressure']}]")]])
    events = ask(model, Navigator(library), "My boat SINKS")
    call = next(event for event in events if isinstance(event, ToolCalled))
    assert call == ToolCalled("rules", "expand_sections", (ids["Pressure"], ids["Notes"]), query="SINKS")
    opened = [at for at, event in enumerate(events) if isinstance(event, SectionOpened)]
    first_round = next(at for at, event in enumerate(events) if isinstance(event, RoundStarted))
    assert len(opened) == 2
    assert max(opened) < first_round
    turn = next(turn for turn in model.requests[0].turns if isinstance(turn, AssistantTurn))
    assert [one.id for one in turn.calls] == ["rules"]
    assert shown(model.requests[0]) == [ids["Pressure"], ids["Notes"]]
    assert summarize(events).state == "answered"
    assert [event.section.id for event in select(SectionCited, events)] == [ids["Pressure"]]


def test_rules_of_untrusted_site_open_nothing(ruled: Ruled, ids: dict[str, str]) -> None:
    library = ruled(RuleEntry(RuleCondition(always=True), (ids["Pressure"],)))
    library.trusted = False
    assert select(ToolCalled, ask(ScriptedModel([[Text("No. [^none]")]]), Navigator(library), "Which lamp?")) == []


def test_rule_for_reader_page_applies(ruled: Ruled, ids: dict[str, str]) -> None:
    library = ruled(RuleEntry(RuleCondition(pages=(ids["Lamps"],)), (ids["Oil"],)))
    for page, calls in (("lamps/", 1), ("pumps/", 0), (None, 0)):
        events = ask(ScriptedModel([[Text("No. [^none]")]]), Navigator(library), "And now?", page=page)
        assert len(select(ToolCalled, events)) == calls


def test_sections_of_earlier_answers_come_first(ruled: Ruled, ids: dict[str, str]) -> None:
    library = ruled(RuleEntry(RuleCondition(always=True), (ids["Oil"], ids["Colours"])))
    model = ScriptedModel([[Text("No. [^none]")]])
    events = ask(model, Navigator(library), "And oil?", opened=[ids["Oil"]])
    assert [event.call for event in select(ToolCalled, events)] == ["kept", "rules"]
    assert [(event.call, event.section.id) for event in select(SectionOpened, events)] == [
        ("kept", ids["Oil"]),
        ("rules", ids["Colours"]),
    ]
    assert [event.section.id for event in select(SectionAlreadyOpen, events)] == [ids["Oil"]]


@pytest.mark.parametrize("chars", [1, 100, 3_000, 60_000])
def test_pinned_sections_respect_budget(ruled: Ruled, ids: dict[str, str], chars: int) -> None:
    library = ruled(
        *(RuleEntry(RuleCondition(always=True), (ids[title],)) for title in ("Long", "Oil", "Boat", "Colours"))
    )
    navigator = Navigator(library)
    events = ask(ScriptedModel([[Text("No. [^none]")]]), navigator, "And?", budget=Budget(open_chars=chars))
    assert navigator.open_chars() <= chars // 2
    assert select(SectionsDropped, events) == []
    assert bool(select(SectionOpened, events)) == (chars >= 100)


def test_offline_model_quotes_pinned_sections_first(
    make_site: Callable[..., MadeSite],
) -> None:
    site = make_site([("a/", "# Bailing\n\nUse the hand pump.\n"), ("b/", "# Flares\n\nRed ones call for help.\n")])
    question = "are we foundering?"
    assert summarize(ask(Offline(), Navigator(site.library()), question)).state == "not_found"
    opens = (site.manifest.pages[1].id, site.manifest.pages[0].id)
    ruled = msgspec.structs.replace(site.manifest, rules=(RuleEntry(RuleCondition(any=("founder",)), opens),))
    result = summarize(ask(Offline(), Navigator(replace(site, manifest=ruled).library()), question))
    assert result.state == "results"
    assert [one.id for one in result.citations] == list(opens)
    always = msgspec.structs.replace(site.manifest, rules=(RuleEntry(RuleCondition(always=True), opens),))
    result = summarize(ask(Offline(), Navigator(replace(site, manifest=always).library()), question))
    assert result.state == "not_found"

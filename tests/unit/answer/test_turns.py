"""Turns of scripted models: what is opened, closed, rejected and released, and how the answer ends."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tables import read_tables

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import Budget, Prices
from mkdocs_roaming.answer.conversation import Exchange
from mkdocs_roaming.answer.events import (
    CitationDropped,
    Event,
    SectionAlreadyOpen,
    SectionMissing,
    SectionOpened,
    SectionsDropped,
    TextWithheld,
    ToolCallRejected,
    summarize,
)
from mkdocs_roaming.answer.models.base import Part, Stop, Text, ToolCall, ToolTurn, Usage
from mkdocs_roaming.answer.models.scripted import ScriptedModel
from mkdocs_roaming.library.tools import ExpandResult

from .conftest import Ask, expand_call, select

TURNS = read_tables(__file__)
NOTES = ("LAST_ROUND", "LAST_ROUND_WITH_TOOLS", "LITTLE_ROOM", "TOO_MANY_CALLS", "NO_ROOM")


def make_part(name: str, value: Any, ids: dict[str, str]) -> Part:
    """Return the part of a reply; sections are named by their titles or ids."""
    if name == "open":
        return expand_call(*(ids.get(title, title) for title in value))
    if name == "search":
        return ToolCall("s", "search_sections", {"query": value})
    if name == "stop":
        return Stop(value)
    return Usage(value) if name == "input" else Text(fill_in(value, ids))


def fill_in(text: str, ids: dict[str, str]) -> str:
    """Return a text in which the titles in citations and links are ids."""
    return re.sub(r"(?<=\[\^|\]\()[A-Z][\w ]*(?=[\])])", lambda match: ids[match[0]], text)


def name_notes(text: str) -> list[str]:
    return [name for name in NOTES if getattr(prompts, name).partition("{")[0] in text]


def observe(events: list[Event], model: ScriptedModel, ids: dict[str, str]) -> dict[str, Any]:
    """Return all that a case may expect."""
    result = summarize(events)
    titles = {id_: title for title, id_ in ids.items()}
    results = [one.result for turn in model.requests[-1].turns if isinstance(turn, ToolTurn) for one in turn.results]
    return {
        **{name: getattr(result, name) for name in ("state", "spent", "text", "withheld", "dropped_citations")},
        "opened": [event.section.title for event in select(SectionOpened, events)],
        "inside": [section.title for event in select(SectionOpened, events) for section in event.inside],
        "already open": [event.section.title for event in select(SectionAlreadyOpen, events)],
        "closed": [section.title for event in select(SectionsDropped, events) for section in event.sections],
        "cited": [section.title for section in result.citations],
        "not cited": [titles.get(event.id, event.id) for event in select(CitationDropped, events)],
        "missing": [event.id for event in select(SectionMissing, events)],
        "rejected": [note for event in select(ToolCallRejected, events) for note in name_notes(event.message)],
        "notes": [name_notes(request.note) for request in model.requests],
        "tools": [bool(request.tools) for request in model.requests],
        "empty": [
            titles[section.id]
            for shown in results
            if isinstance(shown, ExpandResult)
            for section in shown.sections
            if not section.text
        ],
        "events of withheld text": len(select(TextWithheld, events)),
    }


@pytest.mark.parametrize("case", TURNS.values(), ids=list(TURNS))
def test_turn(ask: Ask, ids: dict[str, str], case: dict[str, Any]) -> None:
    model = ScriptedModel([[make_part(*part, ids) for one in reply for part in one.items()] for reply in case["turn"]])
    budget = Budget(**{"prices": Prices(1, output=1), **case.get("budget", {})})
    history = [Exchange(asked, fill_in(said, ids)) for asked, said in case.get("history", ())]
    opened = [ids[title] for title in case.get("opened", ())]
    question = case.get("question", "Which port is the default?")
    given = {"whole_site_tokens": case.get("whole site", 0), "budget": budget, "history": history, "opened": opened}
    found = observe(ask(model, question, **given), model, ids)
    expected = {name: fill_in(value, ids) if name == "text" else value for name, value in case["expected"].items()}
    assert {name: found[name] for name in expected} == expected

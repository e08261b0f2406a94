"""The model for chat completions servers: requests, dialects and errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

import pytest
from messages_api import MessagesApi
from messages_api.chat_wire import Dialect
from messages_api.navigator import Navigator as WordNavigator
from messages_api.parts import Part, Raw, Say, Think
from messages_api.script import Script
from tables import read_tables

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.conversation import Exchange
from mkdocs_roaming.answer.events import Event, SectionOpened, ToolCalled, summarize
from mkdocs_roaming.answer.models.base import NO_USAGE, Model
from mkdocs_roaming.answer.prompts import render_result
from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.targets import library_from_markdown

from .conftest import expand_call, reply

TABLES = read_tables(__file__)

Ask = Callable[..., list[Event]]
Make = Callable[..., Model]

LOG = "Where does the log go that Kettle writes?"


# Requests


def test_sections_are_enclosed_in_tags(ask: Ask, api: MessagesApi, openai: Make, ids: dict[str, str]) -> None:
    api.brain = Script([expand_call(ids["Settings"])], [Say(f"96.5 degrees [^{ids['Boiling']}].")])
    result = summarize(ask(openai()))
    assert [section.title for section in result.citations] == ["Boiling"]
    message = api.requests[1]["messages"][-1]
    assert message["role"] == "tool"
    for title in ("Settings", "Server", "Boiling", "Logs"):
        assert f"<section {ids[title]}>\nSettings" in message["content"]
        assert f"\n</section {ids[title]}>\n" in message["content"]
    assert "After: " in message["content"]


def test_result_of_somebody_elses_site_begins_with_its_host() -> None:
    library = library_from_markdown("# Oil\n\nChange the oil.\n", url="https://boat.example/")
    library.trusted = False
    for call, arguments in (
        ("expand_sections", {"ids": [library.manifest.pages[0].id]}),
        ("search_sections", {"query": "oil"}),
    ):
        text = render_result(Navigator(library).call(call, arguments))
        assert text.startswith("untrusted content from boat.example\n")
        assert text.count("untrusted content") == 1


def test_last_round_has_no_tools(ask: Ask, api: MessagesApi, openai: Make) -> None:
    api.brain = Script([expand_call("x")], [Say("The docs do not say this [^none].")])
    ask(openai(), budget=Budget(rounds=2))
    assert ["tools" in request for request in api.requests] == [True, False]
    assert all("tool_choice" not in request for request in api.requests)


def test_note_follows_question_in_single_round(ask: Ask, api: MessagesApi, openai: Make) -> None:
    api.brain = WordNavigator()
    ask(openai(), budget=Budget(rounds=1), history=[Exchange("Who is king?", ""), Exchange("Why?", "So.")])
    roles = [message["role"] for message in api.requests[0]["messages"]]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user"]
    assert api.requests[0]["messages"][-1]["content"].endswith(prompts.LAST_ROUND)


# Dialects


@pytest.mark.parametrize("dialect", [Dialect(**row) for row in TABLES["dialects"]], ids=str)
def test_dialects_give_equal_answers(ask: Ask, api: MessagesApi, openai: Make, dialect: Dialect) -> None:
    api.brain, api.dialect = WordNavigator(), dialect
    events = ask(openai(), LOG)
    result = summarize(events)
    assert result.state == "answered"
    assert result.text.startswith("Kettle writes its log to `/var/log/kettle.log`.")
    assert [event.name for event in events if isinstance(event, ToolCalled)] == ["expand_sections", "search_sections"]
    assert "Logs" in [event.section.title for event in events if isinstance(event, SectionOpened)]
    assert (result.usage == NO_USAGE) is not dialect.usage


def test_reasoning_is_ignored(ask: Ask, api: MessagesApi, openai: Make, ids: dict[str, str]) -> None:
    api.budget = None
    server = ids["Server"]
    api.brain = Script([Think("Where?"), expand_call(server)], [Think("So."), Say(f"8642 [^{server}].")])
    assert summarize(ask(openai())).text == f"8642 [^{server}]."
    assert "Where?" not in json.dumps(api.requests[1])


# Errors


def test_endless_event_is_rejected(api: MessagesApi, openai: Make) -> None:

    def endless(_: object) -> Iterable[Part]:
        yield Say("Well.")
        while True:
            yield Raw(b"data: " + b"x" * 100_000)

    api.brain = Script(endless)
    with pytest.raises(RoamingError, match="sent a response that is not from the chat completions API"):
        reply(openai())
    assert api.idle()
    assert api.exchanges[0].left

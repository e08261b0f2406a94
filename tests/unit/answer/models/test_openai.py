"""The model for chat completions servers: requests, dialects and errors."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import anyio
import pytest
from messages_api import MessagesApi
from messages_api.chat_wire import Dialect
from messages_api.navigator import Navigator as WordNavigator
from messages_api.parts import Call, End, Part, Raw, Say, Status, Think
from messages_api.script import Script
from tables import read_tables

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.conversation import Exchange
from mkdocs_roaming.answer.events import Event, SectionOpened, ToolCalled, summarize
from mkdocs_roaming.answer.models.base import NO_USAGE, Model, Request, Stop, Text, ToolCall, Usage, UserTurn
from mkdocs_roaming.answer.models.base import Part as OurPart
from mkdocs_roaming.answer.prompts import render_result
from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.targets import library_from_markdown
from mkdocs_roaming.library.tools import TOOLS

TABLES = read_tables(__file__)

Ask = Callable[..., list[Event]]
Make = Callable[..., Model]

LOG = "Where does the log go that Kettle writes?"


def expand_call(*ids: str, id: str | None = None) -> Call:
    return Call("expand_sections", {"ids": list(ids)}, id)


def reply(model: Model) -> list[OurPart]:
    """Return all parts of one reply."""

    async def listen() -> list[OurPart]:
        request = Request("The rules.", "The outline.", (UserTurn("Which port?"),), TOOLS)
        return [part async for part in model.reply(request)]

    return anyio.run(listen)


def pieces(*deltas: dict[str, Any], reason: str | None = "stop") -> Iterable[Part]:
    """Return a brain that streams the given chunks and the end of the stream."""
    for delta in deltas:
        yield Raw(b"data: " + json.dumps({"choices": [{"delta": delta}]}).encode() + b"\n\n")
    if reason is not None:
        yield End(reason)


def calls(parts: Iterable[OurPart]) -> list[tuple[str, str, object]]:
    return [(part.id, part.name, part.arguments) for part in parts if isinstance(part, ToolCall)]


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


def test_conversation_only_grows(ask: Ask, api: MessagesApi, openai: Make, ids: dict[str, str]) -> None:
    api.brain = Script(
        [expand_call(ids["Server"])], [expand_call(ids["Logs"])], [expand_call(ids["Boiling"])], [Say("Hm [^none].")]
    )
    ask(openai())
    conversations = [request["messages"] for request in api.requests]
    assert conversations[2][-1]["content"].endswith(prompts.LAST_ROUND_WITH_TOOLS)
    assert conversations[3][-1]["content"].endswith(prompts.LAST_ROUND)
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(conversations))


def test_note_follows_question_in_single_round(ask: Ask, api: MessagesApi, openai: Make) -> None:
    api.brain = WordNavigator()
    ask(openai(), budget=Budget(rounds=1), history=[Exchange("Who is king?", ""), Exchange("Why?", "So.")])
    roles = [message["role"] for message in api.requests[0]["messages"]]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user"]
    assert api.requests[0]["messages"][-1]["content"].endswith(prompts.LAST_ROUND)


def test_calls_with_unusual_ids_are_matched(ask: Ask, api: MessagesApi, openai: Make, ids: dict[str, str]) -> None:
    calls = [expand_call(ids["Server"], id="a"), expand_call(ids["Logs"], id="a "), expand_call(ids["Boiling"], id="ü")]
    api.brain = Script(
        [Say("Let me see."), *calls], [expand_call(ids["Steps"], id="a")], [Say("The docs do not say this [^none].")]
    )
    ask(openai())
    assert [message.get("tool_call_id") for message in api.requests[2]["messages"] if message["role"] == "tool"] == [
        hashlib.sha256(name.encode()).hexdigest()[:9] for name in ("a", "a_", "_", "a_2")
    ]


# Dialects


@pytest.mark.parametrize(
    "dialect",
    [
        Dialect(),
        Dialect(newline="\r\n"),
        Dialect(newline="\r"),
        Dialect(space="", comments=True),
        Dialect(ids="all"),
        Dialect(index=False, ids="all"),
        Dialect(index=False, ids="first"),
        Dialect(index=False, ids="none"),
        Dialect(index=False, ids="none", whole_calls=True, argument_objects=True, finish_calls="stop"),
        Dialect(whole_calls=True, argument_objects=True),
        Dialect(finish_calls="stop", usage=False),
        Dialect(done=False),
    ],
    ids=str,
)
def test_dialects_give_equal_answers(ask: Ask, api: MessagesApi, openai: Make, dialect: Dialect) -> None:
    api.brain, api.dialect = WordNavigator(), dialect
    events = ask(openai(), LOG)
    result = summarize(events)
    assert result.state == "answered"
    assert result.text.startswith("Kettle writes its log to `/var/log/kettle.log`.")
    assert [event.name for event in events if isinstance(event, ToolCalled)] == ["expand_sections", "search_sections"]
    assert "Logs" in [event.section.title for event in events if isinstance(event, SectionOpened)]
    assert (result.usage == NO_USAGE) is not dialect.usage


def test_calls_with_equal_index_are_separated(api: MessagesApi, openai: Make) -> None:
    one = {"index": 0, "id": "a", "function": {"name": "x", "arguments": "{}"}}
    two = {"index": 0, "id": "b", "function": {"name": "y", "arguments": "{}"}}
    api.brain = Script(list(pieces({"tool_calls": [one]}, {"tool_calls": [two]})))
    assert calls(reply(openai())) == [("a", "x", {}), ("b", "y", {})]
    bare = {"index": 0, "id": "a", "function": {"name": "x", "arguments": ""}}
    api.brain = Script(list(pieces({"tool_calls": [bare, two]})))
    assert calls(reply(openai())) == [("a", "x", {}), ("b", "y", {})]
    for call in (one, two):
        call["id"] = None
    api.brain = Script(list(pieces({"tool_calls": [one, two]})))
    assert calls(reply(openai())) == [("", "x", {}), ("", "y", {})]


def test_repeated_call_name_is_accepted(api: MessagesApi, openai: Make) -> None:
    fragments = [{"index": 1, "function": {"name": "x", "arguments": piece}} for piece in ('{"a"', ": 1}")]
    api.brain = Script(list(pieces(*({"tool_calls": [fragment]} for fragment in fragments))))
    parts = reply(openai())
    assert calls(parts) == [("", "x", {"a": 1})]
    assert isinstance(parts[-1], Stop)
    assert parts[-1].reason == "tools"


@pytest.mark.parametrize(("delta", "expected"), TABLES["text of delta is read"])
def test_text_of_delta_is_read(api: MessagesApi, openai: Make, delta: dict[str, Any], expected: str) -> None:
    api.budget = None
    api.brain = Script(list(pieces(delta)))
    parts = reply(openai())
    assert "".join(part.text for part in parts if isinstance(part, Text)) == expected
    assert not calls(parts)


def test_reasoning_is_ignored(ask: Ask, api: MessagesApi, openai: Make, ids: dict[str, str]) -> None:
    api.budget = None
    server = ids["Server"]
    api.brain = Script([Think("Where?"), expand_call(server)], [Think("So."), Say(f"8642 [^{server}].")])
    assert summarize(ask(openai())).text == f"8642 [^{server}]."
    assert "Where?" not in json.dumps(api.requests[1])


def test_refusal_field_means_refused(ask: Ask, api: MessagesApi, openai: Make) -> None:
    api.brain = Script(list(pieces({"refusal": "I can't help"}, {"refusal": " with that."})))
    assert summarize(ask(openai())).state == "refused"


def test_cached_tokens_are_counted_separately(api: MessagesApi, openai: Make) -> None:
    usage = {"prompt_tokens": 900, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 800}}
    counted = Raw(f"data: {json.dumps({'choices': [], 'usage': usage})}\n\n".encode())
    api.dialect = Dialect(usage=False)
    api.brain = Script([Say("Well."), counted])
    assert Usage(100, 800, 0, 7) in reply(openai())
    odd = {"prompt_tokens": "many", "completion_tokens": None, "prompt_tokens_details": 7}
    api.brain = Script([Say("Well."), Raw(f"data: {json.dumps({'usage': odd})}\n\n".encode())])
    assert not [part for part in reply(openai()) if isinstance(part, Usage)]


def test_unstreamed_reply_is_read(ask: Ask, api: MessagesApi, openai: Make, ids: dict[str, str]) -> None:
    server = ids["Server"]
    call = {
        "id": "a",
        "type": "function",
        "function": {"name": "expand_sections", "arguments": f'{{"ids": ["{server}"]}}'},
    }

    def whole(message: dict[str, Any], reason: str) -> list[Part]:
        body = {"choices": [{"message": message, "finish_reason": reason}], "usage": {"prompt_tokens": 5}}
        return [Status(200, body=json.dumps(body).encode())]

    api.brain = Script(
        whole({"content": None, "tool_calls": [call]}, "tool_calls"), whole({"content": f"8642 [^{server}]."}, "stop")
    )
    result = summarize(ask(openai()))
    assert (result.state, result.text, result.usage) == ("answered", f"8642 [^{server}].", Usage(10))


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

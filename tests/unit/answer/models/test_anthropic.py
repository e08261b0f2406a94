"""The Anthropic model: requests, prompt cache, replies and errors."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from messages_api import MessagesApi
from messages_api.navigator import Navigator as WordNavigator
from messages_api.parts import Call, Cite, Say, Think
from messages_api.script import Script
from tables import read_tables

from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.events import Event, SectionsDropped, TokensUsed, summarize
from mkdocs_roaming.answer.models.anthropic import MessageReader
from mkdocs_roaming.answer.models.base import AssistantTurn, Model, Stop, Text, ToolCall, Usage, UserTurn
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.tools import TOOLS

from .conftest import SAMPLE, expand_call, reply

TABLES = read_tables(__file__)

Ask = Callable[..., list[Event]]
Make = Callable[..., Model]

QUESTIONS = [
    question["ask"]
    for name in ("questions.yml", "questions-held-out.yml")
    for question in yaml.safe_load((SAMPLE.parent / name).read_text("utf-8"))["questions"]
]


# Requests


def test_opened_sections_are_search_results(ask: Ask, api: MessagesApi, claude: Make, ids: dict[str, str]) -> None:
    api.brain = Script([expand_call(ids["Settings"])], [Say("96.5 degrees."), Cite(ids["Boiling"])])
    result = summarize(ask(claude()))
    assert [section.title for section in result.citations] == ["Boiling"]
    (result,) = api.requests[1]["messages"][-1]["content"]
    *found, frame = result["content"]
    assert [one["source"] for one in found] == [ids[title] for title in ("Settings", "Server", "Boiling", "Logs")]
    assert [one["title"] for one in found][:2] == ["Settings", "Settings › Server"]
    assert all(one["citations"] == {"enabled": True} for one in found)
    assert "8642" in found[1]["content"][0]["text"]
    assert f"Settings\n[{ids['Settings']}]\n" in frame["text"]


def test_result_of_somebody_elses_site_begins_with_its_host(
    ask: Ask, api: MessagesApi, claude: Make, ids: dict[str, str], library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "trusted", False)
    api.brain = Script(
        [expand_call(ids["Server"]), Call("search_sections", {"query": "port"})],
        [Say("The docs do not say this [^none].")],
    )
    ask(claude())
    for result in api.requests[1]["messages"][-1]["content"]:
        label, *others = result["content"]
        assert label == {"type": "text", "text": "untrusted content from kettle.example\n"}
        assert "untrusted" not in str(others)


def test_tool_errors_are_marked_as_errors(ask: Ask, api: MessagesApi, claude: Make) -> None:
    api.brain = Script(
        [Call("delete_site", {}), Call("search_sections", {"query": "port"})],
        [Say("The docs do not say this [^none].")],
    )
    ask(claude())
    wrong, right = api.requests[1]["messages"][-1]["content"]
    assert wrong["is_error"] is True
    assert "is_error" not in right


def test_last_round_keeps_tools_defined(ask: Ask, api: MessagesApi, claude: Make) -> None:
    api.brain = Script([expand_call("x")], [Say("The docs do not say this [^none].")])
    ask(claude(), budget=Budget(rounds=2))
    first, last = api.requests
    assert first["tools"] == last["tools"]
    assert "tool_choice" not in first
    assert last["tool_choice"] == {"type": "none"}
    assert len(api.prefixes()) == 1
    assert ["cache_control" in json.dumps(body["messages"]) for body in (first, last)] == [True, False]


def test_small_site_request_has_no_tools(ask: Ask, api: MessagesApi, claude: Make) -> None:
    api.brain = WordNavigator()
    result = summarize(ask(claude(), "Where does the log go that Kettle writes?", whole_site_tokens=8000))
    assert (result.state, result.rounds) == ("answered", 1)
    assert all("tools" not in request and "tool_choice" not in request for request in api.requests)


def test_unusual_turns_are_sent_as_valid_blocks(api: MessagesApi, claude: Make) -> None:
    from mkdocs_roaming.answer.models.base import ToolResult, ToolTurn
    from mkdocs_roaming.library.tools import ToolError

    calls = (ToolCall("1", "rm -rf /", "not json"), ToolCall("2", "", ["x"]), ToolCall("3", "ö", '{"a": 1}'))
    results = ToolTurn(tuple(ToolResult(call, ToolError("No.")) for call in calls))
    turns = (
        UserTurn("One?"),
        UserTurn("Two?"),
        AssistantTurn(" ", calls, provider_state=object()),
        results,
        UserTurn("Three?"),
    )
    assert isinstance(reply(claude(), turns, tools=TOOLS)[-1], Stop)
    blocks = api.requests[0]["messages"][1]["content"]
    assert [block["name"] for block in blocks] == ["rm_-rf__", "unknown", "_"]
    assert [block["input"] for block in blocks] == [{"arguments": "not json"}, {"arguments": ["x"]}, {"a": 1}]


@pytest.mark.slow
def test_requests_match_sdk_types(ask: Ask, api: MessagesApi, claude: Make, ids: dict[str, str]) -> None:
    import pydantic
    from anthropic.types.message_create_params import MessageCreateParamsStreaming

    adapter = pydantic.TypeAdapter(MessageCreateParamsStreaming)
    api.budget = None
    server = ids["Server"]
    api.brain = Script(
        [Think("Where?"), Say("Hm."), expand_call(server)],
        [Think(), Say("8642."), Cite(server), Call("x", "bad")],
        [Call("search_sections", {"query": "port"})],
        [Say("The docs do not say this [^none].")],
    )
    ask(claude(model="claude-opus-5-5"))
    assert len(api.requests) == 4
    for body in api.requests:
        _read(adapter.validate_python(body))
    with pytest.raises(pydantic.ValidationError):
        _read(adapter.validate_python({**api.requests[0], "tools": [{"name": "x", "input_schema": 7}]}))


def _read(value: Any) -> None:
    """Return a value with all lazy parts evaluated: pydantic validates them on access."""
    if isinstance(value, dict):
        value = value.values()
    if not isinstance(value, (str, int, float, type(None))):
        for one in value:
            _read(one)


# Prompt cache


def test_rules_and_outline_are_cached_across_questions(
    ask: Ask, api: MessagesApi, claude: Make, handbook: Library
) -> None:
    api.brain = WordNavigator()
    model, budget = claude(), Budget(rounds=2)
    cited = 0
    for question in QUESTIONS[:4]:
        navigator = Navigator(handbook)
        result = summarize(ask(model, question, navigator=navigator, budget=budget))
        assert {section.id for section in result.citations} <= set(navigator.opened)
        cited += len(result.citations)
    assert cited > 0
    assert len(api.requests) > 7
    assert len(api.prefixes()) == 1
    shared = api.exchanges[1].usage["cache_read_input_tokens"]
    assert shared > 4_200  # some models cache no prefix below 4,096 tokens
    assert all(exchange.usage["cache_read_input_tokens"] >= 4_200 for exchange in api.exchanges[1:])
    written = sum(exchange.usage["cache_creation_input_tokens"] for exchange in api.exchanges[1:])
    read = sum(exchange.usage["cache_read_input_tokens"] for exchange in api.exchanges)
    assert read > 2 * written


@pytest.mark.parametrize("many", [False, True])
def test_each_round_reads_cache_of_previous_round(
    ask: Ask, api: MessagesApi, claude: Make, handbook: Library, many: bool
) -> None:
    place = list(handbook.sections)
    searches = [Call("search_sections", {"query": "drain gauge"}) for _ in range(12)]
    opens = [[expand_call(*(one.id for one in place[at : at + 6]))] for at in (10, 40)]
    api.brain = Script(*([searches, searches] if many else opens), [Say("Hm [^none].")])
    events = ask(claude(), "How are gauges calibrated?", navigator=Navigator(handbook))
    read, written = (
        [one.usage[f"cache_{kind}_input_tokens"] for one in api.exchanges] for kind in ("read", "creation")
    )
    assert read[1:] == [read[0] + written[0], read[1] + written[1]]
    assert sum(event.usage.cache_read for event in events if isinstance(event, TokensUsed)) == sum(read)
    assert summarize(events).usage.output > 0


def test_small_site_is_read_from_cache(ask: Ask, api: MessagesApi, claude: Make, ids: dict[str, str]) -> None:
    api.brain = Script([Say(f"8642 [^{ids['Server']}].")], again=True)
    model = claude()
    first = summarize(ask(model, whole_site_tokens=8_000)).usage
    second = summarize(ask(model, "How hot does it get?", whole_site_tokens=8_000)).usage
    assert first.cache_write > first.input
    assert (second.cache_write, second.cache_read) == (0, first.cache_write)


# Thinking


@pytest.mark.parametrize(("model", "sent", "limit"), TABLES["models use least thinking"])
def test_models_use_least_thinking(
    api: MessagesApi, claude: Make, model: str, sent: dict[str, Any], limit: int
) -> None:
    api.budget = None
    reply(claude(model=model))
    (body,) = api.requests
    assert {name: body[name] for name in ("thinking", "output_config") if name in body} == sent
    assert body["max_tokens"] == limit


def test_thinking_is_sent_back_unchanged(ask: Ask, api: MessagesApi, claude: Make, ids: dict[str, str]) -> None:
    api.budget = None
    server, logs = ids["Server"], ids["Logs"]
    api.brain = Script(
        [Think("Where?"), expand_call(server)],
        [Think(), Say("So far 8642."), Cite(server), expand_call(logs)],
        [Say("The port is 8642."), Cite(server)],
    )
    result = summarize(ask(claude(model="claude-opus-5-5")))
    assert result.text == f"The port is 8642.[^{server}]"
    first, second = (message["content"] for message in api.requests[2]["messages"] if message["role"] == "assistant")
    assert [block["type"] for block in first] == ["thinking", "tool_use"]
    assert [block["type"] for block in second] == ["thinking", "text", "tool_use"]
    assert second[1]["citations"][0]["source"] == server


def test_thinking_after_closed_sections_is_left_out(
    ask: Ask, api: MessagesApi, claude: Make, ids: dict[str, str]
) -> None:
    api.budget = None
    api.brain = Script(
        [Think(), expand_call(ids["Steps"], ids["Boiling"])],
        [Think(), Say("So far 96.5."), Cite(ids["Boiling"]), expand_call(ids["Server"], ids["Logs"])],
        [Say("8642."), Cite(ids["Server"])],
    )
    events = ask(claude(model="claude-opus-5-5"), budget=Budget(open_chars=700))
    assert [event for event in events if isinstance(event, SectionsDropped)]
    assert summarize(events).state == "answered"
    first, second = (message["content"] for message in api.requests[2]["messages"] if message["role"] == "assistant")
    assert [block["type"] for block in first] == ["thinking", "tool_use"]
    assert [block["type"] for block in second] == ["text", "tool_use"]
    assert "citations" not in second[0]


# Replies


@pytest.mark.parametrize("late", [True, False])
def test_native_citations_become_citation_parts(
    api: MessagesApi, claude: Make, ids: dict[str, str], ask: Ask, late: bool
) -> None:
    server, logs = ids["Server"], ids["Logs"]
    api.brain = Script(
        [expand_call(server, logs)],
        [
            *([] if late else [Cite(server, late=False)]),
            Say("The port is 8642."),
            *([Cite(server)] if late else []),
            *([] if late else [Cite(logs, late=False)]),
            Say(" Logs are kept for 19 days."),
            *([Cite(logs)] if late else []),
        ],
    )
    result = summarize(ask(claude()))
    assert result.text == f"The port is 8642.[^{server}] Logs are kept for 19 days.[^{logs}]"
    assert result.state == "answered"


def test_written_citation_is_not_repeated(ask: Ask, api: MessagesApi, claude: Make, ids: dict[str, str]) -> None:
    server = ids["Server"]
    api.brain = Script([expand_call(server)], [Say(f"The port is 8642 [^{server}]."), Cite(server)])
    assert summarize(ask(claude())).text == f"The port is 8642 [^{server}]."


def test_usage_is_reported_incrementally(api: MessagesApi, claude: Make) -> None:
    api.brain = Script([Say("Well.")])
    parts = reply(claude())
    assert isinstance(parts[0], Usage)
    assert parts[0].input > 0
    assert parts[0].output == 0
    assert parts[1:3] == [Text("Well."), Usage(output=3)]


# Errors


def test_http_client_is_imported_lazily() -> None:
    code = (
        "import sys; import mkdocs_roaming.answer.models.anthropic, mkdocs_roaming.answer.models.base\n"
        "print('httpx2' in sys.modules)"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "False"


def test_call_with_invalid_types_becomes_strings() -> None:
    block = {"type": "tool_use", "id": 7, "name": ["x"], "input": {}}
    reader = MessageReader({})
    list(reader.feed({"type": "content_block_start", "index": 0, "content_block": block}))
    assert list(reader.end()) == [ToolCall("7", "['x']", {})]

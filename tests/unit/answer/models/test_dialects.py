"""What servers refuse, how they write errors, calls and contexts: the normal form of requests and replies."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import anyio
import pytest
from messages_api import MessagesApi
from messages_api.chat_wire import Dialect
from messages_api.parts import Call, End, Raw, Say, Status, Think
from messages_api.parts import Part as Written
from messages_api.script import Script
from tables import read_tables

from mkdocs_roaming._http import ApiConfig
from mkdocs_roaming.answer.events import Event, summarize
from mkdocs_roaming.answer.models.base import (
    AssistantTurn,
    Model,
    ModelOptions,
    Text,
    ToolCall,
    ToolResult,
    ToolTurn,
    Turn,
    UserTurn,
)
from mkdocs_roaming.answer.models.context import find_number
from mkdocs_roaming.answer.models.openai import OpenAIModel
from mkdocs_roaming.answer.models.refusals import error_for_status
from mkdocs_roaming.answer.models.replies import parse_arguments
from mkdocs_roaming.errors import ContextError, ModelError, ToolsUnsupportedError, UsageError
from mkdocs_roaming.library.tools import TOOLS, ToolError

from .conftest import reply

TABLES = read_tables(__file__)

Ask = Callable[..., list[Event]]
Make = Callable[..., Model]
SERVICE = ApiConfig("m", "http://127.0.0.1/v1", "", "KEY", "BASE")


def turns_with_call(id_: str = "prefetch", name: str = "search_sections") -> tuple[Turn, ...]:
    call = ToolCall(id_, name, {"query": "port"})
    results = ToolTurn((ToolResult(call, ToolError("The port is 8642.")),))
    return UserTurn("Which port?"), AssistantTurn("", (call,)), results


def read(model: Model, **more: Any) -> str:
    return "".join(part.text for part in reply(model, **more) if isinstance(part, Text))


# Errors


@pytest.mark.parametrize(("message", "limit"), TABLES["overflow is recognized in all dialects"])
@pytest.mark.parametrize("status", [200, 400, 500])
def test_overflow_is_recognized_in_all_dialects(message: str, limit: int | None, status: int) -> None:
    error = error_for_status(SERVICE, status, message=message)
    assert isinstance(error, ContextError)
    assert (error.limit, error.cause) == (limit, "size")
    assert str(error).endswith(f"set context in [model]{f' to {limit}' if limit else ''}")


@pytest.mark.parametrize(("status", "message"), TABLES["refusal of tools is recognized"])
def test_refusal_of_tools_is_recognized(api: MessagesApi, make: Make, status: int, message: str) -> None:
    api.brain = Script([Status(status, message=message)])
    model = make()
    with pytest.raises(ToolsUnsupportedError, match=r"set tools = false in \[model\]"):
        reply(model, tools=TOOLS)
    assert not model.has_tools


@pytest.mark.parametrize(("status", "message"), TABLES["other refusals are no overflow and no lack of tools"])
def test_other_refusals_are_no_overflow_and_no_lack_of_tools(status: int, message: str) -> None:
    assert type(error_for_status(SERVICE, status, message=message)) is ModelError


@pytest.mark.parametrize("body", TABLES["error with status 200 is reported"])
def test_error_with_status_200_is_reported(api: MessagesApi, make: Make, body: dict[str, Any]) -> None:
    api.brain = Script([Status(200, body=json.dumps(body).encode())])
    with pytest.raises(ModelError, match="the provider is overloaded"):
        reply(make())


# Requests


def test_ids_are_nine_letters_or_digits_and_tools_have_plain_names(api: MessagesApi, openai: Make) -> None:
    api.brain = Script([Say("8642.")])
    reply(openai(), turns_with_call("call_1", "functions.search"))
    _, _, asked, answered = api.requests[0]["messages"]
    (call,) = asked["tool_calls"]
    assert call["id"] == answered["tool_call_id"]
    assert len(call["id"]) == 9
    assert call["id"].isalnum()
    assert call["function"]["name"] == "functions_search"


def test_text_of_reader_never_follows_reader_or_tool(api: MessagesApi, openai: Make) -> None:
    api.brain = Script([Say("8642.")])
    turns = (UserTurn("One?"), *turns_with_call(), UserTurn("Two?"), AssistantTurn("A."), AssistantTurn("B."))
    reply(openai(), (*turns, UserTurn("Three?")), note="The note.")
    roles = [message["role"] for message in api.requests[0]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
    contents = [message["content"] for message in api.requests[0]["messages"]]
    assert "Two?" in contents[3]
    assert contents[4] == "A.\n\nB."
    assert contents[5].endswith("The note.")


def test_tools_are_defined_in_last_round_if_server_requires_them(api: MessagesApi, openai: Make) -> None:
    message = "Anthropic doesn't support tool calling without `tools=` param specified."
    api.brain = Script([Status(400, message=message)], [Say("8642.")], [Say("Again.")])
    model = openai()
    assert read(model, turns=turns_with_call()) == "8642."
    assert read(model, turns=turns_with_call()) == "Again."
    assert [body.get("tool_choice") for body in api.requests] == [None, "none", "none"]
    assert [len(body.get("tools", ())) for body in api.requests] == [0, len(TOOLS), len(TOOLS)]
    assert model.has_tools


@pytest.mark.parametrize(("message", "key", "instead"), TABLES["refused parameter is left out from then on"])
def test_refused_parameter_is_left_out_from_then_on(
    api: MessagesApi, openai: Make, message: str, key: str, instead: list[str]
) -> None:
    whole = {"choices": [{"message": {"content": [{"type": "text", "text": "8642."}]}, "finish_reason": "stop"}]}
    answer = [Status(200, body=json.dumps(whole).encode())]
    api.brain = Script([Status(400, message=message)], answer, answer)
    model = openai()
    assert read(model) == read(model) == "8642."
    first, second, third = ({*body, *(turn["role"] for turn in body["messages"])} for body in api.requests)
    assert key in first - second
    assert second == third
    assert second - first == set(instead)


def test_sections_are_text_for_models_and_servers_without_search_results(api: MessagesApi, claude: Make) -> None:
    turns = turns_with_call()
    for name, replies in (("claude-haiku-5-5", [Status(400, message="unknown type")]), ("stand-in", [])):
        api.budget = None
        api.brain = Script(*([status] for status in replies), [Say("8642.")])
        assert read(claude(model=name), turns=turns, tools=TOOLS) == "8642."
        (result,) = api.requests[-1]["messages"][-1]["content"]
        assert result["content"][0] == {"type": "text", "text": "The port is 8642.\n", **_cache_of(result)}


def _cache_of(result: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in result["content"][0].items() if name == "cache_control"}


@pytest.mark.parametrize("name", ["messages", "tools", "stream", "max_tokens", "n"])
def test_parameters_cannot_replace_what_the_product_sets(name: str) -> None:
    with pytest.raises(UsageError, match=rf"parameters in \[model\]: {name} is set by the product; remove it"):
        ModelOptions(parameters={name: 1})


def test_parameters_are_part_of_each_request(api: MessagesApi, make: Make) -> None:
    api.brain = Script([Say("8642.")])
    with pytest.raises(ModelError, match="unexpected"):
        reply(make(options=ModelOptions(parameters={"reasoning_effort": "low"})))
    assert api.requests[0]["reasoning_effort"] == "low"
    api.faults.clear()  # the local provider knows no such parameter
    with pytest.raises(UsageError, match="use texts, numbers, lists and tables"):
        ModelOptions(parameters={"x": float("nan")})


# Replies


@pytest.mark.parametrize(("text", "arguments"), TABLES["arguments are read from what resembles json"])
def test_arguments_are_read_from_what_resembles_json(text: str, arguments: object) -> None:
    assert parse_arguments(text) == arguments


def test_model_that_thinks_gets_room_for_it(api: MessagesApi, make: Make) -> None:
    api.budget = None
    api.brain = Script([Think("Hm."), End("max_tokens")], [Say("8642.")])
    model = make(model="stand-in")
    assert read(model) == "8642."
    before, after = (body["max_tokens"] for body in api.requests)
    assert before < 4_000 < after


def test_request_that_server_cuts_without_a_word_is_noticed(api: MessagesApi, openai: Make) -> None:
    def count(tokens: int) -> Written:
        return Raw(f"data: {json.dumps({'choices': [], 'usage': {'prompt_tokens': tokens}})}\n\n".encode())

    question = (UserTurn("Where is it? " * 2_000),)
    api.dialect = Dialect(usage=False)
    api.brain = Script([Say("8642."), count(4_090)], [Say("8642."), count(6_000)])
    model = openai()
    with pytest.raises(ContextError, match=r"read only 4090 tokens of it\); load the model with a larger context"):
        reply(model, question)
    assert anyio.run(model.find_context) == 4_090  # type: ignore[attr-defined]
    assert read(openai(), turns=question) == "8642."


# The loaded context


@pytest.mark.parametrize(("data", "field", "size"), TABLES["number of model is found"])
def test_number_of_model_is_found(data: object, field: str, size: int | None) -> None:
    assert find_number(data, field, "m") == size


def test_loaded_context_is_asked_for_until_it_is_known() -> None:
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            asked.append(self.path)
            is_known = self.path == "/api/ps"
            loaded = [{"name": "m:latest", "context_length": 4096}] if len(asked) > 4 else []
            body = json.dumps({"models": loaded}).encode()
            self.send_response(200 if is_known else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        model = OpenAIModel("m", base_url=f"http://127.0.0.1:{server.server_address[1]}/v1")
        assert [anyio.run(model.find_context) for _ in range(3)] == [None, 4096, 4096]
        server.shutdown()
    assert len(asked) == 5  # the paths that this server does not have are asked for once


def test_setting_of_context_comes_first(make: Make, openai: Make) -> None:
    model: Any = make(options=ModelOptions(context=8192))
    assert anyio.run(model.find_context) == 8192
    hosted: Any = openai(base_url="https://models.example/v1")
    assert anyio.run(hosted.find_context) is None


def test_call_name_and_native_arguments(api: MessagesApi, claude: Make) -> None:
    api.brain = Script([Call("search_sections", "{'query': 'port'}")])
    assert [part.arguments for part in reply(claude(), tools=TOOLS) if isinstance(part, ToolCall)] == [
        {"query": "port"}
    ]


def test_thinking_fits_into_small_context(ask: Ask, api: MessagesApi, make: Make, ids: dict[str, str]) -> None:
    api.budget = None
    api.brain = Script([Think("Hm."), End("max_tokens")], [Say(f"The port is 8642 [^{ids['Server']}].")])
    events = ask(make(options=ModelOptions(context=4_096)), prefetch_tokens=2_200)
    assert summarize(events).state == "answered"
    first, second = api.requests
    assert first["max_tokens"] < 2_000 < second["max_tokens"]
    for body in (first, second):
        assert len(json.dumps([body.get("system"), body["messages"]])) / 4 + body["max_tokens"] < 4_096

"""What both kinds of providers have in common: errors of one line with a fix, retries, ends of replies."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from itertools import pairwise

import pytest
from messages_api import MessagesApi
from messages_api.parts import Broken, Call, End, Raw, Say, Status
from messages_api.script import Script
from tables import read_tables

from mkdocs_roaming._http import ApiConfig
from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import StopAnswer
from mkdocs_roaming.answer.conversation import Exchange
from mkdocs_roaming.answer.events import Event, summarize
from mkdocs_roaming.answer.models.base import Model, Stop, Text, ToolCall
from mkdocs_roaming.answer.models.openai import OpenAIModel
from mkdocs_roaming.answer.models.provider import Retries
from mkdocs_roaming.answer.models.refusals import error_for_status
from mkdocs_roaming.errors import RoamingError, UsageError

from .conftest import expand_call, reply

TABLES = read_tables(__file__)

Ask = Callable[..., list[Event]]
Make = Callable[..., Model]
KEY = "sk-secret-0123456789"
SERVICE = ApiConfig("qwen3", "http://127.0.0.1:9/v1", KEY, "OPENAI_API_KEY", "ROAMING_BASE_URL")


def fail(model: Model) -> RoamingError:
    with pytest.raises(RoamingError) as caught:
        reply(model)
    return caught.value


@pytest.mark.parametrize(
    ("status", "kind", "message", "expected"),
    [
        *TABLES["error is one line with fix and without key"],
        (400, "invalid_request_error", "long " * 100, "; try another model, and report this"),
        (500, f"no {KEY}\n\x1b[31m", f"not {KEY}" + "x" * 500, "(not …xxx"),
    ],
)
def test_error_is_one_line_with_fix_and_without_key(status: int, kind: str, message: str, expected: str) -> None:
    text = StopAnswer.from_error(error_for_status(SERVICE, status, kind, message), "qwen3").error
    assert expected in text
    assert text.startswith("qwen3: ")
    assert KEY not in text
    assert text.isprintable()
    assert len(text) < 400


@pytest.mark.parametrize(
    "status",
    [
        Status(200, {"Content-Type": "text/html"}, b"<!doctype html>"),
        Status(200, body=b"[1, 2]"),
        Status(200, body=b"{" * 100_000),
    ],
    ids=repr,
)
def test_other_response_is_named(api: MessagesApi, make: Make, status: Status) -> None:
    api.brain = Script([status])
    assert "sent a response that is not from the " in str(fail(make()))


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"error": {"message": "Out of memory", "type": "server_error"}}, "failed (server_error) (Out of memory)"),
        ({"error": {"message": "slow down", "code": 429}}, "too many requests (slow down); try again in a minute"),
        ({"error": {"message": "No such model", "code": 404}}, "does not know this model or address (No such model)"),
    ],
)
def test_error_in_stream_is_reported(api: MessagesApi, make: Make, frame: dict[str, object], message: str) -> None:
    api.brain = Script([Say("Well."), Raw(f"data: {json.dumps(frame)}\n\n".encode())])
    assert message in str(fail(make()))


def test_key_is_sent_and_never_shown(api: MessagesApi, make: Make, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    model, api.key = make(key=KEY), KEY
    api.brain = Script([Status(403, message=f"the key {KEY} may not")], [Broken("x", f"key {KEY}")])
    for _ in range(2):
        assert KEY not in f"{fail(model)!r} {caplog.text} {model!r} {vars(model)!r}"
    assert api.exchanges[0].headers["authorization"] == f"Bearer {KEY}"
    assert "the key is not accepted" in str(fail(make(key="")))
    assert "authorization" not in api.exchanges[-1].headers


def test_unreachable_server_is_named(make: Make) -> None:
    error = fail(make(base_url="http://user:pass@127.0.0.1:9/v1/"))
    assert "cannot reach http://127.0.0.1:9" in str(error)
    assert "(ConnectError); start the server or check the network and " in str(error)


@pytest.mark.parametrize("url", ["localhost:11434", "ftp://x/", "http://", "http://[::1", "http://x:99999"])
def test_invalid_base_url_is_rejected(url: str) -> None:
    with pytest.raises(UsageError, match="is not a server address; use a URL such as"):
        OpenAIModel("qwen3", base_url=url)


def test_retry_pauses_grow_and_respect_retry_after(api: MessagesApi, make: Make) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    api.brain = Script([Status(500)], [Status(503)], [Status(429, {"Retry-After": "7"})], [Status(500)], [Say("Well.")])
    assert Text("Well.") in reply(make(retries=Retries(4, sleep=sleep)))
    assert all(low <= one <= high for low, one, high in zip((0.375, 0.75, 7, 3), waited, (0.5, 1, 7, 4), strict=True))


@pytest.mark.parametrize(("reason", "of_claude", "of_openai"), TABLES["stop reasons are mapped"])
def test_stop_reasons_are_mapped(api: MessagesApi, make: Make, reason: str, of_claude: str, of_openai: str) -> None:
    api.brain = Script([Say("Well."), End(reason)])
    model = make()
    last = reply(model)[-1]
    assert isinstance(last, Stop)
    assert last.reason == (of_claude if model.name.startswith("claude") else of_openai)


def test_incomplete_call_is_ignored(api: MessagesApi, make: Make) -> None:
    whole = Call("expand_sections", {"ids": ["07f3277d"]}, "a")
    api.brain = Script([whole, Call("expand_sections", '{"ids": ["07f3', "b"), End("max_tokens")])
    *parts, last = reply(make())
    assert [part.arguments for part in parts if isinstance(part, ToolCall)] == [whole.arguments]
    assert isinstance(last, Stop)
    assert last.reason == "length"


# Conversations


def test_conversation_only_grows(ask: Ask, api: MessagesApi, make: Make, ids: dict[str, str]) -> None:
    """The cache of a provider has the beginning of a request; the marks of what is cached move."""
    calls = [[expand_call(ids[title])] for title in ("Server", "Logs", "Boiling")]
    api.brain = Script(*calls, [Say("The docs do not say this [^none].")])
    ask(make(), history=[Exchange("Who is king?", ""), Exchange("Which port?", "8642.")])
    sent = [json.dumps(request["messages"][1:]) for request in api.requests]
    bare = [text.replace(', "cache_control": {"type": "ephemeral"}', "") for text in sent]
    assert all(later.startswith(earlier[:-2]) for earlier, later in pairwise(bare))
    assert [prompts.LAST_ROUND_WITH_TOOLS in bare[2], prompts.LAST_ROUND in bare[3]] == [True, True]


def test_calls_with_unusual_ids_are_matched(ask: Ask, api: MessagesApi, make: Make, ids: dict[str, str]) -> None:
    """The local provider refuses a request in which calls and results do not match."""
    titles = {"a": "Server", "a ": "Logs", "b~1": "Boiling", "": "Steps"}
    calls = [expand_call(ids[title], id=id_) for id_, title in titles.items()]
    again = [expand_call(ids["Install"], id="a")]
    api.brain = Script([Say("Let me see."), *calls], again, [Say("The docs do not say this [^none].")])
    assert summarize(ask(make())).state == "not_found"
    assert len(api.requests) == 3

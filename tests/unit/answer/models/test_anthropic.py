"""Claude: what it is sent, what comes of what it streams, and what its cache reads."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
import yaml
from messages_api import MessagesApi
from messages_api.navigator import Navigator as ByWords
from messages_api.parts import Broken, Call, Cite, End, Say, Status, Think
from messages_api.script import Script

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.conversation import Exchange
from mkdocs_roaming.answer.events import Event, SectionsDropped, TokensUsed, ToolCalled, summarize
from mkdocs_roaming.answer.models.anthropic import ReplyReader
from mkdocs_roaming.answer.models.base import AssistantTurn, Model, Part, Request, Stop, Text, ToolCall, Usage, UserTurn
from mkdocs_roaming.errors import RoamingError, UsageError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.tools import TOOLS

from .conftest import SAMPLE

Ask = Callable[..., list[Event]]
Make = Callable[..., Model]

QUESTIONS = [
    question["ask"]
    for name in ("questions.yml", "questions-held-out.yml")
    for question in yaml.safe_load((SAMPLE.parent / name).read_text("utf-8"))["questions"]
]


def opens(*ids: str, id: str | None = None) -> Call:  # noqa: A002 -- the wire's word
    return Call("expand_sections", {"ids": list(ids)}, id)


def reply(model: Model, request: Request | None = None) -> list[Part]:
    """Give all parts of one reply."""

    async def listen() -> list[Part]:
        asked = request or Request("The rules.", "The outline.", (UserTurn("Which port?"),), TOOLS)
        return [part async for part in model.reply(asked)]

    return anyio.run(listen)


# What it is sent


def test_opened_sections_are_search_results(ask: Ask, api: MessagesApi, claude: Make, ids: dict[str, str]) -> None:
    """Each section that is shown is one, by its own id and place, citations on; the frame follows as text."""
    api.brain = Script([opens(ids["Settings"])], [Say("96.5 degrees."), Cite(ids["Boiling"])])
    result = summarize(ask(claude()))
    assert [section.title for section in result.citations] == ["Boiling"]
    (told,) = api.requests[1]["messages"][-1]["content"]
    *found, frame = told["content"]
    assert [one["source"] for one in found] == [ids[title] for title in ("Settings", "Server", "Boiling", "Logs")]
    assert [one["title"] for one in found][:2] == ["Settings", "Settings › Server"]
    assert all(one["citations"] == {"enabled": True} for one in found)
    assert "8642" in found[1]["content"][0]["text"]
    assert f"[{ids['Settings']}] https://kettle.example/" in frame["text"]


def test_errors_of_tools_are_told_as_errors(ask: Ask, api: MessagesApi, claude: Make) -> None:
    """A call that cannot be understood is marked as such."""
    api.brain = Script([Call("delete_site", {}), Call("search_sections", {"query": "port"})], [])
    ask(claude())
    wrong, right = api.requests[1]["messages"][-1]["content"]
    assert wrong["is_error"] is True
    assert "is_error" not in right


def test_parallel_calls_are_answered_in_one_turn(ask: Ask, api: MessagesApi, claude: Make, ids: dict[str, str]) -> None:
    """In the order of the calls, whatever their ids were."""
    calls = [
        opens(ids["Server"], id="a"),
        opens(ids["Logs"], id="a"),
        opens(ids["Boiling"], id="b~1"),
        opens("x", id=""),
    ]
    api.brain = Script([Say("Let me see."), *calls], [opens(ids["Steps"], id="a")], [])
    ask(claude())
    said, results = api.requests[1]["messages"][-2:]
    assert [block["type"] for block in said["content"]] == ["text", *["tool_use"] * 4]
    named = [block["id"] for block in said["content"][1:]]
    assert [block["tool_use_id"] for block in results["content"]] == named
    assert named == ["a", "a_2", "b_1", "call"]
    assert api.requests[2]["messages"][-2]["content"][0]["id"] == "a_3"


def test_tools_stay_defined_in_the_last_round(ask: Ask, api: MessagesApi, claude: Make) -> None:
    """They belong to the cached prefix; that none may be called is said beside them."""
    api.brain = Script([opens("x")], [])
    ask(claude(), budget=Budget(rounds=2))
    first, last = api.requests
    assert first["tools"] == last["tools"]
    assert "tool_choice" not in first
    assert last["tool_choice"] == {"type": "none"}
    assert len(api.prefixes()) == 1
    ask(claude(), budget=Budget(rounds=1))
    assert len(api.prefixes()) == 1


def test_where_there_is_nothing_to_open_no_tools_are_sent(ask: Ask, api: MessagesApi, claude: Make) -> None:
    """A site that is read whole, and a question without the docs."""
    api.brain = ByWords()
    result = summarize(ask(claude(), "Where does the log go that Kettle writes?", whole_site_tokens=8000))
    assert (result.state, result.rounds) == ("answered", 1)
    reply(claude(), Request("Answer.", "", (UserTurn("Which port?"),)))
    assert all("tools" not in request and "tool_choice" not in request for request in api.requests)


def test_a_conversation_is_only_added_to(ask: Ask, api: MessagesApi, claude: Make, ids: dict[str, str]) -> None:
    """Notes stay where they were said, so each request begins as the one before it."""
    api.brain = Script([opens(ids["Server"])], [opens(ids["Logs"])], [opens(ids["Boiling"])], [Say("Hm [^none].")])
    ask(claude())
    notes = [request["messages"][-1]["content"][-1].get("text") for request in api.requests]
    assert notes[2:] == [prompts.ROUND_BEFORE, prompts.LAST_ROUND]
    bare = [json.loads(json.dumps(request["messages"]), object_hook=_unmarked) for request in api.requests]
    for earlier, later in pairwise(bare):
        assert later[: len(earlier)] == earlier


def _unmarked(block: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in block.items() if name != "cache_control"}


def test_a_conversation_may_hold_an_empty_answer(ask: Ask, api: MessagesApi, claude: Make) -> None:
    """The API takes no empty turns; roles alternate all the same."""
    api.brain = ByWords()
    ask(claude(), history=[Exchange("Who is king?", ""), Exchange("Which port?", "8642.")], opened=["2ebf9271"])
    roles = [message["role"] for message in api.requests[0]["messages"]]
    assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
    assert api.requests[0]["messages"][1]["content"][0]["text"] == prompts.NO_ANSWER_HERE


def test_odd_turns_are_told_as_far_as_they_can_be(api: MessagesApi, claude: Make) -> None:
    """A turn of another model, calls of odd names and arguments, two turns of one role."""
    from mkdocs_roaming.answer.models.base import ToolResult, ToolTurn
    from mkdocs_roaming.library.tools import ToolError

    calls = (ToolCall("1", "rm -rf /", "not json"), ToolCall("1!", "", ["x"]), ToolCall("1?", "ö", '{"a": 1}'))
    results = ToolTurn(tuple(ToolResult(call, ToolError("No.")) for call in calls))
    turns = (UserTurn("One?"), UserTurn("Two?"), AssistantTurn(" ", calls, keep=object()), results, UserTurn("Three?"))
    assert reply(claude(), Request("R.", "O.", turns, TOOLS))[-1] == Stop("end", _any)
    said = api.requests[0]["messages"][1]["content"]
    assert [block["name"] for block in said] == ["rm_-rf__", "unknown", "_"]
    assert [block["input"] for block in said] == [{"arguments": "not json"}, {"arguments": ["x"]}, {"a": 1}]


class _Any:
    def __eq__(self, other: object) -> bool:
        return True


_any = _Any()


def test_what_is_sent_fits_the_types_of_the_sdk(ask: Ask, api: MessagesApi, claude: Make, ids: dict[str, str]) -> None:
    """Thinking, citations, search results, odd calls and the last round included."""
    import pydantic
    from anthropic.types.message_create_params import MessageCreateParamsStreaming

    adapter = pydantic.TypeAdapter(MessageCreateParamsStreaming)
    api.budget = None
    server = ids["Server"]
    api.brain = Script(
        [Think("Where?"), Say("Hm."), opens(server)],
        [Think(), Say("8642."), Cite(server), Call("x", "bad")],
        [Call("search_sections", {"query": "port"})],
        [],
    )
    ask(claude(thinking="adaptive"))
    assert len(api.requests) == 4
    for body in api.requests:
        _read(adapter.validate_python(body))
    with pytest.raises(pydantic.ValidationError):
        _read(adapter.validate_python({**api.requests[0], "tools": [{"name": "x", "input_schema": 7}]}))


def _read(value: Any) -> None:
    """Read what pydantic checks only as it is read."""
    if isinstance(value, dict):
        value = value.values()
    if not isinstance(value, (str, int, float, type(None))):
        for one in value:
            _read(one)


# Its cache


@pytest.mark.parametrize("count", [12, pytest.param(50, marks=pytest.mark.slow)])
def test_rules_and_outline_are_read_from_the_cache_over_many_questions(
    ask: Ask, api: MessagesApi, claude: Make, handbook: Library, count: int
) -> None:
    """Byte for byte the same prefix in every request; only the first one writes it."""
    api.brain = ByWords()
    model, budget = claude(), Budget(rounds=2)
    cited = 0
    for question in QUESTIONS[:count]:
        navigator = Navigator(handbook)
        result = summarize(ask(model, question, navigator=navigator, budget=budget))
        assert {section.id for section in result.citations} <= set(navigator.opened)
        cited += len(result.citations)
    assert cited > count / 5
    assert len(api.requests) >= 1.8 * count
    assert len(api.prefixes()) == 1
    shared = api.exchanges[1].usage["cache_read_input_tokens"]
    assert shared > 5000
    assert all(exchange.usage["cache_read_input_tokens"] >= 5000 for exchange in api.exchanges[1:])
    written = sum(exchange.usage["cache_creation_input_tokens"] for exchange in api.exchanges[1:])
    read = sum(exchange.usage["cache_read_input_tokens"] for exchange in api.exchanges)
    assert read > 2 * written


def test_each_round_reads_what_the_one_before_wrote(
    ask: Ask, api: MessagesApi, claude: Make, handbook: Library
) -> None:
    """The turns of a conversation are cached as well; usage says so as it comes."""
    place = list(handbook.sections)
    api.brain = Script(
        [opens(*(one.id for one in place[10:16]))], [opens(*(one.id for one in place[40:46]))], [Say("Hm [^none].")]
    )
    events = ask(claude(), "How are gauges calibrated?", navigator=Navigator(handbook))
    first, second, third = (exchange.usage for exchange in api.exchanges)
    assert second["cache_read_input_tokens"] == first["cache_read_input_tokens"] + first["cache_creation_input_tokens"]
    assert third["cache_read_input_tokens"] == second["cache_read_input_tokens"] + second["cache_creation_input_tokens"]
    told = [event.usage for event in events if isinstance(event, TokensUsed)]
    assert sum(usage.cache_read for usage in told) == sum(
        exchange.usage["cache_read_input_tokens"] for exchange in api.exchanges
    )
    assert summarize(events).usage.output > 0


def test_many_calls_do_not_push_a_conversation_out_of_the_cache(
    ask: Ask, api: MessagesApi, claude: Make, handbook: Library
) -> None:
    """An entry is looked for twenty blocks back from a mark: the turn before has one of its own."""
    searches = [Call("search_sections", {"query": "drain gauge"}) for _ in range(12)]
    api.brain = Script(searches, searches, [Say("Hm [^none].")])
    ask(claude(), navigator=Navigator(handbook))
    first, second, third = (exchange.usage for exchange in api.exchanges)
    assert second["cache_read_input_tokens"] == first["cache_read_input_tokens"] + first["cache_creation_input_tokens"]
    assert third["cache_read_input_tokens"] == second["cache_read_input_tokens"] + second["cache_creation_input_tokens"]


def test_blank_text_is_not_sent_back(ask: Ask, api: MessagesApi, claude: Make, ids: dict[str, str]) -> None:
    """The API takes none, though it may give some."""
    api.brain = Script([Say("\n\n"), opens(ids["Server"])], [Say("8642."), Cite(ids["Server"])])
    assert summarize(ask(claude())).state == "answered"
    assert [block["type"] for block in api.requests[1]["messages"][1]["content"]] == ["tool_use"]


def test_the_last_round_pays_for_no_cache_that_nobody_reads(ask: Ask, api: MessagesApi, claude: Make) -> None:
    """Only the outline is marked in it."""
    api.brain = Script([opens("x")], [])
    ask(claude(), budget=Budget(rounds=2))
    assert "cache_control" in json.dumps(api.requests[0]["messages"])
    assert "cache_control" not in json.dumps(api.requests[1]["messages"])


def test_the_outline_may_stay_cached_for_an_hour(api: MessagesApi, claude: Make) -> None:
    """What else there is is not known."""
    reply(claude(ttl="1h"))
    assert api.requests[0]["system"][-1]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    with pytest.raises(UsageError, match="5m or 1h, not '2h'"):
        claude(ttl="2h")


# Thinking


@pytest.mark.parametrize(
    ("model", "sent", "limit"),
    [
        ("claude-haiku-5-5", {"thinking": {"type": "disabled"}}, 700),
        ("claude-sonnet-5-5", {"thinking": {"type": "between_tools"}}, 700),
        ("claude-opus-5", {"thinking": {"type": "disabled"}}, 700),
        ("claude-opus-5-5", {"output_config": {"effort": "low"}}, 2700),
        ("claude-haiku-4-5", {}, 700),
        ("some-gateway/claude", {}, 2700),
    ],
)
def test_models_think_as_little_as_they_may(
    api: MessagesApi, claude: Make, model: str, sent: dict[str, Any], limit: int
) -> None:
    """Thoughts count as output: where they cannot be switched off, there is room for them."""
    api.budget = None
    reply(claude(model=model))
    (body,) = api.requests
    assert {name: body[name] for name in ("thinking", "output_config") if name in body} == sent
    assert body["max_tokens"] == limit


def test_thinking_goes_back_as_it_came(ask: Ask, api: MessagesApi, claude: Make, ids: dict[str, str]) -> None:
    """Signed blocks, citations and all, in every later round."""
    api.budget = None
    server, logs = ids["Server"], ids["Logs"]
    api.brain = Script(
        [Think("Where?"), opens(server)],
        [Think(), Say("So far 8642."), Cite(server), opens(logs)],
        [Say("The port is 8642."), Cite(server)],
    )
    result = summarize(ask(claude(thinking="adaptive")))
    assert result.text == f"The port is 8642.[^{server}]"
    first, second = (message["content"] for message in api.requests[2]["messages"] if message["role"] == "assistant")
    assert [block["type"] for block in first] == ["thinking", "tool_use"]
    assert [block["type"] for block in second] == ["thinking", "text", "tool_use"]
    assert second[1]["citations"][0]["source"] == server


def test_thinking_is_left_out_behind_what_was_closed(
    ask: Ask, api: MessagesApi, claude: Make, ids: dict[str, str]
) -> None:
    """It is bound to what stood before it; the API refuses it where sections were closed to make room."""
    api.budget = None
    api.brain = Script(
        [Think(), opens(ids["Steps"], ids["Boiling"])],
        [Think(), Say("So far 96.5."), Cite(ids["Boiling"]), opens(ids["Server"], ids["Logs"])],
        [Say("8642."), Cite(ids["Server"])],
    )
    events = ask(claude(thinking="adaptive"), budget=Budget(open_chars=700))
    assert [event for event in events if isinstance(event, SectionsDropped)]
    assert summarize(events).state == "answered"
    first, second = (message["content"] for message in api.requests[2]["messages"] if message["role"] == "assistant")
    assert [block["type"] for block in first] == ["thinking", "tool_use"]
    assert [block["type"] for block in second] == ["text", "tool_use"]
    assert "citations" not in second[0]


# What comes of what it streams


@pytest.mark.parametrize("late", [True, False])
def test_native_citations_become_ours(
    api: MessagesApi, claude: Make, ids: dict[str, str], ask: Ask, late: bool
) -> None:
    """Whether they stream before the text or behind it, each section once for a piece of text."""
    server, logs = ids["Server"], ids["Logs"]
    api.brain = Script(
        [opens(server, logs)],
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


def test_a_mark_that_was_written_is_not_doubled(ask: Ask, api: MessagesApi, claude: Make, ids: dict[str, str]) -> None:
    """The rules ask for marks, and the API cites besides."""
    server = ids["Server"]
    api.brain = Script([opens(server)], [Say(f"The port is 8642 [^{server}]."), Cite(server)])
    assert summarize(ask(claude())).text == f"The port is 8642 [^{server}]."


def test_a_citation_of_what_is_not_open_is_dropped(
    ask: Ask, api: MessagesApi, claude: Make, ids: dict[str, str]
) -> None:
    """Whoever vouches for it: only what the conversation opened reaches the reader."""
    server = ids["Server"]
    api.brain = Script(
        [opens(server)], [Say("It is 8642."), Cite(server), Say(f"\n\nLogs go there [^{ids['Logs']}].\n\nYes.")]
    )
    result = summarize(ask(claude()))
    assert (result.text, result.dropped_citations) == (f"It is 8642.[^{server}]", 1)


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", "end"),
        ("stop_sequence", "end"),
        ("tool_use", "tools"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("pause_turn", "length"),
        ("refusal", "refusal"),
        ("something_new", "end"),
    ],
)
def test_stop_reasons_are_understood(api: MessagesApi, claude: Make, reason: str, stop: str) -> None:
    """Those of tomorrow too."""
    api.brain = Script([Say("Well."), End(reason)])
    last = reply(claude())[-1]
    assert isinstance(last, Stop)
    assert last.reason == stop


def test_a_call_that_was_cut_off_is_none(api: MessagesApi, claude: Make, ask: Ask, ids: dict[str, str]) -> None:
    """Those before it are made."""
    server = ids["Server"]
    api.brain = Script(
        [opens(server), Call("expand_sections", '{"ids": ["07f3'), End("max_tokens")],
        [Say("The port is 8642."), Cite(server)],
    )
    events = ask(claude())
    assert [event.ids for event in events if isinstance(event, ToolCalled)] == [(server,)]
    assert summarize(events).state == "answered"


def test_usage_is_told_as_it_is_counted(api: MessagesApi, claude: Make) -> None:
    """Input at the start, so that a reply which is broken off is paid for; output at the end."""
    api.brain = Script([Say("Well.")])
    parts = reply(claude())
    assert isinstance(parts[0], Usage)
    assert parts[0].input > 0
    assert parts[0].output == 0
    assert parts[1:3] == [Text("Well."), Usage(output=3)]


# Errors


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (Status(401, kind="authentication_error", message="invalid x-api-key"), "check ANTHROPIC_API_KEY"),
        (Status(403, kind="permission_error", message="no"), "choose another model, or check ANTHROPIC_API_KEY"),
        (Status(404, kind="not_found_error", message="model: x"), "does not know this model or address (model: x)"),
        (Status(413, kind="request_too_large", message="big"), "let fewer sections be open at once"),
        (Status(400, kind="invalid_request_error", message="credit balance is too low"), "no credit left"),
        (Status(400, kind="invalid_request_error", message="line\none\x1b[31m"), "refused (400) (line one [31m)"),
        (Status(307, {"Location": "/elsewhere/"}), "does not know this model or address"),
        (Status(418, body=b"{}"), "the request was refused (418)"),
        (Status(200, {"Content-Type": "text/html"}, b"<!doctype html>"), "sent what is not the Messages API"),
        (Status(200, body=b'{"type": "message"}'), "sent what is not the Messages API"),
    ],
)
def test_errors_name_the_cure_in_one_line(api: MessagesApi, claude: Make, status: Status, said: str) -> None:
    """Each with the model that was asked."""
    api.brain = Script([status])
    with pytest.raises(RoamingError) as caught:
        reply(claude())
    assert said in str(caught.value)
    assert str(caught.value).startswith("claude-haiku-5-5: ")
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_key_that_is_not_accepted_is_never_repeated(
    api: MessagesApi, claude: Make, caplog: pytest.LogCaptureFixture
) -> None:
    """Not in messages, not in logs, not in what a debugger prints."""
    caplog.set_level(logging.DEBUG)
    key = "sk-secret-0123456789"
    api.brain = Script([Status(401, message=f"the key {key} is wrong")])
    model = claude(key=key)
    with pytest.raises(RoamingError) as caught:
        reply(model)
    said = f"{caught.value!r} {caplog.text} {model!r} {vars(model)!r}"
    assert "the key is not accepted" in said
    assert key not in said


def test_an_address_where_nobody_answers_is_named(claude: Make) -> None:
    """With nothing in it that may be secret."""
    with pytest.raises(RoamingError) as caught:
        reply(claude(base_url="http://user:pass@127.0.0.1:9/v1/"))
    assert str(caught.value) == (
        "claude-haiku-5-5: http://127.0.0.1:9 cannot be reached (ConnectError); "
        "start the server or check the network and ANTHROPIC_BASE_URL"
    )


def test_what_is_no_address_is_refused(claude: Make) -> None:
    """Before anything is asked, and without what may be secret in it."""
    with pytest.raises(UsageError, match="'ftp://host/x' is not a server address; use a URL such as"):
        claude(base_url="ftp://user:pass@host/x")


def test_an_error_frame_before_the_first_word_is_told(api: MessagesApi, claude: Make) -> None:
    """As one in the middle."""
    api.brain = Script([Broken("rate_limit_error", "Slow down")])
    with pytest.raises(RoamingError, match=r"too many requests \(Slow down\); try again in a minute"):
        reply(claude())


def test_without_its_package_the_way_to_it_is_told() -> None:
    """One line, in a Python that does not have it."""
    code = (
        "import sys; sys.modules['anthropic'] = None\n"
        "from mkdocs_roaming.answer.models.anthropic import AnthropicModel\n"
        "try: AnthropicModel(key='x')\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert (
        said.strip() == "UsageError claude-haiku-5-5 needs the anthropic package: pip install 'mkdocs-roaming[claude]'"
    )


def test_the_package_is_imported_only_when_it_is_needed() -> None:
    """It takes more than a second."""
    code = (
        "import sys; import mkdocs_roaming.answer.models.anthropic, mkdocs_roaming.answer.models.registry\n"
        "print('anthropic' in sys.modules, 'httpx2' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["False", "False"]


def test_a_call_is_named_by_text_whatever_comes() -> None:
    """A trace of it can be read again."""
    block = SimpleNamespace(to_dict=lambda: {"type": "tool_use", "id": 7, "name": ["x"], "input": {}})
    reading = ReplyReader()
    list(reading.take(SimpleNamespace(type="content_block_start", content_block=block)))
    assert list(reading.take(SimpleNamespace(type="content_block_stop"))) == [ToolCall("7", "['x']", {})]

"""The server and its brains."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from messages_api import MessagesApi, serving
from messages_api.adversary import BEHAVIOURS, Adversary
from messages_api.navigator import Navigator
from messages_api.parts import Call, Cite, Cut, End, Say, Think, View, Wait
from messages_api.script import Script

CASES = Path(__file__).parent / "cases"
GOOD = {
    "/v1/messages": yaml.safe_load((CASES / "messages.yml").read_text("utf-8"))["good"],
    "/v1/chat/completions": yaml.safe_load((CASES / "chat.yml").read_text("utf-8"))["good"],
}
KEY = {"Authorization": "Bearer test-key"}


def events(text: str) -> Iterator[dict[str, Any]]:
    return (json.loads(line[5:]) for line in text.splitlines() if line.startswith("data:") and "[DONE]" not in line)


def test_messages_reply_has_expected_events() -> None:
    parts = [
        Think("Hm."),
        Say("The port is 8642."),
        Cite("07f3277d"),
        Say("Yes."),
        Call("expand_sections", {"ids": ["a"]}),
    ]
    with serving(MessagesApi(Script(parts))) as api:
        received = list(events(httpx2.post(api.url + "/v1/messages", json=GOOD["/v1/messages"], headers=KEY).text))
    assert [event["type"] for event in received[:2]] == ["message_start", "ping"]
    assert [event["type"] for event in received[-2:]] == ["message_delta", "message_stop"]
    assert [e["content_block"]["type"] for e in received if e["type"] == "content_block_start"] == [
        "thinking",
        "text",
        "text",
        "tool_use",
    ]
    deltas = [event["delta"] for event in received if event["type"] == "content_block_delta"]
    (cited,) = [delta["citation"] for delta in deltas if delta["type"] == "citations_delta"]
    assert (cited["source"], cited["cited_text"]) == ("07f3277d", "The port is 8642.")
    arguments = "".join(delta["partial_json"] for delta in deltas if delta["type"] == "input_json_delta")
    assert json.loads(arguments) == {"ids": ["a"]}
    assert received[-2]["delta"]["stop_reason"] == "tool_use"
    assert received[0]["message"]["usage"]["cache_creation_input_tokens"] == 0  # too small to be cached


def test_chat_reply_has_expected_chunks() -> None:
    parts = [Say("The port is 8642."), Call("expand_sections", {"ids": ["a"]}), End("max_tokens")]
    with serving(MessagesApi(Script(parts, parts))) as api:
        text = httpx2.post(api.url + "/v1/chat/completions", json=GOOD["/v1/chat/completions"], headers=KEY).text
        bare = {name: value for name, value in GOOD["/v1/chat/completions"].items() if name != "stream_options"}
        without = httpx2.post(api.url + "/v1/chat/completions", json=bare, headers=KEY).text
    received = list(events(text))
    assert text.endswith("data: [DONE]\n\n")
    assert "".join(piece["choices"][0]["delta"].get("content", "") for piece in received[:-1]) == "The port is 8642."
    assert received[-2]["choices"][0]["finish_reason"] == "length"
    assert received[-1]["usage"]["prompt_tokens"] > 0
    assert "usage" not in without


@pytest.mark.parametrize("path", GOOD)
def test_client_disconnect_is_detected(path: str) -> None:
    with serving(MessagesApi(Script([Say("Well, "), Wait(60)]))) as api:
        with httpx2.stream("POST", api.url + path, json=GOOD[path], headers=KEY) as response:
            next(response.iter_bytes())
        gone = time.monotonic()
        assert api.idle()
        assert api.exchanges[0].left is not None
        assert api.exchanges[0].left - gone < 0.5


def test_cut_connection_is_cut() -> None:
    with serving(MessagesApi(Script([Say("Well, "), Cut()]))) as api, pytest.raises(httpx2.RemoteProtocolError):
        httpx2.post(api.url + "/v1/messages", json=GOOD["/v1/messages"], headers=KEY)


@pytest.mark.parametrize("path", GOOD)
def test_brain_sees_request_text(path: str) -> None:
    brain = Script([Say("Yes.")])
    with serving(MessagesApi(brain)) as api:
        httpx2.post(api.url + path, json=GOOD[path], headers=KEY)
    (view,) = brain.views
    assert (view.question, view.rounds, view.tools) == ("Which port?", 1, ("expand_sections",))
    assert len(view.results) == 2
    assert "rules" in view.system


def test_navigator_opens_and_quotes_sections() -> None:
    outline = "[07f3277d] Server — the port it listens on\n[17f3277d] Logs — old logs\n[27f3277d] Steam — hot"
    first = View(outline, "Which port does the server listen on?", "", (), {}, 0, ("expand_sections",))
    call, search = Navigator().reply(first)
    assert isinstance(call, Call)
    assert isinstance(search, Call)
    assert call.arguments["ids"][0] == "07f3277d"
    assert len(call.arguments["ids"]) == 3
    text = "# Server\n\nThe server port is 8642. It does listen on one port."
    second = View(outline, first.question, "", (), {"07f3277d": text}, 1, ("expand_sections",))
    said = list(Navigator().reply(second))
    assert said[0] == Say("It does listen on one port.")
    assert said[1] == Cite("07f3277d")
    nothing = View(outline, "Who is king?", "", (), {"07f3277d": text}, 1, ())
    assert list(Navigator().reply(nothing)) == [Say("The documentation does not say [^none].")]


def test_adversary_fails_limited_number_of_times() -> None:
    view = View("", "", "", (), {}, 0, ())
    brain = Adversary("overloaded", fails=1, then=Script([Say("Yes.")]))
    assert [next(iter(brain.reply(view))) for _ in range(2)][1] == Say("Yes.")
    assert len(BEHAVIOURS) >= 25

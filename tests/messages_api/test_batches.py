"""The Message Batches API of the server."""

from __future__ import annotations

import json
from pathlib import Path

import httpx2
import pytest
import yaml

from messages_api import MessagesApi, serving
from messages_api.parts import Call, Expired, Say, Status, Think
from messages_api.script import Script

GOOD = yaml.safe_load((Path(__file__).parent / "cases" / "messages.yml").read_text("utf-8"))["good"]
PARAMS = {name: value for name, value in GOOD.items() if name != "stream"}
KEY = {"Authorization": "Bearer test-key"}


def post(api: MessagesApi, requests: object) -> httpx2.Response:
    return httpx2.post(f"{api.url}/v1/messages/batches", json={"requests": requests}, headers=KEY)


def test_batch_ends_after_some_polls_and_has_all_results() -> None:
    replies = [Think("Hm."), Say("Port 8642."), Call("expand_sections", {"ids": ["a"]})], [Expired()], [Status(529)]
    with serving(MessagesApi(Script(*replies))) as api:
        api.batches.polls = 1
        started = post(api, [{"custom_id": name, "params": PARAMS} for name in ("a", "b", "c")]).json()
        url = f"{api.url}/v1/messages/batches/{started['id']}"
        polled = [httpx2.get(url, headers=KEY).json() for _ in range(2)]
        lines = httpx2.get(polled[1]["results_url"], headers=KEY).text.splitlines()
    assert [one["processing_status"] for one in (started, *polled)] == ["in_progress", "in_progress", "ended"]
    assert polled[0]["results_url"] is None
    assert polled[1]["request_counts"] == {"processing": 0, "succeeded": 1, "errored": 1, "canceled": 0, "expired": 1}
    results = {one["custom_id"]: one["result"] for one in map(json.loads, lines)}
    assert {name: result["type"] for name, result in results.items()} == {
        "a": "succeeded",
        "b": "expired",
        "c": "errored",
    }
    message = results["a"]["message"]
    assert [block["type"] for block in message["content"]] == ["thinking", "text", "tool_use"]
    assert message["content"][1]["text"] == "Port 8642."
    assert message["content"][2]["input"] == {"ids": ["a"]}
    assert message["stop_reason"] == "tool_use"
    assert message["usage"]["output_tokens"] > 1
    assert api.batches.billed == ["a"]


@pytest.mark.parametrize(
    "requests",
    [
        [],
        [{"custom_id": "a", "params": PARAMS}, {"custom_id": "a", "params": PARAMS}],
        [{"custom_id": "a b", "params": PARAMS}],
        [{"custom_id": "a", "params": GOOD}],
        [{"custom_id": "a"}],
    ],
    ids=["empty", "same name", "name", "stream", "no parameters"],
)
def test_malformed_batch_is_refused_and_recorded(requests: object) -> None:
    with serving(MessagesApi(Script())) as api:
        assert post(api, requests).status_code == 400
    assert api.take_faults()
    assert not api.batches.started


def test_unknown_batch_and_wrong_key_are_refused() -> None:
    with serving(MessagesApi(Script())) as api:
        assert httpx2.get(f"{api.url}/v1/messages/batches/msgbatch_9", headers=KEY).status_code == 404
        assert httpx2.post(f"{api.url}/v1/messages/batches", json={}).status_code == 401

"""The checks of requests."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from messages_api import MessagesApi, serving
from messages_api.cache import before

CASES = Path(__file__).parent / "cases"
PATHS = {"messages": "/v1/messages", "chat": "/v1/chat/completions"}
WIRES = {name: yaml.safe_load((CASES / f"{name}.yml").read_text("utf-8")) for name in PATHS}


def changed(good: Any, *changes: Any) -> Any:
    body = copy.deepcopy(good)
    for path, *value in changes:
        *way, last = path
        place = body
        for step in way:
            place = place[step]
        if value:
            place[last] = value[0]
        else:
            del place[last]
    return body


def post(api: MessagesApi, name: str, body: Any, key: str = "test-key") -> httpx2.Response:
    return httpx2.post(api.url + PATHS[name], json=body, headers={"Authorization": f"Bearer {key}"})


@pytest.mark.parametrize("name", PATHS)
def test_valid_request_is_answered(name: str) -> None:
    with serving(MessagesApi(budget=700)) as api:
        response = post(api, name, WIRES[name]["good"])
    assert (response.status_code, api.faults) == (200, [])
    assert response.text.startswith(("event: message_start", "data: "))


@pytest.mark.parametrize(
    ("name", "case"),
    [pytest.param(name, case, id=f"{name}: {case['wrong']}") for name in PATHS for case in WIRES[name]["cases"]],
)
def test_malformed_request_is_refused_and_recorded(name: str, case: dict[str, Any]) -> None:
    changes = [case[key] for key in ("change", "also") if key in case]
    with serving(MessagesApi(budget=700)) as api:
        response = post(api, name, changed(WIRES[name]["good"], *changes))
    assert response.status_code == 400
    assert case["fault"] in response.json()["error"]["message"]
    assert any(case["fault"] in fault for fault in api.faults)


def test_request_without_json_is_refused() -> None:
    with serving(MessagesApi()) as api:
        headers = {"Authorization": "Bearer test-key"}
        response = httpx2.post(api.url + "/v1/messages", content=b"{", headers=headers)
    assert response.status_code == 400
    assert api.take_faults() == ["the body is not a JSON object"]
    assert api.faults == []


def test_wrong_key_model_or_path_is_reported() -> None:
    good = WIRES["messages"]["good"]
    with serving(MessagesApi(models=("claude-opus-5-5",))) as api:
        assert post(api, "messages", good, key="other").status_code == 401
        response = post(api, "messages", good)
        assert (response.status_code, response.json()["error"]["type"]) == (404, "not_found_error")
        assert httpx2.post(api.url + "/v2/messages", json={}).status_code == 404
    assert api.faults == []


def test_thinking_is_accepted_only_in_its_conversation() -> None:
    good = WIRES["messages"]["good"]
    block = {"type": "thinking", "thinking": "", "signature": before(good, 1)}
    body = changed(good, [["messages", 1, "content", 0], block])
    with serving(MessagesApi()) as api:
        unmarked = changed(body, [["system", 1, "cache_control"], {"type": "ephemeral"}])
        assert post(api, "messages", unmarked).status_code == 200
        assert post(api, "messages", changed(body, [["system", 0, "text"], "Others."])).status_code == 400
        api.take_faults()

"""The checks of requests."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from messages_api import MessagesApi, anthropic_wire, chat_wire, serving
from messages_api.cache import before

CASES = Path(__file__).parent / "cases"
WIRES: dict[str, Any] = {"messages": anthropic_wire, "chat": chat_wire}
DATA = {name: yaml.safe_load((CASES / f"{name}.yml").read_text("utf-8")) for name in WIRES}
GOOD = DATA["messages"]["good"]


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


@pytest.mark.parametrize(
    ("name", "case"),
    [pytest.param(name, case, id=f"{name}: {case['wrong']}") for name in DATA for case in DATA[name]["cases"]],
)
def test_malformed_request_has_fault(name: str, case: dict[str, Any]) -> None:
    assert WIRES[name].faults(DATA[name]["good"], 700) == []
    changes = [case[key] for key in ("change", "also") if key in case]
    assert any(case["fault"] in fault for fault in WIRES[name].faults(changed(DATA[name]["good"], *changes), 700))


def test_malformed_request_is_refused_and_recorded() -> None:
    with serving(MessagesApi()) as api:
        headers = {"Authorization": "Bearer test-key"}
        response = httpx2.post(api.url + "/v1/messages", json={**GOOD, "model": ""}, headers=headers)
    assert (response.status_code, api.faults) == (400, ["model: missing"])


def test_thinking_is_accepted_only_in_its_conversation() -> None:
    block = {"type": "thinking", "thinking": "", "signature": before(GOOD, 1)}
    body = changed(GOOD, [["messages", 1, "content", 0], block])
    assert anthropic_wire.faults(body, None) == []
    assert anthropic_wire.faults(changed(body, [["system", 0, "text"], "Others."]), None)

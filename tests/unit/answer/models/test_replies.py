"""Replies in the forms of many servers of chat completions, and the parts that they become."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from messages_api import MessagesApi
from messages_api.chat_wire import Dialect
from messages_api.parts import Raw, Status
from messages_api.script import Script
from msgspec.structs import astuple
from tables import read_tables

from mkdocs_roaming.answer.models.base import Model, Stop, Text, ToolCall, Usage
from mkdocs_roaming.errors import ModelError

from .conftest import reply

REPLIES = read_tables(__file__)


@pytest.mark.parametrize("case", REPLIES.values(), ids=list(REPLIES))
def test_reply_of_any_form_is_read(api: MessagesApi, openai: Callable[..., Model], case: dict[str, Any]) -> None:
    choices = [{"delta": delta} for delta in case.get("deltas", ())] + case.get("choices", [])
    choices.append({"delta": {}, "finish_reason": case.get("reason", "stop")})
    chunks = [{"choices": [choice]} for choice in choices]
    chunks += [{"choices": [], "usage": case["usage"]}] if "usage" in case else []
    whole = [Status(200, body=json.dumps(case.get("body")).encode())]
    stream = [Raw(f"data: {json.dumps(chunk)}\n\n".encode()) for chunk in chunks]
    api.budget, api.dialect, api.brain = None, Dialect(usage=False), Script(whole if "body" in case else stream)
    if "cause" in case["expected"]:
        with pytest.raises(ModelError) as caught:
            reply(openai())
        assert caught.value.cause == case["expected"]["cause"]
        return
    parts = reply(openai())
    found = {
        "text": "".join(part.text for part in parts if isinstance(part, Text)),
        "calls": [[part.id, part.name, part.arguments] for part in parts if isinstance(part, ToolCall)],
        "usage": [list(astuple(part)) for part in parts if isinstance(part, Usage)],
        "stop": [part.reason for part in parts if isinstance(part, Stop)],
    }
    assert found == {"text": "", "calls": [], "usage": [], "stop": ["end"]} | case["expected"]

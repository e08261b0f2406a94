"""Checks of requests to chat completions servers, as strict as the strictest of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

FIELDS = {
    "model",
    "messages",
    "stream",
    "stream_options",
    "max_tokens",
    "max_completion_tokens",
    "tools",
    "tool_choice",
}
KEYS = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls"},
    "tool": {"role", "content", "tool_call_id"},
}


def faults(body: Mapping[str, Any], budget: int | None) -> list[str]:
    """Return all faults of a request."""
    try:
        return list(_faults(body, budget))
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        return [f"malformed request: {type(error).__name__}: {error}"]


def _faults(body: Mapping[str, Any], budget: int | None) -> Iterator[str]:
    if unknown := set(body) - FIELDS:
        yield f"unknown fields: {', '.join(sorted(unknown))}"
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield "model: missing"
    if body.get("stream", True) is not True:
        yield "stream: must be true if it is given"
    limits = [body[name] for name in ("max_tokens", "max_completion_tokens") if name in body]
    if len(limits) != 1 or not isinstance(limits[0], int) or limits[0] < 1:
        yield "max_tokens: missing or not a number"
    elif budget is not None and limits[0] > budget:
        yield f"max_tokens: {limits[0]} exceeds the budget of {budget}"
    if "tools" in body and not body["tools"]:
        yield "tools: must not be empty"
    if "tool_choice" in body and not body.get("tools"):
        yield "tool_choice: may only be given with tools"
    for at, tool in enumerate(body.get("tools") or ()):
        if set(tool) != {"type", "function"} or tool["type"] != "function":
            yield f"tools.{at}: must be a function"
            continue
        function = tool["function"]
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", function.get("name", "")):
            yield f"tools.{at}.function.name: malformed"
    yield from _turn_faults(body["messages"])


def _turn_faults(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not messages or messages[-1]["role"] not in {"user", "tool"}:
        yield "messages: the last one must be the user's or a tool's"
    waiting: list[str] = []
    seen: set[str] = set()
    before = ""
    for at, message in enumerate(messages):
        where, role = f"messages.{at}", message.get("role", "")
        if role not in KEYS or set(message) - KEYS[role]:
            yield f"{where}: unknown role or fields"
            continue
        content = message.get("content")
        if not isinstance(content, str):
            yield f"{where}: content must be a string"
        elif not content.strip() and not message.get("tool_calls"):
            yield f"{where}: content must not be empty"
        if role == "tool":
            if message.get("tool_call_id") in waiting:
                waiting.remove(message["tool_call_id"])
            else:
                yield f"{where}: has no tool call before it"
        else:
            if waiting:
                yield f"{where}: tool calls without a result: {', '.join(waiting)}"
            waiting = [call["id"] for call in message.get("tool_calls") or ()]
            if len(set(waiting)) < len(waiting) or seen & set(waiting):
                yield f"{where}: ids of tool calls must be unique"
            seen |= set(waiting)
            for call in message.get("tool_calls") or ():
                if call.get("type") != "function" or not isinstance(call["function"]["arguments"], str):
                    yield f"{where}: a tool call must be a function with string arguments"
            yield from _order_faults(where, before, role)
        before = role
    if waiting:
        yield f"messages: tool calls without a result: {', '.join(waiting)}"


def _order_faults(where: str, before: str, role: str) -> Iterator[str]:
    if role == "system" and before:
        yield f"{where}: the system message comes first, and once"
    if role == "user" and before not in {"", "system", "assistant"}:
        yield f"{where}: roles must alternate"
    if role == "assistant" and before not in {"user", "tool"}:
        yield f"{where}: roles must alternate"

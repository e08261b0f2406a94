"""Checks of requests to chat completions servers, as strict as the strictest of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from messages_api.schemas import schema_faults

BEFORE = {
    "system": {""},
    "user": {"", "system", "assistant"},
    "assistant": {"user", "tool"},
    "tool": {"assistant", "tool"},
}
"""The roles that may come before a role."""


def faults(body: Mapping[str, Any], budget: int | None) -> list[str]:
    """Return all faults of a request."""
    limit = "max_tokens" if "max_tokens" in body else "max_completion_tokens"
    return list(schema_faults("chat", body, limit, budget)) or list(_turn_faults(body["messages"]))


def _turn_faults(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    waiting: list[str] = []
    seen: set[str] = set()
    before = ""
    for at, message in enumerate(messages):
        where, role = f"messages.{at}", message["role"]
        if before not in BEFORE[role]:
            yield f"{where}: roles must alternate, {role} follows {before}"
        before = role
        if role == "tool":
            if message["tool_call_id"] in waiting:
                waiting.remove(message["tool_call_id"])
            else:
                yield f"{where}: has no tool call before it"
            continue
        if waiting:
            yield f"{where}: tool calls without a result: {', '.join(waiting)}"
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
        if len(set(waiting)) < len(waiting) or seen & set(waiting):
            yield f"{where}: ids of tool calls must be unique"
        seen |= set(waiting)
    if waiting or before not in {"user", "tool"}:
        yield "messages: the last one must be the user's or a tool's, and each tool call has a result"

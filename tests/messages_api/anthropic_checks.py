"""Checks of requests to the Messages API: what it rejects, and what would silently cost money or citations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from messages_api.cache import before
from messages_api.schemas import schema_faults

MAX_BREAKPOINTS = 4


def faults(body: Mapping[str, Any], budget: int | None) -> list[str]:
    """Return all faults of a request."""
    return list(schema_faults("messages", body, "max_tokens", budget)) or list(_faults(body))


def blocks(message: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the content of a message as blocks."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _faults(body: Mapping[str, Any]) -> Iterator[str]:
    names = [tool.get("name") for tool in body.get("tools") or ()]
    if len(set(names)) < len(names):
        yield "tools: names must be unique"
    kinds = {block["type"] for message in body["messages"] for block in blocks(message)}
    if kinds & {"tool_use", "tool_result"} and not names:
        yield "tools: must be defined if messages contain tool_use or tool_result blocks"
    for at, message in enumerate(body["messages"]):
        if message["role"] != ("user", "assistant")[at % 2]:
            yield f"messages.{at}: roles must alternate, the first is user's"
        for block in blocks(message):
            if block["type"] == "thinking" and block["signature"] != before(body, at):
                yield f"messages.{at}: invalid signature in thinking block: it is bound to a different conversation"
    if body["messages"][-1]["role"] != "user":
        yield "messages: the last one must be the user's (no prefill)"
    if "cache_control" not in body["system"][-1]:
        yield "system: no cache_control on the outline, its last block"
    if str(body).count("'cache_control': {'type': 'ephemeral'}") > MAX_BREAKPOINTS:
        yield f"cache_control: at most {MAX_BREAKPOINTS} breakpoints"
    yield from _pairing_faults(body["messages"])
    yield from _citation_faults(body["messages"])


def _pairing_faults(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    seen: set[str] = set()
    waiting: list[str] = []
    for at, message in enumerate(messages):
        results = [block["tool_use_id"] for block in blocks(message) if block["type"] == "tool_result"]
        if sorted(results) != sorted(waiting):
            yield f"messages.{at}: tool_result blocks {results} do not match tool_use blocks {waiting}"
        kinds = [block["type"] == "tool_result" for block in blocks(message)]
        if kinds != sorted(kinds, reverse=True):
            yield f"messages.{at}: tool_result blocks come first"
        waiting = [block["id"] for block in blocks(message) if block["type"] == "tool_use"]
        if len(set(waiting)) < len(waiting) or seen & set(waiting):
            yield f"messages.{at}: tool_use ids must be unique: {waiting}"
        seen |= set(waiting)


def _citation_faults(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    enabled = {
        (one.get("citations") or {}).get("enabled", False)
        for message in messages
        for block in blocks(message)
        for one in block.get("content") or ()
        if isinstance(one, dict) and one["type"] == "search_result"
    }
    if len(enabled) > 1:
        yield "citations must be enabled for all search_result blocks or for none"

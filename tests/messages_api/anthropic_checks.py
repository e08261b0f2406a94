"""Checks of requests to the Messages API: what it rejects, and what would silently cost money or citations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from messages_api.cache import before

FIELDS = {"model", "max_tokens", "messages", "system", "tools", "tool_choice", "stream", "thinking", "output_config"}
BLOCKS = {
    "text": {"type", "text", "citations", "cache_control"},
    "tool_use": {"type", "id", "name", "input", "caller", "cache_control"},
    "tool_result": {"type", "tool_use_id", "content", "is_error", "cache_control"},
    "search_result": {"type", "source", "title", "content", "citations", "cache_control"},
    "thinking": {"type", "thinking", "signature"},
    "redacted_thinking": {"type", "data"},
}
ALLOWED = {"user": {"text", "tool_result", "search_result"}}
ALLOWED["assistant"] = {"text", "tool_use", "thinking", "redacted_thinking"}
MAX_BREAKPOINTS = 4
THINKING = {"disabled", "between_tools", "adaptive"}


def faults(body: Mapping[str, Any], budget: int | None) -> list[str]:
    """Return all faults of a request."""
    try:
        return list(_faults(body, budget))
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        return [f"malformed request: {type(error).__name__}: {error}"]


def blocks(message: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the content of a message as blocks."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _faults(body: Mapping[str, Any], budget: int | None) -> Iterator[str]:
    if unknown := set(body) - FIELDS:
        yield f"unknown fields: {', '.join(sorted(unknown))}"
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield "model: missing"
    if body.get("stream") is not True:
        yield "stream: must be true"
    most = body.get("max_tokens")
    if not isinstance(most, int) or most < 1:
        yield "max_tokens: missing or not a number"
    elif budget is not None and most > budget:
        yield f"max_tokens: {most} exceeds the budget of {budget}"
    if "thinking" in body and body["thinking"].get("type") not in THINKING:
        yield "thinking: unknown type"
    yield from _tool_faults(body)
    yield from _turn_faults(body)
    yield from _pairing_faults(body["messages"])
    yield from _mark_faults(body)
    yield from _search_result_faults(body["messages"])
    yield from _thinking_faults(body)


def _tool_faults(body: Mapping[str, Any]) -> Iterator[str]:
    tools = body.get("tools")
    for at, tool in enumerate(tools or ()):
        if unknown := set(tool) - {"name", "description", "input_schema", "cache_control"}:
            yield f"tools.{at}: unknown fields: {', '.join(sorted(unknown))}"
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", tool.get("name", "")):
            yield f"tools.{at}.name: malformed"
    names = [tool.get("name") for tool in tools or ()]
    if len(set(names)) < len(names):
        yield "tools: names must be unique"
    choice = body.get("tool_choice")
    if choice is not None:
        if choice.get("type") not in {"auto", "none"}:
            yield "tool_choice: only auto and none are expected"
        if not tools:
            yield "tool_choice: may only be given with tools"
    used = any(
        block["type"] in {"tool_use", "tool_result"} for message in body["messages"] for block in blocks(message)
    )
    if used and not tools:
        yield "tools: must be defined if messages contain tool_use or tool_result blocks"


def _turn_faults(body: Mapping[str, Any]) -> Iterator[str]:
    messages = body["messages"]
    if not messages:
        yield "messages: at least one is needed"
    for at, message in enumerate(messages):
        where, role = f"messages.{at}", message.get("role")
        if set(message) != {"role", "content"}:
            yield f"{where}: a message has a role and content, nothing else"
        if role != ("user", "assistant")[at % 2]:
            yield f"{where}: roles must alternate, the first is user's"
        content = blocks(message)
        if not content:
            yield f"{where}: content must not be empty"
        for number, block in enumerate(content):
            if block["type"] not in ALLOWED.get(role, ()):
                yield f"{where}.content.{number}: {block['type']} is not allowed for {role}"
            yield from _block_faults(block, f"{where}.content.{number}")
    if messages and messages[-1].get("role") != "user":
        yield "messages: the last one must be the user's (no prefill)"
    system = body.get("system", [])
    if isinstance(system, list):
        for number, block in enumerate(system):
            yield from _block_faults(block, f"system.{number}")


def _block_faults(block: Mapping[str, Any], where: str) -> Iterator[str]:
    kind = block.get("type")
    if kind not in BLOCKS:
        yield f"{where}: unknown type {kind}"
        return
    if unknown := set(block) - BLOCKS[kind]:
        yield f"{where}: unknown fields: {', '.join(sorted(unknown))}"
    if kind == "text" and (not isinstance(block["text"], str) or not block["text"].strip()):
        yield f"{where}: text blocks must not be empty"
    if kind == "tool_use":
        if not isinstance(block["input"], dict):
            yield f"{where}.input: must be an object"
        if not re.fullmatch(r"[a-zA-Z0-9_-]+", block["id"]):
            yield f"{where}.id: must match ^[a-zA-Z0-9_-]+$"
    if kind == "tool_result" and isinstance(block.get("content"), list):
        for number, inner in enumerate(block["content"]):
            if inner.get("type") not in {"text", "search_result"}:
                yield f"{where}.content.{number}: {inner.get('type')} is not allowed in a tool_result"
            else:
                yield from _block_faults(inner, f"{where}.content.{number}")


def _pairing_faults(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    seen: set[str] = set()
    waiting: list[str] = []
    for at, message in enumerate(messages):
        results = [block["tool_use_id"] for block in blocks(message) if block["type"] == "tool_result"]
        if missing := [id_ for id_ in waiting if id_ not in results]:
            yield f"messages.{at}: tool_use without a tool_result in the next message: {', '.join(missing)}"
        if orphans := [id_ for id_ in results if id_ not in waiting]:
            yield f"messages.{at}: tool_result without a tool_use in the previous message: {', '.join(orphans)}"
        if len(set(results)) < len(results):
            yield f"messages.{at}: each tool_use has one tool_result"
        kinds = [block["type"] == "tool_result" for block in blocks(message)]
        if kinds != sorted(kinds, reverse=True):
            yield f"messages.{at}: tool_result blocks come first"
        waiting = [block["id"] for block in blocks(message) if block["type"] == "tool_use"]
        if again := [id_ for id_ in waiting if id_ in seen] or (len(set(waiting)) < len(waiting) and waiting):
            yield f"messages.{at}: tool_use ids must be unique: {', '.join(again)}"
        seen |= set(waiting)
    if waiting:
        yield f"messages: tool_use without a tool_result: {', '.join(waiting)}"


def _marks(body: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Return all cache breakpoints in the order of the prompt, with their positions."""
    system = body.get("system", [])
    for where, group in (("tools", body.get("tools") or ()), ("system", system if isinstance(system, list) else ())):
        for at, block in enumerate(group):
            if "cache_control" in block:
                yield f"{where}.{at}", block["cache_control"]
    for at, message in enumerate(body["messages"]):
        for number, block in enumerate(blocks(message)):
            if "cache_control" in block:
                yield f"messages.{at}.content.{number}", block["cache_control"]
            inner = block.get("content")
            for deep, one in enumerate(inner if isinstance(inner, list) else ()):
                if "cache_control" in one:
                    yield f"messages.{at}.content.{number}.content.{deep}", one["cache_control"]


def _mark_faults(body: Mapping[str, Any]) -> Iterator[str]:
    marks = list(_marks(body))
    if len(marks) > MAX_BREAKPOINTS:
        yield f"cache_control: at most {MAX_BREAKPOINTS} breakpoints, found {len(marks)}"
    yield from (f"{where}.cache_control: malformed" for where, mark in marks if mark != {"type": "ephemeral"})
    system = body.get("system")
    if not isinstance(system, list) or not system or "cache_control" not in system[-1]:
        yield "system: no cache_control on the outline, its last block"


def _search_result_faults(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    enabled: set[bool] = set()
    for at, message in enumerate(messages):
        for block in blocks(message):
            inner = block.get("content") if block["type"] == "tool_result" else [block]
            for one in inner if isinstance(inner, list) else ():
                if one.get("type") != "search_result":
                    continue
                where = f"messages.{at}: search_result {one.get('source')}"
                enabled.add((one.get("citations") or {}).get("enabled", False))
                for name in ("source", "title"):
                    if not isinstance(one.get(name), str) or not one[name].strip():
                        yield f"{where}: {name} is missing"
                content = one.get("content")
                if not isinstance(content, list) or not content:
                    yield f"{where}: content must be a list of text blocks"
                    continue
                for text in content:
                    if set(text) - {"type", "text"} or text.get("type") != "text" or not text.get("text", "").strip():
                        yield f"{where}: content must be text blocks that are not empty"
    if len(enabled) > 1:
        yield "citations must be enabled for all search_result blocks or for none"


def _thinking_faults(body: Mapping[str, Any]) -> Iterator[str]:
    for at, message in enumerate(body["messages"]):
        for block in blocks(message):
            if block["type"] == "thinking" and block.get("signature") != before(body, at):
                yield f"messages.{at}: invalid signature in thinking block: it is bound to a different conversation"

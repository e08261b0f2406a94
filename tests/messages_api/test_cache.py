"""The prompt cache."""

from __future__ import annotations

from typing import Any

from messages_api.cache import Cache

MARK = {"cache_control": {"type": "ephemeral"}}


def text(words: str, **mark: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **mark}


def body(outline: str = "o" * 4000, *turns: str, tools: str = "t", **more: Any) -> dict[str, Any]:
    messages = [
        {"role": ("user", "assistant")[at % 2], "content": [text(turn, **(MARK if at == len(turns) - 1 else {}))]}
        for at, turn in enumerate(turns)
    ]
    return {"tools": [{"name": tools}], "system": [text("rules"), text(outline, **MARK)], "messages": messages, **more}


def read(usage: dict[str, int]) -> tuple[bool, bool, bool]:
    kinds = ("cache_read_input_tokens", "cache_creation_input_tokens", "input_tokens")
    return (usage[kinds[0]] > 0, usage[kinds[1]] > 0, usage[kinds[2]] > 0)


def test_prefix_is_written_then_read() -> None:
    cache = Cache()
    one = cache.count({**body(), "messages": [{"role": "user", "content": "first"}]})
    two = cache.count({**body(), "messages": [{"role": "user", "content": "other"}]})
    assert (read(one), read(two)) == ((False, True, True), (True, False, True))
    assert one["cache_creation_input_tokens"] == two["cache_read_input_tokens"]
    assert sum(one.values()) == sum(two.values())


def test_conversation_is_read_up_to_last_write() -> None:
    cache = Cache()
    cache.count(body("o" * 4000, "a" * 400))
    usage = cache.count(body("o" * 4000, "a" * 400, "b" * 400, "c" * 400))
    assert usage["cache_read_input_tokens"] > 1000 + 100
    assert 200 < usage["cache_creation_input_tokens"] < 260


def test_tool_choice_keeps_outline_but_not_messages() -> None:
    cache = Cache()
    whole = cache.count(body("o" * 4000, "a" * 400))["cache_creation_input_tokens"]
    usage = cache.count(body("o" * 4000, "a" * 400, tool_choice={"type": "none"}))
    assert 1000 < usage["cache_read_input_tokens"] < whole

"""The wire format of OpenAI's chat completions API: `POST /v1/chat/completions` with `"stream": true`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from messages_api.chat_checks import faults
from messages_api.parts import Broken, Call, Cite, Cut, End, Part, Raw, Say, Status, Think, View, Wait
from messages_api.reading import QUESTION, RECORDED, sections

__all__ = ["CONTENT_TYPE", "Dialect", "error", "faults", "frames", "view"]

CONTENT_TYPE = "text/event-stream"
FINISH = {"end_turn": "stop", "max_tokens": "length", "tool_use": "tool_calls", "refusal": "content_filter"}


@dataclass(frozen=True)
class Dialect:
    """How a server differs from OpenAI's own."""

    newline: str = "\n"
    space: str = " "
    comments: bool = False
    index: bool = True
    ids: str = "first"
    """Which fragments of a call carry its id: `first`, `all`, `none`."""
    whole_calls: bool = False
    argument_objects: bool = False
    finish_calls: str = "tool_calls"
    usage: bool = True
    done: bool = True


def error(status: Status) -> bytes:
    """Return the body of an error response."""
    return json.dumps({"error": {"message": status.message, "type": status.kind, "code": status.kind}}).encode()


def view(body: Mapping[str, Any]) -> View:
    """Return a request as a brain sees it."""
    system, question, around, rounds = "", "", "", 0
    results: list[str] = []
    opened: dict[str, str] = {}
    for message in body["messages"]:
        content = message.get("content") or ""
        if message["role"] == "system":
            system = content
            opened |= sections(content)
        elif message["role"] == "user" and QUESTION in content:
            around, _, question = content.rpartition(QUESTION)
            question = question.partition("\n")[0]
            rounds, results = 0, []
        elif message["role"] == "tool":
            results.append(content)
            opened |= sections(content)
        rounds += any(call["id"] not in RECORDED for call in message.get("tool_calls") or ())
    none = body.get("tool_choice") == "none"
    tools = () if none else tuple(tool["function"]["name"] for tool in body.get("tools") or ())
    return View(system, question.strip(), around, tuple(results), opened, rounds, tools)


def frames(
    parts: Iterable[Part], body: Mapping[str, Any], usage: Mapping[str, int], dialect: Dialect
) -> Iterator[bytes | Wait | Cut]:
    """Return a reply as server-sent events."""
    calls = output = 0
    reason: str | None = None
    yield _piece(dialect, {"role": "assistant", "content": ""})
    for part in parts:
        match part:
            case Say():
                for piece in re.findall(r"[\s\S]{1,24}", part.text):
                    output += len(piece) // 4 + 1
                    yield _piece(dialect, {"content": piece})
            case Cite():
                yield _piece(dialect, {"content": f" [^{part.source}]"})
            case Think():
                yield _piece(dialect, {"reasoning_content": part.text})
            case Call():
                reason = reason or dialect.finish_calls
                yield from _call(dialect, part, calls, len(body["messages"]))
                calls += 1
                output += 20
            case End():
                reason = FINISH.get(part.reason, part.reason)
            case Wait() | Cut():
                yield part
                if isinstance(part, Cut):
                    return
            case Broken():
                yield _data(dialect, {"error": {"message": part.message, "type": part.kind}})
                return
            case Raw():
                yield part.data
            case Status():
                raise AssertionError("a status comes first or not at all")
    yield _piece(dialect, {}, reason or "stop")
    if dialect.usage and (body.get("stream_options") or {}).get("include_usage"):
        read = usage["cache_read_input_tokens"]
        counted = {"prompt_tokens": sum(usage.values()), "completion_tokens": output}
        counted["total_tokens"] = sum(counted.values())
        yield _data(dialect, {"choices": [], "usage": {**counted, "prompt_tokens_details": {"cached_tokens": read}}})
    if dialect.done:
        yield f"data:{dialect.space}[DONE]{dialect.newline * 2}".encode()


def _call(dialect: Dialect, call: Call, number: int, turn: int) -> Iterator[bytes]:
    id_ = f"call_{turn}_{number}" if call.id is None else call.id
    text: Any = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
    pieces = [text] if dialect.whole_calls else ["", *re.findall(r"[\s\S]{1,9}", text)]
    for at, piece in enumerate(pieces):
        function: dict[str, Any] = {"arguments": piece}
        if dialect.argument_objects:
            function["arguments"] = call.arguments
        if at == 0:
            function["name"] = call.name
        fragment: dict[str, Any] = {"function": function}
        if dialect.index:
            fragment["index"] = number
        if dialect.ids == "all" or (dialect.ids == "first" and at == 0):
            fragment |= {"id": id_, "type": "function"}
        yield _piece(dialect, {"tool_calls": [fragment]})


def _piece(dialect: Dialect, delta: Mapping[str, Any], reason: str | None = None) -> bytes:
    return _data(dialect, {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})


def _data(dialect: Dialect, data: Mapping[str, Any]) -> bytes:
    whole = {"id": "chatcmpl-local", "object": "chat.completion.chunk", **data}
    lines = [": a comment"] if dialect.comments else []
    lines.append(f"data:{dialect.space}{json.dumps(whole)}")
    return (dialect.newline.join(lines) + dialect.newline * 2).encode()

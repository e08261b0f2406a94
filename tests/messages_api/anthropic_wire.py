"""The wire format of Anthropic's Messages API: `POST /v1/messages` with `"stream": true`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from messages_api.anthropic_checks import blocks, faults
from messages_api.cache import before
from messages_api.parts import Broken, Call, Cite, Cut, End, Part, Raw, Say, Status, Think, View, Wait
from messages_api.reading import QUESTION, RECORDED, sections

__all__ = ["CONTENT_TYPE", "error", "faults", "frames", "view"]

CONTENT_TYPE = "text/event-stream; charset=utf-8"


def error(status: Status) -> bytes:
    """Return the body of an error response."""
    return json.dumps({"type": "error", "error": {"type": status.kind, "message": status.message}}).encode()


def view(body: Mapping[str, Any]) -> View:
    """Return a request as a brain sees it."""
    system = body.get("system") or ""
    question, around, rounds = "", "", 0
    results: list[str] = []
    said = system if isinstance(system, str) else "\n\n".join(block["text"] for block in system)
    opened = sections(said)
    for message in body["messages"]:
        for block in blocks(message):
            if block["type"] == "text" and message["role"] == "user" and QUESTION in block["text"]:
                around, _, question = block["text"].rpartition(QUESTION)
                rounds, results = 0, []
            elif block["type"] == "tool_result":
                content = block.get("content") or ""
                inner = [{"type": "text", "text": content}] if isinstance(content, str) else content
                for one in inner:
                    if one["type"] == "search_result":
                        opened[one["source"]] = "".join(text["text"] for text in one["content"])
                results.append("\n".join(_text(one) for one in inner))
        rounds += message["role"] == "assistant" and any(
            block["type"] == "tool_use" and block["id"] not in RECORDED for block in blocks(message)
        )
    none = (body.get("tool_choice") or {}).get("type") == "none"
    tools = () if none else tuple(tool["name"] for tool in body.get("tools") or ())
    return View(said, question.strip(), around, tuple(results), opened, rounds, tools)


def _text(block: Mapping[str, Any]) -> str:
    if block["type"] == "search_result":
        return f"{block['title']}\n" + "".join(text["text"] for text in block["content"])
    return str(block.get("text", ""))


# Events


def frames(
    parts: Iterable[Part], body: Mapping[str, Any], usage: Mapping[str, int], dialect: object
) -> Iterator[bytes | Wait | Cut]:
    """Return a reply as server-sent events."""
    stream = _Stream(body)
    message = {
        "id": "msg_local",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**usage, "output_tokens": 1},
    }
    yield _event("message_start", message=message)
    yield _event("ping")
    reason = "end_turn"
    for part in parts:
        match part:
            case Say():
                yield from stream.text(part.text)
            case Cite():
                yield from stream.cite(part.source, late=part.late)
            case Think():
                yield from stream.think(part.text)
            case Call():
                reason = "tool_use"
                yield from stream.call(part)
            case End():
                reason = part.reason
            case Wait() | Cut():
                yield part
                if isinstance(part, Cut):
                    return
            case Broken():
                yield _event("error", error={"type": part.kind, "message": part.message})
                return
            case Raw():
                yield part.data
            case Status():
                raise AssertionError("it comes first or not at all")
    yield from stream.close()
    details = {"type": "refusal", "category": None, "explanation": None} if reason == "refusal" else None
    delta = {"stop_reason": reason, "stop_sequence": None, "stop_details": details}
    yield _event("message_delta", delta=delta, usage={"output_tokens": stream.output + 1})
    yield _event("message_stop")


class _Stream:
    """The content blocks of one reply."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        self.output = 0
        self._body = body
        self._index = -1
        self._open = False
        self._calls = 0
        self._sources = [
            result
            for message in body["messages"]
            for block in blocks(message)
            if block["type"] == "tool_result" and isinstance(block.get("content"), list)
            for result in block["content"]
            if result["type"] == "search_result"
        ]

    def text(self, text: str) -> Iterator[bytes]:
        if not self._open:
            yield from self._start({"type": "text", "text": ""})
        for piece in re.findall(r"[\s\S]{1,24}", text):
            self.output += len(piece) // 4 + 1
            yield self._delta(type="text_delta", text=piece)

    def cite(self, source: str, *, late: bool) -> Iterator[bytes]:
        if all(
            one["source"] != source for one in self._sources
        ):  # not a search result: the model writes the citation itself
            yield from self.text(f" [^{source}]")
            return
        if not late:
            yield from self.close()
        if not self._open:
            yield from self._start({"type": "text", "text": "", "citations": []})
        at, result = next((at, one) for at, one in enumerate(self._sources) if one["source"] == source)
        yield self._delta(
            type="citations_delta",
            citation={
                "type": "search_result_location",
                "source": source,
                "title": result.get("title", ""),
                "cited_text": "".join(text["text"] for text in result["content"]),
                "search_result_index": at,
                "start_block_index": 0,
                "end_block_index": 1,
            },
        )
        if late:
            yield from self.close()

    def think(self, text: str) -> Iterator[bytes]:
        yield from self._start({"type": "thinking", "thinking": "", "signature": ""})
        yield self._delta(type="thinking_delta", thinking=text)
        yield self._delta(type="signature_delta", signature=before(self._body, len(self._body["messages"])))
        yield from self.close()

    def call(self, call: Call) -> Iterator[bytes]:
        self._calls += 1
        id_ = f"toolu_{len(self._body['messages'])}_{self._calls}" if call.id is None else call.id
        yield from self._start({"type": "tool_use", "id": id_, "name": call.name, "input": {}})
        text = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
        yield self._delta(type="input_json_delta", partial_json="")
        for piece in re.findall(r"[\s\S]{1,9}", text):
            self.output += 2
            yield self._delta(type="input_json_delta", partial_json=piece)
        yield from self.close()

    def close(self) -> Iterator[bytes]:
        if self._open:
            self._open = False
            yield _event("content_block_stop", index=self._index)

    def _start(self, block: Mapping[str, Any]) -> Iterator[bytes]:
        yield from self.close()
        self._index += 1
        self._open = True
        yield _event("content_block_start", index=self._index, content_block=block)

    def _delta(self, **delta: Any) -> bytes:
        return _event("content_block_delta", index=self._index, delta=delta)


def _event(kind: str, **data: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()

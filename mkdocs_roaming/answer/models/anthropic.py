"""Claude, through Anthropic's Messages API or any server that offers the same API."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from msgspec.structs import astuple

from mkdocs_roaming._http import parse_base_url
from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.models.base import (
    DEFAULT_CLAUDE_MODEL,
    AssistantTurn,
    Citation,
    JsonObject,
    ModelRequest,
    OpenSection,
    Part,
    StopReason,
    ToolResult,
    Usage,
)
from mkdocs_roaming.answer.models.provider import ApiModel
from mkdocs_roaming.answer.models.replies import (
    PartialCall,
    ReplyReader,
    TurnState,
    arguments_as_object,
    encode_tool_name,
    read_turns,
)
from mkdocs_roaming.library.tools import TOOLS, Tool, ToolError, ToolOutput, render, split_origin

Json = dict[str, Any]

LEAST_THINKING_TOKENS = 2_000
"""Added to the maximum output of models that think first: their thinking counts as output."""

_LEAST_THINKING = {
    "claude-haiku-5-5": {"thinking": {"type": "disabled"}},
    "claude-sonnet-5-5": {"thinking": {"type": "between_tools"}},
    "claude-opus-5-5": {"output_config": {"effort": "low"}},
    "claude-fable-5": {"output_config": {"effort": "low"}},
    "claude-mythos-5": {"output_config": {"effort": "low"}},
    "claude-sonnet-5": {"thinking": {"type": "disabled"}},
    "claude-opus-5": {"thinking": {"type": "disabled"}},
}
"""Parameters for the least thinking before a short answer, by prefix of the model's name; the first match applies."""

_NO_THINKING = ("claude-haiku-4", "claude-sonnet-4", "claude-opus-4", "claude-3")

_SEARCH_RESULTS = "search_result"
_BLANK_LINES = re.compile(r"\n{3,}")
"""What sections leave in a result that they are taken from."""


_STOP_REASONS: Mapping[str, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tools",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "length",
    "refusal": "refusal",
}


_COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
"""What the API counts, in the order of the fields of `Usage`."""


class AnthropicModel(ApiModel):
    """Claude with native citations; rules and outline are read from the prompt cache."""

    api = "the Messages API"
    path = "/v1/messages"
    headers = {"anthropic-version": "2026-10-21"}  # noqa: RUF012
    optional = ("cache_control", "thinking", "output_config", "stream")

    default_url = "https://api.anthropic.com"
    url_variable = url_name = "ANTHROPIC_BASE_URL"
    key_variable = "ANTHROPIC_API_KEY"
    needs = "a key; set ANTHROPIC_API_KEY, or choose the model offline"

    def __init__(self, model: str = DEFAULT_CLAUDE_MODEL, **settings: Any) -> None:
        """Create a model with the settings of `ApiModel`."""
        super().__init__(model, **settings)
        matching = (fixed for prefix, fixed in _LEAST_THINKING.items() if model.startswith(prefix))
        self._thinking: JsonObject = next(matching, {})
        thinks = "thinking" not in self._thinking and not model.startswith(_NO_THINKING)
        self.extra_output_tokens = LEAST_THINKING_TOKENS if thinks else 0
        if "claude" not in model:  # other servers ignore or refuse search results
            self._refused |= {_SEARCH_RESULTS}

    @staticmethod
    def _parse_url(base_url: str) -> str:
        return parse_base_url(base_url).removesuffix("/v1")

    def _make_reader(self, request: ModelRequest) -> ReplyReader:
        parameters = encode_request(request, _SEARCH_RESULTS not in self._refused)
        if "cache_control" in self._refused:
            parameters = _without_key(parameters, "cache_control")
        thinking = {name: value for name, value in self._thinking.items() if name not in self._refused}
        parameters |= {**thinking, "max_tokens": self._limit_output(request, parameters)}
        return MessageReader(parameters, request.note)

    def _alternatives(self, request: ModelRequest) -> Sequence[str]:
        return [_SEARCH_RESULTS] if self._service.base_url != self.default_url and request.has_results else []


# Requests
#
# A conversation only grows, byte for byte, so the cache is hit by each later request. Claude's thinking is signed
# together with everything before it, and its citations count search results: after sections were closed to make room,
# the turns behind them have no state.


def encode_request(request: ModelRequest, has_search_results: bool) -> Json:
    """Return a request as parameters of the Messages API.

    The tools stay defined in the last round, in which none may be called: they are at the start of the cached prefix,
    and the API requires them if an earlier turn called one.

    Args:
        request: The request.
        has_search_results: Whether opened sections are search results, for native citations, or text.
    """
    roams = bool(request.outline) and not request.site
    defined = request.tools or (TOOLS if roams or request.has_results else ())
    tools = [_encode_tool(tool) for tool in defined]
    system = [_text_block(text) for text in (request.rules, request.outline) if text.strip()]
    messages = _encode_turns(request, has_search_results)
    if system:
        system[-1]["cache_control"] = {"type": "ephemeral"}
    parameters: Json = {"system": system, "messages": messages}
    if tools:
        parameters["tools"] = tools
    if request.tools:
        # The previous breakpoint is set again: the API looks back only 20 blocks from a breakpoint.
        for message in [message for message in messages if message["role"] == "user"][-2:]:
            message["content"][-1]["cache_control"] = {"type": "ephemeral"}
    elif tools:
        parameters["tool_choice"] = {"type": "none"}
    return parameters


def _encode_turns(request: ModelRequest, has_search_results: bool) -> list[Json]:
    messages: list[Json] = []

    def add(role: str, content: Iterable[Json]) -> None:
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"].extend(content)
        else:
            messages.append({"role": role, "content": list(content)})

    for item in read_turns(request):
        match item:
            case ToolResult():
                content = _encode_content(item.result, has_search_results)
                block: Json = {"type": "tool_result", "tool_use_id": item.call.id, "content": content}
                if isinstance(item.result, ToolError):
                    block["is_error"] = True
                add("user", [block])
            case AssistantTurn():
                add("assistant", _encode_reply(item))
            case str() if item:
                add("user", [_text_block(item)])
    return messages


def _encode_reply(turn: AssistantTurn) -> list[Json]:
    """Return the blocks of an earlier reply, as it was if its state is known."""
    state = turn.provider_state
    blocks = [dict(block) for block in state.blocks] if isinstance(state, TurnState) else []
    uses = [block for block in blocks if block["type"] == "tool_use"]
    if not blocks or len(uses) != len(turn.calls):
        uses = [{"type": "tool_use", "input": arguments_as_object(call.arguments)} for call in turn.calls]
        blocks = [*([_text_block(turn.text)] if turn.text.strip() else []), *uses]
    for call, block in zip(turn.calls, uses, strict=True):
        block |= {"id": call.id, "name": encode_tool_name(call.name)}
    return blocks or [_text_block(prompts.NO_ANSWER)]


def _text_block(text: str) -> Json:
    return {"type": "text", "text": text}


def _encode_tool(tool: Tool) -> Json:
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}


def _encode_content(result: ToolOutput, has_search_results: bool) -> list[Json]:
    """Return the content of a tool result; each open section is a search result, so that it is cited by its own id."""
    if not has_search_results:
        return [_text_block(prompts.render_result(result))]
    label, result = split_origin(result)
    sections, result = prompts.take_sections(result)
    text = _BLANK_LINES.sub("\n\n", render(result))
    content = [_text_block(label), *map(_encode_section, sections), _text_block(text)]
    return [block for block in content if block["type"] != "text" or block["text"].strip()]


def _encode_section(section: OpenSection) -> Json:
    return {
        "type": _SEARCH_RESULTS,
        "source": section.id,
        "title": " › ".join(section.breadcrumb) or section.id,
        "content": [_text_block(section.text)],
        "citations": {"enabled": True},
    }


def _without_key(value: Any, key: str) -> Any:
    """Return JSON data without the values of a key."""
    if isinstance(value, Mapping):
        return {name: _without_key(item, key) for name, item in value.items() if name != key}
    return [_without_key(item, key) for item in value] if isinstance(value, list) else value


# Replies


class MessageReader(ReplyReader):
    """Reads the events of a stream, or a whole message."""

    def __init__(self, parameters: JsonObject, note: str = "") -> None:
        """Start before the first event."""
        super().__init__(parameters, note)
        self._blocks: dict[object, Json] = {}  # by their numbers, in order

    def feed(self, data: JsonObject) -> Iterator[Part]:
        """Yield the parts that an event completes."""
        match data["type"]:
            case "message_start":
                yield from self._read_usage({**(data["message"].get("usage") or {}), "output_tokens": 0})
            case "content_block_start":
                number = data.get("index")
                content = {name: value for name, value in data["content_block"].items() if value is not None}
                self._blocks[number] = content
                if content["type"] == "tool_use":
                    parsed = content.get("input", {})
                    self.calls.append(PartialCall(number, str(content["id"]), str(content["name"]), parsed=parsed))
                yield from self._add_text(content.get("text", ""))
            case "content_block_delta":
                yield from self._read_delta(data.get("index"), data["delta"])
            case "content_block_stop" if block := self._blocks.get(data.get("index")):
                yield from _find_native_citations(block)
            case "message_delta":
                yield from self._read_usage(data.get("usage") or {})
                if isinstance(reason := data["delta"].get("stop_reason"), str):
                    self.reason = _STOP_REASONS.get(reason, "end")
            case "message":
                for number, block in enumerate(data["content"]):
                    yield from self.feed({"type": "content_block_start", "index": number, "content_block": block})
                    yield from self.feed({"type": "content_block_stop", "index": number})
                yield from self.feed({"type": "message_delta", "delta": data, "usage": data.get("usage")})

    def end(self) -> Iterator[Part]:
        """Yield the calls, and complete the state that is sent back."""
        yield from super().end()
        calls = {call.index: call for call in self.calls}
        blocks: list[Json] = []
        for number, block in self._blocks.items():
            if number in calls:
                blocks.append({**block, "input": arguments_as_object(calls[number].to_call().arguments)})
            elif "thinking" in block["type"] or block.get("text", "").strip():
                blocks.append(block if block.get("citations") else _without_key(block, "citations"))
        self.state = replace(self.state, blocks=tuple(blocks))

    def _read_delta(self, number: object, delta: JsonObject) -> Iterator[Part]:
        block = self._blocks.setdefault(number, {"type": "text"})
        match delta["type"]:
            case "text_delta":
                block["text"] = block.get("text", "") + delta["text"]
                yield from self._add_text(delta["text"])
            case "citations_delta":
                block.setdefault("citations", []).append(delta["citation"])
            case "input_json_delta":
                call = next(call for call in self.calls if call.index == number)
                self._add_arguments(call, delta["partial_json"])
            case "thinking_delta":
                block["thinking"] = block.get("thinking", "") + delta["thinking"]
            case "signature_delta":
                block["signature"] = delta["signature"]

    def _read_usage(self, counted: JsonObject) -> Iterator[Part]:
        """Yield the usage since the last event: later events count totals."""
        counts: list[int] = []
        for name, before in zip(_COUNTS, astuple(self.usage), strict=True):
            count = counted.get(name)
            counts.append(max(count - before, 0) if isinstance(count, int) else 0)
        if any(counts):
            usage = Usage(*counts)
            self.usage += usage
            yield usage


def _find_native_citations(block: JsonObject) -> Iterator[Citation]:
    """Yield the citations of a text that the model did not also write itself, as the rules ask for."""
    sources = dict.fromkeys(str(citation.get("source")) for citation in block.get("citations") or ())
    yield from (Citation(id_) for id_ in sources if f"[^{id_}]" not in block["text"])

"""Any server with the chat completions API: OpenAI, or Ollama, vLLM and others on this machine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.models.base import (
    NO_USAGE,
    AssistantTurn,
    JsonObject,
    ModelConfig,
    ModelRequest,
    Part,
    StopReason,
    ToolCall,
    ToolResult,
    Usage,
)
from mkdocs_roaming.answer.models.context import iter_texts
from mkdocs_roaming.answer.models.provider import ApiModel
from mkdocs_roaming.answer.models.replies import (
    PartialCall,
    ReplyReader,
    arguments_as_object,
    encode_tool_name,
    read_turns,
)
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.tools import TOOLS, Tool
from mkdocs_roaming.text.tokenizer import estimate_tokens

Json = dict[str, Any]

_LIMITS = ("max_tokens", "max_completion_tokens")
_SYSTEM_ROLE = "[Ss]ystem role"
_ABSENT_TOOLS = "absent tools"
_ID_CHARS = 9

_FINISH_REASONS: Mapping[str, StopReason] = {
    "stop": "end",
    "tool_calls": "tools",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "refusal",
}


class OpenAIModel(ApiModel):
    """A model that writes `[^id]` citations into its text. If the server counts no tokens, usage stays zero."""

    api = "the chat completions API"
    path = "/chat/completions"
    optional = ("stream_options", "stream", *_LIMITS, _SYSTEM_ROLE)

    default_url = "https://api.openai.com/v1"
    url_variable = "OPENAI_BASE_URL"
    url_name = "ROAMING_BASE_URL"
    key_variable = "OPENAI_API_KEY"
    needs = "a server; set ROAMING_BASE_URL, such as http://localhost:11434/v1, or OPENAI_API_KEY for OpenAI"

    @classmethod
    def from_config(cls, config: ModelConfig) -> OpenAIModel:
        """Create the model for `openai:NAME`."""
        if not config.name:
            raise UsageError("openai needs the name of a model, such as openai:qwen3")
        return super().from_config(config)

    def _make_reader(self, request: ModelRequest) -> ReplyReader:
        parameters = encode_request(
            request,
            has_system_role=_SYSTEM_ROLE not in self._refused,
            keeps_tools=_ABSENT_TOOLS in self._refused,
        )
        if limit := next((name for name in _LIMITS if name not in self._refused), ""):
            parameters[limit] = self._limit_output(request, parameters)
        if not self._refused & {"stream_options", "stream"}:
            parameters["stream_options"] = {"include_usage": True}
        return ChatReader(parameters, request.note)

    def _alternatives(self, request: ModelRequest) -> Sequence[str]:
        return [_ABSENT_TOOLS] if request.has_results and not request.tools else []


# Requests
#
# A conversation only grows, so servers that cache prefixes find them again. Each section in a tool result is enclosed
# in lines with its id, as text from another author.


def encode_request(request: ModelRequest, *, has_system_role: bool = True, keeps_tools: bool = False) -> Json:
    """Return a request as parameters of the chat completions API.

    In the last round the tools are left out: many servers ignore `tool_choice`, and their models would call on.

    Args:
        request: The request.
        has_system_role: Whether the rules may be a message of their own.
        keeps_tools: Whether the server requires the definitions of the tools that earlier turns called.
    """
    parameters: Json = {"messages": _encode_turns(request, has_system_role)}
    tools = TOOLS if keeps_tools and request.has_results else request.tools
    if tools:
        parameters["tools"] = [_encode_tool(tool) for tool in tools]
        if not request.tools:
            parameters["tool_choice"] = "none"
    return parameters


def estimate_request(request: ModelRequest) -> int:
    """Return the estimated tokens of a request."""
    encoded = encode_request(request)
    texts = (json.dumps(encoded.get("tools", "")), *iter_texts(encoded["messages"]))
    return sum(map(estimate_tokens, texts))


def _encode_turns(request: ModelRequest, has_system_role: bool) -> list[Json]:
    """Return the messages in the order that the strictest servers require.

    No role follows itself, and only the model follows a tool: other text is appended to the message before it.
    """
    messages: list[Json] = []

    def add(role: str, text: str) -> None:
        last = messages[-1]["role"] if messages else ""
        if text and (last == role or (last, role) == ("tool", "user")):
            messages[-1]["content"] += f"\n\n{text}"
        elif text:
            messages.append({"role": role, "content": text})

    system = "\n\n".join(text for text in (request.rules, request.outline) if text.strip())
    add("system" if has_system_role else "user", system)
    for item in read_turns(request):
        match item:
            case ToolResult():
                text = prompts.render_result(item.result)
                messages.append({"role": "tool", "tool_call_id": _encode_id(item.call.id), "content": text})
            case AssistantTurn() if item.calls:
                calls = [_encode_call(call) for call in item.calls]
                messages.append({"role": "assistant", "content": item.text, "tool_calls": calls})
            case AssistantTurn():
                add("assistant", item.text if item.text.strip() else prompts.NO_ANSWER)
            case text:
                add("user", text)
    return messages


def _encode_call(call: ToolCall) -> JsonObject:
    arguments = json.dumps(arguments_as_object(call.arguments), ensure_ascii=False)
    function = {"name": encode_tool_name(call.name), "arguments": arguments}
    return {"id": _encode_id(call.id), "type": "function", "function": function}


def _encode_id(id_: str) -> str:
    """Return the id of a call in the form that every server accepts: nine letters or digits, equal for equal ids."""
    return hashlib.sha256(id_.encode()).hexdigest()[:_ID_CHARS]


def _encode_tool(tool: Tool) -> JsonObject:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


# Replies


class ChatReader(ReplyReader):
    """Reads the chunks of a stream, or a whole completion, in the dialects of different servers."""

    _is_refused = False

    def find_error(self, data: JsonObject) -> object:
        """Return the error in a chunk or in its choice, or None."""
        choice = _first_choice(data)
        is_failed = choice.get("finish_reason") == "error"
        error = choice.get("error") or ("the reply ended with an error" if is_failed else None)
        return super().find_error(data) or (error and {"error": error})

    def feed(self, data: JsonObject) -> Iterator[Part]:
        """Yield the text of a chunk."""
        if isinstance(data.get("usage"), Mapping):
            self.usage = _parse_usage(data["usage"])
        choice = _first_choice(data)
        delta = choice.get("delta") or choice.get("message") or {}
        if any(delta.get(name) for name in ("reasoning_content", "reasoning")):
            self.has_thought = True
        yield from self._add_text(self._read_content(delta.get("content")))
        if isinstance(refusal := delta.get("refusal"), str) and refusal:
            self._is_refused = True
            yield from self._add_text(refusal)
        for fragment in delta.get("tool_calls") or filter(None, [delta.get("function_call")]):
            self._read_call(fragment)
        if isinstance(reason := choice.get("finish_reason"), str) and reason:
            self.reason = _FINISH_REASONS.get(reason, "end")

    def end(self) -> Iterator[Part]:
        """Yield the calls, and the usage if the server counts it."""
        yield from super().end()
        if self._is_refused:
            self.reason = "refusal"
        if self.usage != NO_USAGE:
            yield self.usage

    def _read_content(self, content: object) -> str:
        """Return the text in content, which is a text, or a list of parts: texts and reasoning."""
        if isinstance(content, str):
            return content
        texts: list[str] = []
        for part in content if isinstance(content, list) else ():
            if isinstance(part, Mapping) and isinstance(text := part.get("text"), str) and "think" not in part["type"]:
                texts.append(text)
            else:
                self.has_thought = True
        return "".join(texts)

    def _read_call(self, fragment: JsonObject) -> None:
        function = fragment.get("function") or fragment
        id_ = str(fragment.get("id") or "")
        name = str(function.get("name") or "")
        call = self._find_call(fragment.get("index"), id_, name)
        if call is None:
            call = PartialCall(fragment.get("index"), id_, name)
            self.calls.append(call)
        self._add_arguments(call, function.get("arguments"))

    def _find_call(self, index: object, id_: str, name: str) -> PartialCall | None:
        """Return the call that a fragment continues, or None if it begins a new one.

        Fragments of parallel calls may alternate. Some servers number all calls 0, others none; some repeat name and
        id in each fragment, others send a new id with each.
        """
        numbered = [call for call in self.calls if index is None or call.index is None or call.index == index]
        if not numbered:
            return None
        known = next((call for call in numbered if id_ and call.id == id_), None)
        if known is not None or not name:
            return known or numbered[-1]
        last = numbered[-1]
        is_new = (id_ and last.id) or index is None or last.is_complete
        return None if is_new else last


def _first_choice(data: JsonObject) -> JsonObject:
    choices = data.get("choices")
    return choices[0] if isinstance(choices, list) and choices else {}


def _parse_usage(counted: JsonObject) -> Usage:
    def count(counts: object, name: str) -> int:
        value = counts.get(name) if isinstance(counts, Mapping) else None
        return value if isinstance(value, int) and value > 0 else 0

    prompt = count(counted, "prompt_tokens")
    cached = min(count(counted.get("prompt_tokens_details"), "cached_tokens"), prompt)
    return Usage(input=prompt - cached, cache_read=cached, output=count(counted, "completion_tokens"))

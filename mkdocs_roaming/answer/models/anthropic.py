"""Claude, through Anthropic's Messages API or any server that offers the same API.

This is the only module that imports `anthropic`, and only when a model is created: the import takes more than a second.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mkdocs_roaming._http import ApiConfig, parse_base_url, parse_retry_after
from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.models.base import (
    DEFAULT_CLAUDE_MODEL,
    AssistantTurn,
    Citation,
    ModelConfig,
    OpenSection,
    Part,
    Request,
    Stop,
    StopReason,
    Text,
    ToolCall,
    ToolResult,
    ToolTurn,
    Usage,
    UserTurn,
)
from mkdocs_roaming.answer.models.provider import (
    DEFAULT_RETRIES,
    MAX_ARGUMENT_CHARS,
    ProviderModel,
    Retries,
    arguments_as_object,
    error_for_connection,
    error_for_format,
    error_for_interruption,
    error_for_status,
    parse_arguments,
    replace_surrogates,
    split_expansion,
)
from mkdocs_roaming.errors import ModelError, UsageError
from mkdocs_roaming.library.tools import TOOLS, ExpandResult, SearchResults, Tool, ToolError, render, split_origin

Block = dict[str, Any]

BASE_URL = "https://api.anthropic.com"
THINKING_TOKENS = 2_000
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

_STOP_REASONS: Mapping[str, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tools",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "length",
    "refusal": "refusal",
}


class AnthropicModel(ProviderModel):
    """Claude with native citations; rules and outline are read from the prompt cache."""

    api = "the Messages API"

    def __init__(
        self,
        model: str = DEFAULT_CLAUDE_MODEL,
        *,
        key: str,
        base_url: str = "",
        key_name: str = "ANTHROPIC_API_KEY",
        retries: Retries = DEFAULT_RETRIES,
    ) -> None:
        """Create a model.

        Args:
            model: Name of the model.
            key: API key.
            base_url: Base URL of the API.
            key_name: Environment variable of the key, for error messages.
            retries: Attempts after a temporary failure.

        Raises:
            UsageError: The package `anthropic` is not installed, or the base URL is invalid.
        """
        try:
            import anthropic
            import httpx2
        except ImportError:
            raise UsageError(f"{model} needs the anthropic package: pip install 'mkdocs-roaming[claude]'") from None
        base_url = parse_base_url(base_url or BASE_URL).removesuffix("/v1")
        service = ApiConfig(model, base_url, key, key_name, "ANTHROPIC_BASE_URL")
        super().__init__(service, retries)
        matching = (fixed for prefix, fixed in _LEAST_THINKING.items() if model.startswith(prefix))
        self._parameters: Mapping[str, Any] = next(matching, {})
        thinks = "thinking" not in self._parameters and not model.startswith(_NO_THINKING)
        self.extra_output_tokens = THINKING_TOKENS if thinks else 0
        self._anthropic, self._httpx2 = anthropic, httpx2
        # Without keep-alive, one client can serve several event loops, and no connection stays open.
        http = anthropic.DefaultAsyncHttpxClient(limits=httpx2.Limits(max_keepalive_connections=0))
        self._client = anthropic.AsyncAnthropic(api_key=key, base_url=base_url, max_retries=0, http_client=http)

    @classmethod
    def from_config(cls, config: ModelConfig) -> AnthropicModel:
        """Create the model for `claude:NAME`."""
        model = config.name or DEFAULT_CLAUDE_MODEL
        base_url = config.get_base_url("ANTHROPIC_BASE_URL")
        key, key_name = config.get_key("ANTHROPIC_API_KEY")
        if not key and not base_url:
            raise UsageError(f"{model} needs a key; set ANTHROPIC_API_KEY, or choose the model offline")
        # Local servers often need no key, but the SDK does.
        return cls(model, key=key or "none", base_url=base_url, key_name=key_name)

    async def _attempt(self, request: Request) -> AsyncGenerator[Part, None]:
        # The events are read directly, not with the SDK's accumulating stream: it fails on arguments that are not
        # JSON, which the navigator's tools accept.
        encoded = encode_request(request)
        reader = ReplyReader()
        try:
            stream: Any = await self._client.messages.create(
                stream=True,
                model=self.name,
                max_tokens=request.output_tokens + self.extra_output_tokens,
                **self._parameters,
                **encoded.parameters,
            )
            async with stream:
                async for event in stream:
                    for part in reader.feed(event):
                        yield part
                    if reader.too_long:
                        yield Stop("length")
                        return
        except (self._anthropic.APIError, self._httpx2.TransportError) as error:
            raise self._to_model_error(error) from None
        if reader.reason is None:
            if reader.started:
                raise error_for_interruption(self._service)
            raise error_for_format(self._service, self.api)
        yield Stop(reader.reason, ClaudeState(tuple(reader.blocks), request.note, encoded.digest))

    def _to_model_error(self, error: Any) -> ModelError:
        anthropic = self._anthropic
        if isinstance(error, anthropic.APIStatusError):
            pause = parse_retry_after(error.response.headers)
            return error_for_status(self._service, error.status_code, error.type or "", error.api_message or "", pause)
        if isinstance(error, anthropic.APIConnectionError):
            cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
            return error_for_connection(self._service, cause)
        if isinstance(error, self._httpx2.TransportError):
            return error_for_interruption(self._service)
        return error_for_format(self._service, self.api)


# Requests
#
# A conversation only grows, byte for byte, so the cache is hit by each later request. Claude's thinking is signed
# together with everything before it: after sections were closed to make room, the thinking behind them is left out.


@dataclass(frozen=True, slots=True)
class ClaudeState:
    """Provider state of a turn.

    Attributes:
        blocks: The content blocks of the reply.
        note: The note of the request.
        digest: The digest of the request.
    """

    blocks: tuple[Mapping[str, Any], ...]
    note: str
    digest: str


@dataclass(frozen=True, slots=True)
class EncodedRequest:
    """The parameters of an API request, and the digest of its content."""

    parameters: dict[str, Any]
    digest: str


def encode_request(request: Request) -> EncodedRequest:
    """Return a request as parameters of the Messages API.

    The tools stay defined in the last round, in which none may be called: they are at the start of the cached prefix,
    and the API requires them if an earlier turn called one.
    """
    tools = [_encode_tool(tool) for tool in request.tools or (TOOLS if _needs_tools(request) else ())]
    system = [_text_block(text) for text in (request.rules, request.outline) if text.strip()]
    prefix_digest = _digest(tools, system)
    messages = _encode_turns(request, prefix_digest)
    digest = _digest(prefix_digest, messages)
    if system:
        system[-1]["cache_control"] = {"type": "ephemeral"}
    parameters: dict[str, Any] = {"system": system, "messages": messages}
    if tools:
        parameters["tools"] = tools
    if request.tools:
        # The previous breakpoint is set again: the API looks back only 20 blocks from a breakpoint.
        for message in [message for message in messages if message["role"] == "user"][-2:]:
            message["content"][-1]["cache_control"] = {"type": "ephemeral"}
    elif tools:
        parameters["tool_choice"] = {"type": "none"}
    return EncodedRequest(replace_surrogates(parameters), digest)


def _needs_tools(request: Request) -> bool:
    roams = bool(request.outline) and not request.site
    return roams or any(isinstance(turn, ToolTurn) for turn in request.turns)


def _encode_turns(request: Request, prefix_digest: str) -> list[Block]:
    messages: list[Block] = []

    def add(role: str, content: Iterable[Block]) -> None:
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"].extend(content)
        else:
            messages.append({"role": role, "content": list(content)})

    for turn in request.turns:
        match turn:
            case UserTurn():
                add("user", [_text_block(prompts.format_question(turn))])
            case ToolTurn():
                add("user", [_encode_tool_result(result) for result in turn.results])
            case AssistantTurn():
                state = turn.provider_state if isinstance(turn.provider_state, ClaudeState) else None
                if state and state.note:
                    add("user", [_text_block(state.note)])
                unchanged = state is not None and state.digest == _digest(prefix_digest, messages)
                add("assistant", _encode_reply(turn, state, unchanged=unchanged))
    if request.note:
        add("user", [_text_block(request.note)])
    return messages


def _encode_reply(turn: AssistantTurn, state: ClaudeState | None, *, unchanged: bool) -> list[Block]:
    """Return the blocks of an earlier reply; `unchanged` if the conversation before it was not edited since."""
    if state is None or len(_tool_use_blocks(state.blocks)) != len(turn.calls):
        blocks = [_text_block(turn.text)] if turn.text.strip() else []
        blocks += [
            {
                "type": "tool_use",
                "id": call.id,
                "name": _tool_name(call.name),
                "input": arguments_as_object(call.arguments),
            }
            for call in turn.calls
        ]
        return blocks or [_text_block(prompts.NO_ANSWER)]
    blocks = [dict(block) for block in state.blocks]
    if not unchanged:
        # Citations refer to search results by number, and some of these are gone.
        blocks = [_without_citations(block) for block in blocks if "thinking" not in block["type"]]
    for call, block in zip(turn.calls, _tool_use_blocks(blocks), strict=True):
        block["id"], block["name"] = call.id, _tool_name(call.name)
    return blocks or [_text_block(prompts.NO_ANSWER)]


def _tool_use_blocks(blocks: Sequence[Mapping[str, Any]]) -> list[Any]:
    return [block for block in blocks if block["type"] == "tool_use"]


def _without_citations(block: Block) -> Block:
    return {name: value for name, value in block.items() if name != "citations"}


def _tool_name(name: object) -> str:
    """Return a tool's name in the characters that the API allows, whatever the model wrote."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", str(name))[:64] or "unknown"


def _text_block(text: str) -> Block:
    return {"type": "text", "text": text}


def _encode_tool(tool: Tool) -> Block:
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}


def _encode_tool_result(tool_result: ToolResult) -> Block:
    """Return a tool result; each open section is a search result of its own, so that it is cited by its own id."""
    label, result = split_origin(tool_result.result)
    block: Block = {"type": "tool_result", "tool_use_id": tool_result.call.id}
    content: list[Block] = [_text_block(label)] if label else []
    if isinstance(result, ExpandResult | SearchResults):
        sections = (section for expansion in result.sections for section in split_expansion(expansion))
        content += map(_encode_section, sections)
        result = replace(result, sections=tuple(replace(expansion, shown=()) for expansion in result.sections))
    if isinstance(result, ToolError):
        block["is_error"] = True
    if (text := re.sub(r"\n{3,}", "\n\n", render(result))).strip():
        content.append(_text_block(text))
    return {**block, "content": content}


def _encode_section(section: OpenSection) -> Block:
    return {
        "type": "search_result",
        "source": section.id,
        "title": " › ".join(section.breadcrumb) or section.id,
        "content": [_text_block(section.text)],
        "citations": {"enabled": True},
    }


def _digest(*values: object) -> str:
    text = json.dumps(values, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


# Replies


class ReplyReader:
    """Turns the events of a stream into parts.

    Attributes:
        blocks: The content of the reply, as it is sent back in later requests.
        reason: Why the reply ended; None until then.
        started: Whether the first event has arrived.
        too_long: Whether the arguments of a call exceed their maximum length.
    """

    def __init__(self) -> None:
        """Start before the first event."""
        self.blocks: list[dict[str, Any]] = []
        self.reason: StopReason | None = None
        self.started = False
        self.too_long = False
        self._block: dict[str, Any] | None = None
        self._json: list[str] = []
        self._json_length = 0
        self._invalid_calls: list[dict[str, Any]] = []
        self._usage = Usage()

    def feed(self, event: Any) -> Iterator[Part]:
        """Yield the parts that an event completes."""
        match event.type:
            case "message_start":
                self.started = True
                yield from self._read_usage(event.message.usage, with_output=False)
            case "content_block_start":
                block = event.content_block.to_dict()
                self._block = {name: value for name, value in block.items() if value is not None}
                self._json, self._json_length = [], 0
                if text := self._block.get("text"):
                    yield Text(text)
            case "content_block_delta" if self._block is not None:
                yield from self._read_delta(self._block, event.delta)
            case "content_block_stop" if self._block is not None:
                yield from self._end_block(self._block)
                self._block = None
            case "message_delta":
                yield from self._read_usage(event.usage, with_output=True)
                yield from self._end_reply(event.delta.stop_reason)

    def _read_delta(self, block: dict[str, Any], delta: Any) -> Iterator[Part]:
        match delta.type:
            case "text_delta":
                block["text"] = block.get("text", "") + delta.text
                yield Text(delta.text)
            case "citations_delta":
                block.setdefault("citations", []).append(delta.citation.to_dict())
            case "input_json_delta":
                self._json.append(delta.partial_json)
                self._json_length += len(delta.partial_json)
                self.too_long = self._json_length > MAX_ARGUMENT_CHARS
            case "thinking_delta":
                block["thinking"] = block.get("thinking", "") + delta.thinking
            case "signature_delta":
                block["signature"] = delta.signature

    def _end_block(self, block: dict[str, Any]) -> Iterator[Part]:
        match block["type"]:
            case "text":
                text = block["text"]
                if not block.get("citations"):
                    block.pop("citations", None)
                if text.strip():
                    self.blocks.append(block)
                # The model may also have written the citation itself, as the rules ask for.
                sources = dict.fromkeys(str(citation.get("source")) for citation in block.get("citations", ()))
                yield from (Citation(id_) for id_ in sources if f"[^{id_}]" not in text)
            case "tool_use":
                block["input"] = parse_arguments("".join(self._json)) if self._json_length else block.get("input", {})
                if isinstance(block["input"], str):
                    self._invalid_calls.append(block)
                else:
                    yield self._make_call(block)
            case "thinking" | "redacted_thinking":
                self.blocks.append(block)

    def _end_reply(self, stop_reason: str | None) -> Iterator[Part]:
        if stop_reason is None:
            return
        self.reason = _STOP_REASONS.get(stop_reason, "end")
        if self.reason != "length":  # otherwise the call was cut off
            for block in self._invalid_calls:
                yield self._make_call(block)
        self._invalid_calls = []

    def _make_call(self, block: dict[str, Any]) -> ToolCall:
        self.blocks.append({**block, "input": arguments_as_object(block["input"])})
        return ToolCall(str(block["id"]), str(block["name"]), block["input"])

    def _read_usage(self, counted: Any, *, with_output: bool) -> Iterator[Part]:
        """Yield the usage since the last event: later events count totals."""
        known = self._usage

        def increase(name: str, before: int) -> int:
            count = getattr(counted, name, None)
            return max(count - before, 0) if isinstance(count, int) else 0

        usage = Usage(
            increase("input_tokens", known.input),
            increase("cache_read_input_tokens", known.cache_read),
            increase("cache_creation_input_tokens", known.cache_write),
            increase("output_tokens", known.output) if with_output else 0,
        )
        if usage != Usage():
            self._usage = known + usage
            yield usage

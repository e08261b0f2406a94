"""What Claude is sent: turns as messages, opened sections as search results, marks where its cache may cut.

A conversation is only ever added to, byte for byte, so that what was sent once is read from the cache. Claude's
thinking is bound to all that stands before it: where sections were closed to make room, what it thought behind them is
left out.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import anyio

from mkdocs_roaming._http import ApiConfig, parse_base_url, parse_retry_after
from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.models.base import (
    MAX_ARGUMENT_CHARS,
    AssistantTurn,
    CallIds,
    Citation,
    OpenSection,
    Part,
    Request,
    Stop,
    Text,
    ToolCall,
    ToolResult,
    ToolTurn,
    Usage,
    UserTurn,
    arguments_as_object,
    parse_arguments,
    replace_surrogates,
    split_expansion,
)
from mkdocs_roaming.answer.models.retry import (
    error_for_connection,
    error_for_format,
    error_for_interruption,
    error_for_status,
    is_unbilled,
    stream_with_retries,
)
from mkdocs_roaming.errors import ModelError, UsageError
from mkdocs_roaming.library.tools import TOOLS, ExpandResult, Tool, ToolError, render

Block = dict[str, Any]


Ttl = Literal["5m", "1h"]


@dataclass(frozen=True, slots=True)
class ClaudeState:
    """What comes back with a turn of Claude's: its blocks as they were, the note it was told, what stood before it."""

    blocks: tuple[Mapping[str, Any], ...]
    note: str
    before: str


@dataclass(frozen=True, slots=True)
class EncodedRequest:
    """The parameters of a request, and the digest of what it says."""

    parameters: dict[str, Any]
    digest: str


def encode_request(request: Request, *, ttl: Ttl = "5m") -> EncodedRequest:
    """Give what is sent for a request.

    Where there is something to open the tools stay defined in the last round, when none may be called: they come first
    in the cached prefix, and the API wants them wherever earlier turns called one.
    """
    roams = (request.outline and not request.site) or any(isinstance(turn, ToolTurn) for turn in request.turns)
    tools = [_tool(tool) for tool in request.tools or (TOOLS if roams else ())]
    system = [_text(text) for text in (request.rules, request.outline) if text.strip()]
    first = _digest(tools, system)
    messages = _messages(request, first)
    digest = _digest(first, messages)
    if system:
        system[-1]["cache_control"] = {"type": "ephemeral"} if ttl == "5m" else {"type": "ephemeral", "ttl": ttl}
    parameters: dict[str, Any] = {"system": system, "messages": messages}
    if tools:
        parameters["tools"] = tools
    if request.tools:
        # The turn before was marked last time: a mark finds its entry however many blocks have come since.
        for message in [message for message in messages if message["role"] == "user"][-2:]:
            message["content"][-1]["cache_control"] = {"type": "ephemeral"}
    elif tools:
        parameters["tool_choice"] = {"type": "none"}
    return EncodedRequest(replace_surrogates(parameters), digest)


def _messages(request: Request, first: str) -> list[Block]:
    messages: list[Block] = []
    ids = CallIds()

    def add(role: str, content: Iterable[Block]) -> None:
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"].extend(content)
        else:
            messages.append({"role": role, "content": list(content)})

    for turn in request.turns:
        match turn:
            case UserTurn():
                add("user", [_text(prompts.asked(turn))])
            case ToolTurn():
                add("user", [_tool_result(result, ids) for result in turn.results])
            case AssistantTurn():
                kept = turn.keep if isinstance(turn.keep, ClaudeState) else None
                if kept and kept.note:
                    add("user", [_text(kept.note)])
                add("assistant", _said(turn, kept, ids, lambda: _digest(first, messages)))
    if request.note:
        add("user", [_text(request.note)])
    return messages


def _said(turn: AssistantTurn, kept: ClaudeState | None, ids: CallIds, before: Callable[[], str]) -> list[Block]:
    if kept is None or len(_calls(kept.blocks)) != len(turn.calls):
        text = [_text(turn.text)] if turn.text.strip() else []
        calls = [
            {
                "type": "tool_use",
                "id": ids.of(call),
                "name": _name(call.name),
                "input": arguments_as_object(call.arguments),
            }
            for call in turn.calls
        ]
        return [*text, *calls] or [_text(prompts.NO_ANSWER_HERE)]
    blocks = [dict(block) for block in kept.blocks]
    if kept.before != before():
        blocks = [_loosened(block) for block in blocks if "thinking" not in block["type"]]
    for call, block in zip(turn.calls, _calls(blocks), strict=True):
        block["id"], block["name"] = ids.of(call), _name(call.name)
    return blocks or [_text(prompts.NO_ANSWER_HERE)]


def _calls(blocks: Sequence[Mapping[str, Any]]) -> list[Any]:
    return [block for block in blocks if block["type"] == "tool_use"]


def _loosened(block: Block) -> Block:
    """Give a block without its citations: they count search results, of which some are gone."""
    return {name: value for name, value in block.items() if name != "citations"}


def _name(name: object) -> str:
    """Give a tool's name as it may stand on the wire, whatever the model made up."""
    plain = "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "_-") else "_" for letter in str(name)
    )
    return plain[:64] or "unknown"


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _tool(tool: Tool) -> Block:
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}


def _tool_result(told: ToolResult, ids: CallIds) -> Block:
    result = told.result
    block: Block = {"type": "tool_result", "tool_use_id": ids.of(told.call)}
    content: list[Block] = []
    if isinstance(result, ExpandResult):
        content += [_search_result(section) for expansion in result.sections for section in split_expansion(expansion)]
        result = replace(result, sections=tuple(replace(expansion, shown=()) for expansion in result.sections))
    if isinstance(result, ToolError):
        block["is_error"] = True
    if (text := re.sub(r"\n{3,}", "\n\n", render(result))).strip():
        content.append(_text(text))
    return {**block, "content": content}


def _search_result(section: OpenSection) -> Block:
    """Give a section as a search result of its own, so that it is cited by its own id."""
    return {
        "type": "search_result",
        "source": section.id,
        "title": " › ".join(section.breadcrumb) or section.id,
        "content": [_text(section.text)],
        "citations": {"enabled": True},
    }


def _digest(*said: object) -> str:
    return hashlib.sha256(json.dumps(said, ensure_ascii=False, sort_keys=True).encode("utf-8", "replace")).hexdigest()


# MERGED mkdocs_roaming.answer.models.claude_reply:
# What Claude streams, read event by event into parts.


REASONS: Mapping[str, Literal["end", "tools", "length", "refusal"]] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tools",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "length",
    "refusal": "refusal",
}


class ReplyReader:
    """One reply while it arrives. `blocks` are its content as it is told again, `reason` why it ended."""

    def __init__(self) -> None:
        self.blocks: list[dict[str, Any]] = []
        self.reason: Literal["end", "tools", "length", "refusal"] | None = None
        self.begun = False
        self.too_long = False
        """Whether arguments came that have no end."""
        self._block: dict[str, Any] | None = None
        self._json: list[str] = []
        self._length = 0
        self._unread: list[dict[str, Any]] = []
        self._told = Usage()

    def take(self, event: Any) -> Iterator[Part]:
        """Give the parts that an event adds."""
        match event.type:
            case "message_start":
                self.begun = True
                yield from self._usage(event.message.usage, output=False)
            case "content_block_start":
                self._block, self._json, self._length = _plain(event.content_block), [], 0
                if text := self._block.get("text"):
                    yield Text(text)
            case "content_block_delta" if self._block is not None:
                yield from self._delta(self._block, event.delta)
            case "content_block_stop" if self._block is not None:
                yield from self._whole(self._block)
                self._block = None
            case "message_delta":
                yield from self._usage(event.usage, output=True)
                yield from self._end(event.delta.stop_reason)

    def _delta(self, block: dict[str, Any], delta: Any) -> Iterator[Part]:
        match delta.type:
            case "text_delta":
                block["text"] = block.get("text", "") + delta.text
                yield Text(delta.text)
            case "citations_delta":
                block.setdefault("citations", []).append(delta.citation.to_dict())
            case "input_json_delta":
                self._json.append(delta.partial_json)
                self._length += len(delta.partial_json)
                self.too_long = self._length > MAX_ARGUMENT_CHARS
            case "thinking_delta":
                block["thinking"] = block.get("thinking", "") + delta.thinking
            case "signature_delta":
                block["signature"] = delta.signature

    def _whole(self, block: dict[str, Any]) -> Iterator[Part]:
        match block["type"]:
            case "text":
                text = block["text"]
                if not block.get("citations"):
                    block.pop("citations", None)
                if text.strip():
                    self.blocks.append(block)
                # The model may have written the mark itself, as the rules ask for.
                sources = dict.fromkeys(str(cited.get("source")) for cited in block.get("citations", ()))
                yield from (Citation(id_) for id_ in sources if f"[^{id_}]" not in text)
            case "tool_use":
                arguments = parse_arguments("".join(self._json)) if self._length else block.get("input", {})
                block["input"] = arguments
                if isinstance(arguments, str):
                    self._unread.append(block)
                else:
                    yield self._call(block)
            case "thinking" | "redacted_thinking":
                self.blocks.append(block)

    def _end(self, stop_reason: str | None) -> Iterator[Part]:
        if stop_reason is None:
            return
        self.reason = REASONS.get(stop_reason, "end")
        if self.reason != "length":  # what was cut off in its middle is no call
            for block in self._unread:
                yield self._call(block)
        self._unread = []

    def _call(self, block: dict[str, Any]) -> ToolCall:
        self.blocks.append({**block, "input": arguments_as_object(block["input"])})
        return ToolCall(str(block["id"]), str(block["name"]), block["input"])

    def _usage(self, counted: Any, *, output: bool) -> Iterator[Part]:
        """Give what was counted beyond what was told: counts of later events are totals."""
        told = self._told

        def more(name: str, before: int) -> int:
            count = getattr(counted, name, None)
            return max(count - before, 0) if isinstance(count, int) else 0

        usage = Usage(
            more("input_tokens", told.input),
            more("cache_read_input_tokens", told.cache_read),
            more("cache_creation_input_tokens", told.cache_write),
            more("output_tokens", told.output) if output else 0,
        )
        if usage != Usage():
            self._told = told + usage
            yield usage


def _plain(block: Any) -> dict[str, Any]:
    """Give a block as it came, without what was not set."""
    return {name: value for name, value in block.to_dict().items() if value is not None}


# MERGED mkdocs_roaming.answer.models.claude:
# Claude, through Anthropic's Messages API or any server that speaks it.
#
# The only module that imports `anthropic`, and only when a Claude is made: it takes more than a second.


_log = logging.getLogger(__name__)


_NOT_IT = "what is not the Messages API"


DEFAULT_MODEL = "claude-haiku-5-5"


BASE_URL = "https://api.anthropic.com"


THINKING_ROOM = 2_000


"""Tokens added to a reply's limit where a model thinks first: its thoughts count as output."""


class AnthropicModel:
    """Answers with native citations, and reads rules and outline from the prompt cache.

    `ttl` is how long the outline stays cached. `thinking` is what the API calls the type: by default as little as the
    model allows. A call that fails for a while is made again, at most `retries` times, and never after a pause of more
    than `patience` seconds.
    """

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        key: str,
        base_url: str = "",
        key_name: str = "ANTHROPIC_API_KEY",
        ttl: Ttl = "5m",
        thinking: str | None = None,
        retries: int = 2,
        patience: float = 20.0,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        try:
            import anthropic
            import httpx2
        except ImportError:
            raise UsageError(f"{model} needs the anthropic package: pip install 'mkdocs-roaming[claude]'") from None
        if ttl not in ("5m", "1h"):
            raise UsageError(f"a prompt cache lives for 5m or 1h, not {ttl!r}")
        self.name = model
        base_url = parse_base_url(base_url or BASE_URL).removesuffix("/v1")
        self._service = ApiConfig(model, base_url, key, key_name, "ANTHROPIC_BASE_URL")
        self._ttl: Ttl = ttl
        self._fixed = _fixed(model, thinking)
        self._room = 0 if _is_silent(model, self._fixed) else THINKING_ROOM
        self._retries, self._patience, self._sleep = retries, patience, sleep
        self._anthropic, self._httpx2 = anthropic, httpx2
        # No connection outlives its reply: one client serves any number of event loops, and none is left open.
        http = anthropic.DefaultAsyncHttpxClient(
            limits=httpx2.Limits(max_keepalive_connections=0), event_hooks={"response": [self._impatient]}
        )
        self._client = anthropic.AsyncAnthropic(api_key=key, base_url=base_url, max_retries=retries, http_client=http)

    def reply(self, request: Request) -> AsyncGenerator[Part, None]:
        """Stream the reply to a request.

        Events are read as they come over the wire, not through the SDK's accumulating stream: that one gives up at
        arguments which are not JSON, and the tools forgive them.
        """
        return stream_with_retries(
            lambda: self._attempt(request), retries=self._retries, patience=self._patience, sleep=self._sleep
        )

    async def _attempt(self, request: Request) -> AsyncGenerator[Part, None]:
        message = encode_request(request, ttl=self._ttl)
        parameters = {**message.parameters, **self._fixed, "max_tokens": request.output_tokens + self._room}
        reading = ReplyReader()
        try:
            stream: Any = await self._client.messages.create(model=self.name, stream=True, **parameters)
            async with stream:
                async for event in stream:
                    for part in reading.take(event):
                        yield part
                    if reading.too_long:
                        yield Stop("length")
                        return
        except (self._anthropic.APIError, self._httpx2.TransportError) as error:
            raise self._failure(error) from None
        except (ValueError, AttributeError, KeyError, TypeError):
            _log.debug("reading a reply failed", exc_info=True)
            raise error_for_format(self._service, _NOT_IT) from None
        if reading.reason is None:
            raise error_for_interruption(self._service) if reading.begun else error_for_format(self._service, _NOT_IT)
        yield Stop(reading.reason, ClaudeState(tuple(reading.blocks), request.note, message.digest))

    async def _impatient(self, response: Any) -> None:
        """Keep the SDK from waiting longer than a reader would."""
        wait = parse_retry_after(response.headers) if response.status_code >= 400 else None
        if wait is not None and wait > self._patience:
            response.headers["x-should-retry"] = "false"

    def _failure(self, error: Any) -> ModelError:
        anthropic = self._anthropic
        if isinstance(error, anthropic.APIStatusError):
            wait = parse_retry_after(error.response.headers)
            failure = error_for_status(
                self._service, error.status_code, error.type or "", error.api_message or "", wait
            )
            failure.retryable = failure.retryable and error.status_code == 200  # else the SDK has tried again already
            failure.unbilled = is_unbilled(error.status_code)
            return failure
        if isinstance(error, anthropic.APIConnectionError):
            failure = error_for_connection(
                self._service, error.__cause__ if isinstance(error.__cause__, Exception) else error
            )
            failure.retryable = False
            return failure
        if isinstance(error, self._httpx2.TransportError):
            return error_for_interruption(self._service)
        return error_for_format(self._service, _NOT_IT)


_LEAST_THINKING = {
    "claude-haiku-5-5": {"thinking": {"type": "disabled"}},
    "claude-sonnet-5-5": {"thinking": {"type": "between_tools"}},
    "claude-opus-5-5": {"output_config": {"effort": "low"}},
    "claude-fable-5": {"output_config": {"effort": "low"}},
    "claude-mythos-5": {"output_config": {"effort": "low"}},
    "claude-sonnet-5": {"thinking": {"type": "disabled"}},
    "claude-opus-5": {"thinking": {"type": "disabled"}},
}


"""What keeps each model from thinking at length before a short answer, by how its name begins; the first that fits."""


_SILENT = ("claude-haiku-4", "claude-sonnet-4", "claude-opus-4", "claude-3")


"""Models that do not think unless they are asked to."""


def _fixed(model: str, thinking: str | None) -> dict[str, Any]:
    if thinking is not None:
        return {"thinking": {"type": thinking}}
    return next((dict(fixed) for name, fixed in _LEAST_THINKING.items() if model.startswith(name)), {})


def _is_silent(model: str, fixed: dict[str, Any]) -> bool:
    """Tell whether a reply is all answer."""
    kind = fixed.get("thinking", {}).get("type")
    return kind in ("disabled", "between_tools") or (kind is None and model.startswith(_SILENT))

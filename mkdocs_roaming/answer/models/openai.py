"""Any server with the chat completions API: OpenAI, or Ollama, vLLM and others on this machine."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from mkdocs_roaming._http import ApiConfig, parse_api_error, parse_base_url, parse_retry_after
from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.models.base import (
    NO_USAGE,
    AssistantTurn,
    ModelConfig,
    Part,
    Request,
    Stop,
    StopReason,
    Text,
    ToolCall,
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
from mkdocs_roaming.library.library import OWN
from mkdocs_roaming.library.tools import ExpandResult, SearchResults, Tool, ToolOutput, render
from mkdocs_roaming.manifest.expand import Expansion, ShownSection

Message = dict[str, Any]

BASE_URL = "https://api.openai.com/v1"
MAX_BODY_BYTES = 4 * 2**20

_FINISH_REASONS: Mapping[str, StopReason] = {
    "stop": "end",
    "tool_calls": "tools",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "refusal",
}


class OpenAIModel(ProviderModel):
    """A model that writes `[^id]` citations into its text. If the server counts no tokens, usage stays zero."""

    api = "the chat completions API"

    def __init__(
        self,
        model: str,
        *,
        base_url: str = BASE_URL,
        key: str = "",
        key_name: str = "OPENAI_API_KEY",
        retries: Retries = DEFAULT_RETRIES,
    ) -> None:
        """Create a model.

        Args:
            model: Name of the model.
            base_url: Base URL of the API; without a path, `/v1` is added.
            key: API key.
            key_name: Environment variable of the key, for error messages.
            retries: Attempts after a temporary failure.
        """
        import httpx2

        service = ApiConfig(model, parse_base_url(base_url, "/v1"), key, key_name, "ROAMING_BASE_URL")
        super().__init__(service, retries)
        self._httpx2 = httpx2
        self._unsupported: frozenset[str] = frozenset()
        # Without keep-alive, one client can serve several event loops, and no connection stays open.
        self._client = httpx2.AsyncClient(
            limits=httpx2.Limits(max_keepalive_connections=0),
            timeout=httpx2.Timeout(600.0, connect=10.0),
            headers={"Authorization": f"Bearer {key}"} if key else {},
        )

    @classmethod
    def from_config(cls, config: ModelConfig) -> OpenAIModel:
        """Create the model for `openai:NAME`."""
        if not config.name:
            raise UsageError("openai needs the name of a model, such as openai:qwen3")
        base_url = config.get_base_url("OPENAI_BASE_URL")
        key, key_name = config.get_key("OPENAI_API_KEY")
        if not key and not base_url:
            raise UsageError(
                f"{config.name} needs a server; set ROAMING_BASE_URL, such as http://localhost:11434/v1, or "
                "OPENAI_API_KEY for OpenAI"
            )
        return cls(config.name, base_url=base_url or BASE_URL, key=key, key_name=key_name)

    async def _attempt(self, request: Request) -> AsyncGenerator[Part, None]:
        parameters = encode_request(request)
        started = False
        try:
            while True:
                unsupported = self._unsupported
                body = self._make_body(parameters, request)
                url = f"{self._service.base_url}/chat/completions"
                async with self._client.stream("POST", url, json=body) as response:
                    started = response.status_code == 200
                    if started:
                        async with aclosing(self._read_reply(response)) as parts:
                            async for part in parts:
                                if isinstance(part, Stop):
                                    part = Stop(part.reason, ChatState(request.note))
                                yield part
                        return
                    error = await self._read_error(response)
                if self._unsupported == unsupported:
                    raise error
        except (self._httpx2.SSEError, self._httpx2.DecodingError):
            raise error_for_format(self._service, self.api) from None
        except (self._httpx2.TransportError, self._httpx2.InvalidURL) as broken:
            if started:
                raise error_for_interruption(self._service) from None
            raise error_for_connection(self._service, broken) from None

    def _make_body(self, parameters: Mapping[str, Any], request: Request) -> dict[str, Any]:
        limit = "max_tokens" if "max_tokens" not in self._unsupported else "max_completion_tokens"
        body = {"model": self.name, "stream": True, limit: request.output_tokens, **parameters}
        if "stream_options" not in self._unsupported:
            body["stream_options"] = {"include_usage": True}
        return body

    async def _read_reply(self, response: Any) -> AsyncGenerator[Part, None]:
        reader = ReplyReader()
        started = ended = False
        async with aclosing(self._read_events(response)) as events:
            async for event in events:
                if event == "[DONE]":
                    ended = True
                    break
                data = json.loads(event)
                started = True
                if data.get("error"):
                    kind, message, code = parse_api_error(event.encode())
                    raise error_for_status(self._service, code, kind, message)
                for part in reader.feed(data):
                    yield part
                if reader.too_long:
                    yield Stop("length")
                    return
        if not ended and reader.reason is None:
            if started:
                raise error_for_interruption(self._service)
            raise error_for_format(self._service, self.api)
        for part in reader.end():
            yield part
        yield Stop(reader.reason or "end")

    async def _read_events(self, response: Any) -> AsyncGenerator[str, None]:
        """Yield the data of each event; a reply that is not streamed is one event."""
        if "json" in response.headers.get("content-type", ""):
            yield (await _read_body(response)).decode("utf-8", "replace")
            yield "[DONE]"
            return
        events: Any = aiter(self._httpx2.EventSource(response))  # a generator, although its type does not say so
        async with aclosing(events):
            async for event in events:
                if event.data.strip():
                    yield event.data.strip()

    async def _read_error(self, response: Any) -> ModelError:
        """Return the error of a response; a parameter that the server rejects is left out from now on."""
        kind, message, _ = parse_api_error(await _read_body(response))
        if response.status_code in (400, 422):
            if "max_tokens" in message and "max_completion_tokens" in message:
                self._unsupported |= {"max_tokens"}
            elif "stream_options" in message:
                self._unsupported |= {"stream_options"}
        pause = parse_retry_after(response.headers)
        return error_for_status(self._service, response.status_code, kind, message, pause)


async def _read_body(response: Any) -> bytes:
    body = bytearray()
    async with aclosing(response.aiter_bytes()) as chunks:
        async for data in chunks:
            body += data
            if len(body) > MAX_BODY_BYTES:
                break
    return bytes(body[:MAX_BODY_BYTES])


# Requests
#
# A conversation only grows, so servers that cache prefixes find them again. Each section in a tool result is enclosed
# in lines with its id, as text from another author.


@dataclass(frozen=True, slots=True)
class ChatState:
    """Provider state of a turn: the note of its request."""

    note: str


def encode_request(request: Request) -> dict[str, Any]:
    """Return a request as parameters of the chat completions API.

    In the last round the tools are left out: many servers ignore `tool_choice`, and their models would call on.
    """
    parameters: dict[str, Any] = {"messages": _encode_turns(request)}
    if request.tools:
        parameters["tools"] = [_encode_tool(tool) for tool in request.tools]
    return dict(replace_surrogates(parameters))


def render_result(result: ToolOutput) -> str:
    """Return a tool result as text in which each section is enclosed in lines with its id."""
    if isinstance(result, ExpandResult):
        result = replace(result, sections=tuple(map(_enclose_sections, result.sections)))
    if isinstance(result, SearchResults) and result.sections:
        sections = (section for expansion in result.sections for section in split_expansion(expansion))
        texts = "".join(f"{prompts.format_section(section)}\n" for section in sections)
        label = result.origin.render()
        return (
            label
            + texts
            + render(replace(result, origin=OWN, sections=tuple(replace(one, shown=()) for one in result.sections)))
        )
    return render(result)


def _enclose_sections(expansion: Expansion) -> Expansion:
    sections = split_expansion(expansion)
    shown = tuple(ShownSection(section.id, prompts.format_section(section)) for section in sections)
    return replace(expansion, shown=shown)


def _encode_turns(request: Request) -> list[Message]:
    """Return the messages. A note is appended to the previous message: not every server accepts one of its own."""
    system = "\n\n".join(text for text in (request.rules, request.outline) if text.strip())
    messages: list[Message] = [{"role": "system", "content": system}] if system else []

    def add_note(text: str) -> None:
        if text and messages[-1]["role"] in ("user", "tool"):
            messages[-1]["content"] += f"\n\n{text}"
        elif text:
            messages.append({"role": "user", "content": text})

    for turn in request.turns:
        match turn:
            case UserTurn() if messages and messages[-1]["role"] == "user":
                messages[-1]["content"] += f"\n\n{prompts.format_question(turn)}"
            case UserTurn():
                messages.append({"role": "user", "content": prompts.format_question(turn)})
            case AssistantTurn():
                add_note(turn.provider_state.note if isinstance(turn.provider_state, ChatState) else "")
                messages.append(_encode_reply(turn))
            case ToolTurn():
                messages += [
                    {"role": "tool", "tool_call_id": result.call.id, "content": render_result(result.result)}
                    for result in turn.results
                ]
    add_note(request.note)
    return messages


def _encode_reply(turn: AssistantTurn) -> Message:
    if not turn.calls:
        return {"role": "assistant", "content": turn.text if turn.text.strip() else prompts.NO_ANSWER}
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {
                "name": str(call.name),
                "arguments": json.dumps(arguments_as_object(call.arguments), ensure_ascii=False),
            },
        }
        for call in turn.calls
    ]
    return {"role": "assistant", "content": turn.text, "tool_calls": calls}


def _encode_tool(tool: Tool) -> Mapping[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


# Replies


@dataclass(slots=True)
class _PartialCall:
    """A tool call while it arrives."""

    index: object
    """The server's number of the call, if any."""
    id: str = ""
    name: str = ""
    fragments: list[str] = field(default_factory=list)
    parsed: object = None
    """Arguments that the server sent as an object."""

    def is_complete(self) -> bool:
        return self.parsed is not None or isinstance(parse_arguments("".join(self.fragments) or "…"), dict)

    def to_call(self) -> ToolCall:
        text = "".join(self.fragments)
        return ToolCall(self.id, self.name, parse_arguments(text) if text or self.parsed is None else self.parsed)


class ReplyReader:
    """Turns the chunks of a stream into parts, in the dialects of different servers.

    Attributes:
        reason: Why the reply ended; None until then.
        too_long: Whether the arguments of a call exceed their maximum length.
    """

    def __init__(self) -> None:
        """Start before the first chunk."""
        self.reason: StopReason | None = None
        self.too_long = False
        self._calls: list[_PartialCall] = []
        self._argument_chars = 0
        self._refused = False
        self._usage = NO_USAGE

    def feed(self, data: Mapping[str, Any]) -> Iterator[Part]:
        """Yield the parts that a chunk completes."""
        if isinstance(data.get("usage"), Mapping):
            self._usage = _parse_usage(data["usage"])
        choices = data.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else {}
        delta = choice.get("delta") or choice.get("message") or {}
        for name in ("content", "refusal"):
            if isinstance(text := delta.get(name), str) and text:
                self._refused = self._refused or name == "refusal"
                yield Text(text)
        for fragment in delta.get("tool_calls") or ():
            yield from self._read_call(fragment)
        if isinstance(reason := choice.get("finish_reason"), str) and reason:
            self.reason = _FINISH_REASONS.get(reason, "end")

    def end(self) -> Iterator[Part]:
        """Yield the parts that are only known at the end: the last call, and the usage if the server counts it."""
        cut_off = self.reason == "length"
        for call in (partial.to_call() for partial in self._calls):
            if not (cut_off and isinstance(call.arguments, str)):
                yield call
                self.reason = "tools" if self.reason == "end" else self.reason
        if self._refused:
            self.reason = "refusal"
        if self._usage != NO_USAGE:
            yield self._usage

    def _read_call(self, fragment: Mapping[str, Any]) -> Iterator[Part]:
        function = fragment.get("function") or {}
        id_, name = str(fragment.get("id") or ""), str(function.get("name") or "")
        call = self._find_call(fragment.get("index"), id_, name)
        if call is None:
            if len(self._calls) == 1:  # calls arrive one after the other: the previous one is complete
                yield self._calls.pop().to_call()
            call = _PartialCall(fragment.get("index"), id_, name)
            self._calls.append(call)
            self._argument_chars = 0
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            call.fragments.append(arguments)
            self._argument_chars += len(arguments)
            self.too_long = self._argument_chars > MAX_ARGUMENT_CHARS
        elif arguments is not None:
            call.parsed = arguments

    def _find_call(self, index: object, id_: str, name: str) -> _PartialCall | None:
        """Return the call that a fragment continues, or None if it begins a new one."""
        last = self._calls[-1] if self._calls else None
        if last is None:
            return None
        if index is not None and last.index is not None and index != last.index:
            return None
        if id_ and last.id and id_ != last.id:  # some servers number all calls 0
            return None
        if name and not (id_ and id_ == last.id) and (index is None or last.is_complete()):
            return None  # some servers repeat the name in each fragment, others number all calls 0
        return last


def _parse_usage(counted: Mapping[str, Any]) -> Usage:
    def count(counts: object, name: str) -> int:
        value = counts.get(name) if isinstance(counts, Mapping) else None
        return value if isinstance(value, int) and value > 0 else 0

    prompt = count(counted, "prompt_tokens")
    cached = min(count(counted.get("prompt_tokens_details"), "cached_tokens"), prompt)
    return Usage(input=prompt - cached, cache_read=cached, output=count(counted, "completion_tokens"))

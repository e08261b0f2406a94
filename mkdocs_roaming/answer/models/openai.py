"""Server-sent events as far as models' servers use them: every line that begins with `data:` is one event."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import anyio

from mkdocs_roaming._http import ApiConfig, parse_base_url, parse_retry_after
from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.models.base import (
    MAX_ARGUMENT_CHARS,
    NO_USAGE,
    AssistantTurn,
    CallIds,
    Part,
    Request,
    Stop,
    Text,
    ToolCall,
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
from mkdocs_roaming.errors import ModelError
from mkdocs_roaming.library.tools import ExpandResult, Tool, ToolOutput, render
from mkdocs_roaming.manifest.expand import Expansion, ShownSection

MAX_LINE_BYTES = 1_048_576


class LineTooLongError(Exception):
    """A line has no end."""


class EventStreamParser:
    """Bytes in, the data of events out, however they were cut; lines end in LF, CRLF or CR."""

    def __init__(self, longest: int = MAX_LINE_BYTES) -> None:
        self._longest = longest
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[str]:
        """Give the events that are whole by now; raises TooLong."""
        self._rest += data
        *lines, self._rest = self._rest.replace(b"\r", b"\n").split(b"\n")  # empty lines say nothing
        if len(self._rest) > self._longest or any(len(line) > self._longest for line in lines):
            raise LineTooLongError
        for line in lines:
            yield from _data(line)

    def end(self) -> Iterator[str]:
        """Give the last event, should its line have no end."""
        yield from _data(self._rest)
        self._rest = b""


def _data(line: bytes) -> Iterator[str]:
    if line.startswith(b"data:"):
        yield line.removeprefix(b"data:").decode("utf-8", "replace").strip()


# MERGED mkdocs_roaming.answer.models.chat_request:
# What a chat-completions server is sent: turns as messages of text.
#
# A conversation is only ever added to, so that servers which keep prefixes find them again. What tools gave is
# wrapped as
# text that others wrote; each section stands between lines with its own id.


Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ChatState:
    """What comes back with a turn of the model's: the note that it was told."""

    note: str


def encode_request(request: Request) -> dict[str, Any]:
    """Give the parameters of a request.

    In the last round tools are left out: many servers do not know `tool_choice` and would go on calling.
    """
    parameters: dict[str, Any] = {"messages": _messages(request)}
    if request.tools:
        parameters["tools"] = [_tool(tool) for tool in request.tools]
    return dict(replace_surrogates(parameters))


def render_result(result: ToolOutput) -> str:
    """Give a tool's result as text, sections wrapped as text that others wrote."""
    if isinstance(result, ExpandResult):
        result = replace(result, sections=tuple(map(_wrapped, result.sections)))
    return render(result)


def _messages(request: Request) -> list[Message]:
    """Give the messages. A note goes to the end of the one before it: not every server takes a user's turn there."""
    first = "\n\n".join(text for text in (request.rules, request.outline) if text.strip())
    messages: list[Message] = [{"role": "system", "content": first}] if first else []
    ids = CallIds()

    def note(text: str) -> None:
        if text and messages[-1]["role"] in ("user", "tool"):
            messages[-1]["content"] += f"\n\n{text}"
        elif text:
            messages.append({"role": "user", "content": text})

    for turn in request.turns:
        match turn:
            case UserTurn() if messages and messages[-1]["role"] == "user":
                messages[-1]["content"] += f"\n\n{prompts.asked(turn)}"
            case UserTurn():
                messages.append({"role": "user", "content": prompts.asked(turn)})
            case AssistantTurn():
                note(turn.keep.note if isinstance(turn.keep, ChatState) else "")
                messages.append(_said(turn, ids))
            case ToolTurn():
                messages += [
                    {"role": "tool", "tool_call_id": ids.of(told.call), "content": render_result(told.result)}
                    for told in turn.results
                ]
    note(request.note)
    return messages


def _said(turn: AssistantTurn, ids: CallIds) -> Message:
    if not turn.calls:
        return {"role": "assistant", "content": turn.text if turn.text.strip() else prompts.NO_ANSWER_HERE}
    calls = [
        {
            "id": ids.of(call),
            "type": "function",
            "function": {"name": str(call.name), "arguments": _arguments(call.arguments)},
        }
        for call in turn.calls
    ]
    return {"role": "assistant", "content": turn.text, "tool_calls": calls}


def _arguments(arguments: object) -> str:
    """Give arguments as JSON: servers read what they are told again."""
    return json.dumps(arguments_as_object(arguments), ensure_ascii=False)


def _tool(tool: Tool) -> Mapping[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def _wrapped(expansion: Expansion) -> Expansion:
    """Give an expansion in which each section stands between lines with its own id."""
    shown = tuple(ShownSection(section.id, prompts.section(section)) for section in split_expansion(expansion))
    return replace(expansion, shown=shown)


# MERGED mkdocs_roaming.answer.models.chat_reply:
# What a chat-completions server streams, read piece by piece into parts, in any of its dialects.


Reason = Literal["end", "tools", "length", "refusal"]


REASONS: Mapping[str, Reason] = {
    "stop": "end",
    "eos": "end",
    "tool_calls": "tools",
    "function_call": "tools",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "refusal",
    "refusal": "refusal",
}


@dataclass(slots=True)
class _Call:
    """A tool call while it arrives; `key` tells it from the others, where the server says so."""

    key: object
    id: str = ""
    name: str = ""
    text: list[str] = field(default_factory=list)
    whole: object = None
    """Arguments that came as an object."""

    def is_whole(self) -> bool:
        return self.whole is not None or isinstance(parse_arguments("".join(self.text) or "…"), dict)

    def done(self) -> ToolCall:
        written = "".join(self.text)
        return ToolCall(self.id, self.name, parse_arguments(written) if written or self.whole is None else self.whole)


class ReplyReader:
    """One reply while it arrives. `reason` is why it ended, None as long as the server has not said."""

    def __init__(self) -> None:
        self.reason: Reason | None = None
        self.too_long = False
        """Whether arguments came that have no end."""
        self._calls: list[_Call] = []
        self._length = 0
        self._refused = False
        self._usage = NO_USAGE

    def take(self, data: Mapping[str, Any]) -> Iterator[Part]:
        """Give the parts that a piece adds."""
        if isinstance(data.get("usage"), Mapping):
            self._usage = _usage(data["usage"])
        choices = data.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else {}
        delta = choice.get("delta") or choice.get("message") or {}
        if text := _text(delta.get("content")):
            yield Text(text)
        if text := _text(delta.get("refusal")):
            self._refused = True
            yield Text(text)
        for fragment in delta.get("tool_calls") or ():
            yield from self._fragment(fragment)
        if isinstance(reason := choice.get("finish_reason"), str) and reason:
            self.reason = REASONS.get(reason, "end")

    def end(self) -> Iterator[Part]:
        """Give what is only known at the end: the last call, and what was used if the server counted."""
        cut = self.reason == "length"
        for call in (one.done() for one in self._calls):
            if not (cut and isinstance(call.arguments, str)):  # what was cut off in its middle is no call
                yield call
                self.reason = "tools" if self.reason == "end" else self.reason
        if self._refused:
            self.reason = "refusal"
        if self._usage != NO_USAGE:
            yield self._usage

    def _fragment(self, fragment: Mapping[str, Any]) -> Iterator[Part]:
        function = fragment.get("function") or {}
        id_, name = fragment.get("id") or "", function.get("name") or ""
        call = self._call_of(fragment.get("index"), str(id_), str(name))
        if call is None:
            if len(self._calls) == 1:  # calls come one after the other: the one before is whole
                yield self._calls.pop().done()
            call = _Call(fragment.get("index"), str(id_), str(name))
            self._calls.append(call)
            self._length = 0
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            call.text.append(arguments)
            self._length += len(arguments)
            self.too_long = self._length > MAX_ARGUMENT_CHARS
        elif arguments is not None:
            call.whole = arguments

    def _call_of(self, index: object, id_: str, name: str) -> _Call | None:
        """Give the call that a fragment goes on with, None where it begins another one."""
        last = self._calls[-1] if self._calls else None
        if last is None:
            return None
        if index is not None and last.key is not None and index != last.key:
            return None
        if id_ and last.id and id_ != last.id:  # some number all their calls 0
            return None
        if name and not (id_ and id_ == last.id) and (index is None or last.is_whole()):
            return None  # a name comes with the first fragment; some repeat it, others number all their calls 0
        return last


def _text(content: object) -> str:
    """Give a text that may come as a list of typed pieces."""
    if isinstance(content, list):
        pieces = [piece for piece in content if isinstance(piece, Mapping) and piece.get("type") == "text"]
        return "".join(str(piece.get("text") or "") for piece in pieces)
    return content if isinstance(content, str) else ""


def _usage(counted: Mapping[str, Any]) -> Usage:
    def count(of: object, name: str) -> int:
        value = of.get(name) if isinstance(of, Mapping) else None
        return value if isinstance(value, int) and value > 0 else 0

    prompt = count(counted, "prompt_tokens")
    read = min(count(counted.get("prompt_tokens_details"), "cached_tokens"), prompt)
    return Usage(input=prompt - read, cache_read=read, output=count(counted, "completion_tokens"))


# MERGED mkdocs_roaming.answer.models.openai:
# Any server that speaks the chat-completions API: OpenAI's own, or Ollama, vLLM and others on this machine.


BASE_URL = "https://api.openai.com/v1"


MAX_BODY_BYTES = 4 * 2**20


class OpenAIModel:
    """Answers with `[^id]` citations. A `base_url` without a path is taken to end in `/v1`.

    A call that fails for a while is made again, at most `retries` times, with growing pauses or as the server asks, and
    never after a pause of more than `patience` seconds. What a server does not count is not known: usage stays zero.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = BASE_URL,
        key: str = "",
        key_name: str = "OPENAI_API_KEY",
        retries: int = 2,
        patience: float = 20.0,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        import httpx2  # only for those who ask a model

        self.name = model
        self._service = ApiConfig(model, parse_base_url(base_url, "/v1"), key, key_name, "ROAMING_BASE_URL")
        self._retries, self._patience, self._sleep = retries, patience, sleep
        self._httpx2 = httpx2
        self._left_out: frozenset[str] = frozenset()
        # No connection outlives its reply: one client serves any number of event loops, and none is left open.
        self._client = httpx2.AsyncClient(
            limits=httpx2.Limits(max_keepalive_connections=0),
            timeout=httpx2.Timeout(600.0, connect=10.0),
            headers={"Authorization": f"Bearer {key}"} if key else {},
        )

    def reply(self, request: Request) -> AsyncGenerator[Part, None]:
        """Stream the reply to a request."""
        return stream_with_retries(
            lambda: self._attempt(request), retries=self._retries, patience=self._patience, sleep=self._sleep
        )

    async def _attempt(self, request: Request) -> AsyncGenerator[Part, None]:
        said = encode_request(request)
        begun = False
        try:
            while True:
                left_out = self._left_out
                async with self._client.stream("POST", self._url, json=self._body(said, request)) as response:
                    begun = response.status_code == 200
                    if begun:
                        async with aclosing(self._read(response)) as parts:
                            async for part in parts:
                                yield part if not isinstance(part, Stop) else Stop(part.reason, ChatState(request.note))
                        return
                    error = await self._refused(response)
                if self._left_out == left_out:
                    raise error
        except (self._httpx2.TransportError, self._httpx2.InvalidURL) as broken:
            raise (
                error_for_interruption(self._service) if begun else error_for_connection(self._service, broken)
            ) from None
        except (ValueError, AttributeError, KeyError, TypeError, self._httpx2.DecodingError):
            _log.debug("reading a reply failed", exc_info=True)
            raise error_for_format(self._service, _NOT_IT) from None

    @property
    def _url(self) -> str:
        return f"{self._service.base_url}/chat/completions"

    def _body(self, said: Mapping[str, Any], request: Request) -> dict[str, Any]:
        limit = "max_tokens" if "max_tokens" not in self._left_out else "max_completion_tokens"
        body = {"model": self.name, "stream": True, limit: request.output_tokens, **said}
        if "stream_options" not in self._left_out:
            body["stream_options"] = {"include_usage": True}
        return body

    # A reply

    async def _read(self, response: Any) -> AsyncGenerator[Part, None]:
        reading = ReplyReader()
        begun = ended = False
        async with aclosing(self._pieces(response)) as pieces:
            async for piece in pieces:
                if piece == "[DONE]":
                    ended = True
                    break
                data = json.loads(piece)
                begun = True
                if data.get("error"):
                    kind, message, code = _error(data)
                    raise error_for_status(self._service, code, kind, message)
                for part in reading.take(data):
                    yield part
                if reading.too_long:
                    yield Stop("length")
                    return
        if not ended and reading.reason is None:
            raise error_for_interruption(self._service) if begun else error_for_format(self._service, _NOT_IT)
        for part in reading.end():
            yield part
        yield Stop(reading.reason or "end")

    async def _pieces(self, response: Any) -> AsyncGenerator[str, None]:
        """Give the events of a stream; a reply that is not streamed is a single one."""
        if "json" in response.headers.get("content-type", ""):
            yield (await _whole(response)).decode("utf-8", "replace")
            yield "[DONE]"
            return
        events = EventStreamParser()
        try:
            async for data in response.aiter_bytes():
                for event in events.feed(data):
                    if event:
                        yield event
            for event in events.end():
                if event:
                    yield event
        except LineTooLongError:
            raise error_for_format(self._service, "a line without end") from None

    # No reply

    async def _refused(self, response: Any) -> ModelError:
        """Give the error of a response; what a server does not take is left out from now on."""
        kind, message, _ = _error(_json(await _whole(response)))
        if response.status_code in (400, 422):
            if "max_tokens" in message and "max_completion_tokens" in message:
                self._left_out |= {"max_tokens"}
            elif "stream_options" in message:
                self._left_out |= {"stream_options"}
        failure = error_for_status(
            self._service, response.status_code, kind, message, parse_retry_after(response.headers)
        )
        failure.unbilled = is_unbilled(response.status_code)
        return failure


_log = logging.getLogger(__name__)


_NOT_IT = "what is not the chat-completions API"


async def _whole(response: Any) -> bytes:
    body = bytearray()
    async for data in response.aiter_bytes():
        body += data
        if len(body) > MAX_BODY_BYTES:
            break
    return bytes(body[:MAX_BODY_BYTES])


def _json(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _error(data: object) -> tuple[str, str, int]:
    """Give kind, message and status of an error, wherever a server puts them."""
    error = data.get("error", data) if isinstance(data, Mapping) else None
    if isinstance(error, str):
        return "", error, 200
    if not isinstance(error, Mapping):
        return "", "", 200
    kinds = [error[name] for name in ("type", "code") if isinstance(error.get(name), str)]
    kind = " ".join(dict.fromkeys(kinds))
    message = error.get("message") or error.get("detail") or ""
    code = error.get("code")
    return kind, message if isinstance(message, str) else json.dumps(message), code if isinstance(code, int) else 200

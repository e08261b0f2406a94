"""Models that call a provider's API: retries, errors with a fix, and tool call arguments."""

from __future__ import annotations

import json
import logging
import random
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Container, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import anyio

from mkdocs_roaming._http import ApiConfig, parse_api_error, parse_retry_after
from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import format_pause
from mkdocs_roaming.answer.models.base import (
    DEFAULT_OPTIONS,
    NO_USAGE,
    ModelOptions,
    OpenSection,
    Part,
    Request,
    Stop,
    StopReason,
    Text,
    ToolCall,
    ToolTurn,
    Usage,
)
from mkdocs_roaming.answer.models.context import LEAST_CONTEXT, ContextFinder, is_overflow, parse_limit
from mkdocs_roaming.answer.models.reasoning import remove_reasoning
from mkdocs_roaming.errors import ContextError, ModelError, ToolsUnsupportedError
from mkdocs_roaming.library.library import OWN
from mkdocs_roaming.library.tools import ExpandResult, SearchResults, ToolOutput, render
from mkdocs_roaming.manifest.expand import Expansion, ShownSection

MAX_ARGUMENT_CHARS = 65_536
"""Maximum length of a call's arguments; real calls need less than a hundredth of it."""

MAX_BODY_BYTES = 4 * 2**20

THINKING_TOKENS = 4_000
"""Added to the maximum output once a model was seen to think: its thinking counts as output."""

_MAX_CALLS = 32
_MAX_ECHOED_CHARS = 500
_MOST_CHARS_PER_TOKEN = 5.5  # more than any tokenizer's mean for text in which runs of one sign count once
_RUN = re.compile(r"([\W_])\1+")
_log = logging.getLogger(__name__)


def parse_arguments(text: str) -> object:
    """Return a call's arguments: JSON, what remains of JSON in a text or without its end, or the text itself."""
    if not text.strip():
        return {}
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    from json_repair import repair_json  # few replies need it

    _, brace, rest = text.partition("{")
    with suppress(ValueError, RecursionError):
        repaired: object = repair_json(brace + rest, return_objects=True)
        return repaired if isinstance(repaired, dict) and repaired else text
    return text


def arguments_as_object(arguments: object) -> dict[str, object]:
    """Return arguments as the JSON object that providers require when a call is sent back."""
    if isinstance(arguments, str):
        arguments = parse_arguments(arguments)
    if isinstance(arguments, dict):
        return {str(name): value for name, value in arguments.items()}
    return {"arguments": arguments if not isinstance(arguments, str) else arguments[:_MAX_ECHOED_CHARS]}


def encode_tool_name(name: object) -> str:
    """Return a tool's name in the characters that APIs allow, whatever the model wrote."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", str(name))[:64] or "unknown"


def has_results(request: Request) -> bool:
    """Return whether there are calls with their results in the conversation."""
    return any(isinstance(turn, ToolTurn) for turn in request.turns)


def replace_surrogates(value: Any) -> Any:
    """Return JSON data with lone surrogates replaced: pages may contain them, but UTF-8 cannot encode them."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {replace_surrogates(name): replace_surrogates(item) for name, item in value.items()}
    return [replace_surrogates(item) for item in value] if isinstance(value, (list, tuple)) else value


def split_expansion(expansion: Expansion) -> Iterator[OpenSection]:
    """Return the sections of an expansion one by one, each with its whole breadcrumb."""
    for shown in expansion.shown:
        if shown.text.strip():
            yield OpenSection(shown.id, (*expansion.breadcrumb, *shown.inside), shown.text)


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


# Errors and retries

_TEMPORARY = ("rate", "overload", "failure", "timeout")
_NOT_CONNECTED = {"ConnectError", "ConnectTimeout", "InvalidURL", "PoolTimeout", "UnsupportedProtocol"}


_REFUSALS = (200, 400, 404, 413, 422, 500, 501)
_TOOLS = re.compile(r"\btools?\b|tool[_ -](?:use|call|choice)|function[_ -]?call")
_UNSUPPORTED = re.compile(r"support|enabl|requir|permit|recogni|unknown|unexpected|disabled|no endpoints")


class _Fault(NamedTuple):
    """What a response means: the statuses, or the words in error type and message, that show a cause."""

    cause: str
    statuses: Container[int]
    words: tuple[str, ...]
    problem: str
    fix: str

    def matches(self, status: int, text: str) -> bool:
        return status in self.statuses or any(word in text for word in self.words)


_FAULTS = (
    _Fault(
        "key",
        (401,),
        ("authentication_error", "invalid_api_key"),
        "the key is not accepted",
        "check {service.key_name}",
    ),
    _Fault(
        "credit",
        (402,),
        ("insufficient_quota", "credit balance", "billing"),
        "the account has no credit left",
        "add credit to the provider's account",
    ),
    _Fault(
        "key",
        (403,),
        ("permission_error",),
        "the key has no access to this model",
        "choose another model, or check {service.key_name}",
    ),
    _Fault(
        "address",
        (404,),
        ("not_found_error",),
        "{service.address} does not know this model or address",
        "choose another model, or check {service.base_name}",
    ),
    _Fault("rate", (429,), ("rate_limit_error",), "too many requests", "try again {pause}"),
    _Fault(
        "overload",
        (503, 529),
        ("overloaded", "service_unavailable"),
        "the provider is overloaded",
        "try again {pause}",
    ),
    _Fault("timeout", (408, 504), (), "the provider did not answer in time ({status})", "try again later"),
    _Fault("failure", (*range(300), *range(500, 600)), (), "the provider failed ({kind})", "try again later"),
    _Fault(
        "address",
        range(300, 400),
        (),
        "{service.address} redirects ({status})",
        "set {service.base_name} to the new address",
    ),
    _Fault(
        "request",
        range(400, 500),
        (),
        "the request was refused ({status})",
        "try another model, and report this",
    ),
)
"""The first one that matches counts."""


def error_for_status(
    service: ApiConfig, status: int, kind: str = "", message: str = "", retry_after: float | None = None
) -> ModelError:
    """Return the error for a response, or for an error event in a stream.

    Args:
        service: The provider's API.
        status: The HTTP status; 200 for an error event.
        kind: The provider's error type or code, if any.
        message: The provider's own message.
        retry_after: The pause in seconds that the provider asks for.
    """
    text = f"{kind} {message}".lower()
    if status in _REFUSALS and is_overflow(text):
        return error_for_context(service, service.redact(message), parse_limit(text))
    if status in _REFUSALS and _TOOLS.search(text) and _UNSUPPORTED.search(text):
        problem = f"{service.model}: this model cannot call tools ({service.redact(message)})"
        return ToolsUnsupportedError(
            f"{problem}; choose one that can, or set tools = false in [model]", unbilled=True, cause="request"
        )
    if status == 413:
        return error_for_context(service, service.redact(message), None)
    fault = next((fault for fault in _FAULTS if fault.matches(status, text)), _FAULTS[-1])
    values = {"service": service, "status": status, "kind": service.redact(kind) or status}
    problem, fix = (part.format(pause=format_pause(retry_after), **values) for part in (fault.problem, fault.fix))
    details = service.redact(message)
    retryable = fault.cause in _TEMPORARY or status == 409
    text = f"{service.model}: {problem}{f' ({details})' if details else ''}; {fix}"
    unbilled = (400 <= status < 500 and status != 408) or status in (503, 529)
    return ModelError(text, retryable=retryable, retry_after=retry_after, unbilled=unbilled, cause=fault.cause)


def error_for_context(service: ApiConfig, details: str, limit: int | None) -> ContextError:
    """Return the error for a request that does not fit into the context."""
    problem = f"{service.model}: the request does not fit into the model's context ({details})"
    fix = f"load the model with a larger context, or set context in [model]{f' to {limit}' if limit else ''}"
    return ContextError(f"{problem}; {fix}", limit=limit, unbilled=True)


def error_for_connection(service: ApiConfig, error: Exception) -> ModelError:
    """Return the error for a server that cannot be reached."""
    reason = type(error).__name__
    fix = f"start the server or check the network and {service.base_name}"
    text = f"{service.model}: cannot reach {service.address} ({reason}); {fix}"
    cause = "timeout" if reason in ("ReadTimeout", "WriteTimeout") else "connection"
    return ModelError(text, retryable=True, unbilled=reason in _NOT_CONNECTED, cause=cause)


def error_for_interruption(service: ApiConfig) -> ModelError:
    """Return the error for a reply that ends before it is complete."""
    text = f"{service.model}: the connection was lost during the reply; ask again"
    return ModelError(text, retryable=True, cause="connection")


def error_for_format(service: ApiConfig, api: str) -> ModelError:
    """Return the error for a response that does not follow the wire format of an API."""
    problem = f"{service.address} sent a response that is not from {api}"
    return ModelError(f"{service.model}: {problem}; check that {service.base_name} is right", cause="format")


@dataclass(frozen=True, slots=True)
class Retries:
    """When a request that failed at first is sent again.

    Attributes:
        count: Maximum number of further attempts.
        patience: Maximum pause in seconds; the error is raised if the provider asks for a longer one.
        sleep: Waits between two attempts.
    """

    count: int = 2
    patience: float = 20.0
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep


DEFAULT_RETRIES = Retries()


class ProviderModel(ABC):
    """A model that calls a provider's API, with a new attempt after a pause if the provider fails at first.

    Attributes:
        name: Name of the model.
        extra_output_tokens: Tokens that a reply may have in addition to those of its request, such as for thinking.
            A model that thinks although it was not known to has them from its next request on.
        has_tools: Whether the model can call tools.
    """

    extra_output_tokens = 0
    has_tools = True

    api: ClassVar[str]
    """Name of the API, for error messages."""

    def __init__(self, service: ApiConfig, retries: Retries = DEFAULT_RETRIES) -> None:
        """Create a model for a provider's API."""
        self.name = service.model
        self._service, self._retries = service, retries

    async def reply(self, request: Request) -> AsyncGenerator[Part, None]:
        """Stream the reply to a request.

        Raises:
            ModelError: The last attempt failed, or one failed in the middle of its reply.
        """
        failures, unbilled = 0, True
        while True:
            started = False
            try:
                async with aclosing(self._attempt(request)) as parts:
                    async for part in parts:
                        started = started or not isinstance(part, Usage)
                        yield part
                return
            except ModelError as error:
                error.unbilled = unbilled = unbilled and error.unbilled and not started
                is_final = started or not error.retryable or failures >= self._retries.count
                if is_final or (error.retry_after or 0.0) > self._retries.patience:
                    raise
                pause = error.retry_after
            except (ValueError, AttributeError, KeyError, TypeError):
                _log.debug("cannot read the reply", exc_info=True)
                raise error_for_format(self._service, self.api) from None
            if pause is None:  # with jitter: clients must not retry in step
                pause = min(0.5 * 2.0**failures, 8.0) * random.uniform(0.75, 1.0)
            failures += 1
            await self._retries.sleep(pause)

    @property
    def is_hosted(self) -> bool:
        """Whether the API is on another network, so that answers cost money. A plugin may have this attribute, too."""
        return self._service.is_hosted

    async def find_context(self) -> int | None:
        """Return the tokens of the context that the server has loaded, or None if that is not known."""
        return None

    @abstractmethod
    def _attempt(self, request: Request) -> AsyncGenerator[Part, None]:
        """Stream the reply of one attempt; errors such as `KeyError` mean that the provider sent malformed data."""


class ApiModel(ProviderModel):
    """A model behind an API that takes JSON, and streams its reply as events of JSON or sends it whole.

    Servers differ in what they accept. What one refuses is left out from then on, if requests can do without.
    """

    path: ClassVar[str]
    """Path of the API below the base URL."""

    headers: ClassVar[Mapping[str, str]] = {}
    """Headers of all requests, in addition to the key."""

    optional: ClassVar[tuple[str, ...]]
    """The parameters that can be left out or replaced: a server that refuses one names it."""

    def __init__(
        self,
        service: ApiConfig,
        options: ModelOptions = DEFAULT_OPTIONS,
        retries: Retries = DEFAULT_RETRIES,
    ) -> None:
        """Create a model.

        Args:
            service: The provider's API.
            options: The settings that all APIs have in common.
            retries: Attempts after a temporary failure.
        """
        import httpx2

        super().__init__(service, retries)
        self._httpx2 = httpx2
        # Without keep-alive, one client can serve several event loops, and no connection stays open.
        self._client = httpx2.AsyncClient(
            limits=httpx2.Limits(max_keepalive_connections=0),
            timeout=httpx2.Timeout(600.0, connect=10.0),
            headers={**self.headers, **({"Authorization": f"Bearer {service.key}"} if service.key else {})},
        )
        self.has_tools = options.tools
        self._options = options
        self._context = ContextFinder(service, self._client, options.context)
        self._refused: frozenset[str] = frozenset()

    async def find_context(self) -> int | None:
        """Return the tokens of the context: by setting, or as its server has loaded it; None if that is not known."""
        return await self._context.find()

    @abstractmethod
    def _make_reader(self, request: Request) -> ReplyReader:
        """Return the reader of the reply to a request, with the request's parameters."""

    def _alternatives(self, request: Request) -> Sequence[str]:
        """Return what to do differently if a request is refused and no parameter is named, in order."""
        return ()

    async def _attempt(self, request: Request) -> AsyncGenerator[Part, None]:
        while True:
            reader = self._make_reader(request)
            try:
                async with aclosing(self._send(reader)) as parts:
                    async for part in parts:
                        yield part
            except ModelError as error:
                if isinstance(error, ToolsUnsupportedError) and "tools" in reader.parameters:
                    self.has_tools = False
                elif isinstance(error, ContextError):
                    self._context.limit(error.limit)
                elif error.cause == "request" and not reader.text and self._adapt(str(error), request):
                    continue
                raise
            needs_room = reader.needs_room and self.extra_output_tokens < THINKING_TOKENS
            if needs_room:
                self.extra_output_tokens = THINKING_TOKENS
            if not (needs_room and reader.lacks_room):
                yield Stop(reader.reason or "end", reader.state)
                return

    def _adapt(self, problem: str, request: Request) -> bool:
        """Note what the server refuses; return whether the request is worth another attempt without it."""
        named = [name for name in self.optional if re.search(rf"\b{name}\b", problem)]
        for name in (*named, *self._alternatives(request)):
            if name not in self._refused:
                self._refused |= {name}
                return True
        return False

    async def _send(self, reader: ReplyReader) -> AsyncGenerator[Part, None]:
        body = {**reader.parameters, **self._options.parameters, "model": self.name}
        if "stream" not in self._refused:
            body["stream"] = True
        is_accepted = False
        try:
            url = f"{self._service.base_url}{self.path}"
            async with self._client.stream("POST", url, json=replace_surrogates(body)) as response:
                is_accepted = response.status_code == 200
                if not is_accepted:
                    kind, message, _ = parse_api_error(await _read_body(response))
                    pause = parse_retry_after(response.headers)
                    raise error_for_status(self._service, response.status_code, kind, message, pause)
                async with aclosing(self._read_reply(response, reader)) as parts:
                    async for part in parts:
                        yield part
        except (self._httpx2.SSEError, self._httpx2.DecodingError):
            raise error_for_format(self._service, self.api) from None
        except (self._httpx2.TransportError, self._httpx2.InvalidURL) as broken:
            if is_accepted:
                raise error_for_interruption(self._service) from None
            raise error_for_connection(self._service, broken) from None
        tokens = reader.usage.input + reader.usage.cache_read + reader.usage.cache_write
        if LEAST_CONTEXT <= tokens < count_least_tokens(body):
            raise error_for_context(self._service, f"the server read only {tokens} tokens of it", tokens)

    async def _read_reply(self, response: Any, reader: ReplyReader) -> AsyncGenerator[Part, None]:
        has_begun = False
        async with aclosing(self._read_events(response)) as events:
            async for event in events:
                if event == "[DONE]":
                    reader.reason = reader.reason or "end"
                    break
                data = json.loads(event)
                has_begun = True
                if fault := reader.find_error(data):
                    kind, message, status = parse_api_error(json.dumps(fault).encode())
                    raise error_for_status(self._service, status, kind, message)
                for part in reader.feed(data):
                    yield part
                if reader.is_too_long:
                    reader.reason = "length"
                    break
        if reader.reason is None:
            raise error_for_interruption(self._service) if has_begun else error_for_format(self._service, self.api)
        for part in reader.end():
            yield part

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


async def _read_body(response: Any) -> bytes:
    body = bytearray()
    async with aclosing(response.aiter_bytes()) as chunks:
        async for data in chunks:
            body += data
            if len(body) > MAX_BODY_BYTES:
                break
    return bytes(body[:MAX_BODY_BYTES])


def count_least_tokens(body: Mapping[str, Any]) -> float:
    """Return the number of tokens that a request has at least, however economical the tokenizer."""
    text = "\n".join((*_iter_texts((body.get("system"), body["messages"])), json.dumps(body.get("tools"))))
    return len(_RUN.sub(r"\1", text)) / _MOST_CHARS_PER_TOKEN


def _iter_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _iter_texts(tuple(value.values()))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _iter_texts(item)


# Replies


@dataclass(slots=True)
class PartialCall:
    """A tool call while it arrives.

    Attributes:
        index: The server's number of the call, if any.
        id: The server's id of the call, if any.
        name: The name of the tool.
        fragments: The text of the arguments.
        parsed: Arguments that the server sent as JSON data.
    """

    index: object
    id: str
    name: str
    fragments: list[str] = field(default_factory=list)
    parsed: object = None

    @property
    def is_complete(self) -> bool:
        """Whether the arguments are complete JSON."""
        try:
            return isinstance(json.loads("".join(self.fragments)), dict) if self.fragments else self.parsed is not None
        except (ValueError, RecursionError):
            return False

    def to_call(self) -> ToolCall:
        """Return the call with what is known of its arguments."""
        text = "".join(self.fragments)
        return ToolCall(self.id, self.name, parse_arguments(text) if text or self.parsed is None else self.parsed)


class ReplyReader(ABC):
    """Turns the events of a reply into parts: the normal form of the replies of all servers.

    Attributes:
        parameters: The parameters of the request.
        state: The provider state of the turn.
        reason: Why the reply ended; None until then.
        usage: The tokens that the server counted.
        text: The pieces of text.
        calls: The tool calls in order.
        has_thought: Whether the server sent reasoning.
    """

    def __init__(self, parameters: Mapping[str, Any], state: Any = None) -> None:
        """Start before the first event."""
        self.parameters, self.state = parameters, state
        self.reason: StopReason | None = None
        self.usage = NO_USAGE
        self.text: list[str] = []
        self.calls: list[PartialCall] = []
        self.has_thought = False
        self._argument_chars = 0

    @property
    def is_too_long(self) -> bool:
        """Whether the calls exceed a limit that no useful reply reaches."""
        return self._argument_chars > MAX_ARGUMENT_CHARS or len(self.calls) > _MAX_CALLS

    @property
    def lacks_room(self) -> bool:
        """Whether the output ended before any text or call."""
        return self.reason == "length" and not self.text and not self.calls

    @property
    def needs_room(self) -> bool:
        """Whether the model thinks, or wrote nothing else before its output ended."""
        is_cut_off = self.reason == "length" and not self._argument_chars
        return self.has_thought or (is_cut_off and not remove_reasoning("".join(self.text)).strip())

    def find_error(self, data: Mapping[str, Any]) -> object:
        """Return the error in an event, or None."""
        is_error = "error" in (data.get("type"), data.get("object")) or isinstance(data.get("message"), str)
        return data if is_error or data.get("error") or data.get("detail") else None

    @abstractmethod
    def feed(self, data: Mapping[str, Any]) -> Iterator[Part]:
        """Yield the parts that an event completes; errors such as `KeyError` mean that it is malformed."""

    def end(self) -> Iterator[Part]:
        """Yield the calls, without those that were cut off when the output ended."""
        is_cut_off = self.reason == "length"
        self.calls = [call for call in self.calls if call.is_complete or not is_cut_off]
        for call in self.calls:
            yield call.to_call()
        if self.calls and self.reason == "end":
            self.reason = "tools"

    def _add_text(self, text: str) -> Iterator[Text]:
        if text:
            self.text.append(text)
            yield Text(text)

    def _add_arguments(self, call: PartialCall, arguments: object) -> None:
        if isinstance(arguments, str):
            call.fragments.append(arguments)
            self._argument_chars += len(arguments)
        elif arguments is not None:
            call.parsed = arguments

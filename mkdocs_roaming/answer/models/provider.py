"""Models that call a provider's API: requests, retries, and what a server is known to refuse."""

from __future__ import annotations

import json
import logging
import random
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import anyio

from mkdocs_roaming._http import ApiConfig, parse_api_error, parse_base_url, parse_retry_after
from mkdocs_roaming.answer.models.base import (
    DEFAULT_OPTIONS,
    JsonObject,
    ModelConfig,
    ModelOptions,
    ModelRequest,
    Part,
    Stop,
    Usage,
)
from mkdocs_roaming.answer.models.context import (
    CONTEXT_SOURCES,
    LEAST_CONTEXT,
    USED_SHARE,
    count_least_tokens,
    find_number,
    iter_texts,
)
from mkdocs_roaming.answer.models.refusals import (
    error_for_connection,
    error_for_context,
    error_for_format,
    error_for_interruption,
    error_for_status,
)
from mkdocs_roaming.answer.models.replies import ReplyReader
from mkdocs_roaming.errors import ContextError, ModelError, ToolsUnsupportedError, UsageError
from mkdocs_roaming.text.tokenizer import estimate_tokens

Parts = AsyncGenerator[Part, None]

MAX_BODY_BYTES = 4 * 2**20
_REPLY_SECONDS = 600.0
_CONNECT_SECONDS = 10.0
_FIRST_PAUSE = 0.5  # seconds; the pause doubles with each failure
_LONGEST_PAUSE = 8.0
_JITTER = (0.75, 1.0)  # clients must not retry in step
_CONTEXT_SECONDS = 2.0
_LEAST_OUTPUT = 256  # tokens, even if the context seems full
_OK = 200

THINKING_TOKENS = 4_000
"""Added to the maximum output once a model was seen to think: its thinking counts as output."""

_log = logging.getLogger(__name__)


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
        self._service = service
        self._retries = retries

    async def reply(self, request: ModelRequest) -> Parts:
        """Stream the reply to a request.

        Raises:
            ModelError: The last attempt failed, or one failed in the middle of its reply.
        """
        failures = 0
        unbilled = True
        while True:
            started = False
            try:
                async with aclosing(self._attempt(request)) as parts:
                    async for part in parts:
                        started = started or not isinstance(part, Usage)
                        yield part
                return
            except ModelError as error:
                unbilled = unbilled and error.unbilled and not started
                error.unbilled = unbilled
                is_final = started or not error.retryable or failures >= self._retries.count
                if is_final or (error.retry_after or 0.0) > self._retries.patience:
                    raise
                pause = error.retry_after
            except (ValueError, AttributeError, KeyError, TypeError):
                _log.debug("cannot read the reply", exc_info=True)
                raise error_for_format(self._service, self.api) from None
            if pause is None:
                pause = min(_FIRST_PAUSE * 2**failures, _LONGEST_PAUSE) * random.uniform(*_JITTER)
            failures += 1
            await self._retries.sleep(pause)

    @property
    def is_hosted(self) -> bool:
        """Whether the API is on another network, so that answers cost money. A plugin may have this attribute, too."""
        return self._service.is_hosted

    @abstractmethod
    def _attempt(self, request: ModelRequest) -> Parts:
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

    default_url: ClassVar[str]
    """The base URL of the provider itself."""

    url_variable: ClassVar[str]
    """The provider's environment variable of the base URL."""

    url_name: ClassVar[str]
    """Where the base URL comes from, for error messages."""

    key_variable: ClassVar[str]
    """The provider's environment variable of the key."""

    needs: ClassVar[str]
    """What a model without key and base URL needs."""

    def __init__(
        self,
        model: str,
        *,
        key: str = "",
        base_url: str = "",
        key_name: str = "",
        options: ModelOptions = DEFAULT_OPTIONS,
        retries: Retries = DEFAULT_RETRIES,
    ) -> None:
        """Create a model.

        Args:
            model: Name of the model.
            key: API key.
            base_url: Base URL of the API (default: that of the provider).
            key_name: Where the key comes from, for error messages (default: `key_variable`).
            options: The settings that all APIs have in common.
            retries: Attempts after a temporary failure.

        Raises:
            UsageError: The base URL is invalid.
        """
        import httpx2

        url = self._parse_url(base_url or self.default_url)
        service = ApiConfig(model, url, key, key_name or self.key_variable, self.url_name)
        super().__init__(service, retries)
        self._httpx2 = httpx2
        # Without keep-alive, one client can serve several event loops, and no connection stays open.
        self._client = httpx2.AsyncClient(
            limits=httpx2.Limits(max_keepalive_connections=0),
            timeout=httpx2.Timeout(_REPLY_SECONDS, connect=_CONNECT_SECONDS),
            headers={"Content-Type": "application/json", **self.headers},
        )
        if service.key:
            self._client.headers["Authorization"] = f"Bearer {service.key}"
        self.has_tools = options.tools
        self._options = options
        self._context = options.context
        self._context_sources = {} if service.is_hosted else dict(CONTEXT_SOURCES)
        self._refused: frozenset[str] = frozenset()

    @classmethod
    def from_config(cls, config: ModelConfig) -> Self:
        """Create the model of a configuration."""
        base_url = config.get_base_url(cls.url_variable)
        key, key_name = config.get_key(cls.key_variable)
        if not key and not base_url:
            raise UsageError(f"{config.name} needs {cls.needs}")
        return cls(config.name, key=key, base_url=base_url, key_name=key_name, options=config.options)

    @staticmethod
    def _parse_url(base_url: str) -> str:
        """Return the base URL in the form that `path` is appended to."""
        return parse_base_url(base_url, "/v1")

    async def find_context(self) -> int | None:
        """Return the tokens of the context; None if they are not known.

        They are the setting, what the server has loaded, or what an error said. A hosted provider is not asked. The
        paths that a server does not have are asked for once.
        """
        if self._context is None and self._context_sources:
            with anyio.move_on_after(_CONTEXT_SECONDS):
                for path, field in list(self._context_sources.items()):
                    with suppress(self._httpx2.TransportError, ValueError):
                        response = await self._client.get(self._service.base_url.removesuffix("/v1") + path)
                        if response.status_code == _OK:
                            self._limit_context(find_number(response.json(), field, self.name))
                        else:
                            self._context_sources.pop(path, None)  # another answer may ask, too
        return self._context

    def _limit_context(self, size: int | None) -> None:
        """Remember the size of the context, unless a smaller one is known."""
        if size is not None:
            self._context = min(size, self._context or size)

    @abstractmethod
    def _make_reader(self, request: ModelRequest) -> ReplyReader:
        """Return the reader of the reply to a request, with the request's parameters."""

    def _limit_output(self, request: ModelRequest, parameters: JsonObject) -> int:
        """Return the maximum output: what the request asks for, and thinking, as far as the context has room."""
        wanted = request.output_tokens + self.extra_output_tokens
        if self._context is None:
            return wanted
        size = round(sum(map(estimate_tokens, iter_texts(parameters))) / USED_SHARE)
        return min(wanted, max(self._context - size, _LEAST_OUTPUT))

    def _alternatives(self, request: ModelRequest) -> Sequence[str]:
        """Return what to do differently if a request is refused and no parameter is named, in order."""
        return ()

    async def _attempt(self, request: ModelRequest) -> Parts:
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
                    self._limit_context(error.limit)
                elif error.cause == "request" and not reader.text and self._adapt(str(error), request):
                    continue
                raise
            needs_room = reader.needs_room and self.extra_output_tokens < THINKING_TOKENS
            if needs_room:
                self.extra_output_tokens = THINKING_TOKENS
            if not (needs_room and reader.lacks_room):
                yield Stop(reader.reason or "end", reader.state)
                return
            if self._limit_output(request, reader.parameters) < request.output_tokens + THINKING_TOKENS:
                raise error_for_context(self._service, "it has no room for thinking", None, cause="thinking")

    def _adapt(self, problem: str, request: ModelRequest) -> bool:
        """Note what the server refuses; return whether the request is worth another attempt without it."""
        named = [name for name in self.optional if re.search(rf"\b{name}\b", problem)]
        for name in (*named, *self._alternatives(request)):
            if name not in self._refused:
                self._refused |= {name}
                return True
        return False

    async def _send(self, reader: ReplyReader) -> Parts:
        body = {**reader.parameters, **self._options.parameters, "model": self.name}
        if "stream" not in self._refused:
            body["stream"] = True
        is_accepted = False
        try:
            url = f"{self._service.base_url}{self.path}"
            content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")  # of lone surrogates
            async with self._client.stream("POST", url, content=content) as response:
                is_accepted = response.status_code == _OK
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

    async def _read_reply(self, response: Any, reader: ReplyReader) -> Parts:
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

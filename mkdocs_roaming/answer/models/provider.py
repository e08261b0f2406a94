"""Models that call a provider's API: retries, errors with a fix, and tool call arguments."""

from __future__ import annotations

import json
import logging
import random
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Container, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import anyio

from mkdocs_roaming._http import ApiConfig
from mkdocs_roaming.answer.budget import format_pause
from mkdocs_roaming.answer.models.base import OpenSection, Part, Request, Usage
from mkdocs_roaming.errors import ModelError
from mkdocs_roaming.manifest.expand import Expansion

MAX_ARGUMENT_CHARS = 65_536
"""Maximum length of a call's arguments; real calls need less than a hundredth of it."""

_MAX_ECHOED_CHARS = 500
_log = logging.getLogger(__name__)


def parse_arguments(text: str) -> object:
    """Return a call's arguments as an object if they are JSON, otherwise the text itself."""
    if not text.strip():
        return {}
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def arguments_as_object(arguments: object) -> dict[str, object]:
    """Return arguments as the JSON object that providers require when a call is sent back."""
    if isinstance(arguments, str):
        arguments = parse_arguments(arguments)
    if isinstance(arguments, dict):
        return {str(name): value for name, value in arguments.items()}
    return {"arguments": arguments if not isinstance(arguments, str) else arguments[:_MAX_ECHOED_CHARS]}


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


# Errors and retries

_TEMPORARY = ("rate", "overload", "failure", "timeout")
_NOT_CONNECTED = {"ConnectError", "ConnectTimeout", "InvalidURL", "PoolTimeout", "UnsupportedProtocol"}


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
    _Fault(
        "size",
        (413,),
        ("request_too_large", "context_length_exceeded", "prompt is too long", "maximum context length"),
        "the request is too large",
        "lower open_chars in [budget]",
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
        (),
        ("not support tools", "tools are not supported"),
        "this model cannot call tools",
        "choose one that can",
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
    fault = next((fault for fault in _FAULTS if fault.matches(status, text)), _FAULTS[-1])
    values = {"service": service, "status": status, "kind": service.redact(kind) or status}
    problem, fix = (part.format(pause=format_pause(retry_after), **values) for part in (fault.problem, fault.fix))
    details = service.redact(message)
    retryable = fault.cause in _TEMPORARY or status == 409
    text = f"{service.model}: {problem}{f' ({details})' if details else ''}; {fix}"
    unbilled = (400 <= status < 500 and status != 408) or status in (503, 529)
    return ModelError(text, retryable=retryable, retry_after=retry_after, unbilled=unbilled, cause=fault.cause)


def error_for_connection(service: ApiConfig, error: Exception) -> ModelError:
    """Return the error for a server that cannot be reached."""
    reason = type(error).__name__
    fix = f"start the server or check the network and {service.base_name}"
    text = f"{service.model}: cannot reach {service.address} ({reason}); {fix}"
    cause = "timeout" if reason in ("ReadTimeout", "WriteTimeout", "APITimeoutError") else "connection"
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

"""Models that call a provider's API: retries, errors with a fix, and tool call arguments."""

from __future__ import annotations

import json
import logging
import random
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, ClassVar

import anyio

from mkdocs_roaming._http import ApiConfig
from mkdocs_roaming.answer.budget import format_pause
from mkdocs_roaming.answer.models.base import OpenSection, Part, Request, Usage
from mkdocs_roaming.errors import ModelError
from mkdocs_roaming.manifest.expand import Expansion

MAX_ARGUMENT_CHARS = 65_536
"""Maximum length of a call's arguments; real calls need less than a hundredth of it."""

_MAX_ECHOED_CHARS = 500
_MAX_HEADING_CHARS = 120
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
    """Return the sections of an expansion one by one; the breadcrumb of a subsection ends with its heading."""
    for shown in expansion.shown:
        if shown.text.strip():
            heading = shown.text.lstrip().partition("\n")[0].strip("# \t")
            inside = () if shown.id == expansion.id else (heading[:_MAX_HEADING_CHARS],)
            yield OpenSection(shown.id, tuple(filter(None, (*expansion.breadcrumb, *inside))), shown.text)


# Errors and retries

_INVALID_KEY = {"authentication_error", "invalid_api_key"}
_OVERLOAD_ERRORS = {"overloaded_error", "overloaded", "service_unavailable"}
_NO_CREDIT = ("insufficient_quota", "credit balance", "billing")
_TOO_LONG = ("context_length_exceeded", "prompt is too long", "maximum context length")
_TEMPORARY = ("rate", "overload", "failure")
_NOT_CONNECTED = {"ConnectError", "ConnectTimeout", "InvalidURL", "PoolTimeout", "UnsupportedProtocol"}


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
    cause, problem, fix = _explain_status(service, status, service.redact(kind), message.lower(), retry_after)
    details = service.redact(message)
    retryable = cause in _TEMPORARY or status in (408, 409, 504)
    text = f"{service.model}: {problem}{f' ({details})' if details else ''}; {fix}"
    unbilled = (400 <= status < 500 and status != 408) or status in (503, 529)
    return ModelError(text, retryable=retryable, retry_after=retry_after, unbilled=unbilled, cause=cause)


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


class ProviderModel(ABC):
    """A model that calls a provider's API, with a new attempt after a pause if the provider fails at first.

    Attributes:
        name: Name of the model.
        extra_output_tokens: Tokens that a reply may have in addition to those of its request, such as for thinking.
    """

    extra_output_tokens = 0

    api: ClassVar[str]
    """Name of the API, for error messages."""

    def __init__(self, service: ApiConfig, retries: Retries) -> None:
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

    @abstractmethod
    def _attempt(self, request: Request) -> AsyncGenerator[Part, None]:
        """Stream the reply of one attempt; errors such as `KeyError` mean that the provider sent malformed data."""


def _explain_status(
    service: ApiConfig, status: int, kind: str, message: str, retry_after: float | None
) -> tuple[str, str, str]:
    """Return the cause, the problem and its fix."""
    kinds, text = set(kind.split()), f"{kind} {message}"
    if status == 401 or kinds & _INVALID_KEY:
        return "key", "the key is not accepted", f"check {service.key_name}"
    if status == 402 or any(words in text for words in _NO_CREDIT):
        return "credit", "the account has no credit left", "add credit to the provider's account"
    if status == 403 or "permission_error" in kinds:
        return "key", "the key has no access to this model", f"choose another model, or check {service.key_name}"
    if status == 404 or "not_found_error" in kinds:
        problem = f"{service.address} does not know this model or address"
        return "address", problem, f"choose another model, or check {service.base_name}"
    if status == 413 or "request_too_large" in kinds or any(words in text for words in _TOO_LONG):
        return "size", "the request is too large", "lower open_chars in [budget]"
    if status == 429 or "rate_limit_error" in kinds:
        return "rate", "too many requests", f"try again {format_pause(retry_after)}"
    if status in (503, 529) or kinds & _OVERLOAD_ERRORS:
        return "overload", "the provider is overloaded", f"try again {format_pause(retry_after)}"
    if status in (408, 504):
        return "timeout", f"the provider did not answer in time ({status})", "try again later"
    if status >= 500 or status < 300:
        return "failure", f"the provider failed ({kind or status})", "try again later"
    if status < 400:
        return "address", f"{service.address} redirects ({status})", f"set {service.base_name} to the new address"
    if "does not support tools" in message or ("tool" in message and "not supported" in message):
        return "request", "this model cannot call tools", "choose one that can"
    return "request", f"the request was refused ({status})", "try another model, and report this"

"""What refusals and failures of a provider mean: errors of one line, each with a fix."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import NamedTuple

from mkdocs_roaming._http import ApiConfig
from mkdocs_roaming.answer.budget import format_pause
from mkdocs_roaming.answer.models.context import LEAST_CONTEXT
from mkdocs_roaming.errors import ContextError, ModelError, ToolsUnsupportedError

_CONTEXT = re.compile(r"context|prompt|\binputs?\b|sequence|max_(?:model|seq)_len|\bn_(?:ctx|keep)\b")
_EXCESS = re.compile(r"exceed|overflow|too (?:long|large|big|many)|(?:long|great|larg)er than|maximum|limit|>|<=")
"""Together: `prompt is too long`, `input tokens exceed`, `n_keep >= n_ctx`."""

_LIMITS = (
    re.compile(r"[<>]=?\D{0,10}?(\d[\d,]*)"),
    re.compile(r"(?:context|maximum|max\b|limit|available|exceed|only|than)\D{0,40}(\d[\d,]*)"),
    re.compile(r"(\d[\d,]*)\D{0,12}(?:context|maximum|max\b|limit)"),
)
"""The size of a context in an error: `5120 > 4096`, `maximum context length is 8,192`, `4096 tokens of context`."""

_TOOLS = re.compile(r"\btools?\b|tool[_ -](?:use|call|choice)|function[_ -]?call")
_UNSUPPORTED = re.compile(r"support|enabl|requir|permit|recogni|unknown|unexpected|disabled|no endpoints")
"""Together: `does not support tools`, `tool choice requires --enable-auto-tool-choice`."""

_TOO_LARGE = 413
_REFUSALS = (200, 400, 404, _TOO_LARGE, 422, 500, 501)
"""The statuses with which servers say that a request is too long, or that a model has no tools."""

_UNBILLED = {*range(400, 500), 503, 529} - {408}
_RETRYABLE = {409}
_TEMPORARY = ("rate", "overload", "failure", "timeout")
_NOT_CONNECTED = {"ConnectError", "ConnectTimeout", "InvalidURL", "PoolTimeout", "UnsupportedProtocol"}


def is_overflow(problem: str) -> bool:
    """Return whether an error says that a request does not fit into the context."""
    text = problem.lower()
    return bool(_CONTEXT.search(text) and _EXCESS.search(text))


def parse_limit(problem: str) -> int | None:
    """Return the size of the context that an error names, or None."""
    for pattern in _LIMITS:
        for match in pattern.finditer(problem.lower()):
            if (size := int(match[1].replace(",", ""))) >= LEAST_CONTEXT:
                return size
    return None


class _Fault(NamedTuple):
    """What a response means: the statuses, or the words in error type and message, that show a cause."""

    cause: str
    statuses: Container[int]
    words: tuple[str, ...]
    text: str


_FAULTS = (
    _Fault(
        "key",
        (401,),
        ("authentication_error", "invalid_api_key"),
        "the key is not accepted{details}; check {service.key_name}",
    ),
    _Fault(
        "credit",
        (402,),
        ("insufficient_quota", "credit balance", "billing"),
        "the account has no credit left{details}; add credit to the provider's account",
    ),
    _Fault(
        "key",
        (403,),
        ("permission_error",),
        "the key has no access to this model{details}; choose another model, or check {service.key_name}",
    ),
    _Fault(
        "address",
        (404,),
        ("not_found_error",),
        "{service.address} does not know this model or address{details}; choose another model, or check "
        "{service.base_name}",
    ),
    _Fault("rate", (429,), ("rate_limit_error",), "too many requests{details}; try again {pause}"),
    _Fault(
        "overload",
        (503, 529),
        ("overloaded", "service_unavailable"),
        "the provider is overloaded{details}; try again {pause}",
    ),
    _Fault("timeout", (408, 504), (), "the provider did not answer in time ({status}){details}; try again later"),
    _Fault("failure", (*range(300), *range(500, 600)), (), "the provider failed ({kind}){details}; try again later"),
    _Fault(
        "address",
        range(300, 400),
        (),
        "{service.address} redirects ({status}){details}; set {service.base_name} to the new address",
    ),
    _Fault(
        "request",
        range(400, 500),
        (),
        "the request was refused ({status}){details}; try another model, and report this",
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
    details = service.redact(message)
    if status in _REFUSALS and is_overflow(text):
        return error_for_context(service, details, parse_limit(text))
    if status in _REFUSALS and _TOOLS.search(text) and _UNSUPPORTED.search(text):
        problem = f"{service.model}: this model cannot call tools ({details})"
        return ToolsUnsupportedError(
            f"{problem}; choose one that can, or set tools = false in [model]", unbilled=True, cause="request"
        )
    if status == _TOO_LARGE:
        return error_for_context(service, details, None)
    faults = (fault for fault in _FAULTS if status in fault.statuses or any(map(text.__contains__, fault.words)))
    fault = next(faults, _FAULTS[-1])
    problem = fault.text.format(
        service=service,
        status=status,
        kind=service.redact(kind) or status,
        pause=format_pause(retry_after),
        details=f" ({details})" if details else "",
    )
    return ModelError(
        f"{service.model}: {problem}",
        retryable=fault.cause in _TEMPORARY or status in _RETRYABLE,
        retry_after=retry_after,
        unbilled=status in _UNBILLED,
        cause=fault.cause,
    )


def error_for_context(service: ApiConfig, details: str, limit: int | None, cause: str = "size") -> ContextError:
    """Return the error for a request that does not fit into the context, with thinking and reply."""
    problem = f"{service.model}: the request does not fit into the model's context ({details})"
    fix = f"load the model with a larger context, or set context in [model]{f' to {limit}' if limit else ''}"
    return ContextError(f"{problem}; {fix}", limit=limit, unbilled=cause == "size", cause=cause)


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

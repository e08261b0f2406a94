"""What goes wrong between us and a model's provider, said in one line that names the cure."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

import anyio

from mkdocs_roaming._http import ApiConfig
from mkdocs_roaming.answer.models.base import Part, Usage
from mkdocs_roaming.errors import ModelError


def error_for_status(
    service: ApiConfig, status: int, kind: str = "", message: str = "", wait: float | None = None
) -> ModelError:
    """Give the error for a status, or for an error told in mid-stream; `wait` is what the provider asks for."""
    what, cure = _why(service, status, service.redact(kind), message.lower(), wait)
    told = service.redact(message)
    passing = what in (_TOO_MANY, _OVERLOADED) or what.startswith(_FAILED) or status in (408, 409)
    return ModelError(
        f"{service.model}: {what}{f' ({told})' if told else ''}; {cure}", retryable=passing, retry_after=wait
    )


def error_for_connection(service: ApiConfig, error: Exception) -> ModelError:
    """Give the error for an address at which nobody answers."""
    why = type(error).__name__
    cure = f"start the server or check the network and {service.base_name}"
    what = f"{service.model}: {service.address} cannot be reached ({why}); {cure}"
    return ModelError(what, retryable=True, unbilled=why in _UNCONNECTED)


def is_unbilled(status: int) -> bool:
    """Tell whether a provider that answers with this status, and with nothing else, has read and written no token."""
    return (400 <= status < 500 and status != 408) or status in (503, 529)


def error_for_interruption(service: ApiConfig) -> ModelError:
    """Give the error for a reply that ends before it is whole."""
    return ModelError(
        f"{service.model}: the connection broke off in the middle of the reply; ask again", retryable=True
    )


def error_for_format(service: ApiConfig, what: str) -> ModelError:
    """Give the error for a reply that is not of the wire format expected."""
    return ModelError(f"{service.model}: {service.address} sent {what}; check that {service.base_name} is right")


_KEY = {"authentication_error", "invalid_api_key"}


_LATER = {"overloaded_error", "overloaded", "service_unavailable"}


_CREDIT = ("insufficient_quota", "credit balance", "billing")


_TOO_MANY = "too many requests"


_OVERLOADED = "the provider is overloaded"


_FAILED = "the provider failed"


_UNCONNECTED = {"ConnectError", "ConnectTimeout", "InvalidURL", "PoolTimeout", "UnsupportedProtocol"}


"""What goes wrong before anything is asked."""


def _why(service: ApiConfig, status: int, kind: str, message: str, wait: float | None) -> tuple[str, str]:
    kinds = set(kind.split())
    if status == 401 or kinds & _KEY:
        return "the key is not accepted", f"check {service.key_name}"
    if status == 402 or any(word in f"{kind} {message}" for word in _CREDIT):
        return "the account has no credit left", "add some where the key comes from"
    if status == 403 or "permission_error" in kinds:
        return "the key may not be used for this", f"choose another model, or check {service.key_name}"
    if status == 404 or "not_found_error" in kinds:
        where = f"{service.address} does not know this model or address"
        return where, f"choose another model, or check {service.base_name}"
    if status == 413 or "request_too_large" in kinds:
        return "the request is too large", "let fewer sections be open at once"
    if status == 429 or "rate_limit_error" in kinds:
        return _TOO_MANY, f"try again {_in(wait)}"
    if status in (503, 529) or kinds & _LATER:
        return _OVERLOADED, f"try again {_in(wait)}"
    if status >= 500 or status < 300:
        return f"{_FAILED} ({kind or status})", "try again later"
    if status < 400:
        return f"{service.address} answers with a redirect ({status})", f"set {service.base_name} to where it leads"
    if "does not support tools" in message or ("tool" in message and "not supported" in message):
        return "this model cannot call tools", "choose one that can"
    return f"the request was refused ({status})", "try another model, and report this"


def _in(wait: float | None) -> str:
    if wait is None or wait < 1:
        return "in a minute"
    if wait < 120:
        return f"in {wait:.0f} seconds"
    return f"in {wait / 60:.0f} minutes"


# MERGED mkdocs_roaming.answer.models.trying:
# Asking again where a provider fails for a while, as long as nothing was heard of the reply.


async def stream_with_retries(
    attempt: Callable[[], AsyncGenerator[Part, None]],
    *,
    retries: int,
    patience: float,
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
) -> AsyncGenerator[Part, None]:
    """Stream an attempt at a reply, or another one after a pause: as long as the provider asks, else a growing one."""
    tried, unbilled = 0, True
    while True:
        heard = False
        try:
            async with aclosing(attempt()) as parts:
                async for part in parts:
                    heard = heard or not isinstance(part, Usage)
                    yield part
            return
        except ModelError as error:
            error.unbilled = unbilled = unbilled and error.unbilled
            if heard or not error.retryable or tried >= retries or (error.retry_after or 0.0) > patience:
                raise
            pause = _pause(tried) if error.retry_after is None else error.retry_after
        tried += 1
        await sleep(pause)


def _pause(tried: int) -> float:
    """Give a pause that grows, and differs from everybody else's."""
    return min(0.5 * 2.0**tried, 8.0) * random.uniform(0.75, 1.0)

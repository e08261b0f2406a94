"""What goes wrong between us and a model's provider, said in one line that names the cure."""

from __future__ import annotations

import email.utils
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from mkdocs_roaming.errors import RoamingError, UsageError


class ModelError(RoamingError):
    """A model cannot answer. `again` tells that it may in a moment, `wait` how long its provider asks to wait."""

    def __init__(self, message: str, *, again: bool = False, wait: float | None = None) -> None:
        super().__init__(message)
        self.again, self.wait = again, wait


@dataclass(frozen=True, slots=True)
class Service:
    """Who is asked: the model, where, with which key, and what the key and the address are called where they are set.

    It is never printed as it is: the key stays here.
    """

    model: str
    base_url: str
    key: str
    key_name: str
    base_name: str

    def __repr__(self) -> str:
        return f"Service({self.model!r}, {self.address!r})"

    @property
    def address(self) -> str:
        """The base URL without what may be secret in it."""
        parts = urlsplit(self.base_url)
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}{parts.path.rstrip('/')}"


def base_url_of(text: str, default_path: str = "") -> str:
    """Give a server's address without its last slash; raises UsageError for what is none."""
    text = text.strip().rstrip("/")
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        shown = re.sub(r"//[^/@]*@", "//", text)[:_LONGEST]
        raise UsageError(f"{shown!r} is no address of a server; give one such as http://localhost:11434/v1")
    return text if parts.path else text + default_path


def refused(service: Service, status: int, kind: str = "", message: str = "", wait: float | None = None) -> ModelError:
    """Give the error for a status, or for an error told in mid-stream; `wait` is what the provider asks for."""
    what, cure = _why(service, status, _told(service, kind), message.lower(), wait)
    told = _told(service, message)
    passing = what in (_TOO_MANY, _OVERLOADED) or what.startswith(_FAILED) or status in (408, 409)
    return ModelError(f"{service.model}: {what}{f' ({told})' if told else ''}; {cure}", again=passing, wait=wait)


def unreachable(service: Service, error: Exception) -> ModelError:
    """Give the error for an address at which nobody answers."""
    why = type(error).__name__
    cure = f"start the server or check the network and {service.base_name}"
    return ModelError(f"{service.model}: {service.address} cannot be reached ({why}); {cure}", again=True)


def broken_off(service: Service) -> ModelError:
    """Give the error for a reply that ends before it is whole."""
    return ModelError(f"{service.model}: the connection broke off in the middle of the reply; ask again", again=True)


def nonsense(service: Service, what: str) -> ModelError:
    """Give the error for a reply that is not of the wire format expected."""
    return ModelError(f"{service.model}: {service.address} sent {what}; check that {service.base_name} is right")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Give the seconds that a provider asks to wait, told as a number or as a date."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        text = headers.get(name, "").strip()
        if re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,9})?", text):
            return float(text) / unit
        date = email.utils.parsedate_tz(text)
        if date is not None:
            return max(email.utils.mktime_tz(date) - time.time(), 0.0)
    return None


_KEY = {"authentication_error", "invalid_api_key"}
_LATER = {"overloaded_error", "overloaded", "service_unavailable"}
_CREDIT = ("insufficient_quota", "credit balance", "billing")
_TOO_MANY = "too many requests"
_OVERLOADED = "the provider is overloaded"
_FAILED = "the provider failed"
_LONGEST = 160


def _why(service: Service, status: int, kind: str, message: str, wait: float | None) -> tuple[str, str]:
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


def _told(service: Service, message: str) -> str:
    """Give the provider's own words on one line, without the key should they repeat it."""
    text = message.replace(service.key, "…") if service.key else message
    text = " ".join(re.sub(r"[\x00-\x1f\x7f]+", " ", text).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"

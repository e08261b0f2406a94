"""Refusals, and how they are said over HTTP: as `application/problem+json` (RFC 9457).

A refusal is raised where it is found out; the guard says it for what it finds itself, and an application does so with
`exception_handlers={Refused: …}` and `problem`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http import HTTPStatus
from math import ceil
from typing import Any

from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.serve.redaction import strip_passwords

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Header = tuple[bytes, bytes]


class ProblemError(Exception):
    """A request is not served: the status, a code for programs, a sentence for people, and when to come again."""

    def __init__(self, status: int, code: str, detail: str, *, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.retry_after = None if retry_after is None else max(1, ceil(retry_after))


def encode_problem(refused: ProblemError) -> tuple[list[Header], bytes]:
    """Give the headers and the body that say a refusal."""
    body: dict[str, object] = {
        "type": "about:blank",
        "title": HTTPStatus(refused.status).phrase,
        "status": refused.status,
        "detail": refused.detail,
        "code": refused.code,
    }
    headers: list[Header] = [(b"content-type", b"application/problem+json"), (b"cache-control", b"no-store")]
    if refused.retry_after is not None:
        body["retry_after"] = refused.retry_after
        headers.append((b"retry-after", str(refused.retry_after).encode()))
    data = encode_text(json.dumps(body, ensure_ascii=False))
    return [*headers, (b"content-length", str(len(data)).encode())], data


def public_message(error: RoamingError, at: str) -> str:
    """Give what a visitor is told of what cannot be read; the log is told which file that is, and why."""
    if error.public_message:
        return error.public_message
    _log.warning("%s: %s", at, strip_passwords(str(error)))
    return "This cannot be read at the moment"


def encode_text(text: str) -> bytes:
    """Give a text as it is sent. What others wrote may hold halves of characters, which cannot be: `?` stands there."""
    return text.encode("utf-8", "replace")


def encode_json(told: object) -> bytes:
    """Give data as it is sent."""
    return encode_text(_ENCODER.encode(told))


async def send_problem(send: Send, refused: ProblemError, headers: Iterable[Header] = ()) -> None:
    """Answer a request with a refusal."""
    own, body = encode_problem(refused)
    await send({"type": "http.response.start", "status": refused.status, "headers": [*own, *headers]})
    await send({"type": "http.response.body", "body": body})


_log = logging.getLogger("mkdocs_roaming.serve")
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

"""Error responses: `application/problem+json` (RFC 9457), and encoders for response bodies.

Code raises `ProblemError` where it detects the error. The middleware sends its own errors; the application turns
exceptions of its handlers into responses.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http import HTTPStatus
from math import ceil
from typing import Any

from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.serve.log import strip_passwords
from mkdocs_roaming.serve.schemas import Problem

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Header = tuple[bytes, bytes]


class ProblemError(Exception):
    """A refused request: the status, a code for programs, a sentence for people, and seconds until a retry."""

    def __init__(self, status: int, code: str, detail: str, *, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.retry_after = None if retry_after is None else max(1, ceil(retry_after))


def encode_problem(error: ProblemError) -> tuple[list[Header], bytes]:
    """Return the headers and the body of an error response."""
    problem: Problem = {
        "type": "about:blank",
        "title": HTTPStatus(error.status).phrase,
        "status": error.status,
        "detail": error.detail,
        "code": error.code,
    }
    headers: list[Header] = [(b"content-type", b"application/problem+json"), (b"cache-control", b"no-store")]
    if error.retry_after is not None:
        problem["retry_after"] = error.retry_after
        headers.append((b"retry-after", str(error.retry_after).encode()))
    body = encode_text(json.dumps(problem, ensure_ascii=False))
    return [*headers, (b"content-length", str(len(body)).encode())], body


async def send_problem(send: Send, error: ProblemError, headers: Iterable[Header] = ()) -> None:
    """Send an error response."""
    own_headers, body = encode_problem(error)
    await send({"type": "http.response.start", "status": error.status, "headers": [*own_headers, *headers]})
    await send({"type": "http.response.body", "body": body})


def public_message(error: RoamingError, at: str) -> str:
    """Return what clients may know about an error. The details (files, reasons) are logged with the path `at`."""
    if error.public_message:
        return error.public_message
    _log.warning("%s: %s", at, strip_passwords(str(error)))
    return "This cannot be read at the moment"


def encode_text(text: str) -> bytes:
    """Return UTF-8. Unpaired surrogates, which sites may contain, become question marks."""
    return text.encode("utf-8", "replace")


def encode_json(data: object) -> bytes:
    """Return compact JSON."""
    return encode_text(_JSON_ENCODER.encode(data))


_log = logging.getLogger("mkdocs_roaming.serve")
_JSON_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

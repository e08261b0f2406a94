"""What goes wrong, as a response: one short problem, and nothing of how it went wrong inside."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.serve.problems import Refused, problem, told_outside


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    headers, body = problem(error)
    return _response(error.status, headers, body)


async def _refuse_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    headers, body = problem(Refused(status, status.name.lower(), _SENTENCES.get(status, f"{status.phrase}.")))
    more = [(name.lower().encode(), value.encode()) for name, value in (error.headers or {}).items()]
    return _response(status, [*headers, *more], body)


async def _unreadable(request: Request, error: Exception) -> Response:
    assert isinstance(error, LibraryError)
    said = f"{told_outside(error, request.url.path)}."
    headers, body = problem(Refused(503, "unreadable", said, retry_after=_SOON))
    return _response(503, headers, body)


async def _fail(request: Request, error: Exception) -> Response:
    headers, body = problem(Refused(500, "failed", "Something went wrong here."))
    return _response(500, headers, body)


def _response(status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> Response:
    response = Response(body, status)
    response.raw_headers = headers
    return response


_SENTENCES = {
    404: "There is nothing at this address.",
    405: "This address does not take that method.",
    416: "The file ends before that range begins; Content-Range says how long it is.",
}
_SOON = 30.0

HANDLERS: Mapping[Any, Callable[[Request, Exception], Awaitable[Response]]] = {
    Refused: _refuse,
    HTTPException: _refuse_http,
    LibraryError: _unreadable,
    Exception: _fail,
}
"""What an application answers where one of these is raised."""

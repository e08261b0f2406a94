"""What is told as a response: as JSON or as Markdown, with its tag, so that who has it already is told no more."""

from __future__ import annotations

import hashlib

from starlette.requests import Request
from starlette.responses import Response

from mkdocs_roaming.serve.accept import preferred
from mkdocs_roaming.serve.operations import JSON, MARKDOWN
from mkdocs_roaming.serve.problems import as_bytes, as_json
from mkdocs_roaming.serve.walking import Told

KINDS = {JSON: JSON, MARKDOWN: f"{MARKDOWN}; charset=utf-8"}
"""The media types that things are told in, as headers name them."""


def negotiated(request: Request, told: Told) -> Response:
    """Give what is told in the form that is wanted."""
    wanted = wanted_of(request)
    return tagged(request, body_of(told, wanted), KINDS[wanted], vary="Accept")


def wanted_of(request: Request) -> str:
    """Give the media type that a client would rather have: JSON or Markdown."""
    return preferred(request.headers.get("accept", ""), (JSON, MARKDOWN))


def body_of(told: Told, wanted: str) -> bytes:
    """Give what is told as the bytes of a media type."""
    return as_bytes(told.markdown()) if wanted == MARKDOWN and told.markdown else as_json(told.data)


def tagged(request: Request, body: bytes, kind: str, **headers: str) -> Response:
    """Give a body with its tag, or 304 where the client has it."""
    tag = f'"{hashlib.sha256(body).hexdigest()[:20]}"'
    told = {"etag": tag, "cache-control": "no-cache", **headers}
    known = request.headers.get("if-none-match")
    if known and tag in [one.strip().removeprefix("W/") for one in known.split(",")]:
        return Response(status_code=304, headers=told)
    return Response(body, media_type=kind, headers=told)

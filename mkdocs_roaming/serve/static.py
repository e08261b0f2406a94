"""A built site's folder over HTTP: pages, their Markdown for clients that prefer it, ranges, and the site's 404 page.

Only files inside the folder are served: no dotfiles, and nothing that a symbolic link leads out to.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from email.utils import formatdate, parsedate_to_datetime
from pathlib import Path
from urllib.parse import quote

import anyio.to_thread
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.types import Message, Receive, Scope, Send

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.serve.content import CONTENT_TYPES, choose_media_type
from mkdocs_roaming.serve.schemas import MARKDOWN

HTML = "text/html"


class StaticSite:
    """An ASGI application that serves a folder."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise UsageError(f"{root}: no such folder; give the folder of the built site")
        self._root = root.resolve()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(405, headers={"Allow": "GET, HEAD"})
        try:
            response = await anyio.to_thread.run_sync(self._respond, scope)
        except OSError:  # removed after it was found, because the site is being built
            raise HTTPException(404) from None
        await response(_drop_invalid_range(scope), receive, _raise_for_unsatisfiable_range(send))

    def _respond(self, scope: Scope) -> Response:
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        headers = Headers(scope=scope)
        file = self._find(path)
        if file is not None and file.is_dir():
            if not path.endswith("/"):
                query = scope.get("query_string", b"").decode("latin-1")
                location = quote("/" + scope["path"].strip("/") + "/")  # never `//`, which would be another host
                return RedirectResponse(location + (f"?{query}" if query else ""), 308)
            file = self._resolve(file / "index.html")
        elif path.endswith("/"):
            file = None
        if file is None or not file.is_file():
            return self._not_found()
        markdown = self._find_markdown(file)
        if markdown is None:
            return _respond_with_file(file, headers)
        media_type = choose_media_type(headers.get("accept", ""), (HTML, MARKDOWN))
        return _respond_with_file(markdown if media_type == MARKDOWN else file, headers, vary="Accept")

    def _find(self, path: str) -> Path | None:
        """Return the file or folder at a path, None if there is none or if it must not be served."""
        parts = [part for part in path.split("/") if part]
        if any(_FORBIDDEN.search(part) or (part.startswith(".") and part != ".well-known") for part in parts):
            return None
        return self._resolve(self._root.joinpath(*parts))

    def _resolve(self, path: Path) -> Path | None:
        try:
            resolved = path.resolve(strict=True)
        except (OSError, RuntimeError, ValueError):
            return None
        return resolved if resolved.is_relative_to(self._root) else None

    def _find_markdown(self, file: Path) -> Path | None:
        """Return the Markdown version of an HTML page."""
        if file.suffix != ".html":
            return None
        candidates = [file.with_suffix(".md")]
        if file.name != "index.html":
            candidates.append(file.with_suffix("") / "index.md")
        found = filter(None, map(self._resolve, candidates))
        return next((markdown for markdown in found if markdown.is_file()), None)

    def _not_found(self) -> Response:
        page = self._resolve(self._root / "404.html")
        if page is None:
            raise HTTPException(404)
        return Response(page.read_bytes(), 404, {"Cache-Control": "no-cache"}, HTML)


def _respond_with_file(file: Path, request_headers: Headers, **headers: str) -> Response:
    """Return a file, or 304 if the client has it."""
    status = file.stat()
    if not stat.S_ISREG(status.st_mode):
        raise HTTPException(404)
    headers = {
        "etag": _make_etag(status),
        "last-modified": formatdate(status.st_mtime, usegmt=True),
        "cache-control": _choose_cache_control(file.name),
        **headers,
    }
    if _is_cached(request_headers, headers["etag"], status.st_mtime):
        return Response(status_code=304, headers=headers)
    return FileResponse(file, headers=headers, media_type=_CONTENT_TYPES.get(file.suffix), stat_result=status)


def _is_cached(headers: Headers, etag: str, modified: float) -> bool:
    if "if-none-match" in headers:
        etags = [text.strip().removeprefix("W/") for text in headers["if-none-match"].split(",")]
        return etag in etags or "*" in etags
    try:
        since = parsedate_to_datetime(headers.get("if-modified-since", "")).timestamp()
    except (TypeError, ValueError, OverflowError):
        return False
    return int(modified) <= since


def _make_etag(status: os.stat_result) -> str:
    state = f"{status.st_mtime_ns}-{status.st_size}-{status.st_ino}"
    return f'"{hashlib.sha256(state.encode()).hexdigest()[:20]}"'


def _choose_cache_control(name: str) -> str:
    """Return the caching policy: unlimited for names that contain a hash, otherwise revalidation."""
    match = _HASHED.search(name)
    has_hash = match is not None and not match["hash"].isdigit()  # digits alone are a date or a number
    return "public, max-age=31536000, immutable" if has_hash else "no-cache"


# Ranges


def _drop_invalid_range(scope: Scope) -> Scope:
    """Remove a Range header that is invalid or not of a GET request: RFC 9110 ignores it, Starlette refuses it."""
    value = Headers(scope=scope).get("range")
    if value is None or (scope["method"] == "GET" and _is_valid_range(value)):
        return scope
    return {**scope, "headers": [header for header in scope["headers"] if header[0] != b"range"]}


def _raise_for_unsatisfiable_range(send: Send) -> Send:
    """Raise HTTPException for a range beyond the end, so that it becomes a problem response."""

    async def send_or_raise(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == 416:
            raise HTTPException(416, headers={"Content-Range": Headers(raw=message["headers"])["content-range"]})
        await send(message)

    return send_or_raise


def _is_valid_range(value: str) -> bool:
    if not _RANGE.fullmatch(value):
        return False
    pairs = [text.partition("-")[::2] for text in value.partition("=")[2].split(",")]
    return all(not first.strip() or not last.strip() or int(first) <= int(last) for first, last in pairs)


_FORBIDDEN = re.compile(r"[\\\0:]|^\.\.?$")
_HASHED = re.compile(r"[.-](?P<hash>[0-9a-f]{8,64})\.(min\.)?(css|js|woff2?|svg|png|map|mjs)(\.map)?$")
_ONE_RANGE = r"[ \t]*(?:[0-9]{1,15}-[0-9]{0,15}|-[0-9]{1,15})[ \t]*"
_RANGE = re.compile(rf"bytes={_ONE_RANGE}(?:,{_ONE_RANGE})*")
_CONTENT_TYPES = {".md": CONTENT_TYPES[MARKDOWN], ".txt": "text/plain; charset=utf-8"}

"""A built site's folder over HTTP: pages, their Markdown for those who accept it, ranges, and a page for what is not.

Only files inside the folder are given, no dotfiles, nothing that a symlink leads out to.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from email.utils import formatdate, parsedate_to_datetime
from pathlib import Path
from urllib.parse import quote

import anyio.to_thread
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.types import Message, Receive, Scope, Send

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.serve.content import choose_media_type

HTML, MARKDOWN = "text/html", "text/markdown"


class StaticSite:
    """An ASGI application that serves a folder."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise UsageError(f"{root}: no such folder; name the folder of the built site")
        self._root = root.resolve()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(405, headers={"Allow": "GET, HEAD"})
        try:
            response = await anyio.to_thread.run_sync(self._response, scope)
        except OSError:  # gone since it was looked for: the site is being built
            raise HTTPException(404) from None
        await response(_with_sensible_range(scope), receive, _refusing_beyond(send))

    def _response(self, scope: Scope) -> Response:
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        headers = Headers(scope=scope)
        file = self._file(path)
        if file is not None and file.is_dir():
            if not path.endswith("/"):
                query = scope.get("query_string", b"").decode("latin-1")
                where = quote("/" + scope["path"].strip("/") + "/")  # never `//`, which would be another host
                return RedirectResponse(where + (f"?{query}" if query else ""), 308)
            file = self._inside(file / "index.html")
        elif path.endswith("/"):
            file = None
        if file is None or not file.is_file():
            return self._not_found()
        twin = self._twin(file, path)
        if twin is None:
            return _given(file, headers)
        wanted = choose_media_type(headers.get("accept", ""), (HTML, MARKDOWN))
        return _given(twin if wanted == MARKDOWN else file, headers, varies=True)

    def _file(self, path: str) -> Path | None:
        """Give what a path names, None where it names nothing that may be given."""
        parts = [part for part in path.split("/") if part]
        if any(_FORBIDDEN.search(part) for part in parts):
            return None
        if any(part.startswith(".") and part != ".well-known" for part in parts):
            return None
        return self._inside(self._root.joinpath(*parts))

    def _inside(self, path: Path) -> Path | None:
        try:
            found = path.resolve(strict=True)
        except (OSError, RuntimeError, ValueError):
            return None
        return found if found.is_relative_to(self._root) else None

    def _twin(self, file: Path, path: str) -> Path | None:
        """Give the Markdown that stands for a page, if there is one."""
        if file.suffix != ".html":
            return None
        found = filter(None, (self._inside(twin) for twin in _twins(file)))
        return next((twin for twin in found if twin.is_file()), None)

    def _not_found(self) -> Response:
        page = self._inside(self._root / "404.html")
        if page is None:
            raise HTTPException(404)
        return Response(page.read_bytes(), 404, {"Cache-Control": "no-cache"}, HTML)


def _twins(file: Path) -> Iterator[Path]:
    yield file.with_suffix(".md")
    if file.name != "index.html":
        yield file.with_suffix("") / "index.md"


def _given(file: Path, headers: Headers, *, varies: bool = False) -> Response:
    """Give a file, or 304 where the client has it."""
    found = file.stat()
    if not stat.S_ISREG(found.st_mode):
        raise HTTPException(404)
    told = {
        "etag": _tag(found),
        "last-modified": formatdate(found.st_mtime, usegmt=True),
        "cache-control": _cache_control(file.name),
    }
    if varies:
        told["vary"] = "Accept"
    if _has_it(headers, told["etag"], found.st_mtime):
        return Response(status_code=304, headers=told)
    return FileResponse(file, headers=told, media_type=_media_type(file), stat_result=found)


def _with_sensible_range(scope: Scope) -> Scope:
    """Leave a Range out that makes no sense, or that is no GET's: it is to be ignored, where Starlette refuses it."""
    said = Headers(scope=scope).get("range")
    if said is None or (scope["method"] == "GET" and _is_range(said)):
        return scope
    return {**scope, "headers": [(name, value) for name, value in scope["headers"] if name != b"range"]}


def _refusing_beyond(send: Send) -> Send:
    """Refuse a Range that begins behind the end as anything else is refused: Starlette says it in an empty text."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == 416:
            raise HTTPException(416, headers={"Content-Range": Headers(raw=message["headers"])["content-range"]})
        await send(message)

    return sending


def _is_range(said: str) -> bool:
    pairs = [one.partition("-")[::2] for one in said.partition("=")[2].split(",")] if _RANGE.fullmatch(said) else []
    return bool(pairs) and all(
        not first.strip() or not last.strip() or int(first) <= int(last) for first, last in pairs
    )


def _has_it(headers: Headers, tag: str, changed: float) -> bool:
    if "if-none-match" in headers:
        tags = [one.strip().removeprefix("W/") for one in headers["if-none-match"].split(",")]
        return tag in tags or "*" in tags
    try:
        since = parsedate_to_datetime(headers.get("if-modified-since", "")).timestamp()
    except (TypeError, ValueError, OverflowError):
        return False
    return int(changed) <= since


def _tag(found: os.stat_result) -> str:
    seen = f"{found.st_mtime_ns}-{found.st_size}-{found.st_ino}"
    return f'"{hashlib.sha256(seen.encode()).hexdigest()[:20]}"'


def _cache_control(name: str) -> str:
    """Say for how long a file is good: one whose name holds its hash for ever, any other only after a look."""
    found = _HASHED.search(name)
    is_hash = found is not None and not found["hash"].isdigit()  # digits alone are a date, or a number
    return "public, max-age=31536000, immutable" if is_hash else "no-cache"


def _media_type(file: Path) -> str | None:
    return {".md": f"{MARKDOWN}; charset=utf-8", ".txt": "text/plain; charset=utf-8"}.get(file.suffix)


_FORBIDDEN = re.compile(r"[\\\0:]|^\.\.?$")
_HASHED = re.compile(r"[.-](?P<hash>[0-9a-f]{8,64})\.(min\.)?(css|js|woff2?|svg|png|map|mjs)(\.map)?$")
_ONE_RANGE = r"[ \t]*(?:[0-9]{1,15}-[0-9]{0,15}|-[0-9]{1,15})[ \t]*"
_RANGE = re.compile(rf"bytes={_ONE_RANGE}(?:,{_ONE_RANGE})*")

"""A built site's folder over HTTP: pages, their Markdown for clients that prefer it, ranges, and the site's 404 page.

Only files inside the folder are served: no dotfiles, and nothing that a symbolic link leads out to.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.staticfiles import NotModifiedResponse, PathLike, StaticFiles
from starlette.types import Receive, Scope, Send

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.serve.content import CONTENT_TYPES
from mkdocs_roaming.serve.requests import choose_media_type
from mkdocs_roaming.serve.schemas import MARKDOWN

HTML = "text/html"
_FORBIDDEN = frozenset("\\\0:")  # in names of files
_CONTENT_TYPES = {".md": CONTENT_TYPES[MARKDOWN], ".txt": "text/plain; charset=utf-8"}


class StaticSite(StaticFiles):
    """An ASGI application that serves a folder."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise UsageError(f"{root}: no such folder; give the folder of the built site")
        super().__init__(directory=root, html=True)
        self._root = root.resolve()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        try:
            response = await self.get_response(scope["path"], scope)
        except OSError:  # removed after it was found, because the site is being built
            raise HTTPException(404) from None
        if isinstance(response, RedirectResponse):  # Starlette's location has the scheme of the proxy's request
            query = scope.get("query_string", b"").decode("latin-1")
            location = quote("/" + scope["path"].strip("/") + "/")  # never `//`, which would be another host
            response = RedirectResponse(location + (f"?{query}" if query else ""), 308)
        response.headers.setdefault("cache-control", "no-cache")
        await response(scope, receive, send)

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        """Return a file or folder and its status; no status if there is none or if it must not be served."""
        parts = [part for part in path.split("/") if part]
        for part in parts:
            is_hidden = part.startswith(".") and part != ".well-known"
            if is_hidden or not _FORBIDDEN.isdisjoint(part):
                return "", None
        full_path, status = super().lookup_path("/".join(parts))
        is_missing = path.endswith("/") and status is not None and not stat.S_ISDIR(status.st_mode)
        return ("", None) if is_missing else (full_path, status)

    def file_response(
        self, full_path: PathLike, stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """Return a page or its Markdown, another file, or 304 if the client has it."""
        request_headers = Headers(scope=scope)
        file = Path(full_path)
        status = stat_result
        headers = {}
        if (markdown := self._find_markdown(file)) is not None:
            headers["vary"] = "Accept"
            if _prefers_markdown(request_headers.get("accept", "")):
                file = markdown
                status = markdown.stat()
        media_type = _CONTENT_TYPES.get(file.suffix)
        response = FileResponse(file, status_code, headers, media_type, stat_result=status)
        if self.is_not_modified(response.headers, request_headers):
            return NotModifiedResponse(response.headers)
        return response

    def _find_markdown(self, file: Path) -> Path | None:
        """Return the Markdown version of an HTML page."""
        if file.suffix != ".html":
            return None
        full_path, status = self.lookup_path(file.with_suffix(".md").relative_to(self._root).as_posix())
        return Path(full_path) if status is not None and stat.S_ISREG(status.st_mode) else None


def _prefers_markdown(accept: str) -> bool:
    """Return whether a client names Markdown with no less weight than HTML; agents often name both, browsers do not."""
    return MARKDOWN in accept.lower() and choose_media_type(accept, (MARKDOWN, HTML)) == MARKDOWN

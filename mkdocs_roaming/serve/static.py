"""A built site's folder over HTTP: pages, their Markdown for clients that prefer it, ranges, and the site's 404 page.

The 404 page names pages at similar addresses, and is Markdown for clients that prefer it.

Only files inside the folder are served: no dotfiles, and nothing that a symbolic link leads out to.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from html import escape
from pathlib import Path
from urllib.parse import quote

import msgspec
from anyio import to_thread
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.staticfiles import NotModifiedResponse, PathLike, StaticFiles
from starlette.types import Receive, Scope, Send

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest.addresses import ADDRESSES_PATH, AddressEntry, Addresses, AddressMatcher
from mkdocs_roaming.manifest.models import (
    LLMS_TXT,
    NOT_FOUND_PAGE,
    OUTLINE_PATH,
    markdown_path,
    path_to_url,
    relative_url,
)
from mkdocs_roaming.serve.content import CONTENT_TYPES, choose_media_type
from mkdocs_roaming.serve.schemas import MARKDOWN

HTML = "text/html"
_PLACE = re.compile(r'(?P<start><nav data-roaming data-roaming-missing aria-label="(?P<label>[^"]*)">)</nav>')
"""The place for links on a 404 page. The pattern does not scan beyond it: pages may be hostile."""


class StaticSite(StaticFiles):
    """An ASGI application that serves a folder."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise UsageError(f"{root}: no such folder; give the folder of the built site")
        super().__init__(directory=root, html=True)
        self._root = root.resolve()
        self._matcher: tuple[tuple[int, int], AddressMatcher] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        try:
            response = await self._find_response(scope)
        except OSError:  # removed after it was found, because the site is being built
            raise HTTPException(404) from None
        if isinstance(response, RedirectResponse):  # Starlette's location has the scheme of the proxy's request
            query = scope.get("query_string", b"").decode("latin-1")
            location = quote("/" + scope["path"].strip("/") + "/")  # never `//`, which would be another host
            response = RedirectResponse(location + (f"?{query}" if query else ""), 308)
        response.headers.setdefault("cache-control", "no-cache")
        await response(scope, receive, send)

    async def _find_response(self, scope: Scope) -> Response:
        """Return the response for a file, a redirect, or the 404 page."""
        try:
            response = await self.get_response(scope["path"], scope)
            if response.status_code != 404:
                return response
        except HTTPException as error:
            if error.status_code != 404:
                raise
            response = None
        found = await to_thread.run_sync(self._respond_not_found, scope) or response
        if found is None:
            raise HTTPException(404)
        return found

    def _respond_not_found(self, scope: Scope) -> Response | None:
        """Return the 404 page with links to pages at similar addresses; None if there are none, or for other files."""
        path: str = scope["path"]
        if _OTHER_FILE.search(path) or (matcher := self._load_matcher()) is None:
            return None
        pages, headers = matcher.suggest(path), {"vary": "Accept"}
        if path.endswith(".md") or _prefers_markdown(Headers(scope=scope).get("accept", "")):
            listing = LLMS_TXT if self.lookup_path(LLMS_TXT)[1] else OUTLINE_PATH
            text = render_similar_pages(pages, matcher.addresses.url, listing)
            return Response(text, 404, headers, CONTENT_TYPES[MARKDOWN])
        full_path, status = self.lookup_path(NOT_FOUND_PAGE)
        if status is None:
            return None
        html = Path(full_path).read_text("utf-8", "surrogateescape")
        html = fill_similar_pages(html, pages, path)
        return Response(html.encode("utf-8", "surrogateescape"), 404, headers, "text/html; charset=utf-8")

    def _load_matcher(self) -> AddressMatcher | None:
        """Return the addresses of the site as they were published last; None if they were not."""
        full_path, status = self.lookup_path(ADDRESSES_PATH)
        if status is None:
            return None
        stamp = status.st_mtime_ns, status.st_size
        if self._matcher is None or self._matcher[0] != stamp:
            try:
                addresses = msgspec.json.decode(Path(full_path).read_bytes(), type=Addresses)
            except msgspec.MsgspecError:
                return None
            self._matcher = stamp, AddressMatcher(addresses)
        return self._matcher[1]

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        """Return a file or folder and its status; no status if there is none or if it must not be served."""
        parts = [part for part in path.split("/") if part]
        if any(_FORBIDDEN.search(part) or (part.startswith(".") and part != ".well-known") for part in parts):
            return "", None
        full_path, status = super().lookup_path("/".join(parts))
        is_missing = path.endswith("/") and status is not None and not stat.S_ISDIR(status.st_mode)
        return ("", None) if is_missing else (full_path, status)

    def file_response(
        self, full_path: PathLike, stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """Return a page or its Markdown, another file, or 304 if the client has it."""
        request_headers = Headers(scope=scope)
        file, status, headers = Path(full_path), stat_result, _cache_headers(Path(full_path).name)
        if (markdown := self._find_markdown(file)) is not None:
            headers["vary"] = "Accept"
            if _prefers_markdown(request_headers.get("accept", "")):
                file, status = markdown, markdown.stat()
        media_type = _CONTENT_TYPES.get(file.suffix)
        response = FileResponse(file, status_code, headers, media_type, stat_result=status)
        if self.is_not_modified(response.headers, request_headers):
            return NotModifiedResponse(response.headers)
        return response

    def _find_markdown(self, file: Path) -> Path | None:
        """Return the Markdown version of an HTML page."""
        if file.suffix != ".html":
            return None
        candidates = [file.with_suffix(".md")]
        if file.name != "index.html":
            candidates.append(file.with_suffix("") / "index.md")
        for candidate in candidates:
            full_path, status = self.lookup_path(candidate.relative_to(self._root).as_posix())
            if status is not None and stat.S_ISREG(status.st_mode):
                return Path(full_path)
        return None


def _prefers_markdown(accept: str) -> bool:
    """Return whether a client names Markdown with no less weight than HTML; agents often name both, browsers do not."""
    return MARKDOWN in accept.lower() and choose_media_type(accept, (MARKDOWN, HTML)) == MARKDOWN


def _cache_headers(name: str) -> dict[str, str]:
    """Return unlimited caching for names that contain a hash; other files are revalidated."""
    match = _HASHED.search(name)
    has_hash = match is not None and not match["hash"].isdigit()  # digits alone are a date or a number
    return {"cache-control": "public, max-age=31536000, immutable"} if has_hash else {}


_OTHER_FILE = re.compile(r"\.(?!html?$|mdx?$|txt$|php$|aspx?$|rst$)[A-Za-z][A-Za-z0-9]{1,5}$")
"""The address of a file that is no page, such as a picture."""
_FORBIDDEN = re.compile(r"[\\\0:]|^\.\.?$")
_HASHED = re.compile(r"[.-](?P<hash>[0-9a-f]{8,64})\.(min\.)?(css|js|woff2?|svg|png|map|mjs)(\.map)?$")
_CONTENT_TYPES = {".md": CONTENT_TYPES[MARKDOWN], ".txt": "text/plain; charset=utf-8"}


def fill_similar_pages(html: str, pages: Sequence[AddressEntry], path: str) -> str:
    """Return a 404 page with the links in place, so that it needs no script; without a place it is not changed.

    Args:
        html: The 404 page.
        pages: The pages.
        path: The requested path. The links are relative to it, because a proxy may have removed its beginning.
    """
    links = "".join(f'<li><a href="{escape(_link(path, page.path))}">{escape(page.title)}</a></li>' for page in pages)

    def fill(place: re.Match[str]) -> str:
        return f"{place['start']}<p>{place['label']}</p><ul>{links}</ul></nav>"

    return _PLACE.sub(fill, html, count=1) if pages else html


def _link(path: str, target: str) -> str:
    """Return the relative URL of a page."""
    return relative_url(path.lstrip("/"), target) + "/" * (not target or target.endswith("/"))


def render_similar_pages(pages: Sequence[AddressEntry], url: str, listing: str = LLMS_TXT) -> str:
    """Return the 404 page as Markdown.

    Args:
        pages: The pages that the address may mean.
        url: URL of the site.
        listing: Path of the list of all pages.
    """
    links = "".join(f"- [{_escape(page.title)}]({path_to_url(url, markdown_path(page.path))})\n" for page in pages)
    similar = f" Pages at similar addresses:\n\n{links}" if pages else "\n"
    name = listing.rpartition("/")[2]
    return f"# Not found\n\nThere is no page at this address.{similar}\nAll pages: [{name}]({url}{listing}).\n"


def _escape(text: str) -> str:
    return re.sub(r"([\\\[\]])", r"\\\1", text)

"""The preview over HTTP, as a WSGI application: next to a site of `mkdocs serve`, or with a server of its own.

It answers to names of this machine only. Pages of other sites can neither embed nor load it, and scripts of the site
do not run in it.
"""

from __future__ import annotations

import logging
import mimetypes
import re
from collections.abc import Callable, Iterable
from html import escape
from importlib import resources
from pathlib import Path
from socketserver import ThreadingMixIn
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, quote
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from mkdocs_roaming.errors import RoamingError, UsageError
from mkdocs_roaming.lint.runner import LintConfig
from mkdocs_roaming.manifest.io import MANIFEST_PATH
from mkdocs_roaming.preview.data import Preview
from mkdocs_roaming.preview.source import open_published
from mkdocs_roaming.publish.pipeline import LeftOut
from mkdocs_roaming.serve.requests import LOOPBACK, AllowedHosts, parse_host
from mkdocs_roaming.serve.schemas import JSON, encode_json, status_phrase

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)
"""The content security policy of the page: nothing inline, nothing of other hosts."""

_ASSETS = {"preview.css": "text/css; charset=utf-8", "preview.js": "text/javascript; charset=utf-8"}
_PAGE = re.compile(r"data/page-([0-9a-f]{8})\.json")

PREVIEW_PATH = "roaming/preview/"
_HOSTS = AllowedHosts(LOOPBACK)
_TEXT = "text/plain; charset=utf-8"
_OWN_HEADERS = (
    ("Content-Security-Policy", f"{POLICY}; frame-ancestors 'none'"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
)
_log = logging.getLogger("mkdocs_roaming.preview")


class PreviewSource:
    """The preview of a site that may be built again.

    Args:
        open_preview: Opens the preview.
        version: Returns a text that changes when the site is built again; raises OSError during a build.
    """

    def __init__(self, open_preview: Callable[[], Preview], version: Callable[[], str] = lambda: "") -> None:
        self._open, self._version = open_preview, version
        self._lock = Lock()
        self._current: tuple[str, Preview] | None = None

    def get(self) -> Preview:
        """Return the preview of the latest build; while it cannot be read, that of the one before.

        Raises:
            RoamingError: No build can be read.
        """
        with self._lock:
            try:
                version = self._version()
                if self._current is None or self._current[0] != version:
                    self._current = version, self._open()
            except (OSError, RoamingError) as error:
                if self._current is None:
                    raise error if isinstance(error, RoamingError) else UsageError(str(error)) from None
            return self._current[1]


def manifest_version(manifest: Path) -> str:
    """Return a text that changes when a manifest is written."""
    status = manifest.stat()
    return f"{status.st_mtime_ns}-{status.st_size}"


class PreviewApp:
    """WSGI middleware: it answers below `roaming/preview/` of a site, and passes every other request on.

    Args:
        app: Serves the site.
        mount: The path of the site, with a slash at both ends.
        find: Returns the source of a folder below the site, such as that of a language; None if it has no preview.
    """

    def __init__(self, app: WSGIApplication, mount: str, find: Callable[[str], PreviewSource | None]) -> None:
        self._app, self._mount, self._find = app, mount, find

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Handle a request."""
        path = environ.get("PATH_INFO", "").encode("latin-1").decode("utf-8", "replace")
        folder, found, name = f"{path}/".partition(PREVIEW_PATH)
        is_below = found and folder.startswith(self._mount) and folder.endswith("/")
        source = self._find(folder.removeprefix(self._mount)) if is_below else None
        if source is None:
            return self._app(environ, start_response)
        if problem := _check_client(environ):
            return _respond(environ, start_response, *problem)
        if not path.endswith("/") and not name:
            return _redirect(environ, start_response, f"{path}/")
        try:
            status, media_type, body = _render(source, name.rstrip("/"), environ)
        except RoamingError as error:
            status, media_type, body = 503, _TEXT, f"{error}\n".encode()
        except Exception:
            _log.exception("%s failed", path)
            status, media_type, body = 500, _TEXT, b"Something went wrong here; the log of the server says what.\n"
        return _respond(environ, start_response, status, media_type, body)


def _render(source: PreviewSource, name: str, environ: WSGIEnvironment) -> tuple[int, str, bytes]:
    preview = source.get()
    if name == "version":
        return 200, _TEXT, preview.library.manifest.digest.encode()
    if name == "search":
        query = parse_qs(environ.get("QUERY_STRING", "")).get("q", [""])[0]
        return 200, JSON, encode_json(preview.search(query))
    if name in ("", "index.html"):
        return 200, "text/html; charset=utf-8", _render_index(preview)
    if name in _ASSETS:
        return 200, _ASSETS[name], (resources.files(__package__) / name).read_bytes()
    data = load_data(preview, name)
    return (404, _TEXT, b"Not found\n") if data is None else (200, JSON, encode_json(data))


def load_data(preview: Preview, name: str) -> object:
    """Return the data that a file of the preview contains as JSON, None if there is no such file."""
    if page := _PAGE.fullmatch(name):
        return preview.page(page[1])
    load = {
        "data/site.json": preview.site,
        "data/files.json": preview.files,
        "data/lint.json": preview.lint,
        "data/sections.json": preview.sections,
    }.get(name)
    return load() if load else None


def _render_index(preview: Preview) -> bytes:
    html = (resources.files(__package__) / "preview.html").read_text("utf-8")
    title = escape(preview.library.manifest.site.name)
    return html.replace("{title}", title).replace("{policy}", escape(POLICY)).encode("utf-8", "replace")


def _check_client(environ: WSGIEnvironment) -> tuple[int, str, bytes] | None:
    """Return the response to a request that is refused."""
    if problem := _check_host(environ):
        return problem
    is_link = environ.get("HTTP_SEC_FETCH_MODE") == "navigate" and environ.get("HTTP_SEC_FETCH_DEST") == "document"
    if environ.get("HTTP_SEC_FETCH_SITE", "none") not in ("none", "same-origin") and not is_link:
        return 403, _TEXT, b"Other sites may not load the preview.\n"
    if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
        return 405, _TEXT, b"Use GET.\n"
    return None


def _check_host(environ: WSGIEnvironment) -> tuple[int, str, bytes] | None:
    """Return the response to a request for a name of another machine."""
    host = parse_host(environ.get("HTTP_HOST", ""))
    if host is None or not _HOSTS.allow(*host):
        return 421, _TEXT, b"The preview answers only to names of this machine, such as localhost.\n"
    return None


def _respond(
    environ: WSGIEnvironment,
    start_response: StartResponse,
    status: int,
    media_type: str,
    body: bytes,
    headers: Iterable[tuple[str, str]] = _OWN_HEADERS,
) -> Iterable[bytes]:
    own = [("Content-Type", media_type), ("Content-Length", str(len(body))), ("Cache-Control", "no-store")]
    nosniff = ("X-Content-Type-Options", "nosniff")
    start_response(f"{status} {status_phrase(status)}", [*own, nosniff, *headers])
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]


def _redirect(environ: WSGIEnvironment, start_response: StartResponse, path: str) -> Iterable[bytes]:
    location = quote("/" + path.lstrip("/"))  # never `//`, which would be another host
    return _respond(environ, start_response, 308, _TEXT, b"", [("Location", location)])


# Next to the site of `mkdocs serve`


def add_to_dev_server(
    app: WSGIApplication,
    mount: str,
    site: Path,
    lint: LintConfig,
    docs: Path,
    left_out: Callable[[Path], Iterable[LeftOut]],
) -> PreviewApp:
    """Return an application that offers previews of the latest build, also of each language with its own manifest.

    Args:
        app: Serves the site.
        mount: The path of the site, with a slash at both ends.
        site: The folder that is built.
        lint: The configuration of the linter.
        docs: The folder of the sources.
        left_out: Returns the pages that the latest build of a folder did not publish.
    """
    sources: dict[str, PreviewSource] = {}

    def find(folder: str) -> PreviewSource | None:
        published = site / folder
        if folder not in sources:
            if ".." in folder.split("/") or not (published / MANIFEST_PATH).is_file():
                return None
            sources[folder] = PreviewSource(
                lambda: open_published(published, lint, docs=docs, known_left_out=left_out(published)),
                lambda: manifest_version(published / MANIFEST_PATH),
            )
        return sources[folder]

    return PreviewApp(app, mount, find)


# A server of its own


class SiteFiles:
    """WSGI application: the files of a built site, for the frame of the preview. Their scripts do not run.

    Args:
        folder: The folder; None for a site without one.
        mount: The path of the site, with a slash at both ends.
    """

    def __init__(self, folder: Path | None, mount: str) -> None:
        self._folder, self._mount = folder and folder.resolve(), mount

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Handle a request."""
        if (problem := _check_host(environ)) is not None:
            return _respond(environ, start_response, *problem)
        path = environ.get("PATH_INFO", "").encode("latin-1").decode("utf-8", "replace")
        if not path.startswith(self._mount) and path == "/":
            return _redirect(environ, start_response, self._mount + PREVIEW_PATH)
        file = self._find(path.removeprefix(self._mount)) if path.startswith(self._mount) else None
        if file is not None and file.is_dir():
            if not path.endswith("/"):
                return _redirect(environ, start_response, f"{path}/")
            file = file / "index.html"
        try:
            body = file.read_bytes() if file is not None else None
        except OSError:
            body = None
        if file is None or body is None:
            return _respond(environ, start_response, 404, _TEXT, b"Not found\n")
        media_type = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        if media_type.startswith("text/"):
            media_type += "; charset=utf-8"
        headers = [("Content-Security-Policy", "sandbox")]
        if media_type.startswith("font/"):  # requested with CORS, and a sandboxed page has no origin
            headers.append(("Access-Control-Allow-Origin", "null"))
        return _respond(environ, start_response, 200, media_type, body, headers)

    def _find(self, path: str) -> Path | None:
        """Return a file or folder of the site: no hidden ones, and nothing that a symbolic link leads out to."""
        if self._folder is None or "\0" in path or "\\" in path:
            return None
        parts = [part for part in path.split("/") if part]
        if any(part.startswith(".") and part != ".well-known" for part in parts):
            return None
        try:
            file = self._folder.joinpath(*parts).resolve()
        except (OSError, RuntimeError):
            return None
        return file if file.is_relative_to(self._folder) else None


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log failed requests; a browser that disconnects is none."""
        _log.debug("a request failed", exc_info=True)


class _Handler(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: requests are not of interest."""


def make_server(app: WSGIApplication, port: int) -> WSGIServer:
    """Return a server on 127.0.0.1; port 0 selects a free one.

    Raises:
        UsageError: The port is in use.
    """
    try:
        server = _Server(("127.0.0.1", port), _Handler)
    except OSError as error:
        raise UsageError(
            f"cannot bind to 127.0.0.1:{port}: {error.strerror or error}. Choose another port with --port."
        ) from None
    server.set_app(app)
    return server

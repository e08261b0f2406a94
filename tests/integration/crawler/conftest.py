"""Fixtures: a web server with scripted responses, and crawls of it."""

from __future__ import annotations

import hashlib
import mimetypes
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import anyio
import pytest

from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from mkdocs_roaming.manifest.models import Manifest
from roaming_crawler.config import CrawlConfig, Politeness
from roaming_crawler.crawl import crawl
from roaming_crawler.fetch import Clock, WebFetcher
from roaming_crawler.publish import CrawlResult

PROSE = "The tide gauge at the harbour writes a reading every minute and keeps it for a year before it is dropped. "


@dataclass(frozen=True)
class Reply:
    """A scripted response."""

    body: bytes | str = b""
    status: int = 200
    kind: str = "text/html; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict)
    etag: bool = True


@dataclass(frozen=True)
class RecordedRequest:
    """Request that reached the server."""

    path: str
    headers: dict[str, str]
    at: float
    status: int

    @property
    def conditional(self) -> bool:
        return "If-None-Match" in self.headers or "If-Modified-Since" in self.headers


Responder = Callable[["Handler"], Reply | None]


class Handler(BaseHTTPRequestHandler):
    """Handles a request. A responder that returns None has written to the socket itself."""

    protocol_version = "HTTP/1.1"
    server: WebSite

    def log_message(self, *args: Any) -> None: ...

    def do_GET(self) -> None:
        site, at = self.server, time.monotonic()
        with site.lock:
            site.open += 1
            site.max_open = max(site.max_open, site.open)
        try:
            self._answer(site, at)
        finally:
            with site.lock:
                site.open -= 1

    def _answer(self, site: WebSite, at: float) -> None:
        reply: Reply | None
        response = site.responses.get(self.path) or site.responses.get(urlsplit(self.path).path) or site.default
        reply = response(self) if callable(response) else response
        headers = dict(self.headers.items())
        if reply is None:
            site.requests.append(RecordedRequest(self.path, headers, at, 0))
            self.close_connection = True
            return
        body = reply.body.encode() if isinstance(reply.body, str) else reply.body
        out = {"Content-Type": reply.kind, **reply.headers}
        if reply.etag and reply.status == 200:
            out.setdefault("ETag", f'"{hashlib.sha256(body).hexdigest()[:12]}"')
            if self.headers.get("If-None-Match") == out["ETag"]:
                reply, body = replace(reply, status=304), b""
        site.requests.append(RecordedRequest(self.path, headers, at, reply.status))
        self.send_response(reply.status)
        for name, value in out.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class WebSite(ThreadingHTTPServer):
    """A web site on this machine. `responses` maps paths to replies, or to functions that make them."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.responses: dict[str, Reply | Responder] = {}
        self.default: Reply | Responder = Reply("<title>Not found</title><p>Nothing is here.", 404)
        self.requests: list[RecordedRequest] = []
        self.lock = threading.Lock()
        self.open = self.max_open = 0
        self.url = f"http://127.0.0.1:{self.server_address[1]}/"

    def handle_error(self, request: Any, client_address: Any) -> None: ...

    def server_bind(self) -> None:
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().server_bind()

    def paths(self) -> list[str]:
        return [request.path for request in self.requests]

    def page(self, path: str, title: str, text: str = "", links: tuple[str, ...] = (), **more: Any) -> None:
        """Add a page."""
        self.responses[path] = Reply(html(title, text, links), **more)

    def put(self, path: str, body: bytes | str = b"", **more: Any) -> None:
        """Add a response."""
        self.responses[path] = Reply(body, **more)

    def redirect(self, path: str, to: str, status: int = 301) -> None:
        """Add a redirect."""
        self.responses[path] = Reply("", status, headers={"Location": to})

    def folder(self, folder: Path, at: str = "/", *, url: str = "", hidden: tuple[str, ...] = ()) -> None:
        """Add a built site, with its URL replaced by this server's."""
        own = self.url.rstrip("/") + at

        def respond(handler: Handler) -> Reply:
            path = unquote(urlsplit(handler.path).path)
            if not path.startswith(at) or any(name in path for name in hidden):
                return Reply("nothing", 404)
            file = folder / path[len(at) :]
            if file.is_dir() and not path.endswith("/"):
                return Reply("", 301, headers={"Location": handler.path + "/"})
            file = file / "index.html" if file.is_dir() else file
            if not file.is_file():
                return Reply("nothing", 404)
            kind = mimetypes.guess_type(file.name)[0] or "text/markdown"
            data = file.read_bytes()
            if url and file.suffix in (".html", ".md", ".txt", ".xml"):
                data = data.replace(url.encode(), own.encode())
            return Reply(data, kind=kind)

        self.default = respond


def html(title: str, text: str = "", links: tuple[str, ...] = (), head: str = "") -> str:
    """Return a page with unique words."""
    anchors = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    own = "".join(f"{title} says number {at}. " for at in range(4))
    return (
        f"<!doctype html><html lang=en><head><title>{title}</title>{head}</head><body><main>"
        f'<h1 id="top">{title}</h1><p>{own}{text or PROSE}</p><h2 id="more-of-it">More</h2><p>{PROSE}</p>'
        f"<ul>{anchors}</ul></main></body></html>"
    )


@pytest.fixture(name="html")
def _html() -> Callable[..., str]:
    """Return the function that writes pages."""
    return html


@pytest.fixture
def reply() -> type[Reply]:
    """Return the class of replies."""
    return Reply


@pytest.fixture
def site() -> Iterator[WebSite]:
    """Provide a site without pages."""
    server = WebSite()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def seven_pages(site: WebSite) -> WebSite:
    """Provide a site of seven pages."""
    names = tuple(f"/p{at}/" for at in range(6))
    site.page("/", "Home", links=names)
    for name in names:
        site.page(name, name, "First revision.")
    return site


@cache
def compress_megabytes(megabytes: int) -> bytes:
    """Return compressed megabytes of one letter; cached, because it takes seconds."""
    packing = zlib.compressobj(9, wbits=31)
    return b"".join([packing.compress(b"a" * 1_000_000) for _ in range(megabytes)]) + packing.flush()


@pytest.fixture
def bomb() -> Callable[..., bytes]:
    """Return the function that makes compression bombs."""
    return compress_megabytes


@dataclass
class CrawlOutput:
    """Result of a crawl, and its folder."""

    result: CrawlResult
    folder: Path
    events: list[tuple[str, dict[str, Any]]]

    @property
    def manifest(self) -> Manifest:
        return load_manifest((self.folder / MANIFEST_PATH).read_bytes())

    @property
    def paths(self) -> list[str]:
        return sorted(page.path for page in self.manifest.pages)

    def text(self, path: str) -> str:
        page = next(page for page in self.manifest.pages if page.path == path)
        return (self.folder / page.markdown).read_text("utf-8")

    def skip_reason(self, end: str) -> str:
        """Return why the URL with this ending was skipped."""
        return next((reason for url, reason in self.result.skipped if url.endswith(end)), "")


FAST = Politeness(delay=0, seconds=5, max_retry_after=5)


@pytest.fixture
def run_crawl(tmp_path: Path) -> Callable[..., CrawlOutput]:
    """Crawl without delay, in this process, on this machine."""

    def run(url: str, folder: Path | None = None, *, clock: Clock | None = None, **options: Any) -> CrawlOutput:
        events: list[tuple[str, dict[str, Any]]] = []
        config = CrawlConfig(**{"politeness": FAST, "workers": 0, "allow_private": True, **options})
        where = folder or tmp_path / "out"
        result = anyio.run(
            lambda: crawl(url, where, config, clock=clock, on_event=lambda name, data: events.append((name, data)))
        )
        return CrawlOutput(result, where, events)

    return run


def read_files(folder: Path) -> dict[str, bytes]:
    """Return every published file and its bytes."""
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and ".roaming" not in file.parts
    }


@pytest.fixture(name="read_files")
def _read_files() -> Callable[[Path], dict[str, bytes]]:
    """Return the function that reads a published folder."""
    return read_files


@pytest.fixture
def fetcher(site: Any) -> Callable[..., WebFetcher]:
    """Return the function that makes fetchers which may access the site."""

    def make(politeness: Politeness = FAST, **more: Any) -> WebFetcher:
        return WebFetcher(politeness, **{"private_urls": [site.url], **more})

    return make

"""A stage for the widget: a small site on a server that also plays recorded answers, cut and broken as a test wants."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from html import escape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import pytest

from mkdocs_roaming.library.library import open_library
from mkdocs_roaming.manifest.expand import expand_section, render_expansion
from mkdocs_roaming.publish.widget import iter_widget_files

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

TESTS = Path(__file__).parents[2]
KETTLE = TESTS / "golden" / "answer" / "kettle.md"
SITE_URL = "https://kettle.example/"
STRICT = "default-src 'none'; script-src 'self'; connect-src 'self'; require-trusted-types-for 'script'"


def recorded(name: str) -> bytes:
    """Give a recorded stream."""
    return (TESTS / "golden" / "wire" / f"{name}.sse").read_bytes()


def stream(*parts: Mapping[str, Any]) -> bytes:
    """Write a stream of parts."""
    return b"".join(b"data: " + json.dumps(part).encode() + b"\n\n" for part in parts) + b"data: [DONE]\n\n"


def answer(text: str, **sections: str) -> bytes:
    """Write the stream of an answer that cites the sections given as id=address."""
    told = [
        {
            "type": "data-section",
            "id": id_,
            "data": {"title": id_, "path": [id_], "url": url, "tokens": 9, "state": "read"},
        }
        for id_, url in sections.items()
    ]
    return stream(
        {"type": "start"},
        {"type": "data-outline", "data": {"digest": "d", "sections": 11, "whole": False}},
        *told,
        {"type": "text-delta", "id": "text-1", "delta": text},
        {"type": "data-status", "data": {"state": "answered", "model": "scripted", "sections": len(sections)}},
        {"type": "finish", "messageMetadata": {"turn": "signed"}},
    )


@dataclass
class Reply:
    """What the endpoint answers to one question."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    piece: int = 0
    """Send pieces of so many bytes; 0 sends it at once."""
    drop: int | None = None
    """Hang up after so many bytes."""
    hold: bytes = b""
    """Wait for `released` before what begins with this."""
    every: bool = False
    """Wait so each time that it comes, not once."""
    released: Event = field(default_factory=Event)


class Stage:
    """A site's folder, what the endpoint beside it answers in turn, and what it was asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.replies: list[Reply] = []
        self.released: list[Event] = []
        self.asked: list[dict[str, Any]] = []
        self.csp = ""
        self.url = ""

    def plays(self, *replies: Reply | bytes) -> Reply:
        """Say what is answered next; gives the last of it."""
        self.replies = [reply if isinstance(reply, Reply) else Reply(reply) for reply in replies]
        self.released += [reply.released for reply in self.replies]
        return self.replies[-1]

    def page(self, attributes: str = 'endpoint="/"', body: str = "", name: str = "index.html", **given: Any) -> str:
        """Write a page with the widget on it, and give its address."""
        data = {"site": SITE_URL, "manifest": "roaming/manifest.json", "path": "settings/", **given}
        told = " ".join(f'data-{key}="{escape(value)}"' for key, value in data.items())
        (self.folder / name).write_text(
            f"<!doctype html><html lang=en><head><meta charset=utf-8><title>Kettle</title>"
            f'<meta name=viewport content="width=device-width"><link rel=icon href="data:,"></head><body>'
            f"<main><h1>Kettle</h1><p>Boils water. <a href=page2.html>Next</a></p>{body}</main>"
            f"<template data-roaming-page {told}></template>"
            f'<script type=module src="roaming/roaming-ask.js"></script><roaming-ask {attributes}></roaming-ask>',
            "utf-8",
        )
        return self.url + name


class _Handler(SimpleHTTPRequestHandler):
    """Serves the stage's folder, and its replies."""

    protocol_version = "HTTP/1.1"

    def __init__(self, *given: Any, stage: Stage) -> None:
        self.stage = stage
        super().__init__(*given, directory=str(stage.folder))

    def end_headers(self) -> None:
        if self.stage.csp:
            self.send_header("Content-Security-Policy", self.stage.csp)
        super().end_headers()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.stage.asked.append({"path": self.path, **body})
        reply = Reply(status=204) if self.path == "/v1/feedback" else self.stage.replies.pop(0)
        self.send_response(reply.status)
        kind = "text/event-stream" if reply.status == 200 else "application/problem+json"
        for name, value in {"content-type": kind, "connection": "close", **reply.headers}.items():
            self.send_header(name, value)
        self.close_connection = True
        self.end_headers()
        first, *held = reply.body.split(reply.hold, -1 if reply.every else 1) if reply.hold else [reply.body]
        self._send(first, reply)
        for part in held:
            reply.released.wait(10)
            if reply.every:
                reply.released.clear()
            self._send(reply.hold + part, reply)

    def _send(self, data: bytes, reply: Reply) -> None:
        data = data[: reply.drop]
        size = reply.piece or max(1, len(data))
        for at in range(0, len(data), size):
            self.wfile.write(data[at : at + size])
            self.wfile.flush()

    def log_message(self, *_: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Readers hang up."""


@pytest.fixture
def stage(tmp_path: Path, make_site: Callable[..., Any]) -> Iterator[Stage]:
    """Kettle's site with the widget as it is published, on a port of its own."""
    titles = {"Install": "install/", "Settings": "settings/", "Troubleshooting": "trouble/"}
    parts = ["# " + part.lstrip("# ").strip() + "\n" for part in KETTLE.read_text("utf-8").split("\n# ")]
    pages = [
        (titles[text.partition("\n")[0].removeprefix("# ")], text)
        for text in parts
        if text[2:].split("\n")[0] in titles
    ]
    folder: Path = make_site(pages).publish(tmp_path / "site")
    for path, data in (*iter_widget_files("en"), *section_files(folder)):
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(data)
    (folder / "page2.html").write_text("<!doctype html><title>Two</title><link rel=icon href='data:,'><h1>Two</h1>")
    with served(folder) as stage:
        yield stage


def section_files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Give the file of each section, as it is published."""
    library = open_library(str(folder))
    for place in library.sections:
        yield (
            f"roaming/sections/{place.id}.md",
            render_expansion(expand_section(library.sections, place, library.text)).encode(),
        )


@contextmanager
def served(folder: Path) -> Iterator[Stage]:
    """Serve a folder and replies on a port of their own."""
    stage = Stage(folder)
    server = _Server(("127.0.0.1", 0), partial(_Handler, stage=stage))
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    stage.url = f"http://127.0.0.1:{server.server_port}/"
    try:
        yield stage
    finally:
        for released in stage.released:
            released.set()
        server.shutdown()
        thread.join()
        server.server_close()


def picture(page: Page, name: str) -> None:
    """Keep how a page looks, where LOOKS names a folder for it."""
    if folder := os.environ.get("LOOKS"):
        page.screenshot(path=Path(folder) / f"{name}.png")


class Widget:
    """The widget on a page, as a reader meets it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.panel = page.locator("roaming-ask dialog")
        self.input = self.panel.locator("textarea")
        self.turns = self.panel.locator("article")
        self.status = self.panel.locator("[role=status]")
        self.alert = self.panel.locator("[role=alert]")
        self.hits = self.panel.locator(".hit")

    def open(self) -> Widget:
        self.page.locator("roaming-ask .opener").click()
        return self

    def ask(self, question: str) -> Locator:
        """Ask and give the turn when it has ended."""
        self.input.fill(question)
        self.input.press("Enter")
        return self.ended()

    def ended(self) -> Locator:
        turn = self.turns.last
        turn.and_(self.page.locator('[aria-busy="false"]')).wait_for()
        return turn

    def focused(self) -> str:
        """Give what has the focus, below all shadow roots."""
        return str(
            self.page.evaluate(
                "() => { let at = document.activeElement; while (at?.shadowRoot?.activeElement) "
                "at = at.shadowRoot.activeElement; return at.className || at.id || at.localName }"
            )
        )


@pytest.fixture
def widget(page: Page) -> Widget:
    """Give the widget of the page that is opened next."""
    return Widget(page)


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core, from npm into a cache outside of the project."""
    folder = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "mkdocs-roaming-tests"
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text("{}")
        command = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--silent", "axe-core@4"]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=120)
        except (OSError, subprocess.TimeoutExpired):
            done = None
        if done is None or done.returncode != 0:
            pytest.skip("npm cannot install axe-core here")
    return script.read_text("utf-8")

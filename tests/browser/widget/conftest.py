"""A small site with the widget, and a server that also replays recorded answers, intact or broken."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from html import escape
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route
from serving import serve_requests

from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.publish.elements.finder_index import iter_finder_files
from mkdocs_roaming.publish.elements.widget import iter_widget_files

TESTS = Path(__file__).parents[2]
KETTLE = TESTS / "golden" / "answer" / "kettle.md"
SITE_URL = "https://kettle.example/"
STRICT = "default-src 'none'; script-src 'self'; connect-src 'self'; img-src data:; require-trusted-types-for 'script'"
"""A policy of pages; `page` fails a test that violates it."""
SHIFTS = """
window.shifts = [];
const add = (list) => shifts.push(...list.getEntries().filter((one) => !one.hadRecentInput).map(({ value }) => value));
new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
"""


def recorded(name: str) -> bytes:
    """Return a recorded stream."""
    return (TESTS / "golden" / "wire" / f"{name}.sse").read_bytes()


def stream(*parts: Mapping[str, Any]) -> bytes:
    """Encode a stream of parts."""
    return b"".join(b"data: " + json.dumps(part).encode() + b"\n\n" for part in parts) + b"data: [DONE]\n\n"


def answer(text: str, *parts: Mapping[str, Any], status: Mapping[str, Any] = {}, **sections: str) -> bytes:
    """Encode the stream of an answer that cites sections, given as id=URL, with further parts before its status."""
    opened = [
        {
            "type": "data-section",
            "id": id_,
            "data": {"title": id_, "path": [id_], "url": url, "tokens": 9, "state": "read"},
        }
        for id_, url in sections.items()
    ]
    ended = {"state": "answered", "model": "scripted", "sections": len(sections), **status}
    return stream(
        {"type": "start"},
        {"type": "data-outline", "data": {"digest": "d", "sections": 11, "whole": False}},
        *opened,
        {"type": "text-delta", "id": "text-1", "delta": text},
        *parts,
        {"type": "data-status", "data": ended},
        {"type": "finish", "messageMetadata": {"turn": "signed"}},
    )


@dataclass
class Reply:
    """The response of the endpoint to one question."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    drop: int | None = None
    """Number of bytes after which the server disconnects."""
    hold: bytes = b""
    """Wait for `released` before these bytes."""
    every: bool = False
    """Wait each time that these bytes occur, not only once."""
    released: Event = field(default_factory=Event)


class Stage:
    """The folder of a site, the next replies of its endpoint, and the requests that it received."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.replies: list[Reply] = []
        self.released: list[Event] = []
        self.asked: list[dict[str, Any]] = []
        self.healthy = Event()
        self.csp = ""
        self.url = ""

    def plays(self, *replies: Reply | bytes) -> Reply:
        """Set the next replies; return the last one."""
        self.replies = [reply if isinstance(reply, Reply) else Reply(reply) for reply in replies]
        self.released += [reply.released for reply in self.replies]
        return self.replies[-1]

    def write_widget(self, lang: str) -> None:
        """Write the files of the widget."""
        for path, data in iter_widget_files(lang):
            (self.folder / path).write_bytes(data)

    def page(
        self,
        attributes: str = 'endpoint="/"',
        body: str = "",
        name: str = "index.html",
        *,
        lang: str = "en",
        direction: str = "ltr",
        **given: Any,
    ) -> str:
        """Write a page with the widget in a language, and return its URL."""
        if lang != "en":
            self.write_widget(lang)
        data = {"site": SITE_URL, "manifest": "roaming/manifest.json", "path": "settings/", **given}
        dataset = " ".join(f'data-{key}="{escape(value)}"' for key, value in data.items())
        (self.folder / name).write_text(
            f"<!doctype html><html lang={lang} dir={direction}><head><meta charset=utf-8><title>Kettle</title>"
            f'<meta name=viewport content="width=device-width"><link rel=icon href="data:,"></head><body>'
            f"<main><h1>Kettle</h1><p>Boils water. <a href=page2.html>Next</a></p>{body}</main>"
            f"<template data-roaming-page {dataset}></template>"
            f'<script type=module src="roaming/roaming-ask.js"></script><roaming-ask {attributes}></roaming-ask>',
            "utf-8",
        )
        return self.url + name


class _Handler(SimpleHTTPRequestHandler):
    """Serves the folder and the replies."""

    protocol_version = "HTTP/1.1"

    def __init__(self, *given: Any, stage: Stage) -> None:
        self.stage = stage
        super().__init__(*given, directory=str(stage.folder))

    def end_headers(self) -> None:
        if self.stage.csp:
            self.send_header("Content-Security-Policy", self.stage.csp)
        super().end_headers()

    def do_GET(self) -> None:
        if self.path != "/healthz":
            return super().do_GET()
        self.close_connection = True
        if self.stage.healthy.is_set():
            self.send_response(200)
            self.end_headers()
        return None

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
        self.wfile.write(data[: reply.drop])
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def stage(tmp_path: Path, make_site: Callable[..., Any]) -> Iterator[Stage]:
    """The Kettle site with the published widget on its own port."""
    titles = {"Install": "install/", "Settings": "settings/", "Troubleshooting": "trouble/"}
    parts = ["# " + part.lstrip("# ").strip() + "\n" for part in KETTLE.read_text("utf-8").split("\n# ")]
    pages = [
        (titles[text.partition("\n")[0].removeprefix("# ")], text)
        for text in parts
        if text[2:].split("\n")[0] in titles
    ]
    folder: Path = make_site(pages).publish(tmp_path / "site")
    write_index(folder)
    (folder / "page2.html").write_text("<!doctype html><title>Two</title><link rel=icon href='data:,'><h1>Two</h1>")
    with served(folder) as stage:
        stage.write_widget("en")
        yield stage


def write_index(folder: Path, *, with_table: bool = False) -> None:
    """Write the files of the finder, as a build does after it has changed the pages of a site."""
    shutil.rmtree(folder / "roaming" / "finder", ignore_errors=True)
    library = open_library(str(folder))
    for path, data in iter_finder_files(library.manifest, library.text, with_table=with_table):
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(data)


@contextmanager
def served(folder: Path) -> Iterator[Stage]:
    """Serve a folder and replies on a separate port."""
    stage = Stage(folder)
    with serve_requests(partial(_Handler, stage=stage)) as stage.url:
        try:
            yield stage
        finally:
            for released in stage.released:
                released.set()


def hold(page: Page, name: str) -> Callable[[], None]:
    """Hold the requests for a module, and return what lets them continue."""
    held: list[Route] = []
    page.route(f"**/roaming-{name}.js", lambda route: held.append(route))

    def release() -> None:
        while not held:
            page.wait_for_timeout(20)
        for route in held:
            route.continue_()

    return release


def box_of(element: Locator) -> Any:
    """Return the box of an element that is shown."""
    box = element.bounding_box()
    assert box is not None
    return box


def picture(page: Page, name: str) -> None:
    """Save a screenshot into the folder LOOKS, if it is set."""
    if folder := os.environ.get("LOOKS"):
        page.screenshot(path=Path(folder) / f"{name}.png")


# Whether the panel opens by itself, because it was open on the page before.
REOPENS = """() => {
    try {
        const key = `roaming:${new URL("../", document.querySelector("script[src*=roaming-]").src)}:panel`;
        const store = { off: {}, local: localStorage }[document.querySelector("roaming-ask").getAttribute("persist")];
        return innerWidth >= 600 && JSON.parse((store ?? sessionStorage)[key]).open;
    } catch {
        return false;
    }
}"""


class Widget:
    """The widget on a page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.panel = page.locator("roaming-ask dialog")
        self.input = self.panel.locator("textarea")
        self.turns = self.panel.locator("article")
        self.status = self.panel.locator("[role=status]")
        self.alert = self.panel.locator("[role=alert]")
        self.hits = self.panel.locator(".hits:not(.start, .asks) > .hit")

    def open(self) -> Widget:
        """Open the panel if the previous page did not leave it open, and wait for its turns."""
        self.page.locator("roaming-ask .opener").wait_for(state="attached")
        if self.page.evaluate(REOPENS):
            self.panel.wait_for()
        if not self.panel.is_visible():
            buttons = self.page.locator("roaming-ask .opener, .md-header [data-roaming-open]")
            buttons.filter(visible=True).last.click()
        self.panel.locator("[part=log][aria-busy=false]").wait_for()
        return self

    def visit(self, url: str) -> Widget:
        """Load a page, and open its panel."""
        self.page.goto(url)
        return self.open()

    def send(self, question: str) -> None:
        """Send a question, or what the finder shall find."""
        self.input.fill(question)
        self.input.press("Enter")

    def ask(self, question: str) -> Locator:
        """Send a question, and return its turn after it has ended."""
        self.send(question)
        return self.ended()

    def ended(self) -> Locator:
        turn = self.turns.last
        turn.and_(self.page.locator('[aria-busy="false"]')).wait_for()
        return turn

    def focused(self) -> str:
        """Return the focused element, also inside shadow roots."""
        return str(
            self.page.evaluate(
                "() => { let at = document.activeElement; while (at?.shadowRoot?.activeElement) "
                "at = at.shadowRoot.activeElement; return at.className || at.id || at.localName }"
            )
        )


@pytest.fixture
def widget(page: Page) -> Widget:
    """The widget of the next page that is opened."""
    return Widget(page)

"""A real browser, and sites served to it: nothing leaves the machine, and nothing may be wrong on a page."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Request, Route

    Serve = Callable[[Path], str]

ARGUMENTS = (
    "--no-sandbox",  # root in a container has none
    "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # the browser's own traffic too
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what stands here as `browser`."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("browser")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line what was not tested."""
    skipped = [report for report in terminalreporter.stats.get("skipped", ()) if _MISSING in str(report.longrepr)]
    if skipped:
        terminalreporter.write_line(f"{len(skipped)} browser tests skipped: {_MISSING}")


_MISSING = "no Chromium: apt-get install chromium, or name one in CHROMIUM"


# Of a module, not of the session: while playwright runs, asyncio takes its loop for running, and others have their own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Give Chromium; where there is none, what needs it is skipped."""
    from playwright import sync_api  # only for those who need a browser

    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip(_MISSING)
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield launched
        launched.close()


@pytest.fixture
def tolerated() -> str:
    """Give a pattern of faults that are known and somebody else's; a module that has some gives its own."""
    return r"(?!)"


@pytest.fixture
def page(browser: Browser, tolerated: str) -> Iterator[Page]:
    """Give a page that reaches 127.0.0.1 only. An error on it, a file that is missing too, fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    opened = context.new_page()
    opened.set_default_timeout(5_000)
    faults: list[str] = []

    def local_only(route: Route) -> None:
        if urlsplit(route.request.url).hostname == "127.0.0.1":
            route.continue_()
        else:
            faults.append(f"asked for {route.request.url}")
            route.abort()

    context.route("**/*", local_only)
    opened.on("console", lambda said: faults.append(_said(said)) if said.type in ("error", "warning") else None)
    opened.on("response", lambda got: faults.append(f"{got.url}: {got.status}") if got.status >= 400 else None)
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on("requestfailed", lambda request: faults.extend(_failed(request)))
    yield opened
    context.close()
    assert [fault for fault in faults if not re.search(tolerated, fault)] == []


def _failed(request: Request) -> Iterator[str]:
    if request.failure != "net::ERR_ABORTED":  # a page that was asked for ahead, and then not wanted
        yield f"{request.url}: {request.failure}"


def _said(message: ConsoleMessage) -> str:
    return f"{message.location['url']}: {message.text}"


class _Server(ThreadingHTTPServer):
    """Takes it in silence when the browser hangs up."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Quiet(SimpleHTTPRequestHandler):
    """Serves a folder below `/docs/`, and says nothing."""

    below = "/docs/"

    def translate_path(self, path: str) -> str:
        outside = not path.startswith(self.below)
        return super().translate_path("/nowhere/" if outside else path.removeprefix(self.below[:-1]))

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def serve() -> Iterator[Serve]:
    """Serves folders below a sub-path, each on a port of its own, and gives the address. It may be filled later."""
    servers: list[tuple[ThreadingHTTPServer, Thread]] = []

    def started(folder: Path) -> str:
        server = _Server(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}{_Quiet.below}"

    yield started
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()

"""Chromium and local web servers. Requests to other hosts and errors on a page fail the test."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from npm import install
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, Route, sync_playwright
from serving import serve_static

Serve = Callable[[Path], str]
Violations = Callable[[Page, str], list[str]]

ARGUMENTS = (
    "--no-sandbox",  # required for root in a container
    "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # also for the browser itself
)


QUICK = ("test_widget_ask.py", "test_widget_find.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all tests of this folder as `browser`, and as `slow` those beyond the main path."""
    for item in items:
        if item.nodeid.startswith("tests/browser/"):
            item.add_marker("browser")
            if item.path.name not in QUICK:
                item.add_marker("slow")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Report the number of skipped tests."""
    skipped = [report for report in terminalreporter.stats.get("skipped", ()) if _MISSING in str(report.longrepr)]
    if skipped:
        terminalreporter.write_line(f"{len(skipped)} browser tests skipped: {_MISSING}")


_MISSING = "Chromium not found: apt-get install chromium, or set CHROMIUM"


CLOSED = r"ERR_CONNECTION_(?:RESET|REFUSED)|ERR_EMPTY_RESPONSE|ERR_SOCKET_NOT_CONNECTED"
"""The server of a test is closed before its page, perhaps while that loads a module ahead."""


# Not for the session: while Playwright runs, its event loop prevents other tests from running their own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium; tests are skipped without it."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip(_MISSING)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield launched
        launched.close()


@pytest.fixture
def tolerated(request: pytest.FixtureRequest) -> str:
    """A pattern of known errors of other software: `TOLERATED` of the module."""
    return getattr(request.module, "TOLERATED", r"(?!)")


@pytest.fixture
def page(browser: Browser, tolerated: str) -> Iterator[Page]:
    """A page that can reach only 127.0.0.1. Errors and missing files fail the test."""
    context = browser.new_context(
        viewport={"width": 1280, "height": 800},
        reduced_motion="reduce",
        permissions=["clipboard-read", "clipboard-write"],
    )
    opened = context.new_page()
    opened.set_default_timeout(5_000)
    errors: list[str] = []

    def local_only(route: Route) -> None:
        if urlsplit(route.request.url).hostname == "127.0.0.1" or route.request.url.startswith("file:"):
            route.continue_()
        else:
            errors.append(f"request to {route.request.url}")
            route.abort()

    context.route("**/*", local_only)
    opened.on(
        "console", lambda message: errors.append(_format(message)) if message.type in ("error", "warning") else None
    )
    opened.on(
        "response",
        lambda response: errors.append(f"{response.url}: {response.status}") if response.status >= 400 else None,
    )
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("requestfailed", lambda request: errors.extend(_failed(request)))
    yield opened
    context.close()
    assert [error for error in errors if not re.search(f"{tolerated}|{CLOSED}", error)] == []


def _failed(request: Request) -> Iterator[str]:
    if request.failure != "net::ERR_ABORTED":  # a cancelled prefetch
        yield f"{request.url}: {request.failure}"


def _format(message: ConsoleMessage) -> str:
    return f"{message.location['url']}: {message.text}"


@pytest.fixture(scope="module")
def serve() -> Iterator[Serve]:
    """Serves folders below a sub-path on separate ports, and returns the URL. Files may be added later."""
    with ExitStack() as stack:
        yield lambda folder: stack.enter_context(serve_static(folder, "https://docs.example/docs/"))


@pytest.fixture(scope="session")
def violations() -> Violations:
    """Function that returns what axe-core finds wrong with an element of a page."""
    axe = (install_package("axe-core", "4") / "axe.min.js").read_text("utf-8")
    script = """async (element) => (await axe.run(element, { resultTypes: ["violations"] })).violations.flatMap(
        ({ id, nodes }) => nodes.map((node) => `${id}: ${node.target.flat().pop()} ${node.failureSummary}`))"""

    def run(page: Page, element: str) -> list[str]:
        if not page.evaluate("'axe' in window"):
            page.evaluate(axe)
        found: list[str] = page.evaluate(script, element)
        return found

    return run


def install_package(name: str, version: str) -> Path:
    """Return the folder of a package, installed with npm into a cache outside the project."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "mkdocs-roaming-tests"
    folder = cache / name / "node_modules" / name
    if not folder.exists():
        install(f"{name}@{version}", cache / name)
    return folder

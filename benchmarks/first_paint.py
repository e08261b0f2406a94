"""Measure on a slow connection how much later a page is painted because of the widget, and how much its layout shifts.

    python benchmarks/first_paint.py [SITE_DIR …] [--page guide/] [--runs 9]

Each built site with the widget is measured in three ways, in turn: without the widget, with the closed panel, and after a page
load with an open conversation. Chromium has an empty cache, 400 kbit/s and a latency of 400 ms for each request; the server
is on this machine and compresses with gzip. `frame` tells whether the place of the panel was there with the first paint,
`turns` when the conversation was, and `empty` whether the panel said in between that nothing had been asked.
"""

from __future__ import annotations

import argparse
import gzip
import os
import re
import shutil
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

SLOW = {"offline": False, "latency": 400, "downloadThroughput": 50_000, "uploadThroughput": 50_000}
ANSWER = Path(__file__).parents[1] / "tests/golden/wire/answered.sse"
KINDS = ("without", "closed", "restored")
WIDGET = re.compile(  # its elements; the links to Markdown belong to every page
    rb'<script src="[^"]*roaming-early.js" data-roaming></script>|<template data-roaming.*?</template>'
    rb"|<button [^>]*data-roaming-open.*?</button>|<roaming-ask data-roaming.*?</roaming-ask>",
    re.DOTALL,
)
COMPRESSED = (".html", ".css", ".js", ".json", ".svg")
OBSERVE = """() => {
    const seen = (window.seen = { paint: 0, shift: 0, frame: 0, turns: 0, empty: 0 });
    const dialog = () => document.querySelector("roaming-ask")?.shadowRoot?.querySelector("dialog[open]");
    const width = () => dialog()?.offsetWidth ?? parseFloat(getComputedStyle(document.body, "::after").width);
    new PerformanceObserver((list) => {
        for (const { name, startTime } of list.getEntries())
            if (name === "first-contentful-paint") Object.assign(seen, { paint: startTime, frame: width() || 0 });
    }).observe({ type: "paint", buffered: true });
    new PerformanceObserver((list) => {
        for (const { value } of list.getEntries()) seen.shift += value;
    }).observe({ type: "layout-shift", buffered: true });
    const frame = () => {
        if (dialog()?.querySelector("article:not([hidden])")) seen.turns ||= performance.now();
        else if (dialog()?.querySelector(".intro")?.checkVisibility()) seen.empty += 1;
        requestAnimationFrame(frame);
    };
    frame();
}"""


def main() -> None:
    """Measure all sites and print a line for each way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", nargs="*", type=Path, metavar="SITE_DIR", default=[Path("sample_site/site")])
    parser.add_argument("--page", default="")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--width", type=int, default=1440)
    options = parser.parse_args()
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        arguments = [
            "--no-sandbox",
            "--disable-dev-shm-usage",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        ]
        browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
        for site in options.sites:
            measure(browser, site, options.page, options.runs, options.width)
        browser.close()


def measure(browser: Browser, site: Path, path: str, runs: int, width: int) -> None:
    """Measure one page of a site and print its lines."""
    seen: dict[str, list[dict[str, float]]] = {kind: [] for kind in KINDS}
    with served(site) as url:
        for _ in range(runs):
            for kind in KINDS:
                seen[kind].append(visit(browser, url, path, kind, width))
    print(f"{site}/{path}")
    for kind, found in seen.items():
        middle = {name: statistics.median(one[name] for one in found) for name in found[0]}
        times = [one["paint"] for one in found]
        print(
            f"  {kind:9} first paint {middle['paint']:.0f} ms ({min(times):.0f} to {max(times):.0f}), "
            f"shift {max(one['shift'] for one in found):.4f}, frame {middle['frame']:.0f} px, turns {middle['turns']:.0f} ms, "
            f"empty in {sum(one['empty'] > 0 for one in found)}",
            flush=True,
        )


def visit(browser: Browser, url: str, path: str, kind: str, width: int) -> dict[str, float]:
    """Load a page on a slow connection, and return what was seen."""
    context = browser.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    if kind == "restored":
        converse(page, url + "with/" + path)
    page.add_init_script(f"({OBSERVE})()")
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.setCacheDisabled", {"cacheDisabled": True})
    session.send("Network.emulateNetworkConditions", SLOW)
    page.goto(f"{url}{'without' if kind == 'without' else 'with'}/{path}", wait_until="load", timeout=60_000)
    if kind == "restored":
        page.wait_for_function("seen.turns", timeout=60_000)
    page.wait_for_timeout(1_500)
    seen: dict[str, float] = page.evaluate("seen")
    context.close()
    return seen


def converse(page: Page, url: str) -> None:
    """Open the panel and get an answer."""
    page.goto(url)
    page.evaluate(
        """async () => {
            await customElements.whenDefined("roaming-ask");
            const host = document.querySelector("roaming-ask");
            host.setAttribute("endpoint", "/");
            await host.ask("How do I change the port?");
        }"""
    )


class Handler(SimpleHTTPRequestHandler):
    """Serves a site below `/with/` and, without the elements of the widget, below `/without/`; compresses, and answers."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        _, kind, path = self.path.split("?")[0].split("/", 2)
        file = Path(self.directory) / path
        file = file / "index.html" if not path or path.endswith("/") else file
        data = file.read_bytes() if file.is_file() else b""
        if kind == "without" and file.suffix == ".html":
            data = WIDGET.sub(b"", data)
        self._send(200 if data else 404, data, self.guess_type(str(file)), compress=file.suffix in COMPRESSED)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self._send(200, ANSWER.read_bytes(), "text/event-stream")

    def _send(self, status: int, data: bytes, kind: str, *, compress: bool = False) -> None:
        self.send_response(status)
        if compress:
            data = gzip.compress(data, 6)
            self.send_header("content-encoding", "gzip")
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore disconnects."""


@contextmanager
def served(site: Path) -> Iterator[str]:
    """Serve a site, and yield the address."""
    server = Server(("127.0.0.1", 0), partial(Handler, directory=str(site)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


if __name__ == "__main__":
    main()

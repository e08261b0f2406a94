"""Measure how long the preview of a site takes to open in Chromium.

    python benchmarks/preview.py SITE [--runs 5]
    python benchmarks/preview.py sample_site/site --pictures docs/images

SITE is the folder of a built site, published or not. Each run uses a new browser context. Times are from the start of the
navigation until the view is shown: the list of pages, and one page with its HTML and Markdown; then the findings, which
are computed once by the server, and a search. With `--pictures`, the images of docs/guides/preview.md are written instead.
"""

from __future__ import annotations

import argparse
import base64
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

VIEWS = ("llms.txt", "page", "findings", "search")
PICTURES = (
    ("preview-page", "light", "#page=guide/data/storage/", 1280, 760),
    ("preview-outline", "dark", "#view=outline", 1280, 640),
)


@contextmanager
def serve(site: str) -> Iterator[str]:
    """Run `roaming preview` and yield its URL."""
    command = [sys.executable, "-m", "mkdocs_roaming", "preview", site, "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            yield line.split()[0]
        finally:
            process.terminate()


def measure(browser: Browser, url: str) -> tuple[dict[str, float], int, int]:
    """Open each view once; return the times in seconds, and the requests and bytes of the first."""
    context = browser.new_context()
    page = context.new_page()
    sizes: list[int] = []
    page.on("response", lambda response: sizes.append(int(response.headers.get("content-length", 0))))
    times = {"llms.txt": timed(page, url, "main .stats")}
    requests, size = len(sizes), sum(sizes)
    link = page.locator("#side a.entry[href*='page=']").last.get_attribute("href") or ""
    started = time.perf_counter()
    page.locator("[data-view=lint] .number").wait_for(state="attached")
    times["findings"] = time.perf_counter() - started + times["llms.txt"]
    page.close()
    page = context.new_page()
    times["page"] = timed(page, url + link, "main .section pre")
    started = time.perf_counter()
    page.locator("#search").fill("how do I configure the color")
    page.locator("main h1", has_text="how do I").or_(page.locator("main h1", has_text="Nothing")).wait_for()
    times["search"] = time.perf_counter() - started
    context.close()
    return times, requests, size


def timed(page: Page, url: str, selector: str) -> float:
    """Open a view and return the time until it is shown."""
    started = time.perf_counter()
    page.goto(url, wait_until="commit")
    page.locator(selector).first.wait_for()
    return time.perf_counter() - started


def take_pictures(browser: Browser, url: str, folder: Path) -> None:
    """Write the images of the documentation."""
    for name, scheme, view, width, height in PICTURES:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        page = context.new_page()
        page.goto(url + view)
        page.locator("[data-view=lint] .number").wait_for(state="attached")
        page.wait_for_timeout(500)
        session = context.new_cdp_session(page)
        image = session.send("Page.captureScreenshot", {"format": "webp", "quality": 60})
        (folder / f"{name}.webp").write_bytes(base64.b64decode(image["data"]))
        context.close()


def main() -> None:
    """Print the times of all runs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("site")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--pictures", type=Path, metavar="FOLDER")
    given = parser.parse_args()
    with serve(given.site) as url, sync_playwright() as playwright:
        path = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        if given.pictures:
            take_pictures(browser, url, given.pictures)
            return
        runs = [measure(browser, url) for _ in range(given.runs)]
        browser.close()
    print(f"{url}: {runs[0][1]} requests, {runs[0][2] / 1024:.0f} KiB until the first view")
    print(f"{'view':10} {'first':>8} {'median':>8} {'worst':>8}  seconds")
    for view in VIEWS:
        times = [run[0][view] for run in runs]
        print(f"{view:10} {times[0]:8.2f} {statistics.median(times):8.2f} {max(times):8.2f}")


if __name__ == "__main__":
    main()

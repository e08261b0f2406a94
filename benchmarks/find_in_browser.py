"""Measure how soon the widget's finder shows results in Chromium.

    python benchmarks/find_in_browser.py [SITE/roaming/manifest.json …] [--sections 5000] [--runs 5] [--before REVISION]

Each site is measured with the index that builds write, and without it, when the finder reads the manifest; with
`--before` also with the widget of another revision. The pages of a site are repeated up to the number of sections; a
generated site is measured as well. A run opens a new page with an empty cache, types a word and waits for the frame with
the first result: loading of the modules and of the index is included, from a server on this machine. The kinds of a site
alternate in each round, so that the load of the machine does not favour one; the median counts. `keystroke` is the
time to search and draw for each prefix of the questions after that.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import shutil
import statistics
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from threading import Thread
from typing import Any

from playwright.sync_api import Browser, sync_playwright
from scale import WORDS

from mkdocs_roaming.manifest.io import load_manifest
from mkdocs_roaming.publish.elements.finder_index import INDEX_PATH, render_finder_index
from mkdocs_roaming.publish.elements.widget import iter_widget_files

ROOT = Path(__file__).parents[1]
QUESTIONS = (
    "how do I configure the social cards plugin",
    "install on debian",
    "TemplateResponse timeout",
    "--strict mode",
)
PAGE = """<!doctype html><title>Finder</title><link rel="icon" href="data:,"><h1>Finder</h1>
<template data-roaming-page data-manifest="manifest.json" {index}></template>
<script type="module" src="roaming/roaming-ask.js"></script><roaming-ask></roaming-ask>"""
FIRST = """async (text) => {
    const host = document.querySelector("roaming-ask");
    host.open();
    const input = host.shadowRoot.querySelector("textarea");
    const frame = () => new Promise(requestAnimationFrame);
    const type = async (text, shown) => {
        const started = performance.now();
        input.value = text;
        input.dispatchEvent(new Event("input"));
        while (!shown()) await frame();
        await new Promise((next) => setTimeout(next));
        return performance.now() - started;
    };
    const find = (name) => host.shadowRoot.querySelector(name);
    return type(text, () => find(".hit"));
}"""
KEYSTROKES = """async (questions) => {
    const host = document.querySelector("roaming-ask");
    const input = host.shadowRoot.querySelector("textarea");
    const times = [];
    for (const question of questions)
        for (let end = 1; end <= question.length; end++) {
            const started = performance.now();
            input.value = question.slice(0, end);
            const drawn = new Promise((next) => new MutationObserver((_, observer) => (observer.disconnect(), next()))
                .observe(host.shadowRoot.querySelector(".found"), { childList: true }));
            input.dispatchEvent(new Event("input"));
            await drawn;
            host.shadowRoot.querySelector(".found").offsetHeight;
            times.push(performance.now() - started);
        }
    return times;
}"""


def main() -> None:
    """Measure all sites and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifests", nargs="*", type=Path)
    parser.add_argument("--sections", type=int, default=5_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--before", metavar="REVISION")
    options = parser.parse_args()
    sites = {"generated": generate(options.sections)}
    for path in options.manifests:
        manifest = repeat(json.loads(path.read_bytes()), options.sections)
        sites[manifest["site"]["name"]] = manifest
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"])
        for name, manifest in sites.items():
            with tempfile.TemporaryDirectory() as folder:
                measure(browser, name, manifest, Path(folder), options.runs, options.before)
        browser.close()


def measure(browser: Browser, name: str, manifest: dict[str, Any], folder: Path, runs: int, before: str | None) -> None:
    """Measure one site and print a line for each kind."""
    text = json.dumps(manifest).encode()
    index = render_finder_index(load_manifest(text))
    kinds = {"index": f'data-index="{INDEX_PATH}"', "manifest": "", **({before: ""} if before else {})}
    for kind, attribute in kinds.items():
        (folder / kind / "roaming").mkdir(parents=True)
        (folder / kind / "index.html").write_text(PAGE.format(index=attribute))
        (folder / kind / "manifest.json").write_bytes(text)
        (folder / kind / INDEX_PATH).write_bytes(index)
        for path, data in iter_widget_files("en") if kind != before else iter_modules(kind):
            (folder / kind / path).write_bytes(data)
    first: dict[str, list[float]] = {kind: [] for kind in kinds}
    keystrokes: dict[str, list[float]] = {kind: [] for kind in kinds}
    with served(folder) as url:
        for run in range(runs):
            for kind in kinds:
                page = browser.new_page()
                page.goto(f"{url}{kind}/")
                page.wait_for_function("document.querySelector('roaming-ask').shadowRoot?.querySelector('button')")
                first[kind].append(page.evaluate(FIRST, "configure"))
                if not run:
                    keystrokes[kind] = sorted(page.evaluate(KEYSTROKES, list(QUESTIONS)))
                page.close()
    sections = sum(len(page["sections"]) for page in manifest["pages"])
    sizes = {kind: len(gzip.compress(index if kind == "index" else text, 9)) // 1000 for kind in kinds}
    base = statistics.median(first["index"])
    for kind, times in first.items():
        median, strokes = statistics.median(times), keystrokes[kind]
        print(
            f"{name}, {sections} sections, {kind} ({sizes[kind]} KB): first result {median:.0f} ms "
            f"({min(times):.0f} to {max(times):.0f}), {median / base:.1f} times that of the index; keystroke, "
            f"median {statistics.median(strokes):.1f} ms, 95 % {strokes[int(0.95 * len(strokes))]:.1f} ms",
            flush=True,
        )


def repeat(manifest: dict[str, Any], sections: int) -> dict[str, Any]:
    """Repeat the pages of a site up to a number of sections; paths and ids stay distinct."""
    pages = manifest["pages"]
    count = sum(len(page["sections"]) for page in pages)
    copies = []
    for number in range(-(-sections // count)):
        for page in pages:
            changed = [
                {**section, "id": f"{(int(section['id'], 16) + number) % 2**32:08x}"} for section in page["sections"]
            ]
            path = page["path"] if not number else f"copy-{number}/{page['path']}"
            copies.append({**page, "path": path, "id": changed[0]["id"], "sections": changed})
    return {**manifest, "pages": copies}


def generate(sections: int, per_page: int = 10) -> dict[str, Any]:
    """Return the manifest of a generated site."""
    rng = random.Random(1)
    words = [*WORDS, *(f"{first}{second.title()}" for first in WORDS for second in WORDS), "configure", "timeout"]

    def prose(least: int, most: int) -> str:
        return " ".join(rng.choices(words, k=rng.randint(least, most))).capitalize()

    def section(number: int) -> dict[str, Any]:
        start, digest = number % per_page * 400, f"{rng.randrange(2**32):08x}"
        place = {"start": start, "end": start + 400, "anchor": f"s{number}", "digest": digest, "tokens": 100}
        text = {"title": prose(2, 6), "opening": prose(8, 22) + "."}
        return {"id": f"{number:08x}", "level": 2 if number % per_page else 1, **text, **place}

    pages = []
    for number in range(0, sections, per_page):
        own = [section(at) for at in range(number, number + per_page)]
        path, size = f"p{number}/", 400 * per_page
        files = {"path": path, "markdown": f"{path}index.md", "digest": "sha256:" + "0" * 64, "bytes": size}
        pages.append({"id": own[0]["id"], "title": own[0]["title"], **files, "sections": own})
    site = {"name": "generated", "url": "https://docs.example/", "language": "en"}
    return {
        "version": 1,
        "generator": "benchmark",
        "digest": "sha256:" + "0" * 64,
        "site": site,
        "pages": pages,
        "nav": [],
    }


def iter_modules(revision: str) -> Iterator[tuple[str, bytes]]:
    """Yield the published modules of the widget at a revision."""
    command = ["git", "-C", str(ROOT), "archive", revision, "mkdocs_roaming/widget"]
    with tarfile.open(fileobj=BytesIO(subprocess.run(command, check=True, capture_output=True).stdout)) as archive:
        for member in archive:
            if member.name.endswith(".js") and (file := archive.extractfile(member)):
                yield f"roaming/{Path(member.name).name}", file.read()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder, and yield its URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


if __name__ == "__main__":
    main()

"""Measure how soon the widget's finder shows results in Chromium, and the size of its index.

    python benchmarks/find_in_browser.py [SITE_DIR …] [--sections 5000] [--runs 5]

The pages of a site are repeated up to the number of sections, each time with another word; a generated site is measured
as well. A run opens a new page with an empty cache, types a word and waits for the frame with the first result: loading of
the modules, of the index and of a shard is included, from a server on this machine. `keystroke` is the time to search and
draw for each prefix of the questions after that, with the shards that it loads. Sizes are compressed with gzip.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from msgspec.structs import replace
from playwright.sync_api import Browser, sync_playwright
from scale import WORDS

from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.manifest.io import load_manifest
from mkdocs_roaming.manifest.lookup import SectionRef
from mkdocs_roaming.manifest.models import Manifest
from mkdocs_roaming.publish.elements.finder_index import INDEX_PATH, iter_finder_files
from mkdocs_roaming.publish.elements.widget import iter_widget_files

QUESTIONS = (
    "how do I configure the social cards plugin",
    "install on debian",
    "TemplateResponse timeout",
    "--strict mode",
)
PAGE = """<!doctype html><title>Finder</title><link rel="icon" href="data:,"><h1>Finder</h1>
<template data-roaming-page data-manifest="roaming/manifest.json"></template>
<script type="module" src="roaming/roaming-ask.js"></script><roaming-ask></roaming-ask>"""
FIRST = """async (text) => {
    const host = document.querySelector("roaming-ask");
    await host.open();
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


Read = Callable[[SectionRef], str]


def main() -> None:
    """Measure all sites and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", nargs="*", type=Path, metavar="SITE_DIR")
    parser.add_argument("--sections", type=int, default=5_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"])
        for path in (None, *options.sites):
            manifest, read = repeat(path, options.sections) if path else generate(options.sections)
            with tempfile.TemporaryDirectory() as folder:
                measure(browser, manifest, read, Path(folder), options.runs)
        browser.close()


def measure(browser: Browser, manifest: Manifest, read: Read, folder: Path, runs: int) -> None:
    """Measure one site and print a line."""
    files = dict(iter_finder_files(manifest, read))
    (folder / "roaming/finder").mkdir(parents=True)
    (folder / "index.html").write_text(PAGE)
    for path, data in (*files.items(), *iter_widget_files("en")):
        (folder / path).write_bytes(data)
    first: list[float] = []
    with served(folder) as url:
        for run in range(runs):
            page = browser.new_page()
            page.goto(url)
            page.wait_for_function("document.querySelector('roaming-ask').shadowRoot?.querySelector('button')")
            first.append(page.evaluate(FIRST, "configure"))
            if not run:
                strokes = sorted(page.evaluate(KEYSTROKES, list(QUESTIONS)))
            page.close()
    sections = sum(len(page.sections) for page in manifest.pages)
    sizes = {path: len(gzip.compress(data, 9)) / 1000 for path, data in files.items()}
    main = sizes.pop(INDEX_PATH)
    total = main + sum(sizes.values())
    print(
        f"{manifest.site.name}, {sections} sections: finder.json {main:.0f} KB, {len(sizes)} shards {total - main:.0f} KB, "
        f"{1000 * total / sections:.0f} KB per 1,000 sections; first result {statistics.median(first):.0f} ms "
        f"({min(first):.0f} to {max(first):.0f}); keystroke, median {statistics.median(strokes):.1f} ms, "
        f"95 % {strokes[int(0.95 * len(strokes))]:.1f} ms",
        flush=True,
    )


def repeat(folder: Path, sections: int) -> tuple[Manifest, Read]:
    """Repeat the pages of a site up to a number of sections; paths and ids stay distinct."""
    library = open_library(folder)
    manifest, pages, texts = library.manifest, [], {}
    for number in range(max(1, sections // len(library.sections))):
        for section in library.sections:
            id_ = f"{(int(section.id, 16) + number) % 2**32:08x}"
            texts[id_] = f"copy{number} {library.text(section)}" if number else library.text(section)
        for page in manifest.pages:
            own = [replace(one, id=f"{(int(one.id, 16) + number) % 2**32:08x}", aliases=()) for one in page.sections]
            path = f"copy-{number}/{page.path}" if number else page.path
            pages.append(replace(page, path=path, id=own[0].id, sections=tuple(own)))
    return replace(manifest, pages=tuple(pages)), lambda section: texts[section.id]


def generate(sections: int, per_page: int = 10) -> tuple[Manifest, Read]:
    """Return the manifest of a generated site, and a function that returns the text of a section."""
    rng = random.Random(1)
    words = [*WORDS, *(f"{first}{second.title()}" for first in WORDS for second in WORDS), "configure", "timeout"]

    def prose(least: int, most: int) -> str:
        return " ".join(rng.choices(words, k=rng.randint(least, most))).capitalize()

    def section(number: int) -> dict[str, Any]:
        start, digest = number % per_page * 400, f"{rng.randrange(2**32):08x}"
        place = {"start": start, "end": start + 400, "anchor": f"s{number}", "digest": digest, "tokens": 100}
        text = {"title": prose(2, 6), "opening": prose(8, 22) + "."}
        return {"id": f"{number:08x}", "level": 2 if number % per_page else 1, **text, **place}

    pages: list[dict[str, Any]] = []
    for number in range(0, sections, per_page):
        own = [section(at) for at in range(number, number + per_page)]
        path, size = f"p{number}/", 400 * per_page
        files = {"path": path, "markdown": f"{path}index.md", "digest": "sha256:" + "0" * 64, "bytes": size}
        pages.append({"id": own[0]["id"], "title": own[0]["title"], **files, "sections": own})
    site = {"name": "generated", "url": "https://docs.example/", "language": "en"}
    digest = "sha256:" + "0" * 64
    data = {"version": 1, "generator": "benchmark", "digest": digest, "site": site, "pages": pages, "nav": []}
    texts = {
        one["id"]: f"{one['title']}\n\n{one['opening']} {prose(60, 180)}." for page in pages for one in page["sections"]
    }
    return load_manifest(json.dumps(data).encode()), lambda section: texts[section.id]


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

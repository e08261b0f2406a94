"""Take the pictures of README and documentation: home page, widget, page menu, preview.

    python benchmarks/pictures.py [FOLDER] [--only NAME]...

Requires Chromium, playwright, Pillow (`uv pip install pillow`) and the font Roboto (`apt-get install
fonts-roboto-unhinted`). The sample site is built and served with a scripted model, so no API key is required, and the
pictures are the same each time. The addresses of the pages are local ones.
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from crawl_hosts import find_free_port
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[1]
SITE_URL = "https://docs.ebbkeeper.example/handbook/"
PAGE = "guide/data/storage/"
QUESTION = "How do I stop the server without losing readings?"
ANSWER = """\
Stop the service. It drains the journal first; what is not drained by then stays in the journal and is taken up at the
next start, so nothing is lost. [^d5c669c2]

```sh
# wait longer for a large journal
ebb drain --drain-window 120s --then stop
```

[^c60918d3]

The *drain window* is the longest time this may take. [^d5c669c2]

| where | name | default |
| :-- | :-- | :-- |
| `ebb drain` | `--drain-window` | 83 s |
| settings | `journal.drain_window` | 83s |

[^c60918d3][^9f943be9]

The service unit waits 97 seconds before it kills, so raise both. [^d5c669c2]
"""
OPENED = "9f943be9"
UNANSWERED = "Is there a Grafana dashboard for metrics?"
NO_ANSWER = "The documentation describes the metrics, but no dashboard for Grafana. [^none]"
QUESTIONS = [
    QUESTION,
    "What does a power cut cost?",
    "How much disk do five years of readings need?",
    "What happens when the disk is full?",
]
WIDGET = {
    "endpoint": "/",
    "feedback": True,
    "questions": QUESTIONS,
    "links": [{"label": "Ask in the forum", "url": "https://forum.ebbkeeper.example/new?title={question}"}],
}
THEME = """\
  palette:
    - media: "(prefers-color-scheme: light)"
      scheme: default
      toggle: {icon: material/weather-night, name: Dark}
    - media: "(prefers-color-scheme: dark)"
      scheme: slate
      toggle: {icon: material/weather-sunny, name: Light}
"""
STEP_SCRIPT = """() => {
    const element = document.querySelector("roaming-ask");
    const { request } = element;
    element.request = async (...args) => {
        const parts = (await (await request.apply(element, args)).text()).split(/(?<=\\n\\n)/);
        return new Response(new ReadableStream({ start(control) {
            // Sends events up to the next visible one and returns its kind.
            window.next = () => {
                let kind;
                while (parts.length && !kind) {
                    const part = parts.shift();
                    kind = /data-outline|"state":"(open|read)"|text-delta/.exec(part)?.[0];
                    control.enqueue(new TextEncoder().encode(part));
                }
                if (!parts.length) control.close();
                return parts.length ? kind : undefined;
            };
        } }));
    };
}"""


# States of the widget


def open_panel(page: Page) -> None:
    """Open the panel; the mouse rests in the corner."""
    page.evaluate("customElements.whenDefined('roaming-ask').then(() => document.querySelector('roaming-ask').open())")
    page.locator("roaming-ask textarea").wait_for()
    page.mouse.move(0, 0)


def answer_question(page: Page, question: str = QUESTION) -> None:
    """Ask a question and wait for the answer."""
    open_panel(page)
    page.locator("roaming-ask textarea").fill(question)
    page.keyboard.press("Enter")
    page.locator("roaming-ask article[aria-busy=false]").wait_for()
    page.evaluate("document.querySelector('roaming-ask').shadowRoot.activeElement?.blur()")


def show_answer(page: Page) -> None:
    """Show the start of an answer."""
    answer_question(page)
    page.locator("roaming-ask [part=log]").evaluate("(log) => (log.scrollTop = 0)")


def show_sources(page: Page) -> None:
    """Show the end of an answer."""
    answer_question(page)
    page.locator("roaming-ask [part=actions]").last.scroll_into_view_if_needed()


def show_citation(page: Page) -> None:
    """Show the card of a citation."""
    show_answer(page)
    page.locator("roaming-ask .cite").first.hover()


def show_passage(page: Page) -> None:
    """Follow a citation to its passage."""
    show_answer(page)
    page.locator("roaming-ask .cite[href*='/reference/cli/']").first.click()
    page.wait_for_url("**/reference/cli/**", wait_until="load")
    page.locator("roaming-ask article[aria-busy=false]").wait_for()


def show_not_found(page: Page) -> None:
    """Show the nearest sections and a link."""
    answer_question(page, UNANSWERED)
    page.locator("roaming-ask [part=actions]").last.scroll_into_view_if_needed()


def show_finder(page: Page) -> None:
    """Find sections without an endpoint."""
    page.evaluate("document.querySelector('roaming-ask').setAttribute('mode', 'finder')")
    page.evaluate("customElements.whenDefined('roaming-ask').then(() => document.querySelector('roaming-ask').open())")
    page.locator("roaming-ask :is(textarea, input)").first.fill("drain window")
    page.locator("roaming-ask .hit").first.wait_for()


def show_search(page: Page) -> None:
    """Ask from the search of Material."""
    page.locator(".md-search__input").click()
    page.wait_for_load_state("networkidle")
    page.keyboard.type("stop without loss", delay=60)
    page.locator(".md-search-result__item").first.wait_for()


def show_page_menu(page: Page) -> None:
    """Open the menu of a page."""
    page.locator("roaming-menu").first.click()


@dataclass(frozen=True)
class Picture:
    """A picture: what to show, the size of the window, the answer, and the part of the window."""

    show: Callable[[Page], None]
    width: int = 1440
    height: int = 900
    scheme: str = "light"
    answer: str = ANSWER
    clip: tuple[int, int, int, int] | None = None


PICTURES = {
    "widget-dark.webp": Picture(show_answer, scheme="dark"),
    "widget-empty.webp": Picture(open_panel),
    "widget-sources.webp": Picture(show_sources),
    "widget-citation.webp": Picture(show_citation, clip=(880, 56, 560, 520)),
    "widget-passage.webp": Picture(show_passage),
    "widget-not-found.webp": Picture(show_not_found, answer=NO_ANSWER, clip=(1044, 48, 396, 852)),
    "widget-finder.webp": Picture(show_finder, scheme="dark"),
    "widget-search.webp": Picture(show_search, height=560),
    "widget-phone.webp": Picture(show_answer, 390, 780),
    "page-menu.png": Picture(show_page_menu, clip=(600, 60, 560, 580)),
}
ANIMATION = "turn.webp"
HOME = "home.webp"
PREVIEW = "preview.webp"


def main() -> None:
    """Take all pictures, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "docs/images")
    parser.add_argument("--only", action="append", metavar="NAME", help="file name; can be repeated (default: all)")
    given = parser.parse_args()
    wanted = set(given.only or (*PICTURES, ANIMATION, HOME, PREVIEW))
    given.folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        playwright = stack.enter_context(sync_playwright())
        path = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        stack.callback(browser.close)
        for name, picture in PICTURES.items():
            if name in wanted:
                with serve_site(folder, picture.answer, page_menu=picture.show is show_page_menu) as url:
                    take_picture(browser, url, picture, given.folder / name)
        if ANIMATION in wanted:
            with serve_site(folder, ANSWER) as url:
                save_animation(browser, url, given.folder / ANIMATION)
        if HOME in wanted:
            save_home(browser, folder / "documentation", given.folder / HOME)
        if PREVIEW in wanted:
            save_preview(browser, folder, given.folder / PREVIEW)


# The site


@contextmanager
def serve_site(folder: Path, answer: str, *, page_menu: bool = False) -> Iterator[str]:
    """Build the sample site with the widget, and serve it with an answer; yield its URL."""
    port = find_free_port()
    url = f"http://127.0.0.1:{port}/"
    site, script = build_site(folder, url, {"widget": WIDGET, "page_menu": page_menu}), folder / "script.json"
    call = {"name": "expand_sections", "arguments": {"ids": [OPENED]}}
    script.write_text(json.dumps([[{"call": call}], [{"text": answer}]]), "utf-8")
    command = [sys.executable, "-m", "mkdocs_roaming", "serve", str(site), "--site", str(site), "--port", str(port)]
    server = subprocess.Popen([*command, "--model", f"scripted:{script}"], stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        next(line for line in server.stderr if "http://" in line)
        yield url
    finally:
        server.terminate()
        server.wait()


def build_site(folder: Path, url: str, options: Mapping[str, Any]) -> Path:
    """Build the sample site for a URL."""
    sample, site = folder / "sample", folder / "site"
    shutil.copytree(ROOT / "sample_site", sample, ignore=shutil.ignore_patterns("site"), dirs_exist_ok=True)
    config = sample / "mkdocs.yml"
    text = config.read_text("utf-8").replace(SITE_URL, url)
    text = text.replace("  font: false\n", f"  font: false\n{THEME}", 1) + "\nextra_css: [pictures.css]\n"
    (sample / "docs/pictures.css").write_text(":root { --md-text-font: Roboto }\n", "utf-8")
    lines = "".join(f"      {name}: {json.dumps(value)}\n" for name, value in options.items())
    config.write_text(text.replace("  - roaming:\n", f"  - roaming:\n{lines}", 1), "utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "-f", str(config), "-d", str(site)]
    subprocess.run(command, check=True, capture_output=True)
    return site


# Images


def take_picture(browser: Browser, url: str, picture: Picture, file: Path) -> None:
    """Show a state and write its picture; one that cannot be shown is reported."""
    is_phone = picture.width < 600
    context = browser.new_context(
        viewport={"width": picture.width, "height": picture.height},
        color_scheme=picture.scheme,
        device_scale_factor=2,
        has_touch=is_phone,
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.set_default_timeout(30_000)
    page.goto(url + PAGE)
    picture.show(page)
    page.wait_for_timeout(800)  # images, cards that open with a delay
    x, y, width, height = picture.clip or (0, 0, picture.width, picture.height)
    clip = {"x": x, "y": y, "width": width, "height": height}
    image = Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB")
    if file.suffix == ".png":
        image.quantize(192, dither=Image.Dither.NONE).save(file, optimize=True)
    else:
        scale = 1 if picture.clip or is_phone else 0.75
        size = round(image.width * scale), round(image.height * scale)
        image.resize(size, Image.Resampling.LANCZOS).save(file, quality=80, method=6)
    context.close()
    print(f"{file}: {file.stat().st_size:,} bytes")


def save_animation(browser: Browser, url: str, file: Path) -> None:
    """Save an animation of the panel while sections are opened and the answer is streamed."""
    page = browser.new_page(viewport={"width": 1100, "height": 756}, reduced_motion="reduce", color_scheme="light")
    page.goto(url + PAGE)
    open_panel(page)
    page.evaluate(STEP_SCRIPT)
    frames: list[tuple[Image.Image, int]] = []

    def add_frame(milliseconds: int) -> None:
        panel = page.locator("roaming-ask dialog").bounding_box()
        assert panel is not None
        frames.append((Image.open(io.BytesIO(page.screenshot(clip=panel))).convert("RGB"), milliseconds))

    page.locator("roaming-ask textarea").fill(QUESTION)
    page.keyboard.press("Enter")
    page.wait_for_function("() => !!window.next")
    while kind := page.evaluate("next()"):
        page.wait_for_timeout(300)
        add_frame({"data-outline": 1200, "text-delta": 700}.get(kind, 350))
    page.locator("roaming-ask article[aria-busy=false]").wait_for()
    page.wait_for_timeout(300)
    add_frame(4000)
    save_frames(frames, file)


def save_home(browser: Browser, site: Path, file: Path) -> None:
    """Save an animation of the home page of the documentation while it plays its first recorded answer."""
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "-f", str(ROOT / "mkdocs.yml"), "-d", str(site)]
    subprocess.run(command, check=True, capture_output=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(site)))
    Thread(target=server.serve_forever, daemon=True).start()
    page = browser.new_page(viewport={"width": 1280, "height": 760}, device_scale_factor=1.25, color_scheme="light")
    page.goto(f"http://127.0.0.1:{server.server_port}/")
    page.locator("[data-roaming-panel] roaming-ask article").wait_for()
    frames: list[tuple[Image.Image, int]] = []
    while page.locator("roaming-ask article[aria-busy=true]").count():
        frames.append((Image.open(io.BytesIO(page.screenshot())).convert("RGB"), 350))
        page.wait_for_timeout(250)
    page.wait_for_timeout(400)
    frames.append((Image.open(io.BytesIO(page.screenshot())).convert("RGB"), 5000))
    server.shutdown()
    save_frames(frames, file)


def save_preview(browser: Browser, folder: Path, file: Path) -> None:
    """Save a picture of the pages in the preview of the sample site."""
    site = build_site(folder, SITE_URL, {})
    command = [sys.executable, "-m", "mkdocs_roaming", "preview", str(site), "-o", str(folder / "preview.html")]
    subprocess.run(command, check=True, capture_output=True)
    page = browser.new_page(viewport={"width": 1280, "height": 760}, color_scheme="light")
    page.goto(f"{(folder / 'preview.html').as_uri()}#pages")
    save_frames([(Image.open(io.BytesIO(page.screenshot())).convert("RGB"), 0)], file)


def save_frames(frames: list[tuple[Image.Image, int]], file: Path) -> None:
    """Write an animation. A frame has an image and its duration in milliseconds."""
    first, *rest = (image for image, _ in frames)
    durations = [milliseconds for _, milliseconds in frames]
    first.save(file, save_all=True, append_images=rest, duration=durations, loop=0, quality=80, method=6)
    print(f"{file}: {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

"""Create the images of README: an answer of the widget on the sample site, as screenshot and as animation.

    python benchmarks/picture.py [FOLDER]

Requires Chromium, playwright and Pillow (`uv pip install pillow`). The offline model answers, so no API key is required
and the images are reproducible. In the animation the events of its answer are delayed.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[1]
QUESTION = "How do I stop without losing readings?"
PAGE = "guide/data/storage/"
WIDTH, HEIGHT = 1120, 756
PANEL = 416
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
                    kind = /data-outline|"state":"open"|text-delta/.exec(part)?.[0];
                    control.enqueue(new TextEncoder().encode(part));
                }
                if (!parts.length) control.close();
                return parts.length ? kind : undefined;
            };
        } }));
    };
}"""


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images"
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        playwright = stack.enter_context(sync_playwright())
        site = build_site(Path(stack.enter_context(tempfile.TemporaryDirectory())))
        with serve_site(site) as url:
            chromium = shutil.which("chromium") or shutil.which("chromium-browser")
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=2)
            page.goto(url + PAGE)
            save_screenshot(page, folder / "turn.png")
            page = browser.new_page(viewport={"width": 1000, "height": HEIGHT}, reduced_motion="reduce")
            page.goto(url + PAGE)
            save_animation(page, folder / "turn.webp")
            browser.close()
    for name in ("turn.png", "turn.webp"):
        print(f"{folder / name}: {(folder / name).stat().st_size:,} bytes")


def build_site(folder: Path) -> Path:
    """Build the sample site with the widget."""
    shutil.copytree(ROOT / "sample_site", folder / "sample", ignore=shutil.ignore_patterns("site"))
    config = folder / "sample" / "mkdocs.yml"
    text = config.read_text("utf-8")
    config.write_text(text.replace("  - roaming:\n", "  - roaming:\n      widget: {endpoint: /}\n"), "utf-8")
    site = folder / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "-f", str(config), "-d", str(site)]
    subprocess.run(command, check=True, capture_output=True)
    return site


@contextmanager
def serve_site(site: Path) -> Iterator[str]:
    """Run `roaming serve` with the offline model; yield the URL."""
    command = [sys.executable, "-m", "mkdocs_roaming", "serve", str(site), "--site", str(site), "--port", "0"]
    server = subprocess.Popen([*command, "--model", "offline"], stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        yield (
            next(word for line in server.stderr for word in line.split() if word.startswith("http://")).rstrip(",/")
            + "/"
        )
    finally:
        server.terminate()
        server.wait()


def send_question(page: Page) -> None:
    page.locator("roaming-ask .opener").click()
    page.locator("roaming-ask textarea").fill(QUESTION)
    page.keyboard.press("Enter")
    page.mouse.move(0, 0)


def save_screenshot(page: Page, file: Path) -> None:
    """Save a screenshot of the page with a complete answer."""
    send_question(page)
    page.get_by_role("button", name="Copy link").wait_for()
    image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    image.quantize(40, dither=Image.Dither.NONE).save(file, optimize=True)


def save_animation(page: Page, file: Path) -> None:
    """Save an animation of the panel while sections are opened and the answer is streamed."""
    page.evaluate(STEP_SCRIPT)
    frames: list[tuple[Image.Image, int]] = []

    def add_frame(milliseconds: int) -> None:
        clip = {"x": 1000 - PANEL, "y": 0, "width": PANEL, "height": HEIGHT}
        image = Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB")
        frames.append((image, milliseconds))

    send_question(page)
    page.wait_for_function("() => !!window.next")
    while kind := page.evaluate("next()"):
        page.wait_for_timeout(50)
        add_frame({"data-outline": 1200, "text-delta": 600}.get(kind, 350))
    page.locator("roaming-ask article[aria-busy=false]").wait_for()
    page.wait_for_timeout(200)
    add_frame(4000)
    first, *rest = (image for image, _ in frames)
    durations = [milliseconds for _, milliseconds in frames]
    first.save(file, save_all=True, append_images=rest, duration=durations, loop=0, lossless=True, method=6)


if __name__ == "__main__":
    main()

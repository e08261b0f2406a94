"""Take the pictures of README: a turn of the widget on the sample site, as a still and as it comes about.

    python benchmarks/picture.py [FOLDER]

Needs Chromium, playwright and Pillow (`uv pip install pillow`). The offline model answers, so no key is needed, and
anybody gets what the pictures show. It takes no time to speak of: in the moving picture its answer comes slowly.
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
SLOWLY = """() => {
    const element = document.querySelector("roaming-ask");
    const { request } = element;
    element.request = async (...given) => {
        const parts = (await (await request.apply(element, given)).text()).split(/(?<=\\n\\n)/);
        return new Response(new ReadableStream({ start(control) {
            // Lets parts come up to the next that is seen, and gives its kind.
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
    with ExitStack() as open_:
        playwright = open_.enter_context(sync_playwright())
        site = built(Path(open_.enter_context(tempfile.TemporaryDirectory())))
        with served(site) as url:
            chromium = shutil.which("chromium") or shutil.which("chromium-browser")
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=2)
            page.goto(url + PAGE)
            still(page, folder / "turn.png")
            page = browser.new_page(viewport={"width": 1000, "height": HEIGHT}, reduced_motion="reduce")
            page.goto(url + PAGE)
            moving(page, folder / "turn.webp")
            browser.close()
    for name in ("turn.png", "turn.webp"):
        print(f"{folder / name}: {(folder / name).stat().st_size:,} bytes")


def built(folder: Path) -> Path:
    """Build the sample site with the widget on it."""
    shutil.copytree(ROOT / "sample_site", folder / "sample", ignore=shutil.ignore_patterns("site"))
    config = folder / "sample" / "mkdocs.yml"
    text = config.read_text("utf-8")
    config.write_text(text.replace("  - roaming:\n", "  - roaming:\n      widget: {endpoint: /}\n"), "utf-8")
    site = folder / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "-f", str(config), "-d", str(site)]
    subprocess.run(command, check=True, capture_output=True)
    return site


@contextmanager
def served(site: Path) -> Iterator[str]:
    """Serve a site and its answers."""
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


def ask(page: Page) -> None:
    page.locator("roaming-ask .opener").click()
    page.locator("roaming-ask textarea").fill(QUESTION)
    page.keyboard.press("Enter")
    page.mouse.move(0, 0)


def still(page: Page, file: Path) -> None:
    """Take a whole turn beside the page that it is asked on."""
    ask(page)
    page.get_by_role("button", name="Copy link").wait_for()
    taken = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    taken.quantize(40, dither=Image.Dither.NONE).save(file, optimize=True)


def moving(page: Page, file: Path) -> None:
    """Take the panel while sections are opened and the answer is written."""
    page.evaluate(SLOWLY)
    frames: list[tuple[Image.Image, int]] = []

    def frame(milliseconds: int) -> None:
        clip = {"x": 1000 - PANEL, "y": 0, "width": PANEL, "height": HEIGHT}
        taken = Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB")
        frames.append((taken, milliseconds))

    ask(page)
    page.wait_for_function("() => !!window.next")
    while kind := page.evaluate("next()"):
        page.wait_for_timeout(50)
        frame({"data-outline": 1200, "text-delta": 600}.get(kind, 350))
    page.locator("roaming-ask article[aria-busy=false]").wait_for()
    page.wait_for_timeout(200)
    frame(4000)
    first, *rest = (taken for taken, _ in frames)
    durations = [milliseconds for _, milliseconds in frames]
    first.save(file, save_all=True, append_images=rest, duration=durations, loop=0, lossless=True, method=6)


if __name__ == "__main__":
    main()

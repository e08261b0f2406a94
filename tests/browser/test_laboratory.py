"""The widget and the page menu on the sites of many generators and themes, by geometry and hit tests.

    pytest -m slow tests/browser/test_laboratory.py --generators DIR... --require NAME...

The sites are those of `benchmarks/generators.py`, which says how to install the generators. Those that are not
installed are skipped, unless `--require` names them. `LOOKS=FOLDER` saves pictures.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from generators import ANNOUNCEMENT, GENERATORS, TOUR, MissingGeneratorError, build_site, search_path
from playwright.sync_api import Browser, Page
from serving import serve_requests

from .targets import MISSED, TARGETS
from .widget.conftest import picture

BASE = "/ebb/"
WIDTHS = (390, 1280, 1500)
PHONES = (320, 360, 390)
APPLICATIONS = [name for name in GENERATORS if re.match("docusaurus|vitepress", name)]
"""Generators whose pages are rendered again in the browser, which then navigates without page loads."""

STATES = [(name, width, scheme) for name in GENERATORS for width in WIDTHS for scheme in ("light", "dark")]
IN_ALL_STATES = pytest.mark.parametrize(("name", "width", "scheme"), STATES)

SCRIPT = Path(__file__).with_name("laboratory.js").read_text("utf-8")

SCHEMES = "(name) => lab.luminances(eval(name))[1] > 0.4 !== lab.luminances(document.querySelector('h1'))[1] > 0.4"


# Sites


class _Host(SimpleHTTPRequestHandler):
    """Serves a site below a path as static hosts do: pages also without `.html`, and folders after a redirect."""

    def translate_path(self, path: str) -> str:
        file = super().translate_path(path.removeprefix(BASE.rstrip("/")))
        return f"{file}.html" if not Path(file).exists() and Path(f"{file}.html").exists() else file

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="session")
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Function that builds the site of a generator, once."""
    path = search_path(map(Path, request.config.getoption("--generators")))
    kept = request.config.getoption("--sites")
    sites: dict[str, Path | None] = {}

    def build(name: str) -> Path:
        if name not in sites:
            project = Path(kept) / name if kept else tmp_path_factory.mktemp("laboratory") / name
            output = project / GENERATORS[name].output
            try:
                built = kept and (output / "roaming/roaming-ask.js").exists()
                sites[name] = output if built else build_site(name, project, path, widget=True)
            except MissingGeneratorError:
                sites[name] = None
        found = sites[name]
        if found is None:
            assert name not in request.config.getoption("--require"), f"{name} is not installed"
            pytest.skip(f"laboratory: {name} is not installed")
        return found

    return build


@pytest.fixture(scope="session")
def host() -> Iterator[Callable[..., str]]:
    """Function that serves a site, and returns its URL."""
    with ExitStack() as stack:

        def serve(site: Path) -> str:
            handler = partial(_Host, directory=str(site))
            return stack.enter_context(serve_requests(handler)).removesuffix("/") + BASE

        yield serve


def tour_address(name: str, site: Path) -> str:
    """Return the address of the long page, as the site links to it."""
    if (site / "guide/tour/index.html").exists():
        return "guide/tour/"
    return "guide/tour" if name.startswith("docusaurus") else "guide/tour.html"


def open_page(browser: Browser, width: int, scheme: str) -> Page:
    context = browser.new_context(
        viewport={"width": width, "height": 800},
        color_scheme=scheme,  # type: ignore[arg-type]
        reduced_motion="reduce",
        permissions=["clipboard-read", "clipboard-write"],
    )
    context.route("**/*", lambda route: route.continue_() if "//127.0.0.1" in route.request.url else route.abort())
    page = context.new_page()
    page.set_default_timeout(8_000)
    page.add_init_script(SCRIPT)
    return page


@pytest.fixture
def tour(
    browser: Browser, site: Callable[[str], Path], host: Callable[..., str], name: str, width: int, scheme: str
) -> Iterator[tuple[Page, list[str]]]:
    """Open the long page of a site, and yield it with the messages of its console."""
    folder, page, messages = site(name), open_page(browser, width, scheme), list[str]()
    page.on("pageerror", lambda error: messages.append(f"{error}{error.stack}"))
    page.on("console", lambda message: messages.append(message.text))
    page.goto(host(folder) + tour_address(name, folder))
    page.wait_for_load_state("networkidle")
    yield page, messages
    page.context.close()


# Checks


@pytest.mark.parametrize(
    ("name", "width", "scheme"), [(name, width, "light") for name in GENERATORS for width in PHONES]
)
def test_phone_has_no_horizontal_scroll_and_touch_targets_are_hit(
    tour: tuple[Page, list[str]], name: str, width: int, scheme: str
) -> None:
    page, _ = tour
    button = page.locator("roaming-menu [aria-haspopup=menu]")
    button.wait_for()
    faults: dict[str, Any] = {"page": page.evaluate(WIDER)}
    picture(page, f"{name}-{width}-phone")
    menu, host = page.locator("roaming-menu"), page.locator("roaming-ask")
    button.click()
    faults |= {"menu": page.evaluate(WIDER), "items": menu.evaluate(MISSED, TARGETS)}
    picture(page, f"{name}-{width}-phone-menu")
    page.keyboard.press("Escape")
    faults["button"] = menu.evaluate(MISSED, TARGETS)
    page.locator("roaming-ask .opener, [data-roaming-open][aria-expanded]").filter(visible=True).last.click()
    page.locator("roaming-ask dialog[open] .hit").first.wait_for()
    faults |= {"panel": page.evaluate(WIDER), "targets": host.evaluate(MISSED, TARGETS)}
    picture(page, f"{name}-{width}-phone-panel")
    found = {key: value for key, value in faults.items() if value}
    assert not found, found


WIDER = """() => {
  const { documentElement: root } = document;
  const elements = document.querySelectorAll("roaming-ask, roaming-menu");
  const width = root.scrollWidth;
  for (const element of elements) element.style.display = "none";
  const own = Math.max(innerWidth, root.scrollWidth); // the theme's own
  for (const element of elements) element.style.removeProperty("display");
  return Math.max(0, width - own);
}"""
"""Returns the number of pixels by which the widget and the page menu make a page wider than the screen."""


@IN_ALL_STATES
def test_panel_and_page_do_not_cover_each_other(
    tour: tuple[Page, list[str]], name: str, width: int, scheme: str
) -> None:
    page, _ = tour
    own_shift = sum(page.evaluate("shifts"))  # of the theme, such as by its fonts
    faults: dict[str, Any] = {}
    before = page.evaluate("lab.hidden()")
    entrances = page.locator("roaming-ask .opener, [data-roaming-open][aria-expanded]").filter(visible=True)
    faults["entrances"] = entrances.count() - 1
    entrances.last.click()
    page.locator("roaming-ask dialog[open]").wait_for()
    page.wait_for_timeout(150)
    faults["covered controls"] = page.evaluate("lab.covered(['close', 'title', 'input'])")
    picture(page, f"{name}-{width}-{scheme}-panel")
    faults["contrast"] = page.evaluate("lab.contrast(lab.part('title'))") < 4.5
    faults["another scheme than the page"] = page.evaluate(SCHEMES, "lab.part('title')")
    if width > 600:
        faults |= check_wide_page(page, before, own_shift)
        picture(page, f"{name}-{width}-{scheme}-scrolled")
    page.locator("roaming-ask [part=close]").click()
    page.wait_for_timeout(150)
    faults["lines after closing"] = list(set(page.evaluate("lab.hidden()")) - set(before))
    faults["open"] = page.locator("roaming-ask dialog[open]").count()
    found = {key: value for key, value in faults.items() if value}
    assert not found, found


def check_wide_page(page: Page, before: list[str], own_shift: float) -> dict[str, Any]:
    """Return what the open panel does to the page; the lines that are hidden without it do not count."""
    docked = page.locator(":root[data-roaming-docked]").count() > 0
    faults: dict[str, Any] = {
        "header below the panel": page.evaluate("lab.coveredInHeader()"),
        "lines": list(set(page.evaluate("lab.hidden()")) - set(before)),
        "banner": docked and page.evaluate("text => lab.besideBanner(text)", ANNOUNCEMENT),
        "sideways": docked and page.evaluate("document.documentElement.scrollWidth > innerWidth"),
    }
    if docked:
        width = page.evaluate("lab.width()")
        faults["article"] = width if width < 560 else 0
    page.evaluate("scrollTo({ top: 500, behavior: 'instant' })")
    page.wait_for_timeout(200)
    faults["covered controls after scrolling"] = page.evaluate("lab.covered(['close', 'title', 'input'])")
    faults["header below the panel after scrolling"] = page.evaluate("lab.coveredInHeader()")
    page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    page.reload()
    page.locator("roaming-ask dialog[open]").wait_for()
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(200)
    faults["after a reload"] = docked != (page.locator(":root[data-roaming-docked]").count() > 0)
    faults["covered after a reload"] = page.evaluate("lab.covered(['close', 'title', 'input'])")
    shift = round(sum(page.evaluate("shifts")), 3)
    faults["shift"] = shift if shift > 2 * own_shift + 0.02 else 0
    page.evaluate("scrollTo({ top: 500, behavior: 'instant' })")
    page.wait_for_timeout(200)
    return faults


@IN_ALL_STATES
def test_page_menu_is_there_once_and_can_be_used(
    tour: tuple[Page, list[str]], name: str, width: int, scheme: str
) -> None:
    page, messages = tour
    ours = re.compile("roaming|hydrat|React|NotFoundError|removeChild|insertBefore", re.IGNORECASE)
    check_menu(page, TOUR, lambda: picture(page, f"{name}-{width}-{scheme}-menu"))
    if name in APPLICATIONS and width == 1500:
        page.evaluate("window.loadedOnce = true")
        page.get_by_role("link", name="Use", exact=True).first.click()
        page.locator("h1", has_text="Use").wait_for()
        check_menu(page, "Use")
        check_page_data(page, "guide/use")
        page.locator(f"a[href='{BASE}']").filter(visible=True).first.click()
        page.locator("h1", has_text="Ebb").wait_for()
        check_menu(page, "Ebb")
        check_page_data(page, "")
        page.go_back()
        page.locator("h1", has_text="Use").wait_for()
        page.go_back()
        page.locator("h1", has_text=TOUR).wait_for()
        check_menu(page, TOUR)
        assert page.evaluate("window.loadedOnce")
    assert [message for message in messages if ours.search(message)] == []


def check_page_data(page: Page, path: str) -> None:
    """Check that the widget knows the page that the application shows, and finds its files."""
    data = page.evaluate("document.querySelector('roaming-ask').settings.page")
    assert data["path"].removesuffix(".html").rstrip("/") == path
    assert page.evaluate("fetch(document.querySelector('roaming-ask').settings.page.manifest).then(({ ok }) => ok)")


def check_menu(page: Page, title: str, look: Callable[[], None] = lambda: None) -> None:
    button = page.locator("roaming-menu [aria-haspopup=menu]")
    button.first.wait_for()
    page.wait_for_timeout(100)
    assert page.locator("roaming-menu").count() == 1
    box, heading = button.bounding_box(), page.locator("h1", has_text=title).last.bounding_box()
    assert box is not None
    assert heading is not None
    assert abs(box["y"] - heading["y"]) < 60, (box, heading)
    wide = page.evaluate("document.documentElement.scrollWidth")
    button.click()
    items = page.locator("roaming-menu [role=menuitem]")
    look()
    hit = """one => {
      const [x, y] = lab.center(one);
      const hit = document.elementFromPoint(x, y);
      return hit?.localName === "roaming-menu" && x > 0 && x < innerWidth ? "" : `${one.innerText}: ${hit?.outerHTML.slice(0, 80)}`;
    }"""
    assert [fault for item in items.all() if (fault := item.evaluate(hit))] == []
    assert items.first.evaluate("one => lab.contrast(one)") >= 4.5
    assert not page.evaluate(
        SCHEMES, "document.querySelector('roaming-menu').shadowRoot.querySelector('[role=menuitem]')"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= wide
    items.first.click()
    page.locator("roaming-menu [role=status]:not(:empty)").wait_for()
    assert f"# {title}\n" in page.evaluate("navigator.clipboard.readText()")

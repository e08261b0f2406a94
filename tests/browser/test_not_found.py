"""The 404 page on a static host: links to pages at similar addresses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from serving import serve_requests

from .conftest import Violations
from .widget.conftest import Stage
from .widget.states import sources
from .widget.themes import built


class _StaticHost(SimpleHTTPRequestHandler):
    """Serves a site below `/handbook/`, and its 404 page at all addresses without a file."""

    def translate_path(self, path: str) -> str:
        return super().translate_path(path.removeprefix("/handbook")) if path.startswith("/handbook/") else "/nowhere"

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        data = Path(self.directory, "404.html").read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Security-Policy", "script-src 'self' 'unsafe-inline'")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None: ...


@contextmanager
def hosted(folder: Path) -> Iterator[str]:
    with serve_requests(partial(_StaticHost, directory=str(folder))) as url:
        yield f"{url}handbook/"


@pytest.fixture(scope="module")
def url(sample: Path) -> Iterator[str]:
    """The sample site, which has no widget."""
    with hosted(sample) as url:
        yield url


TOLERATED = r"asked for https://|request to https://|fonts\.g|cdnjs|ERR_FAILED|: 404$|status of 404"


@pytest.mark.parametrize(
    ("path", "title", "target"),
    [
        ("start/instal.html", "Install", "start/install/"),
        ("v4.2/operate/backup", "Back up and restore", "operate/backup/"),
        ("a/b/c/Configure_kelp/", "Configure a Kelp", "guide/stations/kelp/configure/"),
    ],
)
def test_missing_page_links_to_similar_pages(url: str, page: Page, path: str, title: str, target: str) -> None:
    page.goto(url + path)
    place = page.get_by_role("navigation", name="Pages at similar addresses")
    expect(place.locator("p")).to_have_text("Pages at similar addresses:")
    link = place.get_by_role("link").first
    expect(link).to_have_text(title)
    link.click()
    expect(page).to_have_url(url + target)
    expect(page.locator("h1")).to_be_visible()


def test_page_without_scripts_links_to_all_pages(url: str, browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{url}start/instal/")
    page.get_by_role("link", name="List of all pages").click()
    expect(page).to_have_url(f"{url}llms.txt")
    context.close()


def test_titles_are_text_and_links_stay_on_the_site(url: str, page: Page) -> None:
    pages = [["//evil.example/", "<img src=x onerror=alert(1)>evil"], ["a?b#c.html", "evil b"]]
    addresses = {"url": "https://docs.example/handbook/", "pages": pages}
    page.route("**/addresses.json", lambda route: route.fulfill(body=json.dumps(addresses)))
    page.goto(f"{url}evil")
    links = page.locator("[data-roaming-missing] a")
    expect(links).to_have_count(2)
    assert links.evaluate_all("all => all.map(one => [one.origin, one.textContent])") == [
        [url.removesuffix("/handbook/"), title] for _, title in pages
    ]


def test_links_look_like_those_of_the_theme_and_are_absent_where_no_page_is_similar(
    url: str, page: Page, violations: Violations
) -> None:
    page.goto(f"{url}start/instal/")
    expect(page.locator("[data-roaming-missing] li")).to_have_count(1)
    for theme in ("default", "slate"):
        page.evaluate("theme => document.body.setAttribute('data-md-color-scheme', theme)", theme)
        assert violations(page, "[data-roaming-missing]") == []
    with page.expect_response("**/addresses.json"):
        page.goto(f"{url}zzz/xyzzy")
    expect(page.locator("h1")).to_have_text("404 - Not found")
    expect(page.locator("[data-roaming-missing]")).to_be_empty()
    expect(page.locator("form.roaming-missing")).to_have_count(0)


# With the widget


@pytest.fixture(scope="module", params=["material", "mkdocs", "readthedocs"])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A site with the widget, without an endpoint."""
    folder = tmp_path_factory.mktemp("widget") / "site"
    with hosted(folder) as url:
        stage = Stage(folder)
        stage.url = url
        search = "material/search" if request.param == "material" else "search"
        built(stage, request.param, sources(), plugins=[search, {"roaming": {"widget": True}}])
        yield url


def test_words_of_the_address_are_searched_in_the_panel(found: str, page: Page) -> None:
    page.goto(f"{found}v2/setings/the-port.html")
    place = page.get_by_role("navigation", name="Pages at similar addresses")
    expect(place.get_by_role("link").first).to_have_text("Settings")
    field = page.get_by_role("searchbox", name="Find a section")
    expect(field).to_have_value("setings the port")
    assert field.bounding_box()["y"] > place.bounding_box()["y"]
    field.fill("port taken")
    field.press("Enter")
    panel = page.locator("roaming-ask dialog")
    expect(panel.locator("textarea")).to_have_value("port taken")
    expect(panel.locator(".hit h3").first).to_have_text("The port is taken")
    panel.locator("[part=close]").click()
    page.get_by_role("button", name="Find in the docs").first.click()
    expect(panel).to_be_visible()


def test_sections_are_listed_where_no_page_is_similar(found: str, page: Page) -> None:
    page.goto(f"{found}attic/whistle.php")
    place = page.get_by_role("navigation", name="Nearest sections")
    link = place.get_by_role("link").first
    expect(link).to_have_text("Troubleshooting › It does not whistle")
    expect(page.get_by_role("searchbox", name="Find a section")).to_have_value("attic whistle")
    link.click()
    expect(page).to_have_url(f"{found}trouble/#it-does-not-whistle")


def test_input_is_alone_where_nothing_is_similar(found: str, page: Page) -> None:
    page.goto(f"{found}zzzz/qqqq")
    expect(page.get_by_role("searchbox", name="Find a section")).to_have_value("zzzz qqqq")
    page.wait_for_timeout(200)
    expect(page.locator("[data-roaming-missing]")).to_be_empty()
    page.locator("roaming-ask .opener").click()
    start = page.locator("roaming-ask .start h3")
    expect(start).to_have_text(["Install", "Settings", "Troubleshooting"])

"""The 404 page on a static host: links to pages at similar addresses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FILE = Path(__file__).parents[1] / "golden/addresses/kettle.json"


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


@pytest.fixture(scope="module")
def url(sample: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_StaticHost, directory=str(sample))) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/handbook/"
        server.shutdown()
        thread.join()


@pytest.fixture
def tolerated() -> str:
    return r": 404$|Failed to load resource: the server responded with a status of 404"


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


def test_page_without_similar_pages_is_that_of_the_theme(url: str, page: Page) -> None:
    with page.expect_response("**/addresses.json"):
        page.goto(f"{url}zzz/xyzzy")
    expect(page.locator("h1")).to_have_text("404 - Not found")
    expect(page.locator("[data-roaming-missing]")).to_be_empty()


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


@pytest.mark.parametrize("theme", ["default", "slate"])
def test_links_look_like_those_of_the_theme(url: str, page: Page, axe: str, theme: str) -> None:
    page.goto(f"{url}start/instal/")
    page.evaluate("theme => document.body.setAttribute('data-md-color-scheme', theme)", theme)
    expect(page.locator("[data-roaming-missing] li")).to_have_count(1)
    page.add_script_tag(content=axe)
    found = page.evaluate("async () => (await axe.run('[data-roaming-missing]')).violations.map(one => one.id)")
    assert found == []


def test_path_suggests_pages(url: str, page: Page) -> None:
    golden = json.loads(FILE.read_text("utf-8"))
    page.goto(url)
    suggested = page.evaluate(
        """async ({ addresses, cases }) => {
          const { suggest } = await import("/handbook/roaming/roaming-missing.js");
          return Promise.all(cases.map(async ([path]) => [path, (await suggest(addresses, path)).map((page) => page[0])]));
        }""",
        golden,
    )
    assert suggested == golden["cases"]

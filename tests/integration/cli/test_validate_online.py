"""`roaming validate --online`: requests for the addresses that a site publishes."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mkdocs_roaming.cli import main
from mkdocs_roaming.cli.common import FAULTS_FOUND
from mkdocs_roaming.manifest.models import NavItem, Page, Site
from mkdocs_roaming.publish.cache import ConversionCache
from mkdocs_roaming.publish.options import PublishOptions
from mkdocs_roaming.publish.pipeline import convert_pages
from mkdocs_roaming.publish.writer import publish_batch

NAV = (NavItem("Home", ""), NavItem("Pumps", "pumps/"))
PAGES = (
    Page(
        "",
        "Home",
        '<h1>Welcome</h1><p>Start with <a href="pumps/#oil">the pumps</a>,\nor with <a href="map.pdf">the map</a>.</p>'
        '<p><a href="http://[::1">Odd</a> <a href="https://other.example/">Other</a></p>'
        '<table><tr><td rowspan="2">x</td><td><a href="table.pdf">t</a></td></tr><tr><td>y</td></tr></table>',
    ),
    Page("pumps/", "Pumps", '<h1>Pumps</h1><h2 id="oil">Oil</h2><p>Change it.</p><p><a href="/map.pdf">Map</a></p>'),
)


class Origin(ThreadingHTTPServer):
    """A server with the site's HTML and published files. `answers` are statuses and headers by path."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/"
        self.folder: Path | None = None
        self.html = {f"/{page.path}": page.article for page in PAGES} | {"/map.pdf": "%PDF", "/table.pdf": "%PDF"}
        self.answers: dict[str, tuple[int, dict[str, str]]] = {}
        self.requests: list[tuple[str, str]] = []


class _Handler(BaseHTTPRequestHandler):
    server: Origin

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        self.server.requests.append((self.command, path))
        status, headers = self.server.answers.get(path, (0, {}))
        body = self.server.html.get(path, "").encode()
        file = self.server.folder / path.lstrip("/") if self.server.folder else None
        if not body and file and file.is_file():
            body = file.read_bytes()
        self.send_response(status or (200 if body else 404))
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, *args: object) -> None: ...


@pytest.fixture
def origin() -> Iterator[Origin]:
    with Origin() as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server
        server.shutdown()


def publish(folder: Path, url: str, crawled_from: str = "") -> Path:
    site = Site("Boat", url, nav=NAV, crawled_from=crawled_from)
    batch = convert_pages(site, PAGES, cache=ConversionCache(None), warn=print)
    publish_batch(batch, folder, PublishOptions(agent_skill=not crawled_from))
    return folder


def validate(lib: object, *options: object) -> Result:
    return CliRunner().invoke(main, ["validate", str(lib), "--online", "--delay", "0", *map(str, options)])


def test_validate_online_accepts_own_site(origin: Origin, tmp_path: Path) -> None:
    origin.folder = publish(tmp_path, origin.url)
    result = validate(tmp_path, "--allow-private", origin.url)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "alive (100.0 %)" in result.stdout
    paths = {path for _, path in origin.requests}
    assert {"/llms.txt", "/pumps/", "/pumps/index.md", "/map.pdf", "/table.pdf", "/roaming/outline.md"} <= paths


def test_validate_online_accepts_copy_whose_origin_has_html_only(origin: Origin, tmp_path: Path) -> None:
    publish(tmp_path, origin.url, origin.url.split("/")[2])
    result = validate(tmp_path, "--allow-private", origin.url)
    assert (result.exit_code, result.stderr) == (0, "")
    assert {path for _, path in origin.requests} == {"/", "/pumps/", "/map.pdf", "/table.pdf"}


def test_validate_online_accepts_served_site_without_further_options(origin: Origin, tmp_path: Path) -> None:
    origin.folder = publish(tmp_path, origin.url)
    assert validate(origin.url).exit_code == 0


def test_validate_online_reports_dead_address_with_pages_and_lines(origin: Origin, tmp_path: Path) -> None:
    publish(tmp_path, origin.url, "boat.example")
    del origin.html["/map.pdf"]
    result = validate(tmp_path, "--allow-private", origin.url)
    assert result.exit_code == FAULTS_FOUND
    lines = (tmp_path / "index.md").read_text().split("\n")
    line = next(number for number, text in enumerate(lines) if "map.pdf" in text)
    assert f"index.md:{line + 1}: {origin.url}map.pdf: status 404 (and 1 more place)" in result.stdout
    assert "3 alive (75.0 %)" in result.stderr
    found = json.loads(validate(tmp_path, "--allow-private", origin.url, "--json").stdout)["online"]
    assert [fault["url"] for fault in found["dead"]] == [f"{origin.url}map.pdf"]
    assert len(found["dead"][0]["places"]) == 2


def test_validate_online_reports_missing_anchor(origin: Origin, tmp_path: Path) -> None:
    publish(tmp_path, origin.url, "boat.example")
    origin.html["/pumps/"] = "<h1>Pumps</h1>"
    result = validate(tmp_path, "--allow-private", origin.url, "--json")
    assert result.exit_code == 0
    assert [fault["url"] for fault in json.loads(result.stdout)["online"]["anchors"]] == [f"{origin.url}pumps/#oil"]


def test_validate_online_asks_with_get_where_head_fails(origin: Origin, tmp_path: Path) -> None:
    publish(tmp_path, origin.url, "boat.example")
    validate(tmp_path, "--allow-private", origin.url)
    assert ("HEAD", "/map.pdf") in origin.requests
    assert ("GET", "/map.pdf") not in origin.requests
    del origin.html["/map.pdf"]
    validate(tmp_path, "--allow-private", origin.url)
    assert ("GET", "/map.pdf") in origin.requests


def test_validate_online_stops_asking_busy_server(origin: Origin, tmp_path: Path) -> None:
    publish(tmp_path, origin.url, "boat.example")
    origin.answers = {path: (429, {"Retry-After": "3600"}) for path in origin.html}
    result = validate(tmp_path, "--allow-private", origin.url)
    assert result.exit_code == 0
    assert "0 of 4 addresses requested: 0 alive, 4 not checked" in result.stdout
    assert len(origin.requests) == 1


def test_validate_online_takes_the_same_sample_of_the_same_site(origin: Origin, tmp_path: Path) -> None:
    publish(tmp_path, origin.url, "boat.example")
    runs = []
    for _ in range(2):
        origin.requests.clear()
        validate(tmp_path, "--allow-private", origin.url, "--sample", 2)
        runs.append(list(origin.requests))
    assert runs[0] == runs[1]
    assert len({path for _, path in runs[0]}) == 2


def test_validate_online_requires_private_address_to_be_named(origin: Origin, tmp_path: Path) -> None:
    publish(tmp_path, origin.url, "boat.example")
    result = validate(tmp_path)
    assert (result.exit_code, "--allow-private" in result.stderr, origin.requests) == (1, True, [])
    other = validate(tmp_path, "--allow-private", "http://127.0.0.1:9/")
    assert (other.exit_code, origin.requests) == (1, [])


def test_validate_online_follows_no_redirect_to_private_address(origin: Origin, tmp_path: Path) -> None:
    publish(tmp_path, origin.url, "boat.example")
    with Origin() as inner:
        threading.Thread(target=inner.serve_forever, args=(0.02,), daemon=True).start()
        origin.answers["/map.pdf"] = (302, {"Location": f"{inner.url}map.pdf"})
        result = validate(tmp_path, "--allow-private", origin.url)
        inner.shutdown()
        assert inner.requests == []
    assert result.exit_code == FAULTS_FOUND
    assert f"{origin.url}map.pdf: 127.0.0.1 is not a public address" in result.stdout


@pytest.mark.parametrize(
    "headers", [{"Location": "http://[::1"}, {"Location": "map.pdf"}, {"Content-Encoding": "gzip"}], ids=str
)
def test_validate_online_survives_broken_answer(origin: Origin, tmp_path: Path, headers: dict[str, str]) -> None:
    publish(tmp_path, origin.url, "boat.example")
    origin.answers["/pumps/"] = (302 if "Location" in headers else 200, headers)
    result = validate(tmp_path, "--allow-private", origin.url)
    assert (result.exit_code, result.exception.__class__) == (FAULTS_FOUND, SystemExit)

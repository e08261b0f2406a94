"""The static site: pages, their Markdown, ranges, and no file outside of the folder."""

from __future__ import annotations

import shutil
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from serving import load_cases

from mkdocs_roaming.serve.middleware import RequestPolicy
from mkdocs_roaming.serve.requests import choose_media_type

from .conftest import starting

Start = Callable[..., Any]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, kettle: Path) -> Path:
    """Return a site with pages, their Markdown, an asset with a hash in its name, and files that must not be served."""
    tmp_path = tmp_path_factory.mktemp("static")
    folder = shutil.copytree(kettle, tmp_path / "site")
    for name, text in load_cases("files of the static site").items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "out.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "away").symlink_to(tmp_path)
    (folder / "folder.md").mkdir()
    return folder


@pytest.fixture(scope="module")
def endpoint(site: Path) -> Iterator[Any]:
    with starting() as start:
        yield start(site, site=site, policy=RequestPolicy(requests_a_minute_each=10_000))


@pytest.fixture
def http(endpoint: Any) -> Any:
    return endpoint.http


@pytest.mark.parametrize(("path", "kind", "body"), load_cases("content types"))
def test_files_have_content_type(http: Any, path: str, kind: str, body: str) -> None:
    response = http.get(path)
    assert response.status_code == 200
    assert response.headers["content-type"].startswith(kind)
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.text.startswith(body)


@pytest.mark.parametrize("path", ["/", "/install/", "/flat.html"])
def test_accept_markdown_returns_markdown_of_page(http: Any, path: str) -> None:
    response = http.get(path, headers={"Accept": "text/markdown, text/html;q=0.9, */*;q=0.1"})
    assert response.headers["content-type"] == "text/markdown; charset=utf-8"
    assert response.text.startswith("# ")
    page = http.get(path, headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert page.text.startswith("<h1>")
    assert response.headers["vary"] == page.headers["vary"] == "Accept"
    assert response.headers["etag"] != page.headers["etag"]


@pytest.mark.parametrize(("accept", "kind"), load_cases("weights of Markdown and HTML"))
def test_markdown_that_is_named_wins_over_html_of_equal_weight(http: Any, accept: str, kind: str) -> None:
    assert http.get("/install/", headers={"Accept": accept}).headers["content-type"] == f"{kind}; charset=utf-8"


def test_page_without_markdown_returns_html(http: Any) -> None:
    response = http.get("/bare.html", headers={"Accept": "text/markdown"})
    assert response.headers["content-type"].startswith("text/html")
    assert "vary" not in response.headers


@pytest.mark.parametrize(("accept", "wanted"), load_cases("preferred media types"))
def test_choose_media_type_prefers_weight_then_specificity(accept: str, wanted: str) -> None:
    assert choose_media_type(accept, ("a/html", "b/md")) == wanted


def test_known_etag_returns_304(http: Any) -> None:
    first = http.get("/flat.html")
    assert first.headers["cache-control"] == "no-cache"
    again = http.get("/flat.html", headers={"If-None-Match": f"W/{first.headers['etag']}"})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    since = http.get("/flat.html", headers={"If-Modified-Since": first.headers["last-modified"]})
    assert since.status_code == 304
    assert http.get("/assets/main.0a1b2c3d.min.js").headers["cache-control"] == "no-cache"


def test_range_and_head_requests(http: Any) -> None:
    part = http.get("/assets/main.js", headers={"Range": "bytes=2-4"})
    assert (part.status_code, part.text, part.headers["content-range"]) == (206, "234", "bytes 2-4/10")
    assert http.get("/assets/main.js", headers={"Range": "bytes=90-"}).status_code == 416
    head = http.head("/assets/main.js")
    assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", "10")


@pytest.mark.parametrize(
    "value", ["bytes=abc", "bytes=5-2", "bytes=-", "lines=0-1", "bytes=" + "9" * 5_000, "bytes=--5", "bytes=0-1,x"]
)
def test_invalid_range_is_refused_or_ignored(http: Any, value: str) -> None:
    response = http.get("/assets/main.js", headers={"Range": value})
    assert response.status_code in (206, 400, 416)
    assert response.status_code != 206 or response.text == "01"


@pytest.mark.parametrize("date", ["Fri, 31 Dec 9999 23:59:59 -0000", "Mon, 01 Jan 0001 00:00:00 -0000", "", "soon"])
def test_invalid_if_modified_since_is_ignored(http: Any, date: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for zone in ("Asia/Tokyo", "America/New_York"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        assert http.get("/assets/main.js", headers={"If-Modified-Since": date}).status_code in (200, 304)
    monkeypatch.undo()
    time.tzset()


def test_unreadable_404_page_is_replaced_by_problem(start: Start, folder: Path) -> None:
    (folder / "404.html").mkdir()
    response = start(folder, site=folder).http.get("/nowhere")
    assert (response.status_code, response.json()["code"]) == (404, "not_found")


def test_folder_is_not_markdown_of_page(http: Any) -> None:
    response = http.get("/folder.html", headers={"Accept": "text/markdown"})
    assert (response.status_code, response.text) == (200, "<h1>No Markdown</h1>")


def test_folder_redirects_to_trailing_slash(http: Any) -> None:
    response = http.get("/install?x=1")
    assert (response.status_code, response.headers["location"]) == (308, "/install/?x=1")
    for path in ("//evil.example/%2e%2e", "//install", "/%2finstall"):
        response = http.get(f"http://127.0.0.1:{http.base_url.port}{path}")
        assert not response.headers.get("location", "/x").startswith("//")


def test_missing_file_returns_404_page_of_site(http: Any) -> None:
    for path in ("/nowhere/", "/assets/", "/flat.html/", "/nowhere.png"):
        response = http.get(path)
        assert (response.status_code, response.text) == (404, "<h1>Lost</h1>")


@pytest.mark.parametrize("path", load_cases("paths that lead elsewhere"))
def test_path_cannot_leave_folder(endpoint: Any, path: str) -> None:
    with socket.create_connection(("127.0.0.1", endpoint.port)) as raw:  # no client tidies the path up
        raw.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        raw.settimeout(5)
        answer = b""
        while piece := raw.recv(65_536):
            answer += piece
    assert answer.split(b" ", 2)[1] in (b"404", b"400")
    assert b"secret" not in answer.replace(b"/secret.txt", b"")


def test_operation_precedes_file_with_same_path(http: Any) -> None:
    assert http.get("/v1/").text == "<h1>Version one</h1>"
    assert "digest" in http.get("/v1/outline").json()


@pytest.mark.parametrize(("method", "path", "allowed"), load_cases("methods of operations"))
def test_other_method_of_operation_returns_405(http: Any, method: str, path: str, allowed: str) -> None:
    response = http.request(method, path)
    assert (response.status_code, sorted(response.headers["allow"].split(", "))) == (405, allowed.split())
    assert response.json()["code"] == "method_not_allowed"


def test_library_folder_is_not_served_without_site_option(shared: Any) -> None:
    assert shared.http.get("/install/").status_code == 404

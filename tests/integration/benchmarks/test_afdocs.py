"""The servers and the report of the agent readiness benchmark."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from afdocs import format_report, get_response, read_site_url, serve_roaming, serve_static

SITE_URL = "https://docs.example/p/"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small built site."""
    (tmp_path / "pump").mkdir()
    (tmp_path / "index.html").write_text(f"<link rel=canonical href={SITE_URL}><a href={SITE_URL}pump/>pump</a>")
    (tmp_path / "pump" / "index.html").write_text("<h1>Pump</h1>")
    (tmp_path / "pump" / "index.md").write_text(f"# Pump\n\n[home]({SITE_URL}index.md)\n")
    (tmp_path / "404.html").write_text("<h1>Lost</h1>")
    (tmp_path.parent / "secret.txt").write_text("outside of the site")
    return tmp_path


@pytest.mark.parametrize(
    ("path", "status", "content_type"),
    [
        ("/p/", 200, "text/html; charset=utf-8"),
        ("/p/pump/", 200, "text/html; charset=utf-8"),
        ("/p/pump", 301, "text/html; charset=utf-8"),
        ("/p/pump/index.md?v=1", 200, "text/markdown; charset=utf-8"),
        ("/p/pump/index.md/", 404, "text/html; charset=utf-8"),
        ("/p/none/", 404, "text/html; charset=utf-8"),
        ("/llms.txt", 404, "text/html; charset=utf-8"),
        ("/p/../secret.txt", 404, "text/html; charset=utf-8"),
    ],
)
def test_get_response_follows_static_host_rules(folder: Path, path: str, status: int, content_type: str) -> None:
    """Folders have an index page, other paths are files, and nothing exists outside of the mount."""
    response = get_response(folder, "/p/", path)

    assert (response.status, response.content_type) == (status, content_type)


def test_missing_path_returns_the_404_page_of_the_site(folder: Path) -> None:
    """The body is 404.html, the status is 404."""
    with serve_static(folder, SITE_URL) as local_url, pytest.raises(HTTPError) as caught:
        urlopen(f"{local_url}none/")
    with caught.value as error:
        assert (error.code, error.read()) == (404, b"<h1>Lost</h1>")


def test_rewrite_replaces_the_site_url(folder: Path) -> None:
    """With `rewrite` the URL of the site becomes the local one, also in Markdown; without it files are unchanged."""
    with serve_static(folder, SITE_URL, rewrite=True) as local_url, urlopen(f"{local_url}pump/index.md") as response:
        assert response.read().decode() == f"# Pump\n\n[home]({local_url}index.md)\n"
    with serve_static(folder, SITE_URL) as local_url, urlopen(f"{local_url}pump/index.md") as response:
        assert response.read() == (folder / "pump" / "index.md").read_bytes()


def test_static_host_ignores_accept_and_confirms_etag(folder: Path) -> None:
    """A request for Markdown gets HTML, as on a static host; a matching ETag gets 304."""
    with serve_static(folder, SITE_URL) as local_url:
        with urlopen(Request(f"{local_url}pump/", headers={"Accept": "text/markdown"})) as response:
            assert response.headers["Content-Type"] == "text/html; charset=utf-8"
            etag = response.headers["ETag"]
        with pytest.raises(HTTPError) as caught:
            urlopen(Request(f"{local_url}pump/", headers={"If-None-Match": etag}))
        with caught.value as error:
            assert error.code == 304


def test_read_site_url_prefers_manifest_then_canonical_link(folder: Path) -> None:
    """The error without both names site_url."""
    assert read_site_url(folder) == SITE_URL
    (folder / "roaming").mkdir()
    (folder / "roaming" / "manifest.json").write_text(json.dumps({"site": {"url": "https://other.example/"}}))
    assert read_site_url(folder) == "https://other.example/"
    with pytest.raises(SystemExit, match="site_url"):
        read_site_url(folder / "pump")


def test_format_report_lists_failed_checks() -> None:
    """The score is followed by each check that warns or fails; the others are listed with `include_passed`."""
    checks = [("pass", "a"), ("fail", "b"), ("skip", "c")]
    report = {
        "scoring": {"overall": 97, "grade": "A"},
        "results": [{"status": status, "id": id_, "message": f"reason {id_}"} for status, id_ in checks],
    }

    assert list(format_report(report)) == ["97 of 100, grade A", "  fail  b: reason b"]
    assert len(list(format_report(report, include_passed=True))) == 4


def test_serve_roaming_negotiates_markdown(sample: Path) -> None:
    """With --serve the pages come from `roaming serve`, which returns Markdown to clients that accept it."""
    with serve_roaming(sample) as local_url:
        request = Request(f"{local_url}guide/data/storage/", headers={"Accept": "text/markdown"})
        with urlopen(request, timeout=30) as response:
            assert response.headers["Content-Type"].startswith("text/markdown")
            assert b"\n# How readings are kept\n" in response.read()

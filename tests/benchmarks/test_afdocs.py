"""The scorer is shown a site as a static host serves it, or as our own server does."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from afdocs import answer, lines, roaming, served, site_address

ADDRESS = "https://docs.example/p/"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a small built site."""
    (tmp_path / "pump").mkdir()
    (tmp_path / "index.html").write_text(f"<link rel=canonical href={ADDRESS}><a href={ADDRESS}pump/>pump</a>")
    (tmp_path / "pump" / "index.html").write_text("<h1>Pump</h1>")
    (tmp_path / "pump" / "index.md").write_text(f"# Pump\n\n[home]({ADDRESS}index.md)\n")
    (tmp_path / "404.html").write_text("<h1>Lost</h1>")
    (tmp_path.parent / "secret.txt").write_text("not of the site")
    return tmp_path


@pytest.mark.parametrize(
    ("path", "status", "type_"),
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
def test_a_static_host_answers_so(folder: Path, path: str, status: int, type_: str) -> None:
    """Folders have an index, other paths only what lies there, and nothing lies outside of the mount."""
    found = answer(folder, "/p/", path)

    assert (found.status, found.type) == (status, type_)


def test_missing_pages_get_the_sites_own_page(folder: Path) -> None:
    """A 404 has the site's page and the status 404."""
    with served(folder, ADDRESS) as local, pytest.raises(HTTPError) as caught:
        urlopen(f"{local}none/")
    with caught.value as error:
        assert (error.code, error.read()) == (404, b"<h1>Lost</h1>")


def test_links_lead_to_the_local_server_when_asked(folder: Path) -> None:
    """With rewriting the site's own address becomes the local one, in Markdown too; without it files are untouched."""
    with served(folder, ADDRESS, rewrite=True) as local, urlopen(f"{local}pump/index.md") as response:
        assert response.read().decode() == f"# Pump\n\n[home]({local}index.md)\n"
    with served(folder, ADDRESS) as local, urlopen(f"{local}pump/index.md") as response:
        assert response.read() == (folder / "pump" / "index.md").read_bytes()


def test_the_host_does_not_negotiate(folder: Path) -> None:
    """Whoever asks for Markdown at a page's address gets HTML, as on a static host; a cached copy is confirmed."""
    with served(folder, ADDRESS) as local:
        with urlopen(Request(f"{local}pump/", headers={"Accept": "text/markdown"})) as response:
            assert response.headers["Content-Type"] == "text/html; charset=utf-8"
            tag = response.headers["ETag"]
        with pytest.raises(HTTPError) as caught:
            urlopen(Request(f"{local}pump/", headers={"If-None-Match": tag}))
        with caught.value as error:
            assert error.code == 304


def test_a_site_tells_its_address(folder: Path) -> None:
    """The manifest knows it, else the home page's canonical link; without both the run ends with what to do."""
    assert site_address(folder) == ADDRESS
    (folder / "roaming").mkdir()
    (folder / "roaming" / "manifest.json").write_text(json.dumps({"site": {"url": "https://other.example/"}}))
    assert site_address(folder) == "https://other.example/"
    with pytest.raises(SystemExit, match="site_url"):
        site_address(folder / "pump")


def test_a_report_names_what_did_not_pass() -> None:
    """The score comes first, then each check that warns or fails with its reason; the others only when asked."""
    checks = [("pass", "a"), ("fail", "b"), ("skip", "c")]
    report = {
        "scoring": {"overall": 97, "grade": "A"},
        "results": [{"status": status, "id": id_, "message": f"of {id_}"} for status, id_ in checks],
    }

    assert list(lines(report)) == ["97 of 100, grade A", "  fail  b: of b"]
    assert len(list(lines(report, passed=True))) == 4


def test_a_server_that_negotiates_is_scored_too(sample: Path) -> None:
    """With --serve the scorer's pages come from `roaming serve`, in Markdown where that is accepted."""
    with roaming(sample) as local:
        wanted = Request(f"{local}guide/data/storage/", headers={"Accept": "text/markdown"})
        with urlopen(wanted, timeout=30) as given:
            assert given.headers["Content-Type"].startswith("text/markdown")
            assert b"\n# How readings are kept\n" in given.read()

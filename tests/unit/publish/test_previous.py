"""The site as it was published last, from a folder or a URL."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from dripping import BODY, HEADERS, dripping
from serving import serve_requests

from mkdocs_roaming.publish.previous import read_previous


class Statuses(BaseHTTPRequestHandler):
    """Responds to /<status>/… with this status."""

    def do_GET(self) -> None:
        self.send_response(int(self.path.split("/")[1]))
        self.end_headers()


@pytest.mark.parametrize(
    ("status", "is_available"), [(404, False), (410, False), (429, False), (503, False), (401, True), (403, True)]
)
def test_read_previous_informs_when_site_is_unavailable(tmp_path: Path, status: int, is_available: bool) -> None:
    warnings: list[str] = []
    notes: list[str] = []
    with serve_requests(Statuses) as url:
        assert read_previous(f"{url}{status}/", tmp_path, warnings.append, inform=notes.append) is None
    assert (len(warnings), len(notes)) == ((1, 0) if is_available else (0, 1))
    assert f"HTTP status {status}" in (warnings + notes)[0]


@pytest.mark.parametrize(
    ("where", "is_available"),
    [("http://127.0.0.1:9/", False), ("http:///docs", True), ("http://127.0.0.1:x/", True), ("nowhere", True)],
)
def test_read_previous_warns_about_invalid_setting(tmp_path: Path, where: str, is_available: bool) -> None:
    warnings: list[str] = []
    notes: list[str] = []
    assert read_previous(where, tmp_path, warnings.append, inform=notes.append) is None
    assert (len(warnings), len(notes)) == ((1, 0) if is_available else (0, 1))


OTHER_PROTOCOL = (b"220 mail.example ESMTP\r\n", b"?")


@pytest.mark.parametrize("drops", [HEADERS, BODY, OTHER_PROTOCOL], ids=["headers", "body", "no HTTP"])
def test_read_previous_stops_slow_server_at_time_limit(tmp_path: Path, drops: tuple[bytes, bytes]) -> None:
    notes: list[str] = []
    with dripping(*drops) as address:
        assert read_previous(address, tmp_path, pytest.fail, inform=notes.append, seconds=0.5) is None
    assert notes == [
        f"previous: {address}roaming/manifest.json: no complete response within 0.5 seconds; try again later; "
        "old ids of renamed sections get no aliases"
    ]

"""The site as it was published last, from a folder or a URL."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from dripping import BODY, HEADERS, dripping

from mkdocs_roaming.publish.previous import read_previous


@contextmanager
def responding(response: bytes) -> Iterator[str]:
    """Yield the URL of a server that sends bytes to its first client."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(response)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        thread.join(20)


@pytest.mark.parametrize(
    ("status", "is_available"), [(404, False), (410, False), (429, False), (503, False), (401, True), (403, True)]
)
def test_read_previous_informs_when_site_is_unavailable(tmp_path: Path, status: int, is_available: bool) -> None:
    warnings: list[str] = []
    notes: list[str] = []
    head = f"HTTP/1.1 {status} Status\r\nContent-Length: 0\r\n\r\n".encode()
    with responding(head) as address:
        assert read_previous(address, tmp_path, warnings.append, inform=notes.append) is None
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

"""A site that names its previous deployment is built, also for the first time."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from serving import serve_requests

from mkdocs_roaming.cli import main

if TYPE_CHECKING:
    from .conftest import Project

SMALL = {"index.md": "# Home\n\nHello.\n"}


@pytest.fixture
def host() -> Iterator[str]:
    """Return the URL of a server that responds to /<status>/… with this status and an empty JSON object."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(int(self.path.split("/")[1]))
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *arguments: Any) -> None:
            pass

    with serve_requests(Handler) as url:
        yield url.removesuffix("/")


@pytest.mark.parametrize(("status", "exit_code"), [(404, 0), (403, 1)])
def test_strict_index_passes_when_previous_site_is_unavailable(
    mkdocs: Project, host: str, status: int, exit_code: int
) -> None:
    site = mkdocs(SMALL, plugins=[]).folder
    done = CliRunner().invoke(main, ["index", str(site), "--previous", f"{host}/{status}/", "--strict"])
    assert (done.exit_code, f"HTTP status {status}" in done.output) == (exit_code, True), done.output

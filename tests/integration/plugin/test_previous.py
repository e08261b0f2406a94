"""A site that names its previous deployment is built with `--strict`, also for the first time."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

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

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def build_strictly(project: Project, previous: str) -> subprocess.CompletedProcess[str]:
    project.write(SMALL, plugins=[{"roaming": {"previous": previous}}])
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    return subprocess.run(command, cwd=project.folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("status", [404, 410, 503])
def test_strict_build_passes_when_previous_site_is_unavailable(mkdocs: Project, host: str, status: int) -> None:
    done = build_strictly(mkdocs, f"{host}/{status}/")
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if f"HTTP status {status}" in line]
    assert [line.split()[0] for line in lines] == ["INFO"]
    assert (mkdocs.folder / "site/roaming/manifest.json").exists()


def test_strict_build_passes_when_previous_server_refuses_connection(mkdocs: Project) -> None:
    done = build_strictly(mkdocs, "http://127.0.0.1:9/")
    assert (done.returncode, "INFO    -  roaming: previous: http://127.0.0.1:9/" in done.stderr) == (0, True)


@pytest.mark.parametrize("status", [200, 403], ids=["invalid manifest", "forbidden"])
def test_strict_build_fails_when_previous_setting_is_wrong(mkdocs: Project, host: str, status: int) -> None:
    done = build_strictly(mkdocs, f"{host}/{status}/")
    assert (done.returncode, "WARNING -  roaming: previous: " in done.stderr) == (1, True)


@pytest.mark.parametrize(("status", "exit_code"), [(404, 0), (403, 1)])
def test_strict_index_passes_when_previous_site_is_unavailable(
    mkdocs: Project, host: str, status: int, exit_code: int
) -> None:
    site = mkdocs(SMALL, plugins=[]).folder
    done = CliRunner().invoke(main, ["index", str(site), "--previous", f"{host}/{status}/", "--strict"])
    assert (done.exit_code, f"HTTP status {status}" in done.output) == (exit_code, True), done.output

"""The function of static hosts in the runtime of Cloudflare, and with the official client of JavaScript."""

from __future__ import annotations

import json
import re
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner
from edge import NODE, run_edge
from npm import install

from mkdocs_roaming.cli import main
from mkdocs_roaming.library.tools import AGENT_TOOLS

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parent


@contextmanager
def run_workerd(site: Path, folder: Path) -> Iterator[str]:
    """Serve a site in workerd, and return the URL."""
    modules = install("miniflare@4", folder)
    assert CliRunner().invoke(main, ["function", "cloudflare", "-o", str(folder / "function.mjs")]).exit_code == 0
    command = [str(NODE), str(FOLDER / "workerd.mjs"), str(modules), str(folder / "function.mjs"), str(site)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            assert url
            yield url
        finally:
            process.terminate()


@pytest.mark.parametrize("host", ["workerd", "netlify", "vercel"])
def test_official_client_uses_tools_in_all_protocols(host: str, sample: Path, tmp_path: Path) -> None:
    modules = install("@modelcontextprotocol/client@2", tmp_path / "client")
    with run_workerd(sample, tmp_path) if host == "workerd" else run_edge(host, sample, tmp_path) as url:
        command = [str(NODE), str(FOLDER / "mcp_client.mjs"), str(modules), f"{url}mcp"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        answers = json.loads(done.stdout)
        request = urllib.request.Request(url, headers={"Accept": "text/markdown"})
        with urllib.request.urlopen(request, timeout=20) as response:
            assert response.headers["Content-Type"] == "text/markdown; charset=utf-8"
            assert response.read() == (sample / "index.md").read_bytes()
    assert [answer["version"] for answer in answers] == ["2025-11-25", "2026-07-28"]
    for answer in answers:
        assert answer["tools"] == [tool.name for tool in AGENT_TOOLS]
        assert re.match(r"<docs [0-9a-f]{16}>\n\[[0-9a-f]{8}\] ", answer["text"])

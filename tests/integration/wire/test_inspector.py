"""The official MCP inspector lists and calls the tools of the endpoint."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from npm import NODE, install
from serving import serve_app

from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.results import Offline
from mkdocs_roaming.library.tools import AGENT_TOOLS
from mkdocs_roaming.serve.app import AppConfig, create_app
from mkdocs_roaming.serve.service import AnswerConfig

pytestmark = pytest.mark.slow

KETTLE = Path(__file__).parents[2] / "golden/answer/kettle.md"


@pytest.fixture(scope="module")
def inspector(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the program of the inspector."""
    modules = install("@modelcontextprotocol/inspector", tmp_path_factory.mktemp("inspector"))
    return modules / ".bin/mcp-inspector"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Return the URL of an endpoint's tools."""
    app = create_app(AppConfig(str(KETTLE), AnswerConfig(Offline(), Budget(whole_site_tokens=0))))
    with serve_app(app, lifespan="on") as port:
        yield f"http://127.0.0.1:{port}/mcp"


def inspect(program: Path, url: str, *arguments: str) -> Any:
    """Return what the inspector prints for a request."""
    command = [*NODE, str(program), "--cli", url, "--transport", "http", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_inspector_lists_and_calls_every_tool(inspector: Path, url: str) -> None:
    tools = inspect(inspector, url, "--method", "tools/list")["tools"]
    assert [tool["name"] for tool in tools] == [tool.name for tool in AGENT_TOOLS]
    assert all(tool["annotations"]["readOnlyHint"] for tool in tools)

    def call(name: str, *arguments: str) -> Any:
        options = [part for argument in arguments for part in ("--tool-arg", argument)]
        return inspect(inspector, url, "--method", "tools/call", "--tool-name", name, *options)

    assert "Settings" in call("read_outline")["content"][0]["text"]
    found = call("search_sections", "query=default port")["content"][0]["text"]
    assert "8642" in found
    ids = re.findall(r"^\[([0-9a-f]{8})\]", found, re.MULTILINE)
    opened = call("expand_sections", f"ids={json.dumps(ids[:2])}")
    assert all(id_ in opened["content"][0]["text"] for id_ in ids[:2])
    assert not opened["isError"]
    assert call("expand_sections", 'ids=["deadbeef"]')["isError"]

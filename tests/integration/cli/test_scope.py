"""The options `--tag` and `--path`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result
from tables import read_tables

from mkdocs_roaming.cli import main

if TYPE_CHECKING:
    from conftest import MadeSite

TABLES = read_tables(__file__)

PAGES = TABLES["pages"]


@pytest.fixture
def site(make_site: Callable[..., MadeSite], tmp_path: Path) -> Path:
    return make_site(PAGES, tags={"old/pumps/": ("archive",)}).publish(tmp_path / "site")


def roaming(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


GUIDE = ("--path", "guide/**")


def test_commands_show_only_pages_in_scope(site: Path) -> None:
    outline = roaming("outline", site, *GUIDE).stdout
    assert ("Pressure" in outline, "Old" in outline) == (True, False)
    assert "Old" not in roaming("search", site, "old bilge pump", *GUIDE).stdout
    assert "4.7 bar" in roaming("ask", site, "At which pressure does a bilge pump work?", *GUIDE).stdout
    assert "2.9 bar" in roaming("ask", site, "At which pressure does a bilge pump work?", "--tag", "Archive").stdout
    assert roaming("expand", site, "guide/pumps/", *GUIDE).exit_code == 0
    result = roaming("expand", site, "old/pumps/", *GUIDE)
    assert (result.exit_code, "no section 'old/pumps/'" in result.stderr) == (1, True)


@pytest.mark.parametrize(
    ("options", "message"),
    TABLES["scope without pages is an error"],
)
@pytest.mark.parametrize("command", [["outline"], ["search", "x"], ["ask", "x"], ["chat"], ["mcp"]])
def test_scope_without_pages_is_an_error(
    site: Path, command: list[str], options: tuple[str, str], message: str
) -> None:
    result = roaming(command[0], site, *command[1:], *options)
    assert result.exit_code == 1
    assert message in result.stderr


def test_mcp_serves_pages_in_scope(site: Path) -> None:
    call = {"name": "search_sections", "arguments": {"query": "bilge pump bar"}}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
    ]
    command = [sys.executable, "-m", "mkdocs_roaming", "mcp", str(site), *GUIDE]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.writelines(json.dumps(message) + "\n" for message in messages)
        process.stdin.flush()
        replies = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.stdin.close()
    text = replies[-1]["result"]["content"][0]["text"]
    assert "Pressure" in text
    assert "Old" not in text

"""Configuration of MCP clients."""

from __future__ import annotations

import json
import shlex

import pytest

from mkdocs_roaming.publish.agents.mcp_clients import McpServer, format_client_config, make_command, make_server_name

STDIO = McpServer("kettle", command=make_command("https://kettle.example/", ("--path", "a b/**")))
HTTP = McpServer("kettle", "https://ask.example/mcp")
ARGUMENTS = ["--from", "mkdocs-roaming[mcp]", "roaming", "mcp", "https://kettle.example/", "--path", "a b/**"]


@pytest.mark.parametrize(
    ("client", "server", "expected"),
    [
        ("cursor", STDIO, {"mcpServers": {"kettle": {"command": "uvx", "args": ARGUMENTS}}}),
        ("vscode", STDIO, {"servers": {"kettle": {"type": "stdio", "command": "uvx", "args": ARGUMENTS}}}),
        ("zed", STDIO, {"context_servers": {"kettle": {"command": "uvx", "args": ARGUMENTS}}}),
        ("cursor", HTTP, {"mcpServers": {"kettle": {"url": HTTP.url}}}),
        ("vscode", HTTP, {"servers": {"kettle": {"type": "http", "url": HTTP.url}}}),
        ("zed", HTTP, {"context_servers": {"kettle": {"url": HTTP.url}}}),
    ],
)
def test_format_client_config_returns_documented_json(client: str, server: McpServer, expected: object) -> None:
    assert json.loads(format_client_config(client, server)) == expected


def test_format_client_config_returns_command_for_claude_code() -> None:
    assert format_client_config("claude-code", HTTP) == (
        "claude mcp add --transport http kettle https://ask.example/mcp"
    )
    command = format_client_config("claude-code", STDIO)
    assert command.startswith('claude mcp add kettle -- uvx --from "mkdocs-roaming[mcp]" roaming mcp https://kettle')
    assert shlex.split(command) == ["claude", "mcp", "add", "kettle", "--", "uvx", *ARGUMENTS]


@pytest.mark.parametrize("lib", ["/srv/my docs", "it's", "a$b`c", 'a"b', "C:\\docs", "a!b", "%TEMP%", "a\nb", "ä"])
def test_claude_command_survives_a_shell(lib: str) -> None:
    server = McpServer("x", command=make_command(lib))
    assert shlex.split(format_client_config("claude-code", server))[-1] == lib


@pytest.mark.parametrize(
    ("site", "url", "name"),
    [
        ("Material for MkDocs", "https://x.example/", "material-for-mkdocs"),
        ("Éléphant & Co.", "https://x.example/", "elephant-co"),
        ("日本語", "https://docs.example/ja/", "docs-example-ja"),
        ("", "", "docs"),
        ("a" * 500, "", "a" * 40),
    ],
)
def test_make_server_name_has_letters_digits_and_hyphens(site: str, url: str, name: str) -> None:
    assert make_server_name(site, url) == name

"""Configuration of MCP clients: what the page menu links and copies, and `roaming mcp --print-config` prints."""

from __future__ import annotations

import json
import re
import shlex
import unicodedata
from base64 import b64encode
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

CLIENTS = {"claude-code": "Claude Code", "cursor": "Cursor", "vscode": "VS Code", "zed": "Zed"}
"""Names of the clients."""
_SERVER_KEYS = {"cursor": "mcpServers", "vscode": "servers", "zed": "context_servers"}
"""The key of the servers in the configuration of a client."""

_MAX_SITE_CHARS = 200
_MAX_NAME_CHARS = 40
_UNSAFE = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class McpServer:
    """An MCP server: the URL of one that is running, or the command that starts one."""

    name: str
    url: str = ""
    command: tuple[str, ...] = ()


def make_command(lib: str, options: tuple[str, ...] = (), *, extras: str = "mcp") -> tuple[str, ...]:
    """Return the command that serves a library over standard input and output; uv installs what it needs.

    Args:
        lib: The LIB argument of `roaming mcp`.
        options: Options of `roaming mcp`.
        extras: The extras of the package that the library needs.
    """
    return ("uvx", "--from", f"mkdocs-roaming[{extras}]", "roaming", "mcp", lib, *options)


def make_server_name(site: str, url: str) -> str:
    """Return the name of a site's server, of letters, digits and hyphens: Claude Code accepts no others."""
    for text in (site, url.rpartition("://")[2]):
        decomposed = unicodedata.normalize("NFKD", text[:_MAX_SITE_CHARS])
        letters = decomposed.encode("ascii", "ignore").decode().lower()
        name = _UNSAFE.sub("-", letters)[:_MAX_NAME_CHARS].strip("-")
        if name:
            return name
    return "docs"


def format_client_config(client: str, server: McpServer) -> str:
    """Return the configuration of a client as text: a command for Claude Code, JSON for the others.

    Args:
        client: A key of `CLIENTS`.
        server: The server.
    """
    if client == "claude-code":
        target = (server.name, "--", *server.command)
        if server.url:
            target = ("--transport", "http", server.name, server.url)
        return " ".join(map(_quote, ("claude", "mcp", "add", *target)))
    config = {_SERVER_KEYS[client]: {server.name: _describe_server(client, server)}}
    return json.dumps(config, indent=2, ensure_ascii=False)


def make_install_link(client: str, server: McpServer) -> str:
    """Return the address that installs a server in Cursor or VS Code.

    Args:
        client: `cursor` or `vscode`.
        server: The server.
    """
    entry = _describe_server(client, server)
    if client == "vscode":
        return "vscode:mcp/install?" + quote(json.dumps({"name": server.name, **entry}), safe="")
    config = quote(b64encode(json.dumps(entry).encode()), safe="")
    return f"cursor://anysphere.cursor-deeplink/mcp/install?name={server.name}&config={config}"


def _describe_server(client: str, server: McpServer) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    if client == "vscode":
        entry["type"] = "http" if server.url else "stdio"
    if server.url:
        return {**entry, "url": server.url}
    return {**entry, "command": server.command[0], "args": list(server.command[1:])}


def _quote(argument: str) -> str:
    """Quote an argument for POSIX shells, PowerShell and cmd, as far as one quotation fits all of them."""
    quoted = shlex.quote(argument)
    if quoted == argument or not set(argument).isdisjoint('"$`\\!%'):
        return quoted
    return f'"{argument}"'

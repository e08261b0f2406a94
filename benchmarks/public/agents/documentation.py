"""The documentation of the libraries as an agent gets it in each condition."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from msgspec import Struct

ROOT = Path(__file__).parents[3]
CONFIGS: Mapping[str, Path] = {
    "ebbkeeper": ROOT / "sample_site/mkdocs.yml",
    "quern": Path(__file__).parent / "quern/mkdocs.yml",
}
"""The configuration of each library's documentation."""

Condition = Literal["nothing", "mkdocs-llmstxt", "zensical", "llms.txt", "AGENTS.md", "mcp"]
CONDITIONS: Mapping[Condition, str] = {
    "nothing": "no documentation",
    "mkdocs-llmstxt": "llms.txt of mkdocs-llmstxt",
    "zensical": "llms.txt of Zensical",
    "llms.txt": "llms.txt of mkdocs-roaming",
    "AGENTS.md": "index in AGENTS.md, `roaming export agents-md`",
    "mcp": "MCP server, `roaming mcp`",
}
"""The conditions, and their names in tables."""

MAX_CHARS = 50_000
"""Number of characters of a document that a request returns; tools of agents that fetch addresses have such limits."""


class Documentation(Struct, frozen=True):
    """The documentation of a library in one condition.

    Attributes:
        condition: The condition.
        url: The address of the site.
        folder: The folder with its files; empty without documentation.
        index: The text that an agent has from the beginning, such as that of AGENTS.md; empty without one.
    """

    condition: Condition
    url: str
    folder: str
    index: str = ""


# Build


def build(library: str, condition: Condition, folder: Path) -> Documentation:
    """Build the documentation of a library, with the plugin of the condition in its default settings.

    The site is configured as its own `mkdocs.yml` says, without rules and descriptions that were written for the
    product. llms.txt of the others needs a list of files: one for each folder of the documentation.

    Args:
        library: The name of the library.
        condition: The condition.
        folder: The folder for the site.

    Raises:
        subprocess.CalledProcessError: A build failed.
    """
    config = CONFIGS[library]
    text = config.read_text("utf-8")
    url = re.findall(r"^site_url: (\S+)", text, re.MULTILINE)[0]
    if condition == "nothing":
        return Documentation(condition, url, "")
    file = config.with_name(f".{condition.lower()}.yml")
    built = config.with_name(f".{condition.lower()}")  # Zensical builds into the folder of its configuration only
    file.write_text(f"site_dir: {built.name}\n" + _configure(text, condition, config.parent / "docs"), "utf-8")
    try:
        _run(["zensical" if condition == "zensical" else "mkdocs", "build", "-f", str(file)])
        shutil.move(built, folder)
    finally:
        file.unlink()
        shutil.rmtree(built, ignore_errors=True)
    make_index = {"AGENTS.md": _export_index, "mcp": _describe_tools}.get(condition)
    return Documentation(condition, url, str(folder), make_index(folder) if make_index else "")


def _configure(text: str, condition: Condition, docs: Path) -> str:
    without = re.sub(r"^  - roaming:\n(?:   .*\n)*", "", text, flags=re.MULTILINE)
    own = "  - roaming\n"
    if condition in ("mkdocs-llmstxt", "zensical"):
        folders = sorted(path.name for path in docs.iterdir() if path.is_dir() and any(path.rglob("*.md")))
        pages = sorted(path.name for path in docs.glob("*.md"))
        entries = {"Overview": pages, **{name.capitalize(): [f"{name}/*.md"] for name in folders}}
        own = f"  - llmstxt:\n      sections: {json.dumps(entries)}\n"
    portable = without.replace("!relative $config_dir", str(docs.parent))  # Zensical does not know the tag
    return re.sub(r"^plugins:\n", f"plugins:\n{own}", portable, flags=re.MULTILINE)


def _run(command: list[str]) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PATH": path, "NO_MKDOCS_2_WARNING": "1"}
    )
    if done.returncode:
        print(done.stdout[-2000:], done.stderr[-2000:], file=sys.stderr)
        done.check_returncode()
    return done.stdout


def _export_index(folder: Path) -> str:
    return _run(["roaming", "export", "agents-md", str(folder)])


# Requests


def read(documentation: Documentation, address: str) -> str:
    """Return the document at an address of the site, or a message as a server would."""
    if not documentation.folder or not address.startswith(documentation.url):
        return f"{address}: no such host"
    folder = Path(documentation.folder).resolve()
    path = urlsplit(address).path.removeprefix(urlsplit(documentation.url).path).strip("/")
    file = (folder / path).resolve()
    file = file / "index.html" if file.is_dir() else file
    if not file.is_relative_to(folder) or not file.is_file():
        return "404 Not Found"
    text = file.read_text("utf-8", "replace")
    cut = f"\n\n[cut: {len(text):,} characters in all]" if len(text) > MAX_CHARS else ""
    return text[:MAX_CHARS] + cut


def call_tool(documentation: Documentation, name: str, arguments: dict[str, Any]) -> str:
    """Return the result of a tool of the MCP server."""

    async def call(session: ClientSession) -> str:
        await session.initialize()
        result = await session.call_tool(name, arguments)
        return "\n".join(block.text for block in result.content if block.type == "text")

    return _ask_server(documentation.folder, call) if documentation.folder else "no such server"


def _describe_tools(folder: Path) -> str:
    async def describe(session: ClientSession) -> str:
        instructions = (await session.initialize()).instructions or ""
        tools = (await session.list_tools()).tools
        lines = (f"{tool.name}: {tool.description}\nArguments: {json.dumps(tool.input_schema)}" for tool in tools)
        return "\n\n".join([instructions, *lines])

    return _ask_server(str(folder), describe)


def _ask_server(folder: str, ask: Callable[[ClientSession], Awaitable[str]]) -> str:
    server = StdioServerParameters(command=sys.executable, args=["-m", "mkdocs_roaming", "mcp", folder])

    async def run() -> str:
        async with stdio_client(server) as (receive, send), ClientSession(receive, send) as session:
            return await ask(session)

    return anyio.run(run)

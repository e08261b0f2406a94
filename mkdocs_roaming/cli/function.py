"""`roaming function`: MCP and negotiation of Markdown for the hosts of static sites, as one JavaScript file."""

from __future__ import annotations

import hashlib
import json
import tomllib
from pathlib import Path

import click

from mkdocs_roaming._version import __version__
from mkdocs_roaming.cli.common import FILE
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.files import write_text_file
from mkdocs_roaming.publish.elements.html import read_asset
from mkdocs_roaming.serve.mcp import INSTRUCTIONS, SERVER_INFO, describe_tools

HOSTS: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("functions.toml").read_text("utf-8"))
"""The file and the last lines of the function of each host."""

_WRITTEN_BY = "// Written by `roaming function "


@click.command()
@click.argument("host", type=click.Choice(list(HOSTS)))
@click.option("-o", "--output", type=FILE, metavar="FILE", help="File to write (default: where the host expects it).")
def function(host: str, output: Path | None) -> None:
    """Write a function for MCP and Markdown on a static host.

    It answers MCP at /mcp from the published files of a site with the option mcp, and sends the Markdown of a page to
    clients that prefer it. A file that something else has written or changed is not overwritten.
    """
    file = output or Path(HOSTS[host]["file"])
    before = file.read_text("utf-8", "replace") if file.exists() else None
    if before is not None and not is_own_function(before):
        raise UsageError(f"{file}: was not written by this command, or was changed; move it away, or name another file")
    if output is None:
        file.parent.mkdir(parents=True, exist_ok=True)
    write_text_file(file, render_function(host))
    click.echo(f"{file}: MCP at /mcp if the site has the option mcp, and Markdown for clients that prefer it")


def render_function(host: str) -> str:
    """Return the function of a host; its first line has the digest of the others."""
    server = {"info": SERVER_INFO, "instructions": INSTRUCTIONS, "tools": describe_tools()}
    code = read_asset("roaming-mcp.js").decode()
    rest = f"{code.strip()}\nconst server = {json.dumps(server, ensure_ascii=False)};\n{HOSTS[host]['lines']}"
    return f"{_WRITTEN_BY}{host}`, mkdocs-roaming {__version__}: {_digest(rest)}\n{rest}"


def is_own_function(text: str) -> bool:
    """Return whether a file is one that this command has written, unchanged."""
    head, _, rest = text.replace("\r\n", "\n").partition("\n")
    return head.startswith(_WRITTEN_BY) and head.endswith(f" {_digest(rest)}")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]

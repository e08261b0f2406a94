"""`roaming mcp`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
import click

from mkdocs_roaming.cli.common import CONFIG, INSTALLED_DOCS, LIBRARY, SIGNAL_EXIT, LibraryCommand
from mkdocs_roaming.cli.sites import scope_options, search_factory
from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.targets import Store, open_target
from mkdocs_roaming.manifest.lookup import Scope
from mkdocs_roaming.publish.agents.mcp_clients import (
    CLIENTS,
    McpServer,
    format_client_config,
    make_command,
    make_server_name,
)
from mkdocs_roaming.serve.deployments import SiteWatcher
from mkdocs_roaming.serve.mcp import make_server, serve_stdio

_OPEN_SITES = 8  # number of sites of a store whose search index stays in memory: an agent alternates between a few


@click.command(cls=LibraryCommand)
@LIBRARY
@scope_options
@CONFIG
@click.option(
    "--print-config",
    "client",
    type=click.Choice(list(CLIENTS)),
    help="Print the configuration of this client and exit.",
)
def mcp(lib: str, scope: Scope, config: Path | None, client: str | None) -> None:
    """Serve a site or a store to an agent over MCP.

    The server uses standard input and output. The agent starts it and gets the tools read_outline, search_sections,
    grep and expand_sections. A new deployment or crawl is noticed within a minute. `roaming serve` offers the same
    tools over HTTP.
    """
    if client:
        click.echo(format_client_config(client, _describe_server(lib, scope, config)))
        return
    create_search = search_factory(config)
    store = open_target(lib, search=create_search, open_sites=_OPEN_SITES, scope=scope).store
    serve = partial(_serve_site, lib, create_search, scope) if store is None else partial(_serve_store, store)
    # A thread is blocked reading standard input, and Python would wait for it at exit: Ctrl-C ends the process.
    previous = signal.signal(signal.SIGINT, lambda number, _: os._exit(SIGNAL_EXIT + number))
    try:
        anyio.run(serve)
    finally:
        signal.signal(signal.SIGINT, previous)


def _describe_server(lib: str, scope: Scope, config: Path | None) -> McpServer:
    """Return the server that this command is for a site or store. Raise LibraryError if there is none."""
    is_installed = lib.startswith(INSTALLED_DOCS)
    where = lib if "://" in lib or is_installed else str(Path(lib).resolve())
    extras = "mcp"
    site = ""
    url = ""
    target = open_target(where, scope=scope)
    if target.store is None:
        entry = target.open_site().manifest.site
        site = entry.name
        url = entry.url
    else:
        site, extra = target.store.server
        where = target.where
        extras = f"{extra},mcp"
    values = {"--tag": scope.tags, "--path": scope.paths}
    options = [part for name, given in values.items() for value in given for part in (name, value)]
    if config:
        options += ["--config", str(config.resolve())]
    if is_installed:  # in this environment, whose packages are meant
        return McpServer("installed-packages", command=(sys.executable, "-m", "mkdocs_roaming", "mcp", where, *options))
    return McpServer(make_server_name(site, url), command=make_command(where, tuple(options), extras=extras))


async def _serve_site(lib: str, create_search: Callable[[Library], Search], scope: Scope) -> None:
    deployments = SiteWatcher(lib, search_factory=create_search)
    server = make_server(lambda: deployments.now().restrict(scope).navigator())
    if not await deployments.check(log_problem=False):
        raise LibraryError(deployments.problem)
    deployments.now().library.restrict(scope)  # report an empty scope before the agent asks
    async with anyio.create_task_group() as group:
        group.start_soon(deployments.run)
        await serve_stdio(server)
        group.cancel_scope.cancel()


async def _serve_store(store: Store) -> None:
    await serve_stdio(make_server(store.toolset, instructions=store.instructions))

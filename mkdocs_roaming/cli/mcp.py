"""`roaming mcp`: a site as tools for an agent."""

from __future__ import annotations

import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mkdocs_roaming.cli.ask import CONFIG
from mkdocs_roaming.cli.common import LIBRARY

if TYPE_CHECKING:
    from mkdocs_roaming.library.library import Library
    from mkdocs_roaming.library.search import Finder
    from mkdocs_roaming.library.targets import Store


@click.command()
@LIBRARY
@CONFIG
def mcp(lib: str, config: Path | None) -> None:
    """Offer a site, or a store of many, to an agent: an MCP server on standard input and output.

    The agent starts it, with this very command, and has three tools: read_outline, search_sections, expand_sections.
    A new deployment, or a new crawl, is noticed within a minute. `roaming serve` offers the same over HTTP.
    """
    import anyio

    from mkdocs_roaming.cli.common import search_factory
    from mkdocs_roaming.library.targets import open_target

    search_of = search_factory(config)
    store = open_target(lib, search=search_of, open_sites=_OPEN).store
    serve = partial(_offer_site, lib, search_of) if store is None else partial(_offer_sites, store)
    # A thread waits for the next line of input, and Python would wait for that thread: Ctrl-C has to end it outright.
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        anyio.run(serve)
    finally:
        signal.signal(signal.SIGINT, before)


async def _offer_site(lib: str, search_of: Callable[[Library], Finder]) -> None:
    import anyio

    from mkdocs_roaming.errors import LibraryError
    from mkdocs_roaming.serve.deployments import SiteWatcher
    from mkdocs_roaming.serve.mcp import make_server, serve_stdio

    deployments = SiteWatcher(lib, finding=search_of)
    server = make_server(lambda: deployments.now().navigator())
    if not await deployments.look(again=False):
        raise LibraryError(deployments.problem)
    async with anyio.create_task_group() as group:
        group.start_soon(deployments.run)
        await serve_stdio(server)
        group.cancel_scope.cancel()


async def _offer_sites(store: Store) -> None:
    from mkdocs_roaming.serve.mcp import make_server, serve_stdio

    await serve_stdio(make_server(store.toolset, instructions=store.instructions))


_OPEN = 8
"""Sites whose search stays in memory: an agent goes back and forth between a few."""

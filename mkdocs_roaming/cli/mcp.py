"""`roaming mcp`."""

from __future__ import annotations

import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mkdocs_roaming.cli.common import CONFIG, LIBRARY, search_factory

if TYPE_CHECKING:
    from mkdocs_roaming.library.library import Library
    from mkdocs_roaming.library.search import Finder
    from mkdocs_roaming.library.targets import Store

_OPEN_SITES = 8
"""Number of sites of a store whose search index stays in memory: an agent alternates between a few."""


@click.command()
@LIBRARY
@CONFIG
def mcp(lib: str, config: Path | None) -> None:
    """Serve a site or a store to an agent over MCP.

    The server uses standard input and output. The agent starts it and gets three tools: read_outline,
    search_sections, expand_sections. A new deployment or crawl is noticed within a minute. `roaming serve` offers the same tools over HTTP.
    """
    import anyio

    from mkdocs_roaming.library.targets import open_target

    create_search = search_factory(config)
    store = open_target(lib, search=create_search, open_sites=_OPEN_SITES).store
    serve = partial(_serve_site, lib, create_search) if store is None else partial(_serve_store, store)
    # A thread is blocked reading standard input, and Python would wait for it at exit: let Ctrl-C end the process.
    previous = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        anyio.run(serve)
    finally:
        signal.signal(signal.SIGINT, previous)


async def _serve_site(lib: str, create_search: Callable[[Library], Finder]) -> None:
    import anyio

    from mkdocs_roaming.errors import LibraryError
    from mkdocs_roaming.serve.deployments import SiteWatcher
    from mkdocs_roaming.serve.mcp import make_server, serve_stdio

    deployments = SiteWatcher(lib, search_factory=create_search)
    server = make_server(lambda: deployments.now().navigator())
    if not await deployments.check(log_problem=False):
        raise LibraryError(deployments.problem)
    async with anyio.create_task_group() as group:
        group.start_soon(deployments.run)
        await serve_stdio(server)
        group.cancel_scope.cancel()


async def _serve_store(store: Store) -> None:
    from mkdocs_roaming.serve.mcp import make_server, serve_stdio

    await serve_stdio(make_server(store.toolset, instructions=store.instructions))

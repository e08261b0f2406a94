"""`roaming mcp`: a site as tools for an agent."""

from __future__ import annotations

import signal
from pathlib import Path

import click

from mkdocs_roaming.cli.asking import CONFIG
from mkdocs_roaming.cli.frame import LIB, check_one_site


@click.command()
@LIB
@CONFIG
def mcp(lib: str, config: Path | None) -> None:
    """Offer a site to an agent: an MCP server on standard input and output.

    The agent starts it, with this very command, and has three tools: read_outline, search_sections, expand_sections.
    A new deployment of the site is noticed within a minute. `roaming serve` offers the same over HTTP.
    """
    import anyio

    from mkdocs_roaming.cli.meaning import finding
    from mkdocs_roaming.errors import LibraryError
    from mkdocs_roaming.serve.deployments import Deployments
    from mkdocs_roaming.serve.mcp import make_server, serve_stdio

    check_one_site(lib)
    deployments = Deployments(lib, finding=finding(config))
    server = make_server(lambda: deployments.now().navigator())

    async def serve() -> None:
        if not await deployments.look():
            raise LibraryError(deployments.problem)
        async with anyio.create_task_group() as group:
            group.start_soon(deployments.run)
            await serve_stdio(server)
            group.cancel_scope.cancel()

    # A thread waits for the next line of input, and Python would wait for that thread: Ctrl-C has to end it outright.
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        anyio.run(serve)
    finally:
        signal.signal(signal.SIGINT, before)

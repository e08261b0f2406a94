"""`roaming …`: the only package that knows all the others; heavy ones are imported inside the commands."""

from __future__ import annotations

import click
from roaming_crawler.cli import crawl
from roaming_fleet.cli import sites

from mkdocs_roaming._version import __version__
from mkdocs_roaming.cli.ask import ask, replay
from mkdocs_roaming.cli.chat import chat
from mkdocs_roaming.cli.common import EXIT_CODES, FAULTS_FOUND, NOTHING_FOUND, Commands
from mkdocs_roaming.cli.diff import diff
from mkdocs_roaming.cli.evaluate import evaluate
from mkdocs_roaming.cli.explain import explain
from mkdocs_roaming.cli.index import index, validate
from mkdocs_roaming.cli.lint import lint
from mkdocs_roaming.cli.mcp import mcp
from mkdocs_roaming.cli.navigate import expand, outline, search
from mkdocs_roaming.cli.serve import serve

__all__ = ["FAULTS_FOUND", "NOTHING_FOUND", "main"]


@click.group(cls=Commands, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="roaming")
def main() -> None:
    """Publish a documentation site so that it can be walked, walk it, and ask it questions.

    LIB is a published site: its folder, its address, or its manifest's address. A single Markdown file, or its
    address, is one too: somebody's llms-full.txt, for one.
    """


for command in (
    index,
    crawl,
    sites,
    outline,
    expand,
    search,
    ask,
    chat,
    explain,
    replay,
    evaluate,
    diff,
    mcp,
    serve,
    validate,
    lint,
):
    main.add_command(command)

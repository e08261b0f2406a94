"""`roaming …`: the only package that knows all the others; heavy ones are imported inside the commands."""

from __future__ import annotations

import click

from mkdocs_roaming import __version__
from mkdocs_roaming.cli.asking import ask, replay
from mkdocs_roaming.cli.chatting import chat
from mkdocs_roaming.cli.comparing import diff
from mkdocs_roaming.cli.connecting import mcp
from mkdocs_roaming.cli.crawling import crawl
from mkdocs_roaming.cli.evaluating import evaluate
from mkdocs_roaming.cli.explaining import explain
from mkdocs_roaming.cli.fleet import sites
from mkdocs_roaming.cli.frame import EXIT_CODES, FAULTS_FOUND, NOTHING_FOUND, Commands
from mkdocs_roaming.cli.linting import lint
from mkdocs_roaming.cli.publishing import index, validate
from mkdocs_roaming.cli.reading import expand, outline, search
from mkdocs_roaming.cli.serving import serve

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

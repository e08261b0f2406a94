"""`roaming chat`: a conversation on a terminal."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Any

import click

from mkdocs_roaming.cli.asking import chosen, model_options
from mkdocs_roaming.cli.frame import LIB, TRUST_RULES, open_lib, warn


@click.command()
@LIB
@model_options
@click.option("--page", help="The page that the reader is on: its path or address.")
@TRUST_RULES
def chat(lib: str, page: str | None, trust_rules: bool, **given: Any) -> None:
    """Talk about a site.

    Follow-ups know what was said and opened before. /help lists the commands; lines may come from a pipe, too.
    """
    from mkdocs_roaming.chat import Chat
    from mkdocs_roaming.terminal import say

    if isinstance(sys.stdin, io.TextIOWrapper):  # a line in some other encoding is no reason to stop
        sys.stdin.reconfigure(errors="replace")
    options = chosen(given)
    options.answering()  # what is wrong with the model is told before anything is opened
    library = open_lib(lib, trust_rules=trust_rules)
    _complete([place.id for place in library.places])
    talk = Chat(
        library,
        options.answering,
        read=_line,
        out=click.echo,
        aside=say,
        page=page,
        whole_site_tokens=options.whole_site,
        search=options.settings.finding(os.environ, warn)(library),
    )
    talk.run()


def _line(prompt: str) -> str:
    """Read a line; the prompt is for people: it stands neither in a pipe nor in a file."""
    if sys.stdin.isatty() and sys.stdout.isatty():
        try:
            return input(prompt)
        except EOFError:
            click.echo()  # the shell's prompt begins a line of its own
            raise
    if sys.stdin.isatty():
        click.echo(prompt, err=True, nl=False)
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")


def _complete(ids: list[str]) -> None:
    """Complete commands and ids with the Tab key, and bring earlier lines back, where the terminal can."""
    if not sys.stdin.isatty():
        return
    with suppress(ImportError):
        import readline

        from mkdocs_roaming.chat import COMMANDS

        def complete(text: str, state: int) -> str | None:
            words = COMMANDS if readline.get_begidx() == 0 else ids
            return next((word for at, word in enumerate(w for w in words if w.startswith(text)) if at == state), None)

        readline.set_completer_delims(" ")
        readline.set_completer(complete)
        libedit = "libedit" in (readline.__doc__ or "")
        readline.parse_and_bind("bind ^I rl_complete" if libedit else "tab: complete")

"""`roaming ask`: questions, answered by roaming."""

from __future__ import annotations

import sys
from contextlib import aclosing
from dataclasses import asdict
from typing import Any

import click

from mkdocs_roaming.cli.frame import AS_JSON, FREE_TEXT, LIB, NOTHING_FOUND, open_lib, print_json


@click.command(context_settings=FREE_TEXT)
@LIB
@click.argument("question")
@click.option("--page", help="The page that the reader is on: its path or address.")
@AS_JSON
def ask(lib: str, question: str, page: str | None, as_json: bool) -> None:
    """Ask a question, without a key or a model.

    The answer is made of the docs' own sentences, word for word, each cited.
    """
    import anyio

    from mkdocs_roaming.answer.events import summarise
    from mkdocs_roaming.answer.loop import answer
    from mkdocs_roaming.answer.models.offline import Offline
    from mkdocs_roaming.roam.navigator import Navigator
    from mkdocs_roaming.terminal import Trail, show_answer

    navigator = Navigator(open_lib(lib))
    trail = Trail(quiet=as_json)

    async def walk() -> list[Any]:
        seen: list[Any] = []
        async with aclosing(answer(question, navigator, Offline(), page=page)) as events:
            async for event in events:
                trail.show(event)
                seen.append(event)
        return seen

    result = summarise(anyio.run(walk))
    if as_json:
        print_json(asdict(result))
    else:
        show_answer(result)
    if result.state == "error":
        sys.exit(1)
    if result.state in ("not_found", "refused"):
        sys.exit(NOTHING_FOUND)

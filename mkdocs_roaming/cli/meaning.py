"""What the commands share of search by meaning: whose vectors are published, and how is searched."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mkdocs_roaming.cli.frame import warn
from mkdocs_roaming.errors import UsageError

if TYPE_CHECKING:
    from mkdocs_roaming.publish.meaning import Meaning
    from mkdocs_roaming.roam.library import Library
    from mkdocs_roaming.roam.meaning import Finder

SEARCH = click.option(
    "--search",
    type=click.Choice(["lexical", "hybrid"]),
    default="lexical",
    show_default=True,
    help="hybrid: publish vectors too, made by the model that [embeddings] of the settings names.",
)


def meaning(given: dict[str, Any]) -> Meaning | None:
    """Give whose vectors are published, as the options `--search` and `--config` say."""
    if given["search"] == "lexical":
        return None
    from mkdocs_roaming.embed import endpoint_of
    from mkdocs_roaming.publish.meaning import Meaning
    from mkdocs_roaming.settings import read_settings

    settings = read_settings(given["config"])
    embeddings = settings.embeddings
    if embeddings is None:
        raise UsageError(
            f"--search hybrid: {settings.where or 'roaming.toml'} names no model that makes vectors; "
            "add [embeddings] with model and base_url"
        )
    tell = partial(click.echo, err=True)
    return Meaning(embeddings.model, lambda: endpoint_of(embeddings, os.environ), embeddings.text_prefix, tell)


def finding(config: Path | None) -> Callable[[Library], Finder]:
    """Give what makes the search of a library, as the settings say; once it goes by words alone, a warning says why."""
    from mkdocs_roaming.settings import read_settings

    return read_settings(config).finding(os.environ, warn)

"""`roaming outline`, `expand` and `search`: walk a site by hand; no model is asked."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from mkdocs_roaming.cli.ask import CONFIG
from mkdocs_roaming.cli.common import (
    AS_JSON,
    FREE_TEXT,
    LIBRARY,
    NOTHING_FOUND,
    find_section,
    hit_as_json,
    print_json,
    site_as_json,
)


@click.command()
@LIBRARY
@click.argument("branch", required=False)
@click.option("--budget", type=click.IntRange(min=200), default=8000, show_default=True, help="Estimated tokens.")
@click.option("--style", type=click.Choice(["compact", "comment"]), default="compact", show_default=True)
@AS_JSON
def outline(lib: str, branch: str | None, budget: int, style: Any, as_json: bool) -> None:
    """Print the collapsed outline, or a branch of it.

    A BRANCH is the id of a nav group, a page or a section, or `<id>+` as the outline shows it; or an address of a
    page or a section. Of many sites it is a site, `<site>:<id>`, or an address; `roaming sites` lists them.
    """
    from mkdocs_roaming.cli.output import freshness_line, sanitize
    from mkdocs_roaming.library.targets import open_target
    from mkdocs_roaming.manifest.outline import render_outline as draw
    from mkdocs_roaming.text.tokenizer import estimate_tokens

    meant = open_target(lib).resolve_branch(branch)
    text = draw(meant.library.sections, budget=budget, branch=meant.address or None, style=style)
    if as_json:
        told = {"digest": meant.library.manifest.digest, "tokens": estimate_tokens(text), "outline": text}
        print_json({**told, **site_as_json(meant.site)})
    else:
        click.echo(sanitize(freshness_line(meant.site) + text), nl=False)


@click.command()
@LIBRARY
@click.argument("addresses", nargs=-1, required=True, metavar="SECTION...")
@click.option("--part", type=click.IntRange(min=1), default=1, help="Which part of a section that is too long for one.")
@AS_JSON
def expand(lib: str, addresses: tuple[str, ...], part: int, as_json: bool) -> None:
    """Open sections.

    A SECTION is an id, `<page path>#<anchor>`, `<source>.md#<anchor>`, or an address on the site. Of many sites, an
    address, or `<site>:` and any of the others.
    """
    from mkdocs_roaming.cli.output import freshness_line, sanitize
    from mkdocs_roaming.library.targets import open_target
    from mkdocs_roaming.manifest.expand import expand_section as open_section
    from mkdocs_roaming.manifest.expand import render_expansion

    places = [(one, find_section(one.library, one.address)) for one in open_target(lib).resolve(addresses)]
    found = [
        (one.site, open_section(one.library.sections, place, one.library.text, part=part)) for one, place in places
    ]
    if as_json:
        print_json([{**asdict(opened), "text": opened.text, **site_as_json(site)} for site, opened in found])
    else:
        click.echo(
            sanitize("\n---\n\n".join(freshness_line(site) + render_expansion(opened) for site, opened in found)),
            nl=False,
        )


@click.command(context_settings=FREE_TEXT)
@LIBRARY
@click.argument("query")
@click.option("--limit", type=click.IntRange(min=1, max=100), default=10, show_default=True)
@CONFIG
@AS_JSON
def search(lib: str, query: str, limit: int, config: Path | None, as_json: bool) -> None:
    """Search the sections; no model is asked, but for the question's vector where the settings name [embeddings]."""
    from mkdocs_roaming.cli.common import search_factory
    from mkdocs_roaming.cli.output import print_hits
    from mkdocs_roaming.library.targets import open_target

    hits = open_target(lib, search=search_factory(config)).search(query, limit)
    if as_json:
        print_json(
            [
                {**hit_as_json(one.library, one.hit.place, one.score, one.hit.snippet), **site_as_json(one.site)}
                for one in hits
            ]
        )
    elif hits:
        print_hits(hits)
    else:
        click.echo("Nothing found.", err=True)
    if not hits:
        sys.exit(NOTHING_FOUND)

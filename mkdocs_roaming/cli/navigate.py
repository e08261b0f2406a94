"""`roaming outline`, `roaming expand`, `roaming search` and `roaming grep`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

import click
import msgspec

from mkdocs_roaming.cli.common import (
    AS_JSON,
    CONFIG,
    FREE_TEXT,
    LIBRARY,
    NOTHING_FOUND,
    LibraryCommand,
    check_order,
    print_json,
)
from mkdocs_roaming.cli.sites import find_section, scope_options, search_factory, site_as_json
from mkdocs_roaming.library.grep import render_grep
from mkdocs_roaming.library.library import Origin
from mkdocs_roaming.library.targets import SiteInfo, TargetHit, open_target
from mkdocs_roaming.manifest.expand import expand_section, render_expansion
from mkdocs_roaming.manifest.lookup import Scope
from mkdocs_roaming.manifest.outline import render_outline
from mkdocs_roaming.text.markdown import sanitize, to_single_line
from mkdocs_roaming.text.tokenizer import estimate_tokens


@click.command(cls=LibraryCommand)
@LIBRARY
@click.argument("branch", required=False)
@click.option(
    "--budget", type=click.IntRange(min=200), default=8000, show_default=True, help="Maximum size in estimated tokens."
)
@scope_options
@AS_JSON
def outline(lib: str, branch: str | None, budget: int, scope: Scope, as_json: bool) -> None:
    """Print the collapsed outline, or one branch of it.

    BRANCH is the id of a nav group, page or section, `<id>+` as shown in the outline, or the path or URL of a page or
    section. For a store it is a site, `<site>:<id>`, or a URL; without it the sites are listed.
    """
    target = open_target(lib, scope=scope)
    if target.store and not branch:
        site = None
        (text, origin, digest) = target.store.list_sites(budget)
    else:
        resolved = target.resolve_branch(branch)
        library = resolved.library
        site = resolved.site
        if library.note:
            click.echo(to_single_line(library.note), err=True)
        text = render_outline(library.sections, budget=budget, branch=resolved.address or None)
        origin = library.origin()
        digest = library.manifest.digest
    if as_json:
        data = {"digest": digest, "tokens": estimate_tokens(text), "outline": text}
        print_json({**data, **_source_as_json(site, origin)})
    else:
        click.echo(sanitize(_site_line(site) + origin.render() + text), nl=False)


@click.command(cls=LibraryCommand)
@LIBRARY
@click.argument("addresses", nargs=-1, required=True, metavar="SECTION...")
@click.option("--part", type=click.IntRange(min=1), default=1, help="Number of the part of a long section.")
@scope_options
@AS_JSON
def expand(lib: str, addresses: tuple[str, ...], part: int, scope: Scope, as_json: bool) -> None:
    """Print sections.

    SECTION is an id, `<page path>#<anchor>`, `<source>.md#<anchor>`, or a URL on the site. For a store it is a URL, or
    `<site>:` followed by one of the others.
    """
    entries = list[dict[str, Any]]()
    texts = list[str]()
    for resolved in open_target(lib, scope=scope).resolve(addresses):
        library = resolved.library
        section = find_section(library, resolved.address)
        expansion = expand_section(library.sections, section, library.text, part=part)
        origin = library.origin(shown.id for shown in expansion.shown)
        entry = {**msgspec.to_builtins(expansion), "text": expansion.text}
        entries.append({**entry, **_source_as_json(resolved.site, origin)})
        texts.append(_site_line(resolved.site) + origin.render() + render_expansion(expansion))
    if as_json:
        print_json(entries)
    else:
        click.echo(sanitize("\n---\n\n".join(texts)), nl=False)


@click.command(cls=LibraryCommand, context_settings=FREE_TEXT)
@LIBRARY
@click.argument("query")
@click.option(
    "--limit",
    type=click.IntRange(min=1, max=100),
    default=10,
    show_default=True,
    help="Maximum number of results.",
)
@scope_options
@CONFIG
@AS_JSON
def search(lib: str, query: str, limit: int, scope: Scope, config: Path | None, as_json: bool) -> None:
    """Search the sections of a site.

    No model is called, except for the embedding of the query if the configuration has [embeddings].
    """
    check_order(lib, query)
    target = open_target(lib, search=search_factory(config), scope=scope)
    hits = target.search(query, limit)
    if as_json:
        print_json([_hit_as_json(hit) for hit in hits])
    elif hits:
        _print_hits(hits)
    else:
        note = "" if target.store else target.open_site().find_left_out(query)
        click.echo(to_single_line(f"Nothing found. {note}"), err=True)
    if not hits:
        sys.exit(NOTHING_FOUND)


@click.command(cls=LibraryCommand, context_settings=FREE_TEXT)
@LIBRARY
@click.argument("pattern")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Maximum number of sections.")
@scope_options
@AS_JSON
def grep(lib: str, pattern: str, limit: int, scope: Scope, as_json: bool) -> None:
    """Print the lines of a site that contain an exact string.

    Case counts if PATTERN has a capital letter. In a store, `SITE: PATTERN` searches one site.
    """
    check_order(lib, pattern)
    target = open_target(lib, scope=scope)
    result = target.grep(pattern, limit)
    if as_json:
        data = {name: value for name, value in asdict(result).items() if name != "origin"}
        addresses = [section["id"] for section in data["sections"]]
        for section, resolved in zip(data["sections"], target.resolve(addresses), strict=True):
            section |= site_as_json(resolved.site)
        print_json({**data, **_source_as_json(None, result.origin)})
    else:
        click.echo(sanitize(render_grep(result)), nl=False, err=not result.found)
    if not result.found:
        sys.exit(NOTHING_FOUND)


def _hit_as_json(hit: TargetHit) -> dict[str, Any]:
    sections = hit.library.sections
    section = hit.hit.section
    return {
        "id": section.id,
        "title": section.section.title,
        "breadcrumb": sections.breadcrumb(section),
        "url": sections.url(section),
        "score": round(hit.score, 4),
        "snippet": hit.hit.snippet,
        **_source_as_json(hit.site, _hit_origin(hit)),
    }


def _print_hits(hits: Sequence[TargetHit]) -> None:
    """Print search results: id and breadcrumb, URL, snippet; for a store also the site."""
    click.echo(reduce(or_, map(_hit_origin, hits)).render(), nl=False)
    for note in dict.fromkeys(hit.note for hit in hits if hit.note):
        click.echo(to_single_line(note))
    for hit in hits:
        sections = hit.library.sections
        section = hit.hit.section
        title = to_single_line(" › ".join(sections.breadcrumb(section)))
        site = f", {to_single_line(hit.site.label)}" if hit.site else ""
        click.echo(f"[{section.id}] {click.style(title, bold=True)}")
        click.echo(f"  {to_single_line(sections.url(section))}{site}")
        if hit.hit.snippet:
            click.echo(f"  {to_single_line(hit.hit.snippet)}")


def _hit_origin(hit: TargetHit) -> Origin:
    return hit.library.origin([hit.hit.section.id])


def _source_as_json(site: SiteInfo | None, origin: Origin) -> dict[str, Any]:
    """Return the fields of a store's site, the host of a third-party site, and what a crawl has found in the text."""
    fields = site_as_json(site)
    if origin.hosts:
        fields["untrusted"] = ", ".join(origin.hosts)
    if origin.hosts and origin.flags:
        fields["flags"] = origin.flags
    return fields


def _site_line(site: SiteInfo | None) -> str:
    """Return the line that names a store's site; empty for a single site."""
    return f"{to_single_line(site.label)}\n" if site else ""

"""A store of many sites, searched, opened and asked: which of them is meant, and how old what is known of it is."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from mkdocs_roaming.cli.frame import NOTHING_FOUND, hit_as_json, open_lib, print_json

if TYPE_CHECKING:
    from mkdocs_roaming.roam.collection import Asked, Collection
    from mkdocs_roaming.roam.library import Library
    from mkdocs_roaming.roam.meaning import Finder


def collection_of(
    lib: str, finding: Callable[[Library], Finder] | None = None, *, kept: int = 5, every: float = 60.0
) -> Collection | None:
    """Give the store of many sites that LIB names; None where it names one site."""
    from mkdocs_roaming.roam.collection import Collection, is_collection
    from mkdocs_roaming.roam.search import Search

    return Collection(lib, finding=finding or Search, kept=kept, every=every) if is_collection(lib) else None


def in_library(lib: str, address: str) -> tuple[Library, str]:
    """Give the library that an address of a section is about, opened once, and the address in it."""
    from mkdocs_roaming.roam.namespaces import split_id

    context = click.get_current_context()
    opened: dict[str, Library] = context.meta.setdefault("libraries", {})
    named = split_id(address)
    if named and "" not in opened and (collection := collection_of(lib)):
        if named[0] not in opened:
            opened[named[0]] = collection.open(named[0]).library
        return opened[named[0]], ":".join(named)
    if "" not in opened:
        opened[""] = open_lib(lib)
    return opened[""], address


def branch_in(lib: str, branch: str | None) -> tuple[Library, str | None]:
    """Give the library that a branch of an outline is about, and the branch in it; of many sites it names one."""
    site, colon, rest = (branch or "").lower().partition(":")
    collection = collection_of(lib) if site else None
    if collection is None:
        return open_lib(lib), branch
    return collection.open(site).library, f"{site}:{rest}" if colon else None


def search_sites(collection: Collection, query: str, limit: int, *, as_json: bool) -> None:
    """Search the sites that a query is about, and print what is found."""
    from mkdocs_roaming.roam.collection import ago
    from mkdocs_roaming.terminal import one_line

    hits = collection.find(query, limit=limit)
    if as_json:
        print_json(
            [{**hit_as_json(one.library, one.hit.place, one.score, one.hit.snippet), **_site(one.site)} for one in hits]
        )
    for one in hits if not as_json else ():
        crumbs = one_line(" › ".join(one.library.places.breadcrumb(one.hit.place)))
        click.echo(f"[{one.hit.place.id}] {click.style(crumbs, bold=True)}")
        click.echo(f"  {one_line(one.library.places.url(one.hit.place))}, crawled {ago(one.site.entry.crawled)}")
        if one.hit.snippet:
            click.echo(f"  {one_line(one.hit.snippet)}")
    if not hits:
        if not as_json:
            click.echo("Nothing found.", err=True)
        sys.exit(NOTHING_FOUND)


def libraries_for(lib: str, question: str, *, trust_rules: bool) -> Iterator[tuple[Asked | None, str, Library]]:
    """Give the libraries to ask one after the other, until one knows: of a store's sites those that fit best.

    With each comes its site, and the question without that site's name.
    """
    collection = collection_of(lib)
    if collection is None:
        yield None, question, open_lib(lib, trust_rules=trust_rules)
        return
    for site in collection.choose(question):
        yield site, collection.asks(question), collection.plain(site.key)


def say_site(site: Asked) -> None:
    """Tell on standard error which site is asked, and how old what is known of it is."""
    from mkdocs_roaming.roam.collection import ago
    from mkdocs_roaming.terminal import one_line

    title = one_line(site.entry.title)
    click.echo(f"Asking {site.key} ({title}), crawled {ago(site.entry.crawled)}", err=True)


def say_that_none_speaks_of_it(lib: str) -> None:
    """Tell on standard error that no site of a store holds a word of a question."""
    click.echo(f"roaming: {lib}: no site in it speaks of that; name one: `roaming ask {lib} 'SITE: …'`", err=True)


def answer_of_site(site: Asked | None, answer: dict[str, Any]) -> dict[str, Any]:
    """Give an answer as JSON has it, its ids namespaced by its site, and how old what it says is."""
    if site is None:
        return answer
    text = re.sub(r"\[\^([0-9a-f]{8})\]", rf"[^{site.key}:\1]", answer["text"])
    return {**_namespaced(answer, site.key), "text": text, **_site(site)}


def _namespaced(told: Any, site: str) -> Any:
    """Give what is told of sections, wherever an id stands in it, as of that site."""
    if isinstance(told, dict):
        return {
            name: f"{site}:{value}"
            if name in ("id", "section") and isinstance(value, str)
            else _namespaced(value, site)
            for name, value in told.items()
        }
    return [_namespaced(one, site) for one in told] if isinstance(told, (list, tuple)) else told


def _site(site: Asked) -> dict[str, Any]:
    return {"site": site.key, "crawled": site.entry.crawled}

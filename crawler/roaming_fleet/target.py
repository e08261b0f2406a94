"""A store of many sites, searched, opened and asked: which of them is meant, and how old what is known of it is."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from mkdocs_roaming.cli.common import NOTHING_FOUND, hit_as_json, open_lib, print_json, store_given_error, warn
from mkdocs_roaming.errors import LibraryError, UsageError

if TYPE_CHECKING:
    from mkdocs_roaming.library.library import Library
    from mkdocs_roaming.library.search import Finder
    from roaming_fleet.collection import Collection, OpenSite, RankedSite


def open_collection(
    lib: str, finding: Callable[[Library], Finder] | None = None, *, kept: int = 5, every: float = 60.0
) -> Collection | None:
    """Give the store of many sites that LIB names; None where it names one site."""
    from mkdocs_roaming.library.search import Search
    from roaming_fleet.collection import Collection, is_store

    return Collection(lib, finding=finding or Search, kept=kept, every=every) if is_store(lib) else None


@dataclass(frozen=True, slots=True)
class ResolvedAddress:
    """What of a library is meant, nothing for all of it; and its site where it is one of a store's."""

    library: Library
    address: str
    site: OpenSite | None = None


def resolve_sections(lib: str, addresses: Iterable[str]) -> list[ResolvedAddress]:
    """Give the libraries that addresses of sections are about, each opened once, and the addresses in them."""
    from roaming_fleet.tools import resolve_site

    collection = open_collection(lib)
    if collection is None:
        library = open_lib(lib)
        return [ResolvedAddress(library, address) for address in addresses]
    sites: dict[str, OpenSite] = {}
    found = []
    for address in addresses:
        key, rest = resolve_site(collection, address)
        if key is None:
            raise _no_site(lib, address) if ":" in address else store_given_error(lib)
        if not rest:
            raise UsageError(f"{lib}: {key} is a site; `roaming outline {lib} {key}` shows what is in it")
        if key not in sites:
            sites[key] = collection.open(key)
        found.append(ResolvedAddress(sites[key].library, rest.removesuffix("+"), sites[key]))
    return found


def resolve_branch(lib: str, branch: str | None) -> ResolvedAddress:
    """Give the library that a branch of an outline is about, and the branch's id; of many sites it names one."""
    from roaming_fleet.tools import resolve_site

    collection = open_collection(lib) if branch else None
    if collection is None or branch is None:
        library = open_lib(lib)
        return ResolvedAddress(library, _branch_id(library, branch or ""))
    key, rest = resolve_site(collection, branch)
    if key is None:
        raise _no_site(lib, branch)
    site = collection.open(key)
    return ResolvedAddress(site.library, _branch_id(site.library, rest), site)


def freshness_line(site: OpenSite | None) -> str:
    """Give the line that tells how old what is known of a store's site is; nothing of one site alone."""
    from roaming_fleet.collection import format_age

    return f"{site.key}, crawled {format_age(site.entry.crawled)}\n" if site else ""


def _branch_id(library: Library, branch: str) -> str:
    """Give the id of a branch, be it given by an address."""
    bare = branch.removesuffix("+")
    place = library.sections.resolve(bare) if bare else None
    return place.id + branch[len(bare) :] if place else branch


def _no_site(lib: str, text: str) -> UsageError:
    if "://" in text:
        return UsageError(f"{lib}: no site in it has the address {text}; `roaming sites {lib}` lists them")
    return UsageError(f"{lib}: no site {text.partition(':')[0].strip()}; `roaming sites {lib}` lists them")


def search_sites(collection: Collection, query: str, limit: int, *, as_json: bool) -> None:
    """Search the sites that a query is about, and print what is found."""
    from mkdocs_roaming.cli.output import one_line
    from roaming_fleet.collection import format_age

    hits = collection.find(query, limit=limit)
    if as_json:
        print_json(
            [
                {**hit_as_json(one.library, one.hit.place, one.score, one.hit.snippet), **site_as_json(one.site)}
                for one in hits
            ]
        )
    for one in hits if not as_json else ():
        crumbs = one_line(" › ".join(one.library.sections.breadcrumb(one.hit.place)))
        click.echo(f"[{one.hit.place.id}] {click.style(crumbs, bold=True)}")
        click.echo(
            f"  {one_line(one.library.sections.url(one.hit.place))}, crawled {format_age(one.site.entry.crawled)}"
        )
        if one.hit.snippet:
            click.echo(f"  {one_line(one.hit.snippet)}")
    if not hits:
        if not as_json:
            click.echo("Nothing found.", err=True)
        sys.exit(NOTHING_FOUND)


@dataclass(frozen=True, slots=True)
class StoreQuery:
    """A library to ask, the question without a site's name, the reader's page in it, and its site where it is one."""

    library: Library
    question: str
    page: str | None
    site: RankedSite | None = None


def answer_candidates(lib: str, question: str, page: str | None, *, trust_rules: bool) -> Iterator[StoreQuery]:
    """Give the libraries to ask one after the other, until one knows: of a store's sites those that fit best.

    The site that the reader's page lies on comes first, where the question names none.
    """
    from mkdocs_roaming.answer.conversation import check_question

    collection = open_collection(lib)
    if collection is None:
        yield StoreQuery(open_lib(lib, trust_rules=trust_rules), question, page)
        return
    named, asked = collection.named(question), collection.asks(question)
    check_question(asked)
    if not collection.keys:
        raise LibraryError(f"{lib}: there are no sites in it; crawl some: `roaming crawl --many FILE -o {lib}`")
    if not collection.crawled and not named:
        raise LibraryError(f"{lib}: none of its sites could be crawled yet; `roaming sites {lib}` tells why")
    home, there = _page_in(collection, lib, page)
    first = collection.rank(f"{home}:") if home and not named else []
    others = (site for site in collection.choose(question) if named or site.key != home)
    for site in chain(first, others):
        here = there if home in (None, site.key) else None
        yield StoreQuery(collection.plain(site.key), asked, here, site)


def _page_in(collection: Collection, lib: str, page: str | None) -> tuple[str | None, str | None]:
    """Give the site that the reader's page lies on, and the page as that site has it; a path may be any site's."""
    from roaming_fleet.tools import resolve_site

    home, own = resolve_site(collection, page) if page and ":" in page else (None, "")
    if home is not None:
        return home, own.removeprefix(f"{home}:") or None
    if page and "://" in page:
        warn(f"{lib}: no site in it has the address {page}; what is asked is asked as from no page")
    return None, page


def print_site(site: RankedSite) -> None:
    """Tell on standard error which site is asked, and how old what is known of it is."""
    from mkdocs_roaming.cli.output import one_line
    from roaming_fleet.collection import format_age

    title = one_line(site.entry.title)
    click.echo(f"Asking {site.key} ({title}), crawled {format_age(site.entry.crawled)}", err=True)


def print_no_matching_site(lib: str) -> None:
    """Tell on standard error that no site of a store holds a word of a question."""
    click.echo(f"roaming: {lib}: no site in it speaks of that; name one: `roaming ask {lib} 'SITE: …'`", err=True)


def namespace_answer(site: RankedSite | None, answer: dict[str, Any]) -> dict[str, Any]:
    """Give an answer as JSON has it, its ids namespaced by its site, and how old what it says is."""
    if site is None:
        return answer
    text = re.sub(r"\[\^([0-9a-f]{8})\]", rf"[^{site.key}:\1]", answer["text"])
    return {**_namespaced(answer, site.key), "text": text, **site_as_json(site)}


def site_as_json(site: RankedSite | OpenSite | None) -> dict[str, Any]:
    """Give a store's site and the time of its crawl as JSON has them; nothing of one site alone."""
    return {"site": site.key, "crawled": site.entry.crawled} if site else {}


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

"""What the outline, sections, search and health say of a site, whatever server they are built into.

All of it reads and counts, so servers with a loop call it in a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from mkdocs_roaming.expand import CAP, Expansion, expand, render
from mkdocs_roaming.places import Places
from mkdocs_roaming.roam.navigator import Misused, Outlined
from mkdocs_roaming.roam.tools import MOST_HITS
from mkdocs_roaming.serve.deployments import Deployment
from mkdocs_roaming.serve.languages import Languages
from mkdocs_roaming.serve.problems import Refused
from mkdocs_roaming.serve.question import checked_question
from mkdocs_roaming.words import estimate_tokens

MOST_PARTS = 10**6
FEW_HITS = 5


@dataclass(frozen=True, slots=True)
class Told:
    """What is said: as data, and as Markdown, drawn when it is wanted, where that is offered too."""

    data: Mapping[str, object]
    markdown: Callable[[], str] | None = None


def tell_outline(here: Deployment, id_: str | None = None) -> Told:
    """Give the outline, drawn once for each deployment, or a branch of it; raises Refused where there is no such."""
    found = _branch(here, id_) if id_ else here.library.kept("/v1/outline", lambda: _branch(here))
    if isinstance(found, Misused):
        raise Refused(404, "no_section", " ".join(found.message.split()))
    return Told(
        {"digest": here.digest, "tokens": estimate_tokens(found.text), "outline": found.text}, lambda: found.text
    )


def tell_section(here: Deployment, id_: str, part: str | None = None, *, above: str = "") -> Told:
    """Give a section opened, in Markdown with `above` before its titles.

    Raises Refused where there is none, LibraryError where it cannot be read.
    """
    places = here.library.places
    place = places.get(id_) or places.get(id_.lower())
    if place is None:
        raise Refused(404, "no_section", f"No section {id_[:60]!r}; the outline and search give ids.")
    cap = CAP - len(f"{above} › ") if above else CAP
    found = expand(places, place, here.library.text, cap=cap, part=number(part, "part", 1, MOST_PARTS))
    crumbs = (above, *found.breadcrumb) if above else found.breadcrumb
    told = {
        "id": found.id,
        "title": place.section.title,
        "path": list(places.breadcrumb(place)),
        "url": found.url or places.url(place),
        "tokens": _tokens(places, found),
        "text": found.text,
        "shown": list(dict.fromkeys(one.id for one in found.shown)),
        "listed": [_listed(one) for one in found.listed],
        "part": found.part,
        "parts": found.parts,
        "before": _listed(found.before) if found.before else None,
        "after": _listed(found.after) if found.after else None,
        "digest": here.digest,
    }
    return Told(told, lambda: render(replace(found, breadcrumb=crumbs)))


def tell_hits(here: Deployment, query: str, limit: str | None = None) -> Told:
    """Give what search finds, without texts."""
    query, most = checked_question(query), number(limit, "limit", FEW_HITS, MOST_HITS)
    places = here.library.places
    told = [
        {
            "id": hit.place.id,
            "title": hit.place.section.title,
            "path": list(places.breadcrumb(hit.place)),
            "url": places.url(hit.place),
            "snippet": hit.snippet,
            "score": round(hit.score, 4),
        }
        for hit in here.search.find(query, limit=most)
    ]
    return Told({"query": query, "hits": told, "digest": here.digest})


def tell_health(site: Languages, model: str) -> Told:
    """Give whether questions can be answered, and from what; raises Refused where they cannot."""
    here = site.now()
    return Told(
        {
            "status": "stale" if site.main.problem else "ok",
            "site": here.library.manifest.site.name,
            "digest": here.digest,
            "sections": len(here.library.places),
            "model": model,
        }
    )


def number(text: str | None, name: str, default: int, most: int) -> int:
    """Read a number of a query; raises Refused where it is none, or too large."""
    if text is None:
        return default
    value = int(text) if text.isascii() and text.isdigit() and len(text) < _LONGEST_NUMBER else 0
    if not 1 <= value <= most:
        raise Refused(422, "bad_number", f"`{name}` is a number from 1 to {most}.")
    return value


def _branch(here: Deployment, id_: str | None = None) -> Outlined | Misused:
    return here.navigator().read_outline(id_)


def _listed(entry: object) -> Mapping[str, object]:
    return {name: getattr(entry, name) for name in ("id", "title", "tokens", "inside")}


def _tokens(places: Places, found: Expansion) -> int:
    """Give the tokens of what is shown: where sections stand whole, the manifest says of each how many it has."""
    if found.parts == 1:
        told = [place.section.tokens for one in found.shown if (place := places.get(one.id))]
        if len(told) == len(found.shown) and all(told):
            return sum(told)
    return estimate_tokens(found.text)


_LONGEST_NUMBER = 20  # digits: Python does not read numbers of thousands of them

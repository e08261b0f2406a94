"""Which of several representations a client wants, by its Accept header."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from mkdocs_roaming.library.tools import MAX_HITS, OutlineResult, ToolError
from mkdocs_roaming.manifest.expand import MAX_EXPANSION_CHARS, Expansion, expand_section, render_expansion
from mkdocs_roaming.manifest.lookup import SectionIndex
from mkdocs_roaming.serve.deployments import Deployment, LocalizedSite
from mkdocs_roaming.serve.problems import ProblemError
from mkdocs_roaming.serve.requests import validate_question
from mkdocs_roaming.text.tokenizer import estimate_tokens


def choose_media_type(accept: str, offered: Sequence[str]) -> str:
    """Give the media type that an Accept header prefers among those offered; the first where it does not matter.

    Of equal weight the more exactly named wins, then the one offered earlier.
    """
    wanted = [_range(one) for one in accept.split(",") if one.strip()]
    if not wanted:
        return offered[0]
    ranked = sorted(offered, key=lambda kind: _rank(kind, wanted), reverse=True)  # stable: the earlier one first
    return ranked[0] if _rank(ranked[0], wanted)[0] > 0 else offered[0]


def _rank(kind: str, wanted: Sequence[tuple[str, float]]) -> tuple[float, int]:
    """Give the weight of a media type, and how exactly it was named."""
    exact = {kind: 2, kind.partition("/")[0] + "/*": 1, "*/*": 0}
    found = [(exact[name], weight) for name, weight in wanted if name in exact]
    if not found:
        return 0.0, -1
    exactness, weight = max(found)
    return weight, exactness


def _range(text: str) -> tuple[str, float]:
    name, *parameters = (part.strip().lower() for part in text.split(";"))
    weight = next((part[2:] for part in parameters if part.startswith("q=")), "1")
    try:
        return name, min(max(float(weight), 0.0), 1.0)
    except ValueError:
        return name, 0.0


# MERGED mkdocs_roaming.serve.walking:
# What the outline, sections, search and health say of a site, whatever server they are built into.
#
# All of it reads and counts, so servers with a loop call it in a thread.


MAX_PARTS = 10**6


DEFAULT_HITS = 5


@dataclass(frozen=True, slots=True)
class Payload:
    """What is said: as data, and as Markdown, drawn when it is wanted, where that is offered too."""

    data: Mapping[str, object]
    markdown: Callable[[], str] | None = None


def build_outline(here: Deployment, id_: str | None = None) -> Payload:
    """Give the outline, drawn once for each deployment, or a branch of it; raises Refused where there is no such."""
    found = _branch(here, id_) if id_ else here.library.memoize("/v1/outline", lambda: _branch(here))
    if isinstance(found, ToolError):
        raise ProblemError(404, "no_section", " ".join(found.message.split()))
    return Payload(
        {"digest": here.digest, "tokens": estimate_tokens(found.text), "outline": found.text}, lambda: found.text
    )


def build_section(here: Deployment, id_: str, part: str | None = None, *, above: str = "") -> Payload:
    """Give a section opened, in Markdown with `above` before its titles.

    Raises Refused where there is none, LibraryError where it cannot be read.
    """
    places = here.library.sections
    place = places.get(id_) or places.get(id_.lower())
    if place is None:
        raise ProblemError(404, "no_section", f"No section {id_[:60]!r}; the outline and search give ids.")
    cap = MAX_EXPANSION_CHARS - len(f"{above} › ") if above else MAX_EXPANSION_CHARS
    found = expand_section(places, place, here.library.text, cap=cap, part=parse_count(part, "part", 1, MAX_PARTS))
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
    return Payload(told, lambda: render_expansion(replace(found, breadcrumb=crumbs)))


def build_hits(here: Deployment, query: str, limit: str | None = None) -> Payload:
    """Give what search finds, without texts."""
    query, most = validate_question(query), parse_count(limit, "limit", DEFAULT_HITS, MAX_HITS)
    places = here.library.sections
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
    return Payload({"query": query, "hits": told, "digest": here.digest})


def build_health(site: LocalizedSite, model: str) -> Payload:
    """Give whether questions can be answered, and from what; raises Refused where they cannot."""
    here = site.now()
    return Payload(
        {
            "status": "stale" if site.main.problem else "ok",
            "site": here.library.manifest.site.name,
            "digest": here.digest,
            "sections": len(here.library.sections),
            "model": model,
        }
    )


def parse_count(text: str | None, name: str, default: int, most: int) -> int:
    """Read a number of a query; raises Refused where it is none, or too large."""
    if text is None:
        return default
    value = int(text) if text.isascii() and text.isdigit() and len(text) < _LONGEST_NUMBER else 0
    if not 1 <= value <= most:
        raise ProblemError(422, "bad_number", f"`{name}` is a number from 1 to {most}.")
    return value


def _branch(here: Deployment, id_: str | None = None) -> OutlineResult | ToolError:
    return here.navigator().read_outline(id_)


def _listed(entry: object) -> Mapping[str, object]:
    return {name: getattr(entry, name) for name in ("id", "title", "tokens", "inside")}


def _tokens(places: SectionIndex, found: Expansion) -> int:
    """Give the tokens of what is shown: where sections stand whole, the manifest says of each how many it has."""
    if found.parts == 1:
        told = [place.section.tokens for one in found.shown if (place := places.get(one.id))]
        if len(told) == len(found.shown) and all(told):
            return sum(told)
    return estimate_tokens(found.text)


_LONGEST_NUMBER = 20  # digits: Python does not read numbers of thousands of them

"""The read endpoints (outline, section, search, health) and content negotiation, independent of the server.

The `build_…` functions block while they read and compute; servers with an event loop call them with a `WorkQueue`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import anyio

from mkdocs_roaming.answer.budget import compute_limiter, run_in_thread
from mkdocs_roaming.library.search import Hit
from mkdocs_roaming.library.tools import MAX_HITS, OutlineResult, ToolError
from mkdocs_roaming.manifest.expand import (
    MAX_EXPANSION_CHARS,
    ListedSection,
    expand_section,
    render_expansion,
)
from mkdocs_roaming.manifest.lookup import SectionIndex
from mkdocs_roaming.serve import schemas
from mkdocs_roaming.serve.deployments import Deployment, LocalizedSite
from mkdocs_roaming.serve.requests import ProblemError, validate_question
from mkdocs_roaming.serve.schemas import DEFAULT_HITS, JSON, MARKDOWN, MAX_PARTS
from mkdocs_roaming.text.tokenizer import estimate_tokens

CONTENT_TYPES = {JSON: JSON, MARKDOWN: f"{MARKDOWN}; charset=utf-8"}
"""Content-Type headers, by media type."""


@dataclass(frozen=True, slots=True)
class Payload:
    """The content of a response: data for JSON, and a function that renders Markdown if that is offered too."""

    data: Any
    markdown: Callable[[], str] | None = None


def build_outline(deployment: Deployment, id_: str | None = None) -> Payload:
    """Return the outline (rendered once per deployment), or a branch of it. Raise ProblemError for an unknown id."""

    def read() -> OutlineResult | ToolError:
        return deployment.navigator().read_outline(id_)

    found = read() if id_ else deployment.library.memoize("/v1/outline", read)
    if isinstance(found, ToolError):
        raise ProblemError(404, "no_section", " ".join(found.message.split()))
    text = found.text
    return Payload(schemas.Outline(deployment.digest, text, estimate_tokens(text)), lambda: text)


def build_section(deployment: Deployment, id_: str, part: str | None = None) -> Payload:
    """Return an opened section.

    Raises:
        ProblemError: There is no section with this id, or the part is not a number.
        LibraryError: The section cannot be read.
    """
    index = deployment.library.sections
    ref = index.get(id_) or index.get(id_.lower())
    if ref is None:
        raise ProblemError(404, "no_section", f"No section {id_[:60]!r}; the outline and search return ids.")
    part_number = parse_count(part, "part", 1, MAX_PARTS)
    found = expand_section(index, ref, deployment.library.text, cap=MAX_EXPANSION_CHARS, part=part_number)
    section = schemas.Section(
        found.id,
        ref.section.title,
        index.breadcrumb(ref),
        found.url or index.url(ref),
        estimate_tokens(found.text),
        found.text,
        shown=list(dict.fromkeys(shown.id for shown in found.shown)),
        listed=[_encode_entry(listed) for listed in found.listed],
        part=found.part,
        parts=found.parts,
        before=_encode_entry(found.before) if found.before else None,
        after=_encode_entry(found.after) if found.after else None,
        digest=deployment.digest,
    )
    return Payload(section, lambda: render_expansion(found))


def build_hits(deployment: Deployment, query: str, limit: str | None = None) -> schemas.Hits:
    """Return search results without texts. Raise ProblemError for an invalid query or limit."""
    query = validate_question(query)
    max_hits = parse_count(limit, "limit", DEFAULT_HITS, MAX_HITS)
    index = deployment.library.sections
    found = [encode_hit(index, hit, hit.score) for hit in deployment.search.find(query, limit=max_hits)]
    return schemas.Hits(query, found, deployment.digest, round(deployment.search.confidence(query), 2))


def build_health(site: LocalizedSite, model: str) -> schemas.Health:
    """Return the state of the site. Raise ProblemError if questions cannot be answered."""
    deployment = site.now()
    name = deployment.library.manifest.site.name
    count = len(deployment.library.sections)
    return schemas.Health("stale" if site.main.problem else "ok", name, deployment.digest, count, model)


def parse_count(text: str | None, name: str, default: int, maximum: int) -> int:
    """Return a number of the query string. Raise ProblemError if it is invalid or too large."""
    if text is None:
        return default
    number = int(text) if text.isascii() and text.isdigit() and len(text) < _MAX_DIGITS else 0
    if not 1 <= number <= maximum:
        raise ProblemError(422, "bad_number", f"`{name}` is a number from 1 to {maximum}.")
    return number


_T = TypeVar("_T")
_MAX_WAITING = 200


class WorkQueue:
    """Runs blocking work in threads, so that a client with many requests does not delay the others.

    Local work, which only computes, runs one call at a time, and the clients take turns. Remote work, which waits for a
    disk or a server, is limited in total and for each client. The number of waiting calls is limited too.

    Args:
        max_remote: Maximum number of remote calls at a time.
        max_remote_each: The same for one client; many readers may share an address.
        max_waiting_each: Maximum number of waiting calls of one client.
    """

    def __init__(self, *, max_remote: int = 40, max_remote_each: int = 40, max_waiting_each: int = 20) -> None:
        self._remote_limiter = anyio.CapacityLimiter(max_remote)
        self._max_remote_each = max_remote_each
        self._max_waiting_each = max_waiting_each
        self._turns: WeakValueDictionary[str, anyio.Semaphore] = WeakValueDictionary()

    async def run(self, client: str, work: Callable[[], _T], *, is_local: bool) -> _T:
        """Run work for a client and return its result. Raise ProblemError if too many calls are waiting."""
        limiter, max_each = (compute_limiter(), 1) if is_local else (self._remote_limiter, self._max_remote_each)
        turn = self._turns.setdefault(f"{client} {is_local}", anyio.Semaphore(max_each, fast_acquire=True))
        own = turn.statistics().tasks_waiting
        all_ = limiter.statistics().tasks_waiting
        if own >= self._max_waiting_each or all_ >= _MAX_WAITING:
            raise ProblemError(429, "busy", f"Too many requests are waiting, {own} of them yours.", retry_after=5)
        async with turn:
            return await run_in_thread(work, limiter)


def _encode_entry(listed: ListedSection) -> schemas.SectionEntry:
    return schemas.SectionEntry(listed.id, listed.title, listed.tokens, listed.inside)


def encode_hit(index: SectionIndex, hit: Hit, score: float) -> schemas.Hit:
    """Return a search result."""
    path = index.breadcrumb(hit.section)
    url = index.url(hit.section)
    return schemas.Hit(hit.section.id, hit.section.section.title, path, url, hit.snippet, round(score, 4))


# Content negotiation


def choose_media_type(accept: str, offered: Sequence[str]) -> str:
    """Return the offered media type that an Accept header prefers, by default the first one.

    Of equal weights, the more specific one wins, then the one that is offered first. One with `q=0` is the last choice.
    """
    ranges = dict(_parse_range(text) for text in accept[:_MAX_ACCEPT_CHARS].split(",") if text.strip())
    return max(offered, key=lambda media_type: _weight(media_type, ranges))  # the first of equal ones


def _weight(media_type: str, ranges: Mapping[str, float]) -> tuple[float, int]:
    """Return the weight of a media type, and how specific the range is."""
    for specificity, name in ((2, media_type), (1, media_type.partition("/")[0] + "/*"), (0, "*/*")):
        if name in ranges:
            return ranges[name], specificity if ranges[name] else -2 - specificity
    return 0.0, -1


def _parse_range(text: str) -> tuple[str, float]:
    name, *parameters = (part.strip().lower() for part in text.split(";"))
    weight = next((parameter[2:] for parameter in parameters if parameter.startswith("q=")), "1")
    try:
        return name, min(max(float(weight), 0.0), 1.0)
    except ValueError:
        return name, 0.0


_MAX_ACCEPT_CHARS = 1_000
_MAX_DIGITS = 20  # Python refuses to parse thousands of digits

"""The read endpoints (outline, section, search, health), independent of the server.

The `build_…` functions block while they read and compute; servers with an event loop call them with a `WorkQueue`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import anyio

from mkdocs_roaming.answer.budget import compute_limiter, run_in_thread
from mkdocs_roaming.library.tools import MAX_HITS, OutlineResult, ToolError
from mkdocs_roaming.manifest.expand import (
    MAX_EXPANSION_CHARS,
    ListedSection,
    expand_section,
    render_expansion,
)
from mkdocs_roaming.serve import schemas
from mkdocs_roaming.serve.deployments import Deployment, LocalizedSite
from mkdocs_roaming.serve.requests import ProblemError, validate_question
from mkdocs_roaming.serve.schemas import DEFAULT_HITS, JSON, MARKDOWN, MAX_PARTS
from mkdocs_roaming.text.tokenizer import estimate_tokens

CONTENT_TYPES = {JSON: JSON, MARKDOWN: f"{MARKDOWN}; charset=utf-8"}
"""Content-Type headers, by media type."""
_MAX_DIGITS = 20  # Python refuses to parse thousands of digits
_MAX_WAITING = 200  # maximum number of waiting calls of all clients
_BUSY_RETRY_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Payload:
    """The content of a response: data for JSON, and a function that renders Markdown if that is offered too."""

    data: Any
    markdown: Callable[[], str] | None = None


def build_outline(deployment: Deployment, id_: str | None = None) -> Payload:
    """Return the outline (rendered once per deployment), or a branch of it. Raise ProblemError for an unknown id."""

    def read() -> OutlineResult | ToolError:
        return deployment.navigator().read_outline(id_)

    outline = read() if id_ else deployment.library.memoize("/v1/outline", read)
    if isinstance(outline, ToolError):
        raise ProblemError("no_section", " ".join(outline.message.split()))
    text = outline.text
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
        raise ProblemError("no_section", f"No section {id_[:60]!r}; the outline and search return ids.")
    part_number = parse_count(part, "part", 1, MAX_PARTS)
    expansion = expand_section(index, ref, deployment.library.text, cap=MAX_EXPANSION_CHARS, part=part_number)
    section = schemas.Section(
        expansion.id,
        ref.section.title,
        index.breadcrumb(ref),
        expansion.url or index.url(ref),
        estimate_tokens(expansion.text),
        expansion.text,
        shown=list(dict.fromkeys(shown.id for shown in expansion.shown)),
        listed=[_encode_entry(listed) for listed in expansion.listed],
        part=expansion.part,
        parts=expansion.parts,
        before=_encode_entry(expansion.before) if expansion.before else None,
        after=_encode_entry(expansion.after) if expansion.after else None,
        digest=deployment.digest,
    )
    return Payload(section, lambda: render_expansion(expansion))


def _encode_entry(listed: ListedSection) -> schemas.SectionEntry:
    return schemas.SectionEntry(listed.id, listed.title, listed.tokens, listed.inside)


def build_hits(deployment: Deployment, query: str, limit: str | None = None) -> schemas.Hits:
    """Return search results without texts. Raise ProblemError for an invalid query or limit."""
    query = validate_question(query)
    max_hits = parse_count(limit, "limit", DEFAULT_HITS, MAX_HITS)
    index = deployment.library.sections
    hits = []
    for hit in deployment.search.find(query, limit=max_hits):
        section = hit.section
        score = round(hit.score, 4)
        title = section.section.title
        hits.append(schemas.Hit(section.id, title, index.breadcrumb(section), index.url(section), hit.snippet, score))
    confidence = round(deployment.search.confidence(query), 2)
    return schemas.Hits(query, hits, deployment.digest, confidence)


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
    is_number = text.isascii() and text.isdigit() and len(text) < _MAX_DIGITS
    if not is_number or not 1 <= int(text) <= maximum:
        raise ProblemError("bad_number", f"`{name}` is a number from 1 to {maximum}.")
    return int(text)


_T = TypeVar("_T")


@dataclass(kw_only=True)
class WorkQueue:
    """Runs blocking work in threads, so that a client with many requests does not delay the others.

    Local work, which only computes, runs one call at a time, and the clients take turns. Remote work, which waits for a
    disk or a server, is limited in total and for each client. The number of waiting calls is limited too.

    Attributes:
        max_remote: Maximum number of remote calls at a time.
        max_remote_each: The same for one client; many readers may share an address.
        max_waiting_each: Maximum number of waiting calls of one client.
    """

    max_remote: int = 40
    max_remote_each: int = 40
    max_waiting_each: int = 20

    def __post_init__(self) -> None:
        self._remote_limiter = anyio.CapacityLimiter(self.max_remote)
        self._turns: WeakValueDictionary[str, anyio.Semaphore] = WeakValueDictionary()

    async def run(self, client: str, work: Callable[[], _T], *, is_local: bool) -> _T:
        """Run work for a client and return its result. Raise ProblemError if too many calls are waiting."""
        limiter = self._remote_limiter
        max_each = self.max_remote_each
        if is_local:
            limiter = compute_limiter()
            max_each = 1
        turn = self._turns.setdefault(f"{client} {is_local}", anyio.Semaphore(max_each, fast_acquire=True))
        own = turn.statistics().tasks_waiting
        total = limiter.statistics().tasks_waiting
        if own >= self.max_waiting_each or total >= _MAX_WAITING:
            detail = f"Too many requests are waiting, {own} of them yours."
            raise ProblemError("busy", detail, retry_after=_BUSY_RETRY_SECONDS)
        async with turn:
            return await run_in_thread(work, limiter)

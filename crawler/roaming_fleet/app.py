"""The endpoint of a store of many sites: listed, searched and opened over HTTP, and as tools for MCP clients.

    app = create_store_app(Collection("s3://docs/store"), Policy(hosts=("docs.example",)))

It answers no questions: a site of the store, served by itself, does.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from weakref import WeakValueDictionary

import anyio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mkdocs_roaming.answer._threads import compute_limiter, run_in_thread
from mkdocs_roaming.library.tools import MAX_HITS, ToolError
from mkdocs_roaming.serve.content import DEFAULT_HITS, Payload, build_section, parse_count
from mkdocs_roaming.serve.deployments import Deployment
from mkdocs_roaming.serve.mcp import STORE_INSTRUCTIONS as INSTRUCTIONS
from mkdocs_roaming.serve.mcp import McpEndpoint
from mkdocs_roaming.serve.metrics import MEDIA_TYPE, Metrics, MetricsMiddleware, MetricsRecorder, make_metrics
from mkdocs_roaming.serve.middleware import ASGIApp, RequestGuard, RequestPolicy, get_client
from mkdocs_roaming.serve.openapi import JSON, MAX_SITE_KEY_CHARS, MAX_SITES, describe_operations
from mkdocs_roaming.serve.openapi import STORE_OPERATIONS as OPERATIONS
from mkdocs_roaming.serve.openapi import STORE_SCHEMAS as SCHEMAS
from mkdocs_roaming.serve.problems import ProblemError, encode_json, encode_text, public_message
from mkdocs_roaming.serve.quotas import AnswerQuota, QuotaLimiter
from mkdocs_roaming.serve.requests import validate_question
from mkdocs_roaming.serve.routes import EXCEPTION_HANDLERS, respond_negotiated, respond_with_etag
from mkdocs_roaming.text.tokenizer import estimate_tokens
from roaming_fleet.collection import Collection, OpenSite
from roaming_fleet.errors import SiteNotCrawledError, SiteNotFoundError
from roaming_fleet.namespaces import split_id
from roaming_fleet.records import CatalogEntry
from roaming_fleet.tools import StoreNavigator, site_label

DEFAULT_SITES = 50


def create_store_app(collection: Collection, policy: RequestPolicy, *, key: bytes = b"") -> ASGIApp:
    """Give the application; `key` hides visitors in counters."""
    metrics = make_metrics()
    routes = _Routes(collection, metrics)
    listed = [Route(one.path, getattr(routes, one.name), methods=[one.method], name=one.name) for one in OPERATIONS]
    listed += [Route(path, _answers_one_site, methods=["GET", "POST"]) for path in ("/v1/ask", "/ask")]
    tools = _tools(collection, policy)
    if tools is not None:
        listed.append(Route("/mcp", tools))

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with tools.run() if tools is not None else nullcontext(), anyio.create_task_group() as group:
            group.start_soon(_look, collection)
            yield
            group.cancel_scope.cancel()

    application = Starlette(routes=listed, lifespan=lifespan, exception_handlers=EXCEPTION_HANDLERS)
    application.router.redirect_slashes = False
    gate = QuotaLimiter(AnswerQuota(), secret=key)  # nobody is answered: it knows visitors by their hashes
    return MetricsMiddleware(RequestGuard(application, policy, gate, refused=MetricsRecorder(metrics).refusal), metrics)


async def _look(collection: Collection) -> None:
    """Look at the store now and then, so that nobody who asks waits for it where it is out of reach."""
    while True:
        await anyio.sleep(collection.every / 2)
        await run_in_thread(collection.look)


async def _answers_one_site(request: Request) -> Response:
    raise ProblemError(404, "one_site", "Questions are answered from one site: `roaming serve STORE/SITE` does it.")


def _tools(collection: Collection, policy: RequestPolicy) -> McpEndpoint | None:
    """Give the tools for MCP clients, where the package for them is installed."""
    if find_spec("mcp") is None:
        return None
    return McpEndpoint(
        lambda: StoreNavigator(collection, format_error=partial(public_message, at="/mcp")),
        hosts=policy.hosts,
        origins=policy.origins,
        instructions=INSTRUCTIONS,
        near=lambda: not collection.is_remote,
    )


@dataclass(slots=True)
class _Routes:
    """One method for each operation, under its name."""

    collection: Collection
    measured: Metrics
    description: bytes = field(init=False)
    turns: WeakValueDictionary[str, anyio.Lock] = field(default_factory=WeakValueDictionary)

    def __post_init__(self) -> None:
        self.description = json.dumps(describe_operations(OPERATIONS, title="mkdocs-roaming", schemas=SCHEMAS)).encode()

    async def list_sites(self, request: Request) -> Response:
        """List the sites, or those that words are about."""
        query = request.query_params
        words, after, limit = query.get("q"), query.get("after", ""), query.get("limit")
        told = await self._told(request, lambda: _sites(self.collection, words, after, limit))
        return respond_with_etag(request, encode_json(told.data), JSON)

    async def read_outline(self, request: Request) -> Response:
        """Give the list of sites as text, or the outline of one, or a branch of it."""
        id_ = request.query_params.get("id")
        return respond_negotiated(request, await self._told(request, lambda: _outline(self.collection, id_)))

    async def read_section(self, request: Request) -> Response:
        """Give a section opened."""
        id_, part = request.path_params["id"], request.query_params.get("part")
        return respond_negotiated(request, await self._told(request, lambda: _section(self.collection, id_, part)))

    async def search_sections(self, request: Request) -> Response:
        """Give what search finds."""
        query, limit = request.query_params.get("q", ""), request.query_params.get("limit")
        told = await self._told(request, lambda: _hits(self.collection, query, limit))
        return respond_with_etag(request, encode_json(told.data), JSON)

    async def health(self, request: Request) -> Response:
        """Tell how many sites are there to be read, and whether the store is out of reach; at once."""
        count, generation, stale = self.collection.standing()
        told = {"status": "stale" if stale else "ok", "sites": count, "digest": generation}
        return Response(encode_json(told), media_type=JSON, headers={"cache-control": "no-store"})

    async def metrics(self, request: Request) -> Response:
        """Give the counters."""
        text = encode_text(self.measured.text())
        return Response(text, media_type=MEDIA_TYPE, headers={"cache-control": "no-store"})

    async def openapi(self, request: Request) -> Response:
        """Give the description of the endpoint."""
        return respond_with_etag(request, self.description, JSON)

    async def _told(self, request: Request, tell: Callable[[], Payload]) -> Payload:
        """Give what takes more than a moment to tell: in a thread, and for each visitor one at a time."""
        turn = self.turns.setdefault(get_client(request.scope), anyio.Lock(fast_acquire=True))
        async with turn:
            try:
                return await run_in_thread(tell, None if self.collection.is_remote else compute_limiter())
            except SiteNotFoundError as error:
                raise ProblemError(404, "no_site", f"There is no site {error.key!r}; /v1/sites lists them.") from None
            except SiteNotCrawledError as error:
                raise ProblemError(404, "not_crawled", f"{error.public_message}.") from None


def _sites(collection: Collection, words: str | None, after: str, limit: str | None) -> Payload:
    most = parse_count(limit, "limit", DEFAULT_SITES, MAX_SITES)
    if words is not None:
        found = collection.rank(validate_question(words), most, worth=0.0)
        shown = [_site(one.key, one.entry, one.state) for one in found]
        return Payload({"sites": shown, "next": None, "digest": collection.generation})
    if len(after) > MAX_SITE_KEY_CHARS:
        raise ProblemError(422, "bad_key", f"`after` is the key of a site: {MAX_SITE_KEY_CHARS} characters at most.")
    records = [one for one in collection.records() if one.entry is not None and one.key > after]
    shown = [_site(one.key, one.entry, one.state) for one in records[:most] if one.entry is not None]
    more = records[most - 1].key if len(records) > most else None
    return Payload({"sites": shown, "next": more, "digest": collection.generation})


def _site(key: str, entry: CatalogEntry, state: str) -> dict[str, object]:
    told = {name: getattr(entry, name) for name in ("title", "summary", "url", "language", "pages", "sections")}
    return {"site": key, **told, "digest": entry.digest, "crawled": entry.crawled, "state": state}


def _outline(collection: Collection, id_: str | None) -> Payload:
    found = StoreNavigator(collection).outlined(id_)
    if isinstance(found, ToolError):
        raise ProblemError(404, "no_section", " ".join(found.message.split()))
    text = found.text
    return Payload({"digest": collection.generation, "tokens": estimate_tokens(text), "outline": text}, lambda: text)


def _section(collection: Collection, id_: str, part: str | None) -> Payload:
    opened = _opened(collection, id_)
    told = build_section(Deployment(opened.library, opened.search), id_, part, above=site_label(opened))
    return Payload({**told.data, "site": opened.key, "crawled": opened.entry.crawled}, told.markdown)


def _opened(collection: Collection, id_: str) -> OpenSite:
    """Open the site that an id names; raises Refused where it names none."""
    named = split_id(id_)
    try:
        if named is not None:
            return collection.open(named[0])
    except SiteNotFoundError:
        pass
    raise ProblemError(
        404, "no_section", f"No section {id_[:120]!r}; ids look like SITE:07f3277d, and search gives them."
    )


def _hits(collection: Collection, query: str, limit: str | None) -> Payload:
    query, most = validate_question(query), parse_count(limit, "limit", DEFAULT_HITS, MAX_HITS)
    validate_question(collection.asks(query))
    told = [
        {
            "id": one.hit.place.id,
            "title": one.hit.place.section.title,
            "path": list(one.library.sections.breadcrumb(one.hit.place)),
            "url": one.library.sections.url(one.hit.place),
            "snippet": one.hit.snippet,
            "score": round(one.score, 4),
            "site": one.site.key,
            "crawled": one.site.entry.crawled,
        }
        for one in collection.find(query, limit=most)
    ]
    return Payload({"query": query, "hits": told, "digest": collection.generation})

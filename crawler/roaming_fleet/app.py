"""HTTP application of a store: lists, searches and opens sites, and offers the tools to MCP clients.

    app = create_store_app(Collection("s3://docs/store"), RequestPolicy(hosts=("docs.example",)))

It answers no questions; `roaming serve STORE/SITE` answers those about one site.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Literal, NotRequired, TypedDict

import anyio
from msgspec import Meta
from msgspec.structs import asdict
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mkdocs_roaming.answer.budget import run_in_thread
from mkdocs_roaming.library.tools import MAX_HITS, ToolError
from mkdocs_roaming.serve import schemas
from mkdocs_roaming.serve.content import Payload, WorkQueue, build_section, encode_hit, parse_count
from mkdocs_roaming.serve.deployments import Deployment
from mkdocs_roaming.serve.log import public_message
from mkdocs_roaming.serve.mcp import McpEndpoint
from mkdocs_roaming.serve.metrics import (
    METRICS_OFF,
    Metrics,
    parse_metrics_address,
    serve_metrics,
)
from mkdocs_roaming.serve.middleware import RequestGuard, RequestPolicy
from mkdocs_roaming.serve.requests import ProblemError, get_client, validate_question
from mkdocs_roaming.serve.routes import create_asgi_app, respond_negotiated, respond_with_etag
from mkdocs_roaming.serve.schemas import (
    DEFAULT_HITS,
    JSON,
    LANGUAGE,
    MARKDOWN,
    OPERATIONS,
    Operation,
    Parameter,
    count_up_to,
    describe_operations,
    encode_json,
)
from mkdocs_roaming.text.tokenizer import estimate_tokens
from roaming_fleet.collection import Collection, OpenSite
from roaming_fleet.records import CatalogEntry, SiteNotCrawledError, SiteNotFoundError, split_id
from roaming_fleet.tools import INSTRUCTIONS, StoreNavigator, site_label

MAX_SITES = 1_000
DEFAULT_SITES = 50
MAX_SITE_KEY_CHARS = 100

Crawled = Annotated[float, Meta(description="Time of the last complete crawl, in seconds since 1970.")]


class Section(schemas.Section, frozen=True):
    """An opened section."""

    site: str
    crawled: Crawled


class Hit(schemas.Hit, frozen=True):
    """A search result."""

    site: str
    crawled: Crawled


class Hits(TypedDict):
    """Search results, best first."""

    query: str
    hits: list[Hit]
    digest: str


class Site(TypedDict):
    """A site of the store."""

    site: str
    title: str
    url: str
    summary: str
    language: str
    pages: int
    sections: int
    digest: str
    crawled: Crawled
    state: Annotated[
        Literal["done", "failed"], Meta(description="`failed`: the last crawl failed, the last good copy is served.")
    ]


class Sites(TypedDict):
    """Sites by key, or by relevance to a query."""

    sites: list[Site]
    next: NotRequired[
        Annotated[str | None, Meta(description="The `after` of the next request, null at the end of the list.")]
    ]
    digest: str


class Health(TypedDict):
    """The state of the endpoint."""

    status: Annotated[
        Literal["ok", "stale"], Meta(description="`stale`: the store cannot be read, its last known state is served.")
    ]
    sites: int
    digest: str


def _adapt(name: str) -> Operation:
    """Return an operation of one site for a store: sites have one language each, and may be gone."""
    operation = next(operation for operation in OPERATIONS if operation.name == name)
    parameters = tuple(parameter for parameter in operation.parameters if parameter != LANGUAGE)
    errors = tuple(sorted({*operation.errors, 404})) if parameters else operation.errors
    return replace(operation, parameters=parameters, errors=errors)


_SEARCH = _adapt("search_sections")
_SiteKey = Annotated[
    str, Meta(max_length=MAX_SITE_KEY_CHARS, description="The key of a site: list the sites after it.")
]

STORE_OPERATIONS = (
    Operation(
        "list_sites",
        "GET",
        "/v1/sites",
        "List the sites, or those that are relevant to a query, best first.",
        {JSON: Sites},
        _SEARCH.errors,
        (
            Parameter("q", Annotated[schemas.Query, Meta(description="The topic (default: all sites).")]),
            Parameter("after", _SiteKey),
            Parameter("limit", count_up_to(MAX_SITES, f"Maximum number of sites (default: {DEFAULT_SITES}).")),
        ),
    ),
    _adapt("read_outline"),
    replace(_adapt("read_section"), responses={JSON: Section, MARKDOWN: str}),
    replace(_SEARCH, responses={JSON: Hits}),
    _adapt("openapi"),
    Operation("health", "GET", "/healthz", "Check which sites can be read.", {JSON: Health}),
)


def create_store_app(
    collection: Collection,
    policy: RequestPolicy,
    *,
    metrics_place: str = METRICS_OFF,
) -> RequestGuard:
    """Return the ASGI application of a store. Its metrics are served where `AppConfig.metrics` says."""
    parse_metrics_address(metrics_place)
    metrics = Metrics(STORE_OPERATIONS)
    tools = McpEndpoint(
        lambda: StoreNavigator(collection, format_error=partial(public_message, at="/mcp")),
        instructions=INSTRUCTIONS,
        is_local=lambda: not collection.is_remote,
    )
    application = create_asgi_app(
        STORE_OPERATIONS,
        _Routes(collection),
        partial(_refresh, collection),
        tools,
        serve_metrics(metrics, metrics_place),
        routes=[Route(path, _refuse_question, methods=["GET", "POST"]) for path in ("/v1/ask", "/ask")],
    )
    return RequestGuard(application, policy, metrics)


async def _refresh(collection: Collection) -> None:
    """Refresh the catalog in the background, so that requests do not wait for a store that cannot be reached."""
    while True:
        await anyio.sleep(collection.refresh_seconds / 2)
        await run_in_thread(collection.refresh)


async def _refuse_question(request: Request) -> Response:
    raise ProblemError(404, "one_site", "Questions are answered from one site: `roaming serve STORE/SITE` does it.")


@dataclass(slots=True)
class _Routes:
    """The operations of the API, one method each."""

    collection: Collection
    queue: WorkQueue = field(default_factory=partial(WorkQueue, max_remote_each=1))
    description: bytes = field(default_factory=lambda: encode_json(describe_operations(STORE_OPERATIONS)))

    async def list_sites(self, request: Request) -> Response:
        """List the sites, or those that match words."""
        query = request.query_params
        words, after, limit = query.get("q"), query.get("after", ""), query.get("limit")
        payload = await self._compute(request, lambda: _list_sites(self.collection, words, after, limit))
        return respond_with_etag(request, encode_json(payload.data), JSON)

    async def read_outline(self, request: Request) -> Response:
        """Return the list of sites as text, or the outline of one, or a branch of it."""
        id_ = request.query_params.get("id")
        payload = await self._compute(request, lambda: _read_outline(self.collection, id_))
        return respond_negotiated(request, payload)

    async def read_section(self, request: Request) -> Response:
        """Return a section."""
        id_, part = request.path_params["id"], request.query_params.get("part")
        payload = await self._compute(request, lambda: _read_section(self.collection, id_, part))
        return respond_negotiated(request, payload)

    async def search_sections(self, request: Request) -> Response:
        """Return search results."""
        query, limit = request.query_params.get("q", ""), request.query_params.get("limit")
        payload = await self._compute(request, lambda: _search(self.collection, query, limit))
        return respond_with_etag(request, encode_json(payload.data), JSON)

    async def health(self, request: Request) -> Response:
        """Return the number of readable sites, and whether the store is unreachable, without waiting for it."""
        count, generation, is_stale = self.collection.health()
        data = {"status": "stale" if is_stale else "ok", "sites": count, "digest": generation}
        return Response(encode_json(data), media_type=JSON, headers={"cache-control": "no-store"})

    async def openapi(self, request: Request) -> Response:
        """Return the OpenAPI description."""
        return respond_with_etag(request, self.description, JSON)

    async def _compute(self, request: Request, make: Callable[[], Payload]) -> Payload:
        """Compute a response in a thread."""
        try:
            return await self.queue.run(get_client(request.scope), make, is_local=not self.collection.is_remote)
        except SiteNotFoundError as error:
            raise ProblemError(404, "no_site", f"There is no site {error.key!r}; /v1/sites lists them.") from None
        except SiteNotCrawledError as error:
            raise ProblemError(404, "not_crawled", f"{error.public_message}.") from None


def _list_sites(collection: Collection, words: str | None, after: str, limit: str | None) -> Payload:
    if len(after) > MAX_SITE_KEY_CHARS:
        raise ProblemError(422, "bad_key", f"`after` is the key of a site: {MAX_SITE_KEY_CHARS} characters at most.")
    count = parse_count(limit, "limit", DEFAULT_SITES, MAX_SITES)
    if words is not None:
        ranked = collection.rank(validate_question(words), count, min_score=0.0)
        sites = [_describe_site(site.key, site.entry, site.state) for site in ranked]
        return Payload({"sites": sites, "next": None, "digest": collection.generation})
    records = [record for record in collection.records() if record.entry is not None and record.key > after]
    sites = [
        _describe_site(record.key, record.entry, record.state) for record in records[:count] if record.entry is not None
    ]
    last = records[count - 1].key if len(records) > count else None
    return Payload({"sites": sites, "next": last, "digest": collection.generation})


def _describe_site(key: str, entry: CatalogEntry, state: str) -> dict[str, object]:
    fields = {name: getattr(entry, name) for name in ("title", "summary", "url", "language", "pages", "sections")}
    return {"site": key, **fields, "digest": entry.digest, "crawled": entry.crawled, "state": state}


def _read_outline(collection: Collection, id_: str | None) -> Payload:
    found = StoreNavigator(collection).outline(id_)
    if isinstance(found, ToolError):
        raise ProblemError(404, "no_section", " ".join(found.message.split()))
    text = found.text
    return Payload({"digest": collection.generation, "tokens": estimate_tokens(text), "outline": text}, lambda: text)


def _read_section(collection: Collection, id_: str, part: str | None) -> Payload:
    site = _open_site(collection, id_)
    payload = build_section(Deployment(site.library, site.search), id_, part, prefix=site_label(site))
    section = Section(**asdict(payload.data), site=site.key, crawled=site.entry.crawled)
    return Payload(section, payload.markdown)


def _open_site(collection: Collection, id_: str) -> OpenSite:
    """Open the site of an id, or raise ProblemError."""
    parts = split_id(id_)
    try:
        if parts is not None:
            return collection.open(parts[0])
    except SiteNotFoundError:
        pass
    raise ProblemError(
        404, "no_section", f"No section {id_[:120]!r}; ids look like SITE:07f3277d, and search gives them."
    )


def _search(collection: Collection, query: str, limit: str | None) -> Payload:
    query, count = validate_question(query), parse_count(limit, "limit", DEFAULT_HITS, MAX_HITS)
    validate_question(collection.strip_site(query))
    hits = [
        Hit(
            **asdict(encode_hit(found.library.sections, found.hit, found.score)),
            site=found.site.key,
            crawled=found.site.entry.crawled,
        )
        for found in collection.find(query, limit=count)
    ]
    return Payload({"query": query, "hits": hits, "digest": collection.generation})

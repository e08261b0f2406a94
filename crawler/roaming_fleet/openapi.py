"""The operations of the endpoint of a store. All of them read, and ids name their site."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal, NotRequired, TypedDict

from msgspec import Meta

from mkdocs_roaming.serve import schemas
from mkdocs_roaming.serve.openapi import LANGUAGE, OPERATIONS, SCOPE, Operation, Parameter, count_up_to
from mkdocs_roaming.serve.schemas import JSON, MARKDOWN

MAX_SITES = 1_000
DEFAULT_SITES = 50
MAX_SITE_KEY_CHARS = 100

Crawled = Annotated[float, Meta(description="Time of the last complete crawl, in seconds since 1970.")]


class Section(schemas.Section):
    """An opened section."""

    site: str
    crawled: Crawled


class Hit(schemas.Hit):
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
    """Return an operation of one site for a store: sites have one language each and no scope, and may be gone."""
    operation = next(operation for operation in OPERATIONS if operation.name == name)
    parameters = tuple(parameter for parameter in operation.parameters if parameter not in (LANGUAGE, *SCOPE))
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
    _adapt("metrics"),
    _adapt("openapi"),
    Operation("health", "GET", "/healthz", "Check which sites can be read.", {JSON: Health}),
)

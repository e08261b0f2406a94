"""The operations of the endpoint of a store. All of them read, and ids name their site."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal, NotRequired, TypedDict

from msgspec import Meta

from mkdocs_roaming.serve.openapi import LANGUAGE, OPERATIONS, QUERY, Operation, Parameter
from mkdocs_roaming.serve.schemas import JSON, MARKDOWN
from roaming_fleet.namespaces import NAMESPACED_ID

MAX_SITES = 1_000
DEFAULT_SITES = 50
MAX_SITE_KEY_CHARS = 100

SectionId = Annotated[str, Meta(pattern=f"^{NAMESPACED_ID}$")]
Crawled = Annotated[float, Meta(description="Time of the last complete crawl, in seconds since 1970.")]


class SectionEntry(TypedDict):
    """A section that is listed without its text. `inside` counts its subsections."""

    id: SectionId
    title: str
    tokens: int
    inside: int


class Section(TypedDict):
    """An opened section."""

    id: SectionId
    title: str
    path: list[str]
    url: str
    tokens: int
    text: str
    shown: Annotated[list[SectionId], Meta(description="The sections whose text is part of `text`.")]
    listed: list[SectionEntry]
    part: int
    parts: int
    before: SectionEntry | None
    after: SectionEntry | None
    digest: str
    site: str
    crawled: Crawled


class Hit(TypedDict):
    """A search result."""

    id: SectionId
    title: str
    path: list[str]
    url: str
    snippet: str
    score: float
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
    parameters = tuple(parameter for parameter in operation.parameters if parameter is not LANGUAGE)
    errors = tuple(sorted({*operation.errors, 404})) if parameters else operation.errors
    return replace(operation, parameters=parameters, errors=errors)


_SEARCH = _adapt("search_sections")

STORE_OPERATIONS = (
    Operation(
        "list_sites",
        "GET",
        "/v1/sites",
        "List the sites, or those that are relevant to a query, best first.",
        {JSON: Sites},
        _SEARCH.errors,
        (
            replace(QUERY, description="The topic (default: all sites).", required=False),
            Parameter("after", "The key of a site: list the sites after it.", maximum=MAX_SITE_KEY_CHARS),
            Parameter("limit", f"Maximum number of sites (default: {DEFAULT_SITES}).", "integer", maximum=MAX_SITES),
        ),
    ),
    _adapt("read_outline"),
    replace(_adapt("read_section"), responses={JSON: Section, MARKDOWN: None}),
    replace(_SEARCH, responses={JSON: Hits}),
    _adapt("metrics"),
    _adapt("openapi"),
    Operation("health", "GET", "/healthz", "Check which sites can be read.", {JSON: Health}),
)

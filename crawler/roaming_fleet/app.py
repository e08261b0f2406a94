"""HTTP application of a store: offers the tools to MCP clients.

    app = create_store_app(Collection("s3://docs/store"), RequestPolicy(hosts=("docs.example",)))

It answers no questions; `roaming serve STORE/SITE` answers those about one site.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal, TypedDict

import anyio
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response

from mkdocs_roaming._json import encode_json
from mkdocs_roaming.answer.budget import run_in_thread
from mkdocs_roaming.serve.log import public_message
from mkdocs_roaming.serve.mcp import McpEndpoint
from mkdocs_roaming.serve.metrics import (
    METRICS_OFF,
    Metrics,
    parse_metrics_address,
    serve_metrics,
)
from mkdocs_roaming.serve.middleware import RequestGuard, RequestPolicy
from mkdocs_roaming.serve.routes import create_asgi_app
from mkdocs_roaming.serve.schemas import JSON, Operation
from roaming_fleet.collection import Collection
from roaming_fleet.tools import INSTRUCTIONS, StoreNavigator


class Health(TypedDict):
    """The state of the endpoint."""

    status: Annotated[
        Literal["ok", "stale"], Meta(description="`stale`: the store cannot be read, its last known state is served.")
    ]
    sites: int
    digest: str


STORE_OPERATIONS = (Operation("health", "GET", "/healthz", "Check which sites can be read.", {JSON: Health}),)


def create_store_app(
    collection: Collection,
    policy: RequestPolicy,
    *,
    metrics_place: str = METRICS_OFF,
) -> RequestGuard:
    """Return the ASGI application of a store. Its metrics are served where `ServeTable.metrics` says."""
    metrics_address = parse_metrics_address(metrics_place)
    metrics = Metrics(STORE_OPERATIONS)
    tools = McpEndpoint(
        lambda: StoreNavigator(collection, format_error=partial(public_message, at="/mcp")),
        instructions=INSTRUCTIONS,
        is_local=lambda: True,
    )
    application = create_asgi_app(
        STORE_OPERATIONS,
        _Routes(collection),
        tools,
        serve_metrics(metrics, metrics_address),
    )
    return RequestGuard(application, policy, metrics)


@dataclass(slots=True)
class _Routes:
    """The operations of the application, one method each."""

    collection: Collection

    async def run(self) -> None:
        """Refresh the catalog in the background, so that requests do not wait for a store that cannot be reached."""
        while True:
            await anyio.sleep(self.collection.refresh_seconds / 2)
            await run_in_thread(self.collection.refresh)

    async def health(self, request: Request) -> Response:
        """Return the number of readable sites, and whether the store is unreachable, without waiting for it."""
        count, generation, is_stale = self.collection.health()
        data = {"status": "stale" if is_stale else "ok", "sites": count, "digest": generation}
        return Response(encode_json(data), media_type=JSON, headers={"cache-control": "no-store"})

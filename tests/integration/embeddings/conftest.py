"""A server that computes vectors, and a site whose pages use other words than the queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from embeddings_api import SYNONYMS, EmbeddingsApi, ToyEmbedder, serving

from mkdocs_roaming.embeddings.config import FindModel, ModelFinder, parse_embeddings_config
from mkdocs_roaming.manifest.models import Page, Site
from mkdocs_roaming.publish.cache import ConversionCache
from mkdocs_roaming.publish.options import PublishOptions
from mkdocs_roaming.publish.pipeline import convert_pages
from mkdocs_roaming.publish.writer import PublishReport, publish_batch

PAGES = {
    "": "# Handbook\n\nWelcome to the workshop.\n",
    "fleet/": "# Fleet\n\nEach automobile is washed on Fridays.\n\n## Tyres\n\nChanged in spring and in autumn.\n",
    "money/": "# Money\n\nThe outlay is known in advance.\n\n## Receipts\n\nKept for seven years.\n",
    "staff/": "# Staff\n\nNobody works on Sundays.\n",
}


@pytest.fixture
def unreachable_url(free_port: Callable[[], int]) -> str:
    """The base URL of a server that does not exist."""
    return f"http://127.0.0.1:{free_port()}/v1"


@pytest.fixture
def free_port() -> Callable[[], int]:
    """Returns unused ports."""
    import socket

    def port() -> int:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            return int(listener.getsockname()[1])

    return port


@pytest.fixture
def serve() -> Iterator[Callable[..., EmbeddingsApi]]:
    """Starts servers with the given options."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(serving(EmbeddingsApi(**options)))


@pytest.fixture
def api(serve: Callable[..., EmbeddingsApi]) -> EmbeddingsApi:
    """A server that knows the synonyms."""
    return serve(embedder=ToyEmbedder(256, SYNONYMS))


@pytest.fixture
def configured(api: EmbeddingsApi) -> FindModel:
    """Options for the vectors of the server."""
    return ModelFinder(parse_embeddings_config({"model": "toy", "base_url": api.url}, "embeddings"), {})


class Builder:
    """Publishes pages of Markdown into a folder; `warnings` are those of the last build."""

    def __init__(self, folder: Path) -> None:
        self.site, self.cache = folder / "site", folder / "cache"
        self.warnings: list[str] = []

    def __call__(
        self,
        embeddings: FindModel | None,
        pages: dict[str, str] | None = None,
        *,
        site: Path | None = None,
        **options: Any,
    ) -> PublishReport:
        self.warnings = []
        cache = ConversionCache(options.get("cache", self.cache))
        converted = [Page(path, path, markdown=text) for path, text in (pages or PAGES).items()]
        site_ = Site("Docs", "https://docs.example/", language=options.get("language", "en"))
        batch = convert_pages(site_, converted, cache=cache, warn=self.warnings.append)
        return publish_batch(batch, site or self.site, PublishOptions(), embeddings=embeddings)


@pytest.fixture
def build(tmp_path: Path) -> Builder:
    """Publishes sites."""
    return Builder(tmp_path)

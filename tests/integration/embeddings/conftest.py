"""A server that makes vectors, and a site whose answers stand there in other words than people ask with."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # the server is imported by its name

from embeddings_api import SYNONYMS, EmbeddingsApi, ToyEmbedder, serving

from mkdocs_roaming.embeddings.store import EmbeddingsOptions, parse_embeddings_options
from mkdocs_roaming.manifest.models import Page, Site
from mkdocs_roaming.publish.cache import ConversionCache
from mkdocs_roaming.publish.pipeline import convert_pages
from mkdocs_roaming.publish.writer import PublishOptions, PublishReport, publish_batch

PAGES = {
    "": "# Handbook\n\nWelcome to the workshop.\n",
    "fleet/": "# Fleet\n\nEach automobile is washed on Fridays.\n\n## Tyres\n\nChanged in spring and in autumn.\n",
    "money/": "# Money\n\nThe outlay is told in advance.\n\n## Receipts\n\nKept for seven years.\n",
    "staff/": "# Staff\n\nNobody works on Sundays.\n",
}


@pytest.fixture
def away(free_port: Callable[[], int]) -> str:
    """Give the base URL of a server that is not there."""
    return f"http://127.0.0.1:{free_port()}/v1"


@pytest.fixture
def free_port() -> Callable[[], int]:
    """Gives ports that nobody listens on."""
    import socket

    def port() -> int:
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            return int(found.getsockname()[1])

    return port


@pytest.fixture
def serve() -> Iterator[Callable[..., EmbeddingsApi]]:
    """Start servers; what they do is given by name."""
    with ExitStack() as stack:
        yield lambda **how: stack.enter_context(serving(EmbeddingsApi(**how)))


@pytest.fixture
def api(serve: Callable[..., EmbeddingsApi]) -> EmbeddingsApi:
    """Give a server that knows the synonyms."""
    return serve(embedder=ToyEmbedder(256, SYNONYMS))


@pytest.fixture
def configured(api: EmbeddingsApi) -> EmbeddingsOptions:
    """Give whose vectors are published: the server's."""
    return parse_embeddings_options({"model": "toy", "base_url": api.url}, {}, "embeddings")


class Builder:
    """Publishes pages of Markdown into a folder; `warned` is what the last build warned of."""

    def __init__(self, folder: Path) -> None:
        self.site, self.cache = folder / "site", folder / "cache"
        self.warned: list[str] = []

    def __call__(
        self,
        meaning: EmbeddingsOptions | None,
        pages: dict[str, str] | None = None,
        *,
        site: Path | None = None,
        **how: Any,
    ) -> PublishReport:
        self.warned = []
        cache = ConversionCache(how.get("cache", self.cache))
        written = [Page(path, path, markdown=text) for path, text in (pages or PAGES).items()]
        batch = convert_pages(Site("Docs", "https://docs.example/"), written, cache=cache, warn=self.warned.append)
        return publish_batch(batch, site or self.site, PublishOptions(embeddings=meaning))


@pytest.fixture
def build(tmp_path: Path) -> Builder:
    """Give what publishes sites."""
    return Builder(tmp_path)

"""Embeddings by a small sentence model, for a row of their own and for hybrid search.

    pip install 'mkdocs-roaming[meaning]'

FOLDER has the checkouts of the sets, and `all-MiniLM-L6-v2` with `tokenizer.json` and an ONNX file of the model: see
docs/guides/embeddings.md. Without the model there are no rows with embeddings.
"""

from __future__ import annotations

import sys
from pathlib import Path

from msgspec import Struct

from mkdocs_roaming.embeddings.client import QueryEmbedder
from mkdocs_roaming.embeddings.config import EmbeddingModel
from mkdocs_roaming.embeddings.embedder import Embedder
from mkdocs_roaming.embeddings.local import LocalEmbedder
from mkdocs_roaming.embeddings.sections import add_vectors
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.readers import MemoryReader
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.manifest.io import VECTORS_PATH
from mkdocs_roaming.manifest.models import Page, PublishedPage

MODEL = "all-MiniLM-L6-v2"


class Embeddings(Struct, frozen=True):
    """The model, and the file that keeps its vectors for the next run."""

    model: Embedder
    cache: Path


def find_embeddings(data: Path, name: str) -> Embeddings | None:
    """Return the model in the folder with the checkouts, or None if there is none.

    Args:
        data: The folder.
        name: The name of the set, for the file of vectors.
    """
    folder = data / MODEL
    return Embeddings(LocalEmbedder(folder), data / "vectors" / f"{name}.bin") if folder.is_dir() else None


def open_hybrid_search(library: Library, embeddings: Embeddings) -> Search:
    """Return hybrid search over a library, as it is with `search: hybrid` and this model.

    Raises:
        SystemExit: The vectors cannot be computed, now or during a search.
    """
    embeddings.cache.parent.mkdir(exist_ok=True)
    with_vectors = add_library_vectors(library, embeddings)
    queries = QueryEmbedder(embeddings.model, on_warning=sys.exit, timeout=None)
    return Search(with_vectors, queries=queries)


def add_library_vectors(library: Library, embeddings: Embeddings) -> Library:
    """Return a library with vectors. Those in the cache are not computed again.

    Raises:
        SystemExit: The vectors cannot be computed.
    """
    library.prefetch()
    files = {page.markdown: library.file(page.markdown) for page in library.manifest.pages}
    published = [
        PublishedPage(Page(page.path, page.title), files[page.markdown].decode("utf-8", "surrogatepass"), ())
        for page in library.manifest.pages
    ]
    manifest, data = add_vectors(
        library.manifest,
        published,
        lambda manifest: EmbeddingModel(embeddings.model.model, lambda: embeddings.model),
        known_files=[embeddings.cache],
        save=embeddings.cache.write_bytes,
        warn=print,
        note=print,
    )
    if data is None:
        raise SystemExit(1)
    return Library(manifest, MemoryReader({**files, VECTORS_PATH: data}, where=library.where))

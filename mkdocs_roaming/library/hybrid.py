"""Hybrid search: the scores of word search and of vector search, combined.

A query becomes a vector by one request to the embeddings API. The vectors of the sections are published next to the
manifest. If the API fails, is slow or has another model, search uses words only and reports that once.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Mapping, Sequence
from math import sqrt
from operator import mul

from mkdocs_roaming.embeddings.client import FAILURE_PAUSE, QueryEmbedder
from mkdocs_roaming.embeddings.store import MAX_WINDOWS, VectorFile, VectorsError, decode_vectors, split_windows
from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.library.index_cache import IndexCache
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import RankedSection, Search
from mkdocs_roaming.library.snippets import SNIPPET_CHARS, strip_markdown
from mkdocs_roaming.manifest.io import VECTORS_PATH
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.sections import file_digest
from mkdocs_roaming.text.markdown import truncate_at_word
from mkdocs_roaming.text.tokenizer import Word

VECTOR_WEIGHT = 0.4
"""Weight of the vectors; words have the rest. A larger weight helps long queries in
words that the docs do not use, a smaller one queries with names from the docs.
"""

_MAX_NEAR = 200
_CACHE_KEY_CHARS = 16
"""Length of the digest that is added to the URL of the vectors to bypass HTTP caches."""


class HybridSearch(Search):
    """Finds sections by words and vectors.

    Args:
        library: The site.
        queries: Computes the vectors of queries.
        cache: Indexes of earlier processes.
    """

    def __init__(
        self,
        library: Library,
        queries: QueryEmbedder,
        *,
        cache: IndexCache | None = None,
    ) -> None:
        super().__init__(library, cache=cache)
        self.vectors = VectorIndex(library.whole, queries)

    def words_only(self, query: str) -> bool:
        """Return whether a query was searched by words because its vector could not be computed."""
        vectors = self.vectors
        is_cached = not vectors.problem and vectors.queries.cached(query) is not None
        return not (vectors.healthy or is_cached)

    def judge(self, query: str, *, is_follow_up: bool = False) -> str:
        """Return the line above doubtful results; vectors find sections that have none of the query's words."""
        return super().judge(query, is_follow_up=is_follow_up or not self.words_only(query))

    def load(self) -> None:
        """Build the index and read the vectors, without a request for embeddings."""
        super().load()
        self.vectors.load()

    def _rank_query(self, query: str, words: Sequence[Word]) -> list[RankedSection]:
        """Return the sections found by words or vectors, best first.

        Only words are used if there is no vector, or if the query names a section: similar ones are not wanted then.
        """
        ranked = super()._rank_query(query, words)
        if self._resolve_address(query) is not None:
            return ranked
        nearest = self.vectors.nearest(query, self.library.sections)
        if nearest is None:
            return ranked
        by_words = {section.id: score for section, score, _ in ranked}
        by_vectors = {section.id: cosine for section, cosine, _ in nearest}
        scores = fuse_scores(by_words, by_vectors)
        rows = {section.id: (section, window) for section, _, window in (*nearest, *ranked)}
        fused: list[RankedSection] = []
        for id_ in sorted(scores, key=scores.__getitem__, reverse=True):  # stable: the order of words for equal scores
            section, window = rows[id_]
            fused.append((section, scores[id_], window))
        return fused

    def _make_snippet(self, section: SectionRef, window: int | None, words: Sequence[Word]) -> str:
        """Return the start of the nearest window for a section that has no word of the query."""
        if window is None:
            return super()._make_snippet(section, window, words)
        windows = split_windows((), self._read(section), section.section.opening)
        text = windows[min(window, len(windows) - 1)]
        return truncate_at_word(strip_markdown(text), SNIPPET_CHARS)


def fuse_scores(by_words: Mapping[str, float], by_vectors: Mapping[str, float]) -> dict[str, float]:
    """Combine scores by words and cosines to scores from 0 to 1.

    A score by words counts as its share of the best one. Cosines of one model are all near 1, those of another near 0,
    so they are scaled from the smallest to the greatest of those found. Scores are used instead of ranks, so a section
    that words rank far ahead stays ahead even with a weak model.

    Args:
        by_words: Scores of word search by section id.
        by_vectors: Cosines by section id.
    """
    scores: dict[str, float] = {}
    best = max(by_words.values(), default=0.0)
    if best > 0:
        scores = {id_: (1 - VECTOR_WEIGHT) * score / best for id_, score in by_words.items()}
    lowest = min(by_vectors.values(), default=0.0)
    spread = max(by_vectors.values(), default=0.0) - lowest
    for id_, cosine in by_vectors.items():
        share = (cosine - lowest) / spread if spread > 0 else 1.0
        scores[id_] = scores.get(id_, 0.0) + VECTOR_WEIGHT * share
    return scores


# Vectors of a library


class VectorIndex:
    """The vectors of a library's sections, read on first use. Safe for several threads.

    Attributes:
        problem: Why they could not be read; empty if they were, or not yet.
    """

    def __init__(self, library: Library, queries: QueryEmbedder) -> None:
        self.library = library
        self.queries = queries
        self._lock = threading.Lock()
        self._columns: VectorColumns | None = None
        self._sections: list[tuple[SectionRef | None, int]] = []  # and the number of windows of each
        self.problem = ""
        self._retry_at = float("-inf")

    @property
    def healthy(self) -> bool:
        """Whether the last attempts to read the vectors and to request one succeeded."""
        return not self.problem and self.queries.healthy

    def nearest(self, query: str, visible: SectionIndex | None = None) -> list[RankedSection] | None:
        """Return the sections nearest to a query with their cosines, or None if only words can be used.

        Args:
            query: The query.
            visible: The sections that may be found; all by default.
        """
        columns = self.load()
        vector = self.queries.embed(query) if columns and query.strip() else None
        if columns is None or vector is None:
            return None
        if len(vector) != columns.dimensions:
            self._fail(
                f"{self.queries.model} returned a vector of {len(vector)} dimensions, but those of the site have "
                f"{columns.dimensions}; use the model of the build, or build the site again"
            )
            return None
        cosines = columns.cosines(vector)
        ranked: list[RankedSection] = []
        start = 0
        for section, count in self._sections:
            windows = cosines[start : start + count]
            start += count
            best = max(windows, default=0.0)
            if section is None or best <= 0:
                continue
            if visible is None or visible.get(section.id):
                ranked.append((section, best, windows.index(best)))
        ranked.sort(key=lambda row: -row[1])  # equal ones stay in the order of the site
        return ranked[:_MAX_NEAR]

    def load(self) -> VectorColumns | None:
        """Read the vectors unless that was done or has failed a short time ago."""
        with self._lock:
            if self._columns is None and self.queries.clock() >= self._retry_at:
                try:
                    self._columns = self._read()
                    self.problem = ""
                except RoamingError as error:
                    self._fail(str(error))
            return None if self.problem else self._columns

    def _fail(self, reason: str) -> None:
        self._retry_at = self.queries.clock() + FAILURE_PAUSE
        is_new = self.problem != reason
        self.problem = reason
        if is_new:
            self.queries.on_warning(f"search uses words only: {reason}")

    def _read(self) -> VectorColumns:
        library = self.library
        entry = library.manifest.vectors
        where = f"{library.where}: "
        if entry is None:
            raise VectorsError(f"{where}the site publishes no vectors; build it with `search: hybrid`")
        if entry.model != self.queries.model:
            raise VectorsError(
                f"{where}the vectors are of the model {entry.model!r}, not of {self.queries.model!r}; "
                "set the same model in [embeddings]"
            )
        data = library.file(VECTORS_PATH)
        if file_digest(data) != entry.digest:
            data = library.file(VECTORS_PATH, cache_key=entry.digest.removeprefix("sha256:")[:_CACHE_KEY_CHARS])
        if file_digest(data) != entry.digest:
            raise VectorsError(f"{where}{VECTORS_PATH} does not match the manifest; build the site again")
        vectors = decode_vectors(data, where + VECTORS_PATH)
        if len(vectors.scales) > MAX_WINDOWS * len(library.sections):  # each search would compare all of them
            raise VectorsError(f"{where}{VECTORS_PATH} has more windows than the site's sections; build the site again")
        self._sections = [(library.sections.get(id_), count) for id_, count in vectors.sections]
        return VectorColumns(vectors)


_LANE_BYTES = 4
"""Bytes of one window in a long integer."""

_BLOCK_WINDOWS = 4_096
"""Windows in one long integer: as many as fit into the processor's cache."""

_OFFSET = 128
_MAX_SHIFTED = 255
"""The largest number of a vector, shifted to be positive."""

_BITS_PER_BYTE = 8


class VectorColumns:
    """Vectors stored by dimension, for exact cosines of all windows without a numeric library.

    Python multiplies a long integer by a short one at the speed of the processor. The bytes of one dimension, for many
    windows side by side, form one long integer. Multiplied by the query's number in that dimension, and added up over
    all dimensions, it contains the dot products of all windows. 15,000 windows of 384 dimensions take 8 ms, a twentieth
    of the time of a loop.

    Example with two windows of two dimensions, (3, 1) and (2, 5), in lanes of three decimal digits: the columns are
    002003 and 005001. The query (4, 6) gives 4 * 002003 + 6 * 005001 = 038018: 18 for the first window, 38 for the
    second. No lane may overflow into the next, so all numbers are positive, and no finer than the lanes have room for.

    Safe for several threads.
    """

    def __init__(self, vectors: VectorFile) -> None:
        self.dimensions = vectors.dimensions
        self._scales = vectors.scales
        self._blocks: list[tuple[int, list[int]]] = []
        size = self.dimensions
        for start in range(0, len(vectors.scales), _BLOCK_WINDOWS):
            count = min(_BLOCK_WINDOWS, len(vectors.scales) - start)
            values = vectors.values[start * size : (start + count) * size].translate(_SHIFTED)
            columns: list[int] = []
            for dimension in range(size):
                lanes = bytearray(_LANE_BYTES * count)
                lanes[::_LANE_BYTES] = values[dimension::size]
                columns.append(int.from_bytes(lanes, "little"))
            self._blocks.append((count, columns))
        ones = [1] * self.dimensions
        self._sums = [total - _OFFSET * self.dimensions for total in self._dot_products(ones)]

    def cosines(self, vector: Sequence[float]) -> list[float]:
        """Return the cosine of each window with a vector, or an empty list for a zero vector."""
        largest = max(map(abs, vector))
        if not largest > 0:
            return []
        # The finest steps whose sums still fit into a lane.
        lane_end = 2 ** (_BITS_PER_BYTE * _LANE_BYTES)
        finest = (lane_end - 1) // (2 * _MAX_SHIFTED * self.dimensions)
        steps = [round(finest * (number / largest)) for number in vector]
        length = sqrt(sum(step * step for step in steps))
        # Both factors are shifted to be positive; what the shifts add to the products is subtracted.
        shifted = [step + finest for step in steps]
        surplus = _OFFSET * sum(shifted)
        rows = zip(self._dot_products(shifted), self._sums, self._scales, strict=True)
        return [(product - finest * total - surplus) * scale / length for product, total, scale in rows]

    def _dot_products(self, numbers: Sequence[int]) -> list[int]:
        products: list[int] = []
        for count, columns in self._blocks:
            total = sum(map(mul, columns, numbers))
            lanes = total.to_bytes(_LANE_BYTES * count, "little")
            products += struct.unpack(f"<{count}I", lanes)
        return products


_SHIFTED = bytes((byte + _OFFSET) % (_MAX_SHIFTED + 1) for byte in range(_MAX_SHIFTED + 1))

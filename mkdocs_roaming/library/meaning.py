"""The sections of a library nearest to a query in meaning: cosines of its vector with those of their texts.

The vectors of an embedding model are published next to the manifest. If the model fails, is slow or is another one than
that of the build, search does without them and reports that once.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import sqrt
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

from mkdocs_roaming.embeddings.embedder import FAILURE_PAUSE, Vector
from mkdocs_roaming.embeddings.store import MAX_WINDOWS, VectorFile, VectorsError, decode_vectors
from mkdocs_roaming.embeddings.table import TABLE_WEIGHT, TableEmbedder
from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.manifest.io import VECTORS_PATH
from mkdocs_roaming.manifest.lookup import SectionIndex
from mkdocs_roaming.manifest.sections import file_digest

if TYPE_CHECKING:
    from mkdocs_roaming.embeddings.client import QueryEmbedder
    from mkdocs_roaming.library.library import Library

MODEL_WEIGHT = 0.9
"""Weight of the cosines of a model for a sentence none of whose words is found; words have the rest."""

_CACHE_KEY_CHARS = 16
"""Length of the digest that is added to the URL of the vectors to bypass HTTP caches."""


class Near(NamedTuple):
    """How near a section is to a query.

    Attributes:
        cosine: The cosine of the nearest of its text windows, greater than 0.
        window: The number of that window.
    """

    cosine: float
    window: int


class Neighbors(NamedTuple):
    """The sections that are near to a query.

    Attributes:
        rows: How near they are, by row.
        weight: The weight of their cosines for a sentence; words have the rest.
        decline: The likelihood (`Search.judge`) below which no section fits a question; None if unknown.
    """

    rows: Mapping[int, Near]
    weight: float
    decline: float | None


class SectionVectors:
    """The vectors of sections in the order of a site. Safe for several threads.

    Args:
        vectors: The vectors.
        rows: The row of each section of the file; None for a section whose vectors are ignored.
        weight: The weight of their cosines for a sentence.
        decline: The likelihood (`Search.judge`) below which no section fits a question; None if unknown.
    """

    def __init__(
        self, vectors: VectorFile, rows: Iterable[int | None], weight: float, decline: float | None = None
    ) -> None:
        self._weight = weight
        self._decline = decline
        self.dimensions = vectors.dimensions
        self._rows = [(row, count) for row, (_, count) in zip(rows, vectors.sections, strict=True)]
        self._columns = VectorColumns(vectors)

    def find_near(self, vector: Vector) -> Neighbors:
        """Return the sections that are near to a vector."""
        cosines = self._columns.cosines(vector)
        near: dict[int, Near] = {}
        start = 0
        for row, count in self._rows:
            windows = cosines[start : start + count]
            start += count
            best = max(windows, default=0.0)
            if row is not None and best > 0:
                near[row] = Near(best, windows.index(best))
        return Neighbors(near, self._weight, self._decline)


class TableVectors:
    """The vectors of an English site's sections by the table of the package, which no site publishes.

    They are computed on first use, or read from the cache. Safe for several threads.

    Args:
        sections: The sections of the site.
        texts: The text of each section, which is read if the vectors are not known.
        recall: Returns the file of vectors, from a cache or from the function that computes it.
    """

    def __init__(
        self,
        sections: SectionIndex,
        texts: Iterable[str],
        recall: Callable[[Callable[[], bytes]], bytes],
    ) -> None:
        self._table = TableEmbedder()
        data = recall(lambda: _embed(sections, texts, self._table))
        self._vectors = SectionVectors(decode_vectors(data), range(len(sections)), TABLE_WEIGHT)

    def find_near(self, query: str, words: Iterable[str]) -> Neighbors | None:
        """Return the sections that are near to a query, or None if the table has none of its words as a whole."""
        if not any(map(self._table.knows, words)):
            return None
        (vector,) = self._table.embed([query])
        return self._vectors.find_near(vector)


def _embed(sections: SectionIndex, texts: Iterable[str], table: TableEmbedder) -> bytes:
    from mkdocs_roaming.embeddings.sections import embed_sections  # a search with known vectors does not need it

    return embed_sections(sections, texts, table)


class PublishedVectors:
    """The vectors that a site publishes, read on first use. Safe for several threads.

    Args:
        library: The whole site.
        queries: Computes the vectors of queries.

    Attributes:
        problem: Why they could not be read; empty if they were, or not yet.
    """

    def __init__(self, library: Library, queries: QueryEmbedder) -> None:
        self.library = library
        self.queries = queries
        self._lock = threading.Lock()
        self._vectors: SectionVectors | None = None
        self.problem = ""
        self._retry_at = float("-inf")

    @property
    def healthy(self) -> bool:
        """Whether the last attempts to read the vectors and to compute one of a query succeeded."""
        return not self.problem and self.queries.healthy

    def has_vector(self, query: str) -> bool:
        """Return whether the vector of a query is known or can probably be computed."""
        return self.healthy or (not self.problem and self.queries.cached(query) is not None)

    def find_near(self, query: str) -> Neighbors | None:
        """Return the sections that are near to a query, or None if the vectors cannot be used."""
        vectors = self.load()
        vector = self.queries.embed(query) if vectors and query.strip() else None
        if vectors is None or vector is None:
            return None
        if len(vector) != vectors.dimensions:
            self._fail(
                f"{self.queries.model} returned a vector of {len(vector)} dimensions, but those of the site have "
                f"{vectors.dimensions}; use the model of the build, or build the site again"
            )
            return None
        return vectors.find_near(vector)

    def load(self) -> SectionVectors | None:
        """Read the vectors unless that was done or has failed a short time ago."""
        with self._lock:
            if self._vectors is None and self.queries.clock() >= self._retry_at:
                try:
                    self._vectors = self._read()
                    self.problem = ""
                except RoamingError as error:
                    self._fail(str(error))
            return None if self.problem else self._vectors

    def _fail(self, reason: str) -> None:
        self._retry_at = self.queries.clock() + FAILURE_PAUSE
        is_new = self.problem != reason
        self.problem = reason
        if is_new:
            self.queries.on_warning(f"search works without embeddings: {reason}")

    def _read(self) -> SectionVectors:
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
        rows = {section.id: row for row, section in enumerate(library.sections)}
        known = (rows.get(id_) for id_, _ in vectors.sections)
        return SectionVectors(vectors, known, MODEL_WEIGHT, self.queries.decline)


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
    second. No lane may overflow into the next or be negative, so columns are positive, lanes do not begin at zero, and
    numbers are no finer than the lanes have room for.

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
        # Lanes begin with what the smallest sum lacks to be positive. It is subtracted, as what the offset adds is.
        least = finest * _MAX_SHIFTED * self.dimensions
        surplus = least + _OFFSET * sum(steps)
        products: list[int] = []
        for count, columns in self._blocks:
            start = int.from_bytes(least.to_bytes(_LANE_BYTES, "little") * count, "little")
            total = sum(map(mul, columns, steps), start)
            products += struct.unpack(f"<{count}I", total.to_bytes(_LANE_BYTES * count, "little"))
        return [(product - surplus) * scale / length for product, scale in zip(products, self._scales, strict=True)]


_SHIFTED = bytes((byte + _OFFSET) % (_MAX_SHIFTED + 1) for byte in range(_MAX_SHIFTED + 1))

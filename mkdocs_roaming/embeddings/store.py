"""The file of vectors of a site's sections, `roaming/vectors.bin`.

The file is little-endian, and the same vectors give the same bytes:

    8 bytes   `ROAMVEC` and the version, 1
    4 × 4     dimensions, sections, windows, bytes of the model name
    …         the model name, UTF-8
    8 each    sections: the 4 bytes of the id, the number of the section's windows (4 bytes)
    8 each    windows: the first 8 bytes of SHA-256 over the window's text
    4 each    windows: the scale, a float
    …         windows: one signed byte for each dimension; times the scale it is the vector, of length 1

Windows are in the order of the sections.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from mkdocs_roaming.embeddings.embedder import MAX_DIMENSIONS
from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.manifest.io import VECTORS_PATH

MAX_WINDOWS = 40
"""Maximum number of windows of a section. Text after them is found by words only."""


class VectorsError(RoamingError):
    """A file of vectors is broken or does not belong to the site."""


DIGEST_SIZE = 8
_MAGIC_NAME = b"ROAMVEC"
_MAGIC = _MAGIC_NAME + b"\x01"
_HEAD = struct.Struct("<8sIIII")
_ROW = struct.Struct("<4sI")
"""The id of a section, and the number of its windows."""

_SCALE = struct.Struct("<f")
_MAX_STEP = 127
"""The largest signed byte."""


class QuantizedVector(NamedTuple):
    """A vector of length 1, stored as signed bytes that are multiplied by a scale."""

    scale: float
    values: bytes


class VectorFile(NamedTuple):
    """The content of a file of vectors."""

    model: str
    dimensions: int
    sections: tuple[tuple[str, int], ...]
    """The id of each section, and the number of its windows."""
    digests: Sequence[bytes]
    """The digest of each window's text."""
    scales: Sequence[float]
    values: bytes
    """The signed bytes of all windows, one window after the other."""

    def window(self, index: int) -> QuantizedVector:
        """Return the vector of a window."""
        start = index * self.dimensions
        return QuantizedVector(self.scales[index], self.values[start : start + self.dimensions])


def quantize(vector: Sequence[float]) -> QuantizedVector:
    """Scale a vector to length 1 and round it to one byte for each dimension; a zero vector stays zero."""
    largest = max(map(abs, vector))
    if not largest > 0:
        return QuantizedVector(0.0, bytes(len(vector)))
    steps = [round(_MAX_STEP * (number / largest)) for number in vector]
    length = math.sqrt(sum(step * step for step in steps))
    # Rounded to four bytes as in the file, so that a new vector equals one that was read.
    (scale,) = _SCALE.unpack(_SCALE.pack(1 / length))
    values = struct.pack(f"{len(steps)}b", *steps)
    return QuantizedVector(scale, values)


def digest_text(text: str) -> bytes:
    """Return the digest of a window's text."""
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).digest()[:DIGEST_SIZE]


def name_row(row: int) -> str:
    """Return the name of a row, used instead of a section's id in files that are not published for others."""
    return f"{row:08x}"


def encode_vectors(
    model: str,
    sections: Iterable[tuple[str, Sequence[bytes]]],
    vectors: Mapping[bytes, QuantizedVector],
) -> bytes:
    """Return a file of vectors.

    Args:
        model: The name of the model.
        sections: The id of each section, and the digests of its windows.
        vectors: The vector of each window by digest, at least one.
    """
    table = bytearray()
    digests: list[bytes] = []
    count = 0
    for id_, windows in sections:
        table += _ROW.pack(bytes.fromhex(id_), len(windows))
        digests += windows
        count += 1
    name = model.encode("utf-8")
    head = _HEAD.pack(_MAGIC, get_dimensions(vectors), count, len(digests), len(name))
    scales = b"".join(_SCALE.pack(vectors[digest].scale) for digest in digests)
    values = b"".join(vectors[digest].values for digest in digests)
    return b"".join((head, name, table, *digests, scales, values))


def decode_vectors(data: bytes, where: str = VECTORS_PATH) -> VectorFile:
    """Parse a file of vectors; errors name `where`.

    Raises:
        VectorsError: The file is broken or of a later version.
    """
    broken = VectorsError(f"{where}: file is broken or truncated; build the site again")
    if len(data) < _HEAD.size or not data.startswith(_MAGIC_NAME):
        raise broken
    magic, dimensions, section_count, window_count, name_size = _HEAD.unpack_from(data)
    if magic != _MAGIC:
        raise VectorsError(f"{where}: file has a later version; upgrade mkdocs-roaming")
    sizes = (
        name_size,
        _ROW.size * section_count,
        DIGEST_SIZE * window_count,
        _SCALE.size * window_count,
        dimensions * window_count,
    )
    try:
        parts = struct.unpack("".join(f"{size}s" for size in sizes), data[_HEAD.size :])
    except struct.error:
        raise broken from None
    name, table, digests, scales, values = parts
    rows = tuple((id_.hex(), count) for id_, count in _ROW.iter_unpack(table))
    numbers = [number for (number,) in _SCALE.iter_unpack(scales)]
    is_counted = sum(count for _, count in rows) == window_count
    if not 1 <= dimensions <= MAX_DIMENSIONS or not is_counted or not all(0 <= number <= 1 for number in numbers):
        raise broken
    return VectorFile(
        model=name.decode("utf-8", "replace"),
        dimensions=dimensions,
        sections=rows,
        digests=[digests[start : start + DIGEST_SIZE] for start in range(0, len(digests), DIGEST_SIZE)],
        scales=numbers,
        values=values,
    )


def get_dimensions(vectors: Mapping[bytes, QuantizedVector]) -> int:
    """Return the number of dimensions of vectors, at least one."""
    return len(next(iter(vectors.values())).values)

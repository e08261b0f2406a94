"""The file of vectors beside a manifest: written by a build, read by search. All numbers are little-endian.

    8 bytes   `ROAMVEC` and the version, 1
    4 × 4     dimensions, sections, windows, bytes of the model's name
    …         the model's name, UTF-8
    8 each    sections: the id's 4 bytes, how many windows are its own (4 bytes)
    8 each    windows: the first 8 bytes of SHA-256 over the text that the vector stands for
    4 each    windows: the scale, a float
    …         windows: one signed byte for each dimension; times the scale it is the vector, of length 1

Windows stand in the order of the sections. The same vectors give the same bytes.
"""

from __future__ import annotations

import hashlib
import math
import struct
import sys
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mkdocs_roaming.errors import RoamingError

PATH = "roaming/vectors.bin"
DIGEST = 8


class VectorsError(RoamingError):
    """A file of vectors is not one, or is broken."""


@dataclass(frozen=True, slots=True)
class Quantised:
    """A vector in a byte for each dimension: `values` are signed bytes, times `scale` they have the length 1."""

    scale: float
    values: bytes


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of a site: for each section, by its id, how many windows it has; then the windows in their order."""

    model: str
    dimensions: int
    sections: tuple[tuple[str, int], ...]
    digests: Sequence[bytes]
    scales: Sequence[float]
    values: bytes
    """The signed bytes of all windows, one window after the other."""

    def window(self, at: int) -> Quantised:
        """Give the vector of a window."""
        return Quantised(self.scales[at], self.values[at * self.dimensions : (at + 1) * self.dimensions])


def quantised(vector: Sequence[float]) -> Quantised:
    """Give a vector in bytes, brought to the length 1; one that leads nowhere stays so."""
    most = max(map(abs, vector))
    if not most > 0:
        return Quantised(0.0, bytes(len(vector)))
    steps = [round(127 * (number / most)) for number in vector]
    length = math.sqrt(sum(step * step for step in steps))
    # A float of four bytes, as it is written: what was just made and what was read are the same.
    (scale,) = struct.unpack("<f", struct.pack("<f", 1 / length))
    return Quantised(scale, struct.pack(f"{len(steps)}b", *steps))


def text_digest(text: str) -> bytes:
    """Give what a window's text is known by."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:DIGEST]


def pack(
    model: str, sections: Iterable[tuple[str, Sequence[bytes]]], vectors: dict[bytes, Quantised], dimensions: int
) -> bytes:
    """Give the file: for each section, by its id, the digests of its windows; `vectors` has them all."""
    sections = list(sections)
    digests = [digest for _, own in sections for digest in own]
    name = model.encode("utf-8")
    head = _HEAD.pack(_MAGIC, dimensions, len(sections), len(digests), len(name))
    table = b"".join(bytes.fromhex(id_) + struct.pack("<I", len(own)) for id_, own in sections)
    scales = struct.pack(f"<{len(digests)}f", *(vectors[digest].scale for digest in digests))
    return b"".join((head, name, table, *digests, scales, *(vectors[digest].values for digest in digests)))


def unpack(data: bytes, where: str = PATH) -> Vectors:
    """Read the file; `where` is named in errors. Raises VectorsError for one that is broken, or of a later version."""
    broken = VectorsError(f"{where}: broken or cut short; build the site again")
    if len(data) < _HEAD.size or not data.startswith(_MAGIC[:7]):
        raise broken
    magic, dimensions, sections, windows, name = _HEAD.unpack_from(data)
    if magic != _MAGIC:
        raise VectorsError(f"{where}: of a later version; upgrade mkdocs-roaming")
    table = _HEAD.size + name
    digests = table + 8 * sections
    scales = digests + DIGEST * windows
    values = scales + 4 * windows
    if not 1 <= dimensions <= MOST_DIMENSIONS or len(data) != values + dimensions * windows:
        raise broken
    numbers = array("f")
    numbers.frombytes(data[scales:values])
    if sys.byteorder == "big":
        numbers.byteswap()
    rows = tuple((id_.hex(), count) for id_, count in struct.iter_unpack("<4sI", data[table:digests]))
    if sum(count for _, count in rows) != windows or not all(0 <= number <= 1 for number in numbers):
        raise broken
    return Vectors(
        data[_HEAD.size : table].decode("utf-8", "replace"),
        dimensions,
        rows,
        [data[at : at + DIGEST] for at in range(digests, scales, DIGEST)],
        numbers,
        data[values:],
    )


MOST_DIMENSIONS = 8_192
_MAGIC = b"ROAMVEC\x01"
_HEAD = struct.Struct("<8sIIII")
